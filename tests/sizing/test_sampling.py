"""Totals from samples: their intervals have the truth, also in skewed populations, and strata keep their laws."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.hfile.family_totals import Estimate, drawn, estimate, strata, total

KINDS = ("even", "odd ones of 3 %", "uneven", "a few huge", "denser when small", "odd ones of 1 %")


def population(seed: int) -> tuple[list[int], list[float]]:
    """Return files by size, and blocks of each: in turn of each kind, 300 to 3,000 files, sizes ever more skewed."""
    random = Random(seed)
    kind = KINDS[seed % len(KINDS)]
    count, spread = random.choice([300, 1000, 3000]), [0.5, 1.0, 2.0][seed % 3]
    sizes = [max(5000, int(random.lognormvariate(17, spread))) for _ in range(count)]
    if kind == "a few huge":
        sizes[:5] = [10**10] * 5
    blocks = [max(1.0, size / block_bytes(kind, size, random)) for size in sizes]
    return sizes, blocks


def block_bytes(kind: str, size: int, random: Random) -> float:
    """Return the mean block length of one file."""
    if kind == "uneven":
        return 66_000 * math.exp(random.gauss(0, 0.7))
    if kind == "denser when small":
        return 66_000 * math.exp(0.3 * math.log(size / 2e7))
    odd = {"odd ones of 3 %": (0.03, 8_000), "odd ones of 1 %": (0.01, 2_000)}
    if kind in odd and random.random() < odd[kind][0]:
        return float(odd[kind][1])
    return 66_000 * random.uniform(0.97, 1.03)


def estimated(sizes: list[int], values: list[float], count: int, seed: int) -> Estimate:
    """Estimate the total from a sample of that population."""
    random, result = Random(seed), strata(sizes, count)
    return estimate(sizes, result, {member: values[member] for item in result for member in drawn(item, random)})


def test_intervals_have_the_truth_in_186_of_200_populations() -> None:
    hits = 0
    for seed in range(200):
        sizes, values = population(seed)
        result = estimated(sizes, values, 400, seed + 10**6)
        truth = sum(values)
        hits += result.low * (1 - 1e-12) <= truth <= result.high * (1 + 1e-12)
    assert hits >= 186


def test_an_interval_of_even_files_is_narrow() -> None:
    result = [estimated(*population(seed), 400, seed) for seed in range(0, 120, len(KINDS))]
    assert max(item.relative_error for item in result) < 0.01


def test_a_larger_sample_has_a_narrower_interval() -> None:
    sizes, values = population(2)
    widths = [
        sum(estimated(sizes, values, count, seed).relative_error for seed in range(20)) for count in (50, 200, 290)
    ]
    assert widths == sorted(widths, reverse=True)


def test_estimates_are_without_bias() -> None:
    sizes, values = population(1)
    mean = sum(estimated(sizes, values, 100, seed).value for seed in range(400)) / 400
    assert mean == pytest.approx(sum(values), rel=0.02)


def test_a_population_read_whole_is_not_estimated() -> None:
    sizes, values = population(4)
    truth = sum(values)
    result = estimated(sizes, values, len(sizes), 1)
    assert result.low == result.value == result.high == pytest.approx(truth)


def test_a_member_without_a_value_is_one_that_was_not_drawn() -> None:
    result = strata([100] * 10, 10)
    sizes_so_far = dict.fromkeys(range(9), 5.0)
    guess = estimate([100] * 10, result, sizes_so_far)
    assert guess.value == pytest.approx(50)
    assert estimate([], strata([], 5), {}) == Estimate(0, 0, 0)


def test_totals_add_and_their_errors_less_than_that() -> None:
    result = total([Estimate(10, 7, 14), Estimate(20, 16, 23)])
    assert (result.value, result.low, result.high) == (30, 25, 35)


sizes_lists = st.lists(st.integers(0, 10**12), max_size=60)


@given(sizes_lists, st.integers(2, 80), st.integers(0, 9))
def test_strata_have_every_member_once_and_draw_from_all(sizes: list[int], count: int, seed: int) -> None:
    result = strata(sizes, count)
    assert sorted(member for item in result for member in item.members) == list(range(len(sizes)))
    assert all(1 <= item.count <= len(item.members) for item in result)
    if sizes:
        assert sum(item.count for item in result) >= min(len(sizes), count) // 2
        assert sum(item.count for item in result) <= 2 * count + 2
    picks = [drawn(item, Random(seed)) for item in result]
    assert picks == [drawn(item, Random(seed)) for item in result]


@given(sizes_lists, st.integers(2, 80), st.floats(1e-6, 1e3))
def test_what_is_a_ratio_of_size_is_estimated_without_error(sizes: list[int], count: int, ratio: float) -> None:
    sizes = [max(1, size) for size in sizes]
    result = estimated(sizes, [ratio * size for size in sizes], count, 3)
    assert result.value == pytest.approx(ratio * sum(sizes), rel=1e-6)
    assert result.low <= result.value * (1 + 1e-9)
    assert result.high >= result.value * (1 - 1e-9)
    assert result.relative_error <= 0.001
