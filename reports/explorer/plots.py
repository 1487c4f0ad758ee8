"""The plots of the plan of an HBase cluster, and their places on the page."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from reports.explorer.day import TITLE, day_plot
from reports.explorer.drawing import (
    PRICES,
    Axis,
    Bar,
    BarPlot,
    LinePlot,
    Place,
    Plots,
    Series,
    bar_plot,
    cost_place,
    cost_plot,
    hit_ratio_plot,
    hits_place,
    inputs_place,
)
from sizing.cache_price import cache_price
from sizing.plan import Plan
from sizing.prices import PriceTable
from sizing.units import MIB

HOURS: Final = 24
LEAST_HOURS: Final = 0.05
INSPECTED: Final = "This plot is not available for inspected data."
PARTS: Final = {
    "system": "operating system",
    "daemons": "EMR and Hadoop daemons",
    "yarn": "YARN containers",
    "heap": "RegionServer heap",
    "jvm": "other JVM memory",
    "direct": "direct buffers",
    "page_cache": "page cache",
}
PLACES: Final = (
    hits_place("nodes"),
    Place(
        id="cold",
        kind="lines",
        title="After a start with cold caches",
        advice="How many reads per second the cluster serves while its caches fill (estimate).",
    ),
    Place(
        id="day",
        kind="lines",
        title=TITLE,
        advice="The hit ratio after a start with cold caches. The hours of the restart and of the loss are examples;"
        " all other times and figures are estimates.",
        rows=6,
        is_wide=True,
    ),
    Place(
        id="resources",
        kind="bars",
        title="Resource use by reads",
        advice="The share of each limit that the load uses. The resource with the longest bar limits the cluster.",
        rows=6,
    ),
    Place(
        id="memory",
        kind="bars",
        title="Memory of a core node",
        advice="How warmbase divides the RAM. A BucketCache is on disk, and the page cache speeds up reads from it.",
        rows=len(PARTS),
    ),
    cost_place(),
    Place(
        id=PRICES,
        kind="prices",
        title="Price by amount of data, for each storage mode",
        advice="The lowest line is the cheapest mode that meets your targets. A line ends where no cluster meets them.",
        x="stored data",
        missing=INSPECTED,
    ),
    inputs_place(),
)


def places(*, has_tables: bool) -> tuple[Place, ...]:
    """Return the places of the plots, in the order of the page."""
    if not has_tables:
        return PLACES
    return tuple(
        replace(one, x=f"{one.x} of all tables, scaled together") if one.id == PRICES else one for one in PLACES
    )


def plots(plan: Plan, prices: PriceTable) -> Plots:
    """Return the plots of a plan."""
    cache = plan.bucket_cache
    cache_bytes = cache.size_mib * MIB * plan.core.count if cache else None
    hits = hit_ratio_plot(plan.hit_ratio, cache_bytes, cache_price(plan, prices), "cache of the whole cluster")
    memory = (Bar(name=PARTS.get(part, part), value=size) for part, size in plan.memory.parts.items())
    return Plots(
        lines={"hits": hits, "cold": _cold(plan), "day": day_plot(plan)},
        bars={"resources": _resources(plan), "memory": bar_plot("size", memory), "cost": cost_plot(plan.cost)},
    )


def _cold(plan: Plan) -> LinePlot | None:
    """Return the reads that the cluster serves while its caches fill; None if it has no cache to fill."""
    cold, load = plan.bad_hours.cold, plan.throughput
    if cold is None or not cold.course:
        return None
    end = min(HOURS, max(LEAST_HOURS, cold.course[-1][0]) * 1.1)
    offered = load.reads_per_second if load.offered_reads_per_second is None else load.offered_reads_per_second
    served = [(hours, reads) for hours, _, reads in cold.course if hours <= end]
    if served[-1][0] < end:
        served.append((end, served[-1][1]))
    warm = "when warm" if load.offered_reads_per_second is None else "offered"
    return LinePlot(
        title="Reads served after a start with cold caches",
        description=f"It starts at {served[0][1]:,.0f}/s and reaches {served[-1][1]:,.0f}/s.",
        x=Axis(label="time after the start", least=0, most=end, kind="hours"),
        y=Axis(
            label="reads per second",
            least=0,
            most=max(offered, *(reads for _, reads in served)) * 1.08,
            kind="rate",
        ),
        series=(
            Series(name="served", points=tuple(served), style=1),
            Series(name=warm, points=((0, offered), (end, offered)), style=2),
        ),
    )


def _resources(plan: Plan) -> BarPlot:
    load = plan.throughput
    bars = (
        Bar(
            name=resource.name,
            value=load.reads_per_second / resource.max_reads_per_second,
            strong=resource.name == load.bottleneck,
        )
        for resource in load.resources
    )
    return bar_plot("share", bars, shortest=1.0)
