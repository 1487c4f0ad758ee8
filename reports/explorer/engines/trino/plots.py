"""The plots of the plan of an analytics cluster, and their places on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from facts.instance_types import instance_types
from reports.explorer.drawing import (
    PRICES,
    Bar,
    BarPlot,
    LinePlot,
    Place,
    Plots,
    bar_plot,
    cost_place,
    cost_plot,
    hit_ratio_plot,
    hits_place,
    inputs_place,
)
from sizing.cache_price import group_cache_price
from sizing.engines.trino.pages import usable_bytes
from sizing.engines.trino.plan import TrinoPlan
from sizing.prices import PriceTable
from sizing.units import GIB

PLACES: Final = (
    hits_place("workers"),
    Place(
        id="resources",
        kind="bars",
        title="Resource use in the busiest hour",
        advice="The share of each limit that queries use with warm caches. The longest bar limits the cluster.",
        rows=5,
    ),
    Place(
        id="memory",
        kind="bars",
        title="Memory of a worker",
        advice="EMR sets the heap (estimate). Queries may take as much as shown; the metadata of cached pages is beside"
        " them.",
        rows=4,
    ),
    cost_place(),
    Place(
        id=PRICES,
        kind="prices",
        title="Price by working set, for each place of the cache",
        advice="The lowest line is the cheapest place that meets your targets. A line ends where no cluster meets"
        " them.",
        x="working set",
        is_wide=True,
    ),
    inputs_place(),
)


def plots(plan: TrinoPlan, prices: PriceTable) -> Plots:
    """Return the plots of a plan."""
    return Plots(
        lines={"hits": _hits(plan, prices)},
        bars={
            "resources": _resources(plan),
            "memory": bar_plot("size", _memory(plan)),
            "cost": cost_plot(plan.cost),
        },
    )


def _hits(plan: TrinoPlan, prices: PriceTable) -> LinePlot:
    """Return the curve over the pages in all caches: Alluxio leaves a part of their configured size empty."""
    cached_bytes = plan.workers.count * usable_bytes(plan.cache.size_gib * GIB)
    usd = group_cache_price(plan.workers, cached_bytes, plan.hit_ratio.curve[-1][0], prices)
    return hit_ratio_plot(plan.hit_ratio, cached_bytes, usd, "pages in the caches of all workers")


def _resources(plan: TrinoPlan) -> BarPlot:
    queries = plan.queries
    bars = (
        Bar(
            name=one.name,
            value=queries.peak_per_hour / one.most_per_hour if one.most_per_hour else 0.0,
            strong=one.name == queries.bottleneck,
        )
        for one in queries.resources
    )
    return bar_plot("share", bars, shortest=1.0)


def _memory(plan: TrinoPlan) -> Iterator[Bar]:
    """Yield the parts of a worker's memory, which sum to it."""
    memory = plan.memory
    yield Bar(name="queries, at most", value=memory.query_bytes_per_worker)
    yield Bar(name="metadata of cached pages", value=memory.page_index_bytes)
    used_bytes = memory.query_bytes_per_worker + memory.page_index_bytes
    yield Bar(name="other heap", value=max(0, memory.heap_bytes - used_bytes))
    ram_bytes = instance_types()[plan.workers.instance_type].memory_bytes
    yield Bar(name="outside the heap", value=ram_bytes - memory.heap_bytes)
