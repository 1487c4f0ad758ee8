"""The parts of the page as Python describes them, whatever the engine: figures, plots, and their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from warmbase.ground.units import format_percent, format_size
from warmbase.sizing.cost import Cost
from warmbase.sizing.plan import HitRatio

AxisKind = Literal["size", "share", "hours", "usd", "rate"]
PRICES: Final = "data"
TORNADO: Final = "inputs"
"""The ids of the two plots that need further plans."""
MOST_COST_LINES: Final = 8
HITS_TITLE: Final = "Hit ratio by cache size"
Points = tuple[tuple[float, float], ...]


class Figure(Struct, frozen=True, kw_only=True):
    """One headline figure with its title, its text, and a note that explains it."""

    id: str
    title: str
    text: str
    note: str


class Place(Struct, frozen=True, kw_only=True):
    """The place of a plot on the page: its title, and the advice what a reader should look for.

    `kind` says what it draws: lines or bars of the plan, or the further plans as lines of prices or as a tornado.
    Bars have a number of `rows`, as have lines with sentences below them. Prices have the label of their horizontal
    axis, `x`. `missing` is the reason why there are no further plans. A plot that `is_wide` has a row of its own.
    """

    id: str
    kind: Literal["lines", "bars", "prices", "tornado"]
    title: str
    advice: str
    rows: int = 0
    x: str = ""
    missing: str = ""
    is_wide: bool = False


class Axis(Struct, frozen=True, kw_only=True):
    """An axis. `usd` has points of (value, dollars), and the axis shows the dollars below its values."""

    label: str
    least: float
    most: float
    kind: AxisKind
    usd: Points = ()


class Series(Struct, frozen=True, kw_only=True):
    """One line of a plot."""

    name: str
    points: Points
    style: Literal[1, 2, 3] = 1


class Mark(Struct, frozen=True, kw_only=True):
    """A point with a label, which also names the value on the horizontal axis if `names_x`."""

    x: float
    y: float
    label: str
    names_x: bool = False


class LinePlot(Struct, frozen=True, kw_only=True):
    """Lines with their axes and marks, and sentences below the plot."""

    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    events: tuple[str, ...] = ()


class Bar(Struct, frozen=True, kw_only=True):
    """One bar, from 0 to its value."""

    name: str
    value: float
    strong: bool = False


class BarPlot(Struct, frozen=True, kw_only=True):
    """Bars on one scale, from 0 to `most`."""

    kind: AxisKind
    bars: tuple[Bar, ...]
    most: float


class Plots(Struct, frozen=True, kw_only=True):
    """The plots of a plan by the ids of their places; None leaves a plot out, because there is nothing to draw."""

    lines: Mapping[str, LinePlot | None]
    bars: Mapping[str, BarPlot]


class PlanPage(Struct, frozen=True, kw_only=True):
    """The page of a plan. `platform` names what the cluster runs on, and `decides` what its size depends on."""

    platform: str
    figures: tuple[Figure, ...]
    verdict: str
    decides: str
    usd_per_month: float
    warnings: tuple[str, ...]
    plots: Plots


def bar_plot(kind: AxisKind, bars: Iterable[Bar], shortest: float = 0.0) -> BarPlot:
    """Return bars on a scale that ends at the longest of them, or at `shortest` if that is larger."""
    drawn = tuple(bars)
    return BarPlot(kind=kind, bars=drawn, most=max(shortest, *(bar.value for bar in drawn)))


def inputs_place() -> Place:
    """Return the place of the plot of what moves the price."""
    return Place(
        id=TORNADO,
        kind="tornado",
        title="What moves the price",
        advice="The price if one input is 20 % smaller or larger, or at an end of its range. Measure the input with the"
        " longest bar first.",
        rows=8,
        is_wide=True,
    )


def hits_place(nodes: str) -> Place:
    """Return the place of the plot of the hit ratio; `nodes` is the noun of the nodes."""
    return Place(
        id="hits",
        kind="lines",
        title=HITS_TITLE,
        advice="Beyond the knee, more cache adds clearly fewer hits. For a cache on EBS, the dollars are the price of"
        f" volumes of that size on the {nodes} of this plan.",
    )


def cost_place() -> Place:
    """Return the place of the plot of the bill."""
    return Place(
        id="cost",
        kind="bars",
        title="Cost per month",
        advice="The largest items on the bill.",
        rows=MOST_COST_LINES + 1,
    )


def cost_plot(cost: Cost) -> BarPlot:
    """Return the largest items on the bill, and the sum of the others."""
    lines = sorted(cost.lines, key=lambda line: -line.usd_per_month)
    others = sum(line.usd_per_month for line in lines[MOST_COST_LINES:])
    largest = [Bar(name=line.item, value=line.usd_per_month) for line in lines[:MOST_COST_LINES]]
    return bar_plot("usd", (*largest, Bar(name="all other items", value=others)))


def hit_ratio_plot(hit_ratio: HitRatio, cache_bytes: int | None, usd: Points, label: str) -> LinePlot:
    """Return the hit ratio by the size of the cache, with the knee, and with the plan if it has a cache on disk.

    The curve is extended at its last value to the size of the cache. `usd` has the dollars a month by size; the axis
    has this label without them.
    """
    knee_bytes, predicted = hit_ratio.knee_bytes, hit_ratio.predicted
    curve = hit_ratio.curve
    if cache_bytes is not None and curve[-1][0] < cache_bytes:
        curve = (*curve, (cache_bytes, curve[-1][1]))
    marks = [Mark(x=knee_bytes, y=dict(curve)[knee_bytes], label="knee", names_x=True)] if knee_bytes else []
    size = "no cache on disk"
    if cache_bytes is not None:
        marks.append(Mark(x=cache_bytes, y=predicted, label="this plan", names_x=True))
        size = f"a cache of {format_size(cache_bytes)}"
    knee, ratio = format_size(knee_bytes), format_percent(predicted)
    return LinePlot(
        title=HITS_TITLE,
        description=f"The knee is at {knee}. This plan has {size} and a hit ratio of {ratio}.",
        x=Axis(
            label="cache, and its price a month" if usd else label,
            least=0,
            most=curve[-1][0] or 1,
            kind="size",
            usd=usd,
        ),
        y=Axis(label="hit ratio", least=0, most=1, kind="share"),
        series=(Series(name="hit ratio", points=curve),),
        marks=tuple(marks),
    )
