"""The report of a run: numbers as people read them, pictures, and one page that needs nothing but itself."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.hbase.experiment import at_least
from lab.hbase.report import (
    amount_text,
    by_case,
    difference,
    limits_of_the_machine,
    number_text,
    ratio_text,
    target_text,
    targets_text,
    verdict,
    when,
)
from lab.hbase.report.charts import MOST_POINTS, PALETTE, picture, thinned
from lab.hbase.report.page import page_html, prose
from lab.hbase.result import Chart, Measurement, MeasurementTarget, Series, Substitution, TargetKind
from tests.lab.hbase.sample_run import HOSTILE, RUN, hostile_run

VOID = {"meta", "br", "hr", "img", "input", "link"}
SVG = "{http://www.w3.org/2000/svg}"


class Reader(HTMLParser):
    """A reader of a page's elements; it fails for a tag that is closed out of turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return reader


def flat(page: str) -> str:
    return " ".join("".join(read(page).text).split())


def figure(**fields: Any) -> Measurement:
    usual: dict[str, Any] = {"case": "a case", "name": "reads", "unit": "reads/s", "measured": 1.0, "because": "why"}
    return Measurement(**usual | fields)


@pytest.fixture(scope="module")
def page() -> str:
    return page_html(RUN)


AMOUNTS = [
    (15_344.27, "reads/s", "15,344 reads/s"),
    (0.91271, "", "0.9127"),
    (0.99964, "", "0.9996"),
    (999.96, "ms", "1,000 ms"),
    (0.0000312, "", "0.0000312"),
    (3.0, "s", "3 s"),
    (-2.345678, "s", "-2.346 s"),
    (0, "GETs", "0 GETs"),
    (5 * 2**29, "B", "2.5 GiB"),
    (125 * 2**20, "B/s", "125 MiB/s"),
    (51.4897, "x", "51.49x"),
    (math.nan, "B", "no number"),
    (math.inf, "s", "no number"),
    ("never", "s", "never"),
]


@pytest.mark.parametrize(("value", "unit", "text"), AMOUNTS)
def test_an_amount_has_sensible_digits_and_its_unit(value: float | str, unit: str, text: str) -> None:
    assert amount_text(value, unit) == text


@given(st.floats(min_value=1e-9, max_value=1e12))
def test_a_number_is_reported_within_a_thousandth_and_without_an_exponent(value: float) -> None:
    text = number_text(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-3)


RATIOS = [
    (41.07, 33.6, "1.22"),
    (1.0, 3.0, "0.33"),
    (512.0, 10.0, "51.2"),
    (123_456.0, 10.0, "12,345.6"),
    (1.0, 300.0, "0.0033"),
    (1.0, 0.0, "-"),
    (0.0, 5.0, "0"),
    (1.0, None, "-"),
    ("never", 5.0, "-"),
    (1.0, "never", "-"),
    (math.nan, 1.0, "-"),
]


@pytest.mark.parametrize(("measured", "predicted", "text"), RATIOS)
def test_a_ratio_is_measured_over_predicted_or_a_dash(
    measured: float | str, predicted: float | str | None, text: str
) -> None:
    assert ratio_text(figure(measured=measured, predicted=predicted)) == text


TARGETS = [
    (TargetKind.AT_LEAST, 300, "at least 300 reads/s"),
    (TargetKind.AT_MOST, 0.5, "at most 0.5 reads/s"),
    (TargetKind.WITHIN_FRACTION, 0.1, "within 10 %"),
    (TargetKind.WITHIN_DIFFERENCE, 25, "within ± 25 reads/s"),
    (TargetKind.WITHIN_FACTOR, 2, "within a factor of 2"),
    (TargetKind.SAME, 0, "as predicted"),
]


def test_every_kind_of_target_has_words() -> None:
    assert {kind for kind, _, _ in TARGETS} == set(TargetKind)
    for kind, bound, text in TARGETS:
        assert target_text(figure(target=MeasurementTarget(kind=kind, bound=bound))) == text
    assert target_text(figure()) == "-"


def test_the_verdict_counts_targets_and_facts_and_nothing_else() -> None:
    met, missed = at_least(0), at_least(2)
    assert verdict(RUN) == "3 of 6 targets met, all 5 facts as predicted."
    assert targets_text([figure(target=met), figure(target=missed), figure()]) == "1 of 2 targets met"
    assert targets_text([figure(target=met), figure(target=met), figure()]) == "all 2 targets met"
    assert targets_text([figure()]) == "no target was set"


def test_when_is_the_first_beginning_and_the_sum_of_all_times() -> None:
    assert when(RUN) == "2026-03-01 10:02 UTC, in 16.1 min"
    assert when(replace(RUN, scenarios=())) == "no scenario was run"


@pytest.mark.parametrize(
    ("disk", "memory", "begins"),
    [
        (True, True, "Disk and memory are limited where a scenario says so."),
        (True, False, "Memory could not be limited here:"),
        (False, True, "The disk could not be limited here:"),
        (False, False, "Neither disk nor memory could be limited here:"),
    ],
)
def test_reads_of_an_unlimited_cache_are_reported_to_appear_from_the_page_cache(
    *, disk: bool, memory: bool, begins: str
) -> None:
    text = limits_of_the_machine(replace(RUN.machine, disk_is_limited=disk, memory_is_limited=memory))
    assert text.startswith(begins)
    assert "come from the page cache" in text


def test_a_difference_shows_only_what_is_set() -> None:
    both = Substitution(key="k", rendered="1", lab="2", why="w")
    assert difference(both) == ((" ", "k"), ("-", "1"), ("+", "2"))
    assert difference(replace(both, rendered=None)) == ((" ", "k"), ("+", "2"))
    assert difference(replace(both, lab=None)) == ((" ", "k"), ("-", "1"))
    assert difference(replace(both, lab="")) == ((" ", "k"), ("-", "1"), ("+", ""))


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=900))
def test_a_thinned_curve_keeps_its_ends_and_its_extremes(points: list[tuple[float, float]]) -> None:
    thin = thinned(points)
    finite = sorted(point for point in points if all(map(math.isfinite, point)))
    assert len(thin) <= MOST_POINTS
    assert set(thin) <= set(finite)
    assert thin == sorted(thin)
    if finite:
        heights = [y for _, y in finite]
        assert (thin[0], thin[-1]) == (finite[0], finite[-1])
        assert (min(y for _, y in thin), max(y for _, y in thin)) == (min(heights), max(heights))


def parsed(drawn: str) -> ET.Element:
    """The picture as a tree; fails for what is no XML."""
    return ET.fromstring(drawn)  # noqa: S314 - drawn here


def curves(drawn: str) -> list[ET.Element]:
    """Return the lines of a chart, without those of its legend."""
    groups = parsed(drawn).iter(f"{SVG}g")
    lines = (group for group in groups if "mark-line" in (group.get("class") or ""))
    return [path for group in lines for path in group.findall(f"{SVG}path")]


def test_every_series_is_a_line_and_only_a_prediction_is_dashed() -> None:
    chart = RUN.scenarios[0].charts[0]
    lines = curves(picture(chart))
    assert len(lines) == len(chart.series) == 4
    dashed = [line for line in lines if (line.get("stroke-dasharray") or "1,0") != "1,0"]
    assert len(dashed) == sum(series.name.startswith("predicted") for series in chart.series) == 2
    assert {line.get("stroke") for line in dashed} == set(PALETTE[:2]) == {line.get("stroke") for line in lines}
    assert len({line.get("stroke-width") for line in dashed}) == 1


def test_a_picture_is_small_transparent_and_names_its_axes_and_series() -> None:
    for scenario in RUN.scenarios:
        for chart in scenario.charts:
            drawn = picture(chart)
            root = parsed(drawn)
            assert len(drawn) < 40_000
            assert root.get("role") == "img"
            assert chart.title in (root.get("aria-label") or "")
            assert not [rect for rect in root.iter(f"{SVG}rect") if rect.get("fill") not in {None, "none"}]
            words = {"".join(text.itertext()) for text in root.iter(f"{SVG}text")}
            assert {chart.x, chart.y, *(series.name for series in chart.series)} <= words


@pytest.mark.parametrize(
    "series",
    [
        (),
        (Series(name="empty", points=()),),
        (Series(name="one", points=((1, 1),)),),
        (Series(name="none", points=((math.nan, 1), (1, math.inf))),),
        tuple(Series(name=f"line {n}", points=tuple((x, n) for x in range(300))) for n in range(30)),
    ],
    ids=["no series", "no points", "one point", "no number", "thirty lines"],
)
def test_a_chart_of_nothing_or_of_much_is_drawn_too(series: tuple[Series, ...]) -> None:
    drawn = picture(Chart(title="t", x="x", y="y", series=series))
    assert "NaN" not in drawn
    parsed(drawn)


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    reader = read(page)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in reader.tags}
    for _, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "srcset", "xlink:href"}]
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import", page)
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\s\"<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
        "http://127.0.0.1:41873",
    }


def test_every_link_leads_to_a_place_on_the_page(page: str) -> None:
    tags = read(page).tags
    places = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(places) == len(set(places))
    links = {attributes["href"] for tag, attributes in tags if tag == "a"}
    assert links == {f"#{place}" for place in places}


def test_everything_of_a_run_is_on_its_page(page: str) -> None:
    output = flat(page).replace("\u00a0", " ")
    for scenario in RUN.scenarios:
        texts = [scenario.title, scenario.question, *scenario.limits, *(chart.title for chart in scenario.charts)]
        texts += [text for item in scenario.figures for text in (item.case, item.name, item.because)]
        assert [text for text in texts if text.replace("`", "") not in output] == []
    pairs = (*RUN.software, *RUN.scale, *((substitution.key, substitution.why) for substitution in RUN.substitutions))
    assert [text for pair in pairs for text in pair if text not in output] == []
    assert RUN.substitution is not None
    assert RUN.substitution in output
    assert RUN.command in output
    assert f"{RUN.properties} properties are exactly as rendered; 4 differ" in output
    assert page.count("<svg ") == sum(len(scenario.charts) for scenario in RUN.scenarios)


def test_what_is_missed_is_reported_in_words_at_the_top_and_in_its_row(page: str) -> None:
    text = flat(page)
    assert "3 of 6 targets met, all 5 facts as predicted. Missed:" in text
    assert "41.07\u00a0s, predicted 33.6\u00a0s, target within 20\u00a0%" in page
    cells = re.findall(r'class="outcome (met|missed)">(\w+)</td>', page)
    assert all(marked == word for marked, word in cells)
    assert [word for _, word in cells].count("missed") == 3
    assert [word for _, word in cells].count("met") == 8


def test_figures_are_grouped_by_their_case_and_none_is_lost(page: str) -> None:
    groups = [group for scenario in RUN.scenarios for group in by_case(scenario.figures).items()]
    spans = re.findall(r'<th scope="rowgroup" class="case" rowspan="(\d+)">(.*?)</th>', page)
    assert spans == [(str(len(figures)), case) for case, figures in groups]
    assert sum(int(rows) for rows, _ in spans) == sum(len(scenario.figures) for scenario in RUN.scenarios)


def test_a_run_without_targets_or_scenarios_has_a_page() -> None:
    bare = replace(RUN, scenarios=(), scale=(), substitutions=(), substitution=None)
    text = flat(page_html(bare))
    assert "No target was set." in text
    assert "Missed" not in text
    assert "none differs" in text


def test_no_text_of_a_run_becomes_markup() -> None:
    html = page_html(hostile_run())
    reader = read(html)
    assert "script" not in {tag for tag, _ in reader.tags}
    assert "<script" not in html
    assert HOSTILE in "".join(reader.text)


@given(st.text())
def test_prose_is_escaped_whatever_its_backticks(text: str) -> None:
    html = str(prose(text))
    assert not re.search(r"<(?!/?code>)", html)
    assert html.count("<code>") == html.count("</code>")
