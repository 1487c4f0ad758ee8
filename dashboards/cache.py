"""The dashboard of the cache: how much of what is read it answers, how full it is, what it loses.

The lifetime ratio `l2CacheHitRatio` is not drawn: it averages over everything since each server's start. Ratios here
are of one minute, weighted by requests for the cluster, and beside that the worst server's, for one cold server of
eleven costs a multi-get as much as eleven.
"""

from __future__ import annotations

from configurations.metrics import metric
from dashboards.expected import warm_fill
from dashboards.graph import MINUTE, Graph, GraphLine, Mark
from dashboards.query import Statistic, search
from sizing.plan import Plan

__all__ = ["cache_graphs"]

COOL, COLD = 0.90, 0.80
CURVE_HOURS = (0.5, 1.0, 2.0, 6.0)


def cache_graphs(plan: Plan) -> tuple[Graph, ...]:
    """From the cluster to its servers, and from how it is to how it came about."""
    return (
        _hit_ratio(plan),
        _worst(),
        _by_server(),
        _cold(),
        _fill(plan),
        _warming(plan),
        _reads(),
        _rows_at_risk(plan),
        _index_age(plan),
    )


def _of(name: str, statistic: Statistic) -> str:
    return search(metric(name), statistic, MINUTE)


TIERS = (
    Mark(value=COOL, label="0.90: below it a server is cool"),
    Mark(value=COLD, label="0.80: below it a server is cold"),
)


def _ratio() -> tuple[GraphLine, GraphLine, GraphLine]:
    """Hits of all block reads of a minute, summed over the servers before they are divided."""
    return (
        GraphLine(of=f"SUM({_of('Hits', 'Sum')})", id="hits", label="hits", visible=False),
        GraphLine(of=f"SUM({_of('Misses', 'Sum')})", id="misses", label="misses", visible=False),
        GraphLine(of="hits / (hits + misses)", id="ratio", label="hit ratio"),
    )


def _hit_ratio(plan: Plan) -> Graph:
    return Graph(
        title="Hit ratio by the minute, all RegionServers, weighted by requests",
        lines=_ratio(),
        unit="0 to 1",
        most=1.0,
        marks=(Mark(value=round(plan.hit_ratio.predicted, 4), label="planned, once warm"), *TIERS),
    )


def _worst() -> Graph:
    return Graph(
        title="Hit ratio by the minute, the worst RegionServer's",
        lines=(GraphLine(of=f"MIN({_of('HitRatio', 'Minimum')})", id="worst", label="worst hit ratio"),),
        unit="0 to 1",
        most=1.0,
        marks=TIERS,
    )


def _cold() -> Graph:
    return Graph(
        title="RegionServers that are cool, cold, or have lost their cache in a restart",
        lines=(
            GraphLine(of=f"SUM({_of('Below90', 'Maximum')})", id="cool", label="below 0.90"),
            GraphLine(of=f"SUM({_of('Below80', 'Maximum')})", id="cold", label="below 0.80"),
            GraphLine(of=f"SUM({_of('CacheLost', 'Maximum')})", id="lost", label="lost their cache"),
        ),
        unit="servers",
    )


def _by_server() -> Graph:
    return Graph(
        title="Hit ratio by the minute, by RegionServer",
        lines=(GraphLine(of=_of("HitRatio", "Average"), id="ratios"),),
        unit="0 to 1",
        most=1.0,
        marks=TIERS,
    )


def _fill(plan: Plan) -> Graph:
    return Graph(
        title="Cache filled, by RegionServer",
        lines=(GraphLine(of=_of("Fill", "Average"), id="fill"),),
        unit="of the slots",
        most=1.0,
        marks=(
            Mark(value=0.95, label="0.95: evictions begin"),
            Mark(value=round(warm_fill(plan), 3), label="planned, once warm"),
        ),
    )


def _reads() -> Graph:
    return Graph(
        title="Block reads a second, all RegionServers: from the cache, and from S3",
        lines=(
            GraphLine(of=f"SUM({_of('Hits', 'Sum')}) / {MINUTE}", id="hits", label="hits"),
            GraphLine(of=f"SUM({_of('Misses', 'Sum')}) / {MINUTE}", id="misses", label="misses"),
        ),
        unit="blocks/s",
    )


def _rows_at_risk(plan: Plan) -> Graph:
    expected = "the plan evicts none" if plan.hit_ratio.predicted >= 1 else "the plan evicts, for not all fits"
    return Graph(
        title=f"Blocks evicted ({expected}), and not cached because a writer's queue was full",
        lines=(
            GraphLine(of=f"SUM({_of('Evictions', 'Sum')}) / {MINUTE}", id="evicted", label="evicted"),
            GraphLine(of=f"SUM({_of('FailedInsertions', 'Sum')}) / {MINUTE}", id="failed", label="not cached"),
        ),
        unit="blocks/s",
    )


def _warming(plan: Plan) -> Graph:
    """CloudWatch draws no curve that begins at a restart: the plan's is marked at some hours."""
    curve = dict(plan.warm_up.curve)
    marks = [
        Mark(value=round(curve[hours], 3), label=f"planned {hours:g} h after a cold start")
        for hours in CURVE_HOURS
        if hours in curve and curve[hours] < 1
    ]
    return Graph(
        title="Warming: hit ratio against the plan's warm-up by reads, and the mean fill",
        lines=(
            *_ratio(),
            GraphLine(of=f"AVG({_of('Fill', 'Average')})", id="mean_fill", label="mean fill"),
        ),
        unit="0 to 1",
        most=1.0,
        marks=tuple(marks),
    )


def _index_age(plan: Plan) -> Graph:
    return Graph(
        title="What a crash would lose: since when an index lacks what its cache holds",
        lines=(GraphLine(of=_of("IndexBehindSeconds", "Maximum"), id="behind"),),
        unit="s",
        marks=(Mark(value=plan.persistence.interval_ms / 1000, label="it is written at least so often"),),
    )
