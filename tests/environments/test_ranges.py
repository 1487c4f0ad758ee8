"""Ranges in an environment file: their notation, the distribution of their values, and who accepts them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.environments.reader import read_environment
from warmbase.environments.reader.assignment import Assignment
from warmbase.environments.reader.ranges import InputRange, RangedDocument
from warmbase.environments.reader.read import environment_of, middle_environment, read_ranges
from warmbase.environments.uncertainty.samples import Sampling, samples_of
from warmbase.ground.errors import InvalidInput
from warmbase.ground.units import GIB, TIB
from warmbase.sizing.ranges.regret import spread_points
from warmbase.sizing.workload.workload import OpenLoad

ENDS = [
    ("workload.stored=3..12 TiB", 3 * TIB, 12 * TIB),
    ("workload.stored=900 GiB..3 TiB", 900 * GIB, 3 * TIB),
    ("workload.popularity.zipf=0.7..1.1", 0.7, 1.1),
    ("targets.hit_ratio=90 %..98 %", 90, 98),
    ("targets.p99=250 ms..1 s", 0.25, 1.0),
    ("workload.regions=100..300", 100, 300),
    ("workload.stored={low: 3 TiB, mid: 5 TiB, high: 12 TiB, confidence: 90 %}", 3 * TIB, 12 * TIB),
    ("workload.reads.seasons={peak: 2..4.5x, hours: 3}", 2, 4.5),
]


def ranged(*assignments: str) -> RangedDocument:
    return read_ranges("prod", [Assignment.parse(text) for text in assignments])


def only_range(text: str) -> InputRange:
    [input_range] = ranged(text).ranges.values()
    return input_range


@pytest.mark.parametrize(("text", "low", "high"), ENDS)
def test_the_ends_are_as_written_and_every_value_can_be_read(text: str, low: float, high: float) -> None:
    input_range = only_range(text)
    assert [input_range.low, input_range.high] == pytest.approx([low, high])
    assert input_range.key.startswith(text.partition("=")[0])
    document = ranged(text)
    for probability in (0.001, 0.5, 0.999):
        environment_of(document.at([input_range.value(probability)]))


def test_the_peak_is_a_multiple_of_the_rate_of_its_sample() -> None:
    reads = "{per_second: 100..900, seasons: {peak: 2..4x, hours: 3}}"
    document = ranged(f"workload.reads={reads}")
    assert list(document.ranges) == [("workload", "reads", "per_second"), ("workload", "reads", "seasons", "peak")]
    load = environment_of(document.at([300.0, 2.5])).workload.load
    assert load == OpenLoad(reads_per_second=300, peak_reads_per_second=750, peak_hours=3)


def test_a_multiple_is_written_without_a_space() -> None:
    assert only_range("workload.reads.seasons={peak: 2..4x, hours: 3}").text(2.5) == "2.5x"


def test_a_count_stays_a_whole_number() -> None:
    document = ranged("workload.regions=100..300")
    assert environment_of(document.at([123.4])).workload.regions == 123


def test_equal_ends_are_a_value() -> None:
    document = ranged("workload.stored=7 TiB..7 TiB")
    assert document.ranges == {}
    assert environment_of(document.document) == read_environment("prod", [Assignment.parse("workload.stored=7 TiB")])


def test_only_plan_accepts_a_file_with_ranges(tmp_path: Path) -> None:
    file = tmp_path / "prod.yaml"
    text = Path(read_environment("prod").source).read_text(encoding="utf-8")
    file.write_text(text.replace("stored: 7.185 TiB", "stored: 3..12 TiB"), encoding="utf-8")
    line = 1 + text[: text.index("stored:")].count("\n")
    with pytest.raises(
        InvalidInput,
        match=rf"prod.yaml:{line}  workload.stored\n  is a range, which only `warmbase plan ENV` \(alone or with",
    ):
        read_environment(str(file))


def test_a_range_that_follows_another_has_its_quantile_in_every_sample() -> None:
    reads = "workload.reads.per_second={low: 200, high: 400, follows: workload.stored}"
    document = ranged(reads, "workload.row=400..800 KiB", "workload.stored=3..12 TiB")
    samples = samples_of(document, "blue", Sampling(count=16))
    places = {
        entry.key: [(value - entry.low) / (entry.high - entry.low) for value in values]
        for entry, values in zip(document.ranges.values(), zip(*samples.values, strict=True), strict=True)
    }
    assert places["workload.reads.per_second"] == pytest.approx(places["workload.stored"])
    assert abs(np.corrcoef(places["workload.row"], places["workload.stored"])[0, 1]) < 0.5


@pytest.mark.parametrize("followed", ["workload.row", "workload.reads.per_second", "workload.regions", "7"])
def test_a_range_follows_only_an_independent_range(followed: str) -> None:
    reads = f"workload.reads.per_second={{low: 200, high: 400, follows: {followed}}}"
    regions = "workload.regions={low: 100, high: 200, follows: workload.stored}"
    with pytest.raises(
        InvalidInput, match=rf"follows {followed}\n  {followed} is not a range(.|\n)*one of: workload.stored"
    ):
        ranged(reads, regions, "workload.stored=3..12 TiB")
    with pytest.raises(InvalidInput, match="fix: remove follows"):
        ranged(reads)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("workload.stored=12..3 TiB", "not in ascending order"),
        ("workload.stored=3 TiB..2 h", "units of different kinds"),
        (
            "workload.stored={low: 3 TiB, high: 12 TiB, middle: 4 TiB}",
            "its keys must be low, mid, high, confidence and follows",
        ),
        ("workload.stored={low: 3 TiB, high: much}", "numbers with their units"),
        ("workload.stored={low: 3 TiB, high: 12 TiB, confidence: 0 %}", "confidence must be more than 0"),
        ("workload.stored={low: 3 TiB, high: 12 TiB, confidence: 200 %}", "between 0 and 1"),
        ("workload.stored={low: 3 TiB, high: 12 TiB, confidence: 50 %}", "may be less than 0"),
    ],
)
def test_the_error_about_an_invalid_range_shows_how_to_write_one(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as error:
        ranged(text)
    assert "3..12 TiB or {low: 3 TiB" in str(error.value)


def test_an_invalid_range_is_reported_with_every_other_problem() -> None:
    texts = ("workload.stored=12..3 TiB", "workload.row=9..8 KiB", "workload.regons=4..9", "targets.lost_nodes=-1")
    with pytest.raises(InvalidInput) as error:
        ranged(*texts, "workload.reads.per_second=100..900")
    assert sorted((problem.what.split()[0], problem.why.partition(":")[0]) for problem in error.value.problems) == [
        ("targets.lost_nodes", "must be at least 0 and at most 10, not -1"),
        ("workload.regons", "unknown key"),
        ("workload.row", "9..8 KiB is not in ascending order"),
        ("workload.stored", "12..3 TiB is not in ascending order"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("workload.stored=3..12", r"7.5 has no unit \(the middle of the range\)"),
        ("workload.reads=500..3000", r"1750 is not a mapping \(the middle of the range\)"),
    ],
)
def test_the_error_about_the_middle_of_a_range_says_where_the_number_comes_from(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        middle_environment(ranged(text))
    with pytest.raises(InvalidInput, match=r"unknown key\n"):
        middle_environment(ranged("workload.regons=4", "workload.stored=3..12 TiB"))


def test_the_error_about_an_invalid_sample_names_its_values() -> None:
    document = ranged("workload.row=200 B..2 KiB")
    with pytest.raises(InvalidInput, match=r"cannot hold a cell.* \(in a sample with workload.row \d+ B\)"):
        samples_of(document, "blue", Sampling(count=16))


@given(
    low=st.floats(0.01, 100),
    width=st.floats(0.01, 1000),
    place=st.none() | st.floats(0, 1),
    confidence=st.floats(0.3, 1.0),
)
def test_the_value_lies_within_the_ends_as_often_as_stated(
    low: float, width: float, place: float | None, confidence: float
) -> None:
    high = low + width
    mid = None if place is None else low + place * width
    input_range = InputRange(key="a.b", where="f:1", low=low, mid=mid, high=high, unit="", confidence=confidence)
    values = np.array([input_range.value(float(probability)) for probability in (np.arange(2000) + 0.5) / 2000])
    assert np.all(np.diff(values) >= 0)
    within = np.mean((values >= low * (1 - 1e-9)) & (values <= high * (1 + 1e-9)))
    assert within == pytest.approx(confidence, abs=0.002)
    assert np.mean(values > high * (1 + 1e-9)) == pytest.approx((1 - confidence) / 2, abs=0.002)


def test_every_count_between_the_ends_is_equally_likely() -> None:
    counts = only_range("targets.lost_nodes=0..2")
    assert [counts.value((part + 0.5) / 6) for part in range(6)] == [0, 0, 1, 1, 2, 2]
    assert [counts.value(part) for part in (0.0, 1.0)] == [0, 2]


def test_between_ends_that_differ_tenfold_every_factor_is_equally_likely() -> None:
    assert only_range("workload.reads.per_second=100..10000").middle == pytest.approx(1000)
    assert only_range("workload.reads.per_second=100..900").middle == pytest.approx(500)


@pytest.mark.parametrize("dimensions", [0, 1, 2, 5, 8])
def test_points_fill_the_cube_evenly(dimensions: int) -> None:
    points = spread_points(128, dimensions, 1)
    assert points.shape == (128, dimensions)
    for column in points.T:
        assert np.abs(np.sort(column) - (np.arange(128) + 0.5) / 128).max() <= 0.5 / 128
    for one, other in itertools.combinations(points.T, 2):
        quarters, _, _ = np.histogram2d(one, other, bins=4, range=[(0, 1), (0, 1)])
        assert quarters.min() >= 4
    assert (spread_points(128, dimensions, 1) == points).all()
    assert dimensions == 0 or (spread_points(128, dimensions, 2) != points).any()


def test_the_error_about_a_range_names_the_option_that_set_it() -> None:
    with pytest.raises(InvalidInput, match=re.escape("--set workload.stored")):
        read_environment("prod", [Assignment.parse("workload.stored=3..12 TiB")])
