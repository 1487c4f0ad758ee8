"""A chart of a run as SVG: transparent, legible on light and dark, the same bytes on every machine.

Text is measured with the one font that vl-convert brings along, so that no font of the machine moves a label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from operator import itemgetter
from textwrap import wrap
from typing import Any, Final

import altair as alt
import vl_convert

from lab.hbase.result import Chart

MOST_POINTS: Final = 200
"""The most points of one series, which is more than a picture of this width can show."""
WIDTH: Final = 460
"""The width in pixels: a telephone hardly shrinks it, and two fit beside each other on a screen."""
HEIGHT: Final = 220
FEW: Final = 24
"""Series with at most this many points also show the points."""
INK: Final = "currentColor"
ALONE: Final = "#767676"
"""The text colour of a picture outside a page: 4.5:1 on white, and legible on black."""
PREDICTED: Final = "predicted"
# Okabe and Ito's colours, with the light ones darkened to a contrast of 3:1 on white and on near-black.
PALETTE: Final = ("#1b7fc4", "#d55e00", "#00936b", "#b8609a", "#a07800", "#808080", "#7a68c9")
LETTERS_OF_AXIS: Final = {"x": 64, "y": 36}
LETTER_PIXELS: Final = 6.2
MANY: Final = 10_000
"""Axes abbreviate numbers from here on, as in 10k."""

CONFIG: Final[dict[str, Any]] = {
    "aria": False,
    "background": None,
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "gridColor": INK,
        "gridOpacity": 0.16,
        "domainColor": INK,
        "domainOpacity": 0.5,
        "tickColor": INK,
        "tickOpacity": 0.5,
        "labelOverlap": True,
        "labelSeparation": 8,
        "labelFlush": False,
    },
    "legend": {
        "title": None,
        "labelColor": INK,
        "labelFontSize": 12,
        "labelLimit": WIDTH - 60,
        "orient": "top",
        "direction": "vertical",
        "symbolType": "stroke",
        "symbolSize": 480,
        "columnPadding": 16,
    },
}


def picture(chart: Chart) -> str:
    """Return the chart as an SVG element, whose title is not drawn but read by screen readers.

    A prediction is a broad dashed band in the colour of what it predicts, on which a thin line can be seen to lie.
    """
    # Predictions come first, so that measurements are drawn over them.
    series = sorted(chart.series, key=lambda line: not line.name.startswith(PREDICTED))
    points = [(line.name, thinned(line.points)) for line in series]
    few = [(name, values) for name, values in points if len(values) <= FEW]
    most = max((abs(y) for _, values in points for _, y in values), default=0.0)
    short = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '~s')") if most >= MANY else alt.Axis()
    place = (
        alt.X("x:Q").title(_lines(chart.x, "x")).scale(alt.Scale(zero=False, nice=False)),
        alt.Y("y:Q").axis(short).title(_lines(chart.y, "y")).scale(alt.Scale(zero=True)),
    )
    names = list(dict.fromkeys(line.name for line in chart.series))
    expected = [name.startswith(PREDICTED) for name in names]
    subjects = [name.removeprefix(PREDICTED).removeprefix("measured").strip(" :,") for name in names]
    colors = list(dict.fromkeys(subjects))
    longest = max(map(len, names), default=1) * LETTER_PIXELS + 60
    legend = alt.Legend(columns=max(1, int((WIDTH - 40) / longest)))

    def scale(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(type="ordinal", domain=names, range=values)

    color = (
        alt.Color("series:N")
        .legend(legend)
        .scale(scale([PALETTE[colors.index(subject) % len(PALETTE)] for subject in subjects]))
    )
    strokes = (
        alt.StrokeDash("series:N").legend(legend).scale(scale([[6, 4] if dashed else [1, 0] for dashed in expected])),
        alt.StrokeWidth("series:N").legend(legend).scale(scale([4.5 if dashed else 1.8 for dashed in expected])),
        alt.StrokeOpacity("series:N").legend(legend).scale(scale([0.65 if dashed else 1 for dashed in expected])),
    )
    lines = alt.Chart(_rows(points)).mark_line(strokeJoin="round").encode(*place, color, *strokes)
    dots = alt.Chart(_rows(few)).mark_point(filled=True, size=36, opacity=1).encode(*place, color)
    spec = alt.layer(lines, dots).properties(width=WIDTH, height=HEIGHT).to_dict()
    svg = vl_convert.vegalite_to_svg(spec | {"config": CONFIG, "autosize": {"type": "fit-x", "contains": "padding"}})
    label = escape(f"{chart.title}: {chart.y} over {chart.x}")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" color="{ALONE}" ', 1)


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most MOST_POINTS finite points in the order of x, with the first, last, lowest and highest."""
    finite = sorted(point for point in points if all(map(math.isfinite, point)))
    if len(finite) <= MOST_POINTS:
        return finite
    inner, buckets = finite[1:-1], MOST_POINTS // 2 - 1
    thin = [finite[0]]
    for number in range(buckets):
        part = inner[len(inner) * number // buckets : len(inner) * (number + 1) // buckets]
        thin += sorted({min(part, key=itemgetter(1)), max(part, key=itemgetter(1))})
    return [*thin, finite[-1]]


def _rows(points: Iterable[tuple[str, list[tuple[float, float]]]]) -> alt.InlineData:
    return alt.InlineData(values=[{"series": name, "x": x, "y": y} for name, values in points for x, y in values])


def _lines(title: str, axis: str) -> list[str]:
    return wrap(title, LETTERS_OF_AXIS[axis]) or [""]
