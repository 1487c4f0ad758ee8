"""The plots of the plan of an HBase cluster, and their places on the page.

One of them is the first 24 hours: the courses of the hit ratio, and a sentence for each event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.prices import PriceTable
from warmbase.ground.units import MIB, SECONDS_PER_HOUR, format_duration, format_percent, format_usd
from warmbase.reports.explorer.drawing import (
    PRICES,
    Axis,
    Bar,
    LinePlot,
    Mark,
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
from warmbase.sizing.plan import Plan
from warmbase.sizing.recovery.boost import ServerFill
from warmbase.sizing.recovery.warmth import HOURS, RESTART_HOURS, FirstDay, first_day
from warmbase.sizing.search.alternatives import cache_price

MILLION: Final = 1_000_000
TITLE: Final = "The first 24 hours"


class Event(Struct, frozen=True, kw_only=True):
    """One event of the day: its mark in the plot, if it has one, and its sentences below the plot."""

    text: str
    label: str = ""
    hours: float | None = None
    hit_ratio: float | None = None


def day_plot(plan: Plan) -> LinePlot | None:
    """Return the plot of the day; None if the cluster has no cache to warm."""
    day, cold = first_day(plan), plan.bad_hours.cold
    if day is None or cold is None:
        return None
    offered = plan.throughput.offered_reads_per_second
    served = f"{cold.reads_per_second:,.0f}{'' if offered is None else f' of {offered:,.0f}'} reads/s"
    text = f"The caches are empty: the cluster serves {served}, which cause {cold.gets_per_second:,.0f} GETs/s."
    start = Event(text=text, label="start", hours=0.0, hit_ratio=0.0)
    events = (start, *_events(plan, day))
    lines = (
        Series(name="under the load", points=day.course, style=1),
        Series(name="fill without reads", points=day.fill, style=2),
        Series(name="fill without reads, boosted", points=day.boosted, style=3),
    )
    return LinePlot(
        title=TITLE,
        description=" ".join(event.text for event in events),
        x=Axis(label="time after the start", least=0, most=HOURS, kind="hours"),
        y=Axis(label="hit ratio", least=0, most=1, kind="share"),
        series=tuple(line for line in lines if line.points),
        marks=tuple(_marks(events)),
        events=tuple(event.text for event in events),
    )


def _marks(events: Iterable[Event]) -> Iterator[Mark]:
    for event in events:
        if event.hours is not None and event.hit_ratio is not None and event.hours <= HOURS:
            yield Mark(x=event.hours, y=event.hit_ratio, label=event.label)


def _events(plan: Plan, day: FirstDay) -> Iterator[Event]:
    yield _full(plan, day)
    if plan.warm_up.server is not None:
        yield Event(text=_boost(plan, plan.warm_up.server))
    if day.restart_hours is None:
        late = f"The caches are not full at {_time(RESTART_HOURS)}, so the plot shows no restart and no loss of a node."
        yield Event(text=late)
        return
    restart = f"At {_time(day.restart_hours)}, a server restarts in {format_duration(plan.restart.seconds)}."
    text, ratio = f"{restart} Its cache is kept, so the hit ratio stays.", day.hit_ratio(day.restart_hours)
    yield Event(text=text, label="restart", hours=day.restart_hours, hit_ratio=ratio)
    yield from _loss(plan, day)


def _full(plan: Plan, day: FirstDay) -> Event:
    full, p99 = _time(day.full_hours), f"{plan.throughput.p99_latency_ms:,.0f} ms"
    gets = f"{plan.s3.gets_per_hour_warm / SECONDS_PER_HOUR:,.0f} GETs/s"
    text = f"After {full}, the caches are full. Warm, the p99 is {p99}, and reads cause {gets}."
    return Event(text=text, label="full", hours=day.full_hours, hit_ratio=day.hit_ratio(day.full_hours))


def _boost(plan: Plan, server: ServerFill) -> str:
    """Return how long a fill without reads takes, with and without the fastest boost."""
    alone = format_duration(server.time(server.volume.throughput_mib_s, server.sustained).seconds)
    if not plan.warm_up.boosts:
        return f"Without reads, a fill takes {alone}; a boost of the cache volumes would not shorten it."
    boost = plan.warm_up.boosts[-1]
    raised = f"{format_duration(boost.seconds)} with a boost to {boost.throughput_mib_s:,} MiB/s"
    return f"Without reads, a fill takes {alone}, or {raised} at {format_usd(boost.usd_per_hour)}/h."


def _loss(plan: Plan, day: FirstDay) -> Iterator[Event]:
    lost, new = plan.bad_hours.lost_node, plan.bad_hours.replaced_node
    if lost is None:
        yield Event(text="The cluster has one core node, so its loss is an outage.")
    if lost is None or new is None or day.loss_hours is None or day.refilled_hours is None:
        return
    offline = (
        f"{format_percent(lost.rows_fraction)} of the rows are offline for {format_duration(lost.offline_seconds)}"
    )
    cold = f"the hit ratio is {format_percent(new.hit_ratio)}, the p99 {new.p99_latency_ms:,.0f} ms"
    text = f"At {_time(day.loss_hours)}, a node is lost: {offline}. Until the new node is warm, {cold}."
    yield Event(text=text, label="node lost", hours=day.loss_hours, hit_ratio=new.hit_ratio)
    regions = format_duration(new.launch_seconds + new.regions_seconds)
    warm = f"{format_duration(new.warm_seconds)} and {new.gets / MILLION:,.1f} million GETs"
    text = f"The node that replaces it has its regions after {regions}, and a warm cache after another {warm}."
    yield Event(text=text, label="refilled", hours=day.refilled_hours, hit_ratio=plan.hit_ratio.predicted)


def _time(hours: float) -> str:
    return format_duration(hours * SECONDS_PER_HOUR)


MOST_HOURS: Final = 24
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
    load = plan.throughput
    bars = (
        Bar(
            name=resource.name,
            value=load.reads_per_second / resource.max_reads_per_second,
            strong=resource.name == load.bottleneck,
        )
        for resource in load.resources
    )
    return Plots(
        lines={"hits": hits, "cold": _cold(plan), "day": day_plot(plan)},
        bars={
            "resources": bar_plot("share", bars, shortest=1.0),
            "memory": bar_plot("size", memory),
            "cost": cost_plot(plan.cost),
        },
    )


def _cold(plan: Plan) -> LinePlot | None:
    """Return the reads that the cluster serves while its caches fill; None if it has no cache to fill."""
    cold, load = plan.bad_hours.cold, plan.throughput
    if cold is None or not cold.course:
        return None
    end = min(MOST_HOURS, max(LEAST_HOURS, cold.course[-1][0]) * 1.1)
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
