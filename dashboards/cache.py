"""The dashboard of the cache: the reads that it answers, its fill, and the blocks that it loses.

It does not show the lifetime ratio `l2CacheHitRatio`, which averages over everything since each server's start. The
ratios here are of one minute: the cluster's, weighted by requests, and the worst server's, because one cold server of
eleven slows a multi-get as much as eleven do.
"""

from __future__ import annotations

from configurations.metrics import metric
from dashboards.expected import warm_fill
from dashboards.graph import MINUTE, Graph, GraphLine, Mark
from dashboards.query import Statistic, search
from sizing.plan import Plan

WARM, COLD = 0.90, 0.80
CURVE_HOURS = (0.5, 1.0, 2.0, 6.0)
HIT_RATIO_TITLE = "Hit ratio per minute, all RegionServers, weighted by requests"
WORST_TITLE = "Hit ratio per minute, worst RegionServer"
LOW_TITLE = "RegionServers with a low hit ratio, and RegionServers that lost their cache in a restart"


def cache_graphs(plan: Plan) -> tuple[Graph, ...]:
    """Return the graphs, from the cluster to its servers, and from the state to its causes."""
    return (
        _hit_ratio(plan),
        _worst(),
        _by_server(),
        _cold(),
        _fill(plan),
        _warming(plan),
        _reads(),
        _evictions(plan),
        _index_age(plan),
    )


def _of(name: str, statistic: Statistic) -> str:
    return search(metric(name), statistic, MINUTE)


TIERS = (
    Mark(value=WARM, label="0.90: a server is not fully warm below this"),
    Mark(value=COLD, label="0.80: a server is cold below this"),
)


def _ratio() -> tuple[GraphLine, GraphLine, GraphLine]:
    """Return the hit ratio of a minute: hits and misses are summed over the servers before they are divided."""
    return (
        GraphLine(of=f"SUM({_of('Hits', 'Sum')})", id="hits", label="hits", visible=False),
        GraphLine(of=f"SUM({_of('Misses', 'Sum')})", id="misses", label="misses", visible=False),
        GraphLine(of="hits / (hits + misses)", id="ratio", label="hit ratio"),
    )


def _hit_ratio(plan: Plan) -> Graph:
    return Graph(
        title=HIT_RATIO_TITLE,
        lines=_ratio(),
        unit="hit ratio",
        most=1.0,
        marks=(Mark(value=round(plan.hit_ratio.predicted, 4), label="planned when warm"), *TIERS),
    )


def _worst() -> Graph:
    return Graph(
        title=WORST_TITLE,
        lines=(GraphLine(of=f"MIN({_of('HitRatio', 'Minimum')})", id="worst", label="lowest hit ratio"),),
        unit="hit ratio",
        most=1.0,
        marks=TIERS,
    )


def _cold() -> Graph:
    return Graph(
        title=LOW_TITLE,
        lines=(
            GraphLine(of=f"SUM({_of('Below90', 'Maximum')})", id="cool", label="hit ratio below 0.90"),
            GraphLine(of=f"SUM({_of('Below80', 'Maximum')})", id="cold", label="hit ratio below 0.80"),
            GraphLine(of=f"SUM({_of('CacheLost', 'Maximum')})", id="lost", label="cache lost"),
        ),
        unit="servers",
    )


def _by_server() -> Graph:
    return Graph(
        title="Hit ratio per minute, by RegionServer",
        lines=(GraphLine(of=_of("HitRatio", "Average"), id="ratios"),),
        unit="hit ratio",
        most=1.0,
        marks=TIERS,
    )


def _fill(plan: Plan) -> Graph:
    return Graph(
        title="Cache fill, by RegionServer",
        lines=(GraphLine(of=_of("Fill", "Average"), id="fill"),),
        unit="fraction of slots",
        most=1.0,
        marks=(
            Mark(value=0.95, label="0.95: eviction starts"),
            Mark(value=round(warm_fill(plan), 3), label="planned when warm"),
        ),
    )


def _reads() -> Graph:
    return Graph(
        title="Block reads per second, all RegionServers",
        lines=(
            GraphLine(of=f"SUM({_of('Hits', 'Sum')}) / {MINUTE}", id="hits", label="from the cache"),
            GraphLine(of=f"SUM({_of('Misses', 'Sum')}) / {MINUTE}", id="misses", label="from S3"),
        ),
        unit="blocks/s",
    )


def _evictions(plan: Plan) -> Graph:
    expected = "none planned" if plan.hit_ratio.predicted >= 1 else "planned, because not all data fits"
    return Graph(
        title=f"Blocks evicted ({expected}), and blocks not cached because a writer's queue was full",
        lines=(
            GraphLine(of=f"SUM({_of('Evictions', 'Sum')}) / {MINUTE}", id="evicted", label="evicted"),
            GraphLine(of=f"SUM({_of('FailedInsertions', 'Sum')}) / {MINUTE}", id="failed", label="not cached"),
        ),
        unit="blocks/s",
    )


def _warming(plan: Plan) -> Graph:
    """Return the warm-up graph. CloudWatch draws no curve that begins at a restart, so marks show the plan by hours."""
    curve = dict(plan.warm_up.curve)
    marks = [
        Mark(value=round(curve[hours], 3), label=f"planned {hours:g} h after a cold start")
        for hours in CURVE_HOURS
        if hours in curve and curve[hours] < 1
    ]
    return Graph(
        title="Warm-up by reads: hit ratio against the plan, and mean fill",
        lines=(
            *_ratio(),
            GraphLine(of=f"AVG({_of('Fill', 'Average')})", id="mean_fill", label="mean fill"),
        ),
        unit="hit ratio",
        most=1.0,
        marks=tuple(marks),
    )


def _index_age(plan: Plan) -> Graph:
    return Graph(
        title="Cache at risk in a crash: seconds since its index was saved, by RegionServer",
        lines=(GraphLine(of=_of("IndexBehindSeconds", "Maximum"), id="behind"),),
        unit="s",
        marks=(Mark(value=plan.persistence.interval_ms / 1000, label="planned interval between saves"),),
    )
