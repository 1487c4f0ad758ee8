"""The dashboard and the alarms of an analytics cluster, and the metrics that both use.

The program on each worker publishes the metrics once a minute, of that minute. Dashboards and alarms use no others, and
CloudWatch charges for each on every worker. ReadFromCache, ReadFromRemote and HitRate are RubiX's names for the same
figures. The dashboard shows what the caches answer, how full they are, and what they lose.

Metric alarms have thresholds from the plan, and composite alarms notify. A worker that is down also lowers the hit
rate; only `call-servers` notifies then. Caches that are filling miss more than planned, which is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from warmbase.configurations.metrics import Metric, MetricSource
from warmbase.dashboards.alarm import Alarm, CompositeAlarm, alarm_above, alarm_below, any_of, in_alarm
from warmbase.dashboards.graph import MINUTE, Aggregate, Graph, GraphLine, Mark, Statistic, board_body, insights, search
from warmbase.dashboards.node import core_node_missing, disk_full, disk_graph, of_cluster
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.environments.names import emr_cluster_name
from warmbase.ground.units import GIB, MIB


def trino_dashboards(plan: TrinoPlan, region: str) -> Mapping[str, str]:
    """Return each DashboardBody by its dashboard's name; CloudFormation fills in `${ClusterId}`."""
    return {name: board_body(graphs, region) for name, graphs in trino_boards(plan).items()}


def trino_boards(plan: TrinoPlan) -> Mapping[str, tuple[Graph, ...]]:
    """Return the graphs of the one dashboard, from the cluster to its workers, and from the state to its causes."""
    hit_rate = Graph(
        title="HitRate per minute, all workers, weighted by bytes",
        lines=_ratio("ReadFromCache", "ReadFromRemote", "hit rate"),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )
    worst = Graph(
        title="HitRate per minute, worst worker",
        lines=(GraphLine(of=f"MIN({_of('HitRate', 'Minimum')})", id="worst", label="lowest hit rate"),),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )
    by_worker = Graph(
        title="HitRate per minute, by worker",
        lines=(GraphLine(of=_of("HitRate", "Average"), id="rates"),),
        unit="hit rate",
        most=1.0,
        marks=_marks(plan),
    )
    hit_rate_of_reads = Graph(
        title="Share of reads that the caches answer, all workers, weighted by reads",
        lines=_ratio("CacheReads", "RemoteReads", "share of reads"),
        unit="share of reads",
        most=1.0,
    )
    reads = Graph(
        title="Reads per second, all workers",
        lines=(
            GraphLine(of=f"SUM({_of('CacheReads', 'Sum')}) / {MINUTE}", id="cached", label="from the caches"),
            GraphLine(of=f"SUM({_of('RemoteReads', 'Sum')}) / {MINUTE}", id="fetched", label="GETs to S3"),
        ),
        unit="reads/s",
    )
    space = Graph(
        title="Bytes of cached pages, by worker",
        lines=(GraphLine(of=f"{_of('SpaceUsed', 'Average')} / {GIB}", id="used"),),
        unit="GiB",
        marks=(
            Mark(value=plan.cache.size_gib, label="planned size of a worker's cache"),
            Mark(value=round(plan.warm_cache_bytes / GIB, 1), label="planned when warm"),
        ),
    )
    fits = plan.cache.pages >= plan.cache.working_set_pages
    expected = "none planned" if fits else "planned, because not the whole working set fits"
    evictions = Graph(
        title=f"Pages evicted per second, all workers ({expected})",
        lines=(GraphLine(of=f"SUM({_of('PagesEvicted', 'Sum')}) / {MINUTE}", id="evicted", label="evicted"),),
        unit="pages/s",
    )
    graphs = (
        hit_rate,
        worst,
        by_worker,
        hit_rate_of_reads,
        _bytes(),
        reads,
        space,
        evictions,
        disk_graph(TRINO_METRICS["DiskUsed"], "Fullest cache volume in use, by worker"),
        _workers(plan),
    )
    return {f"{emr_cluster_name(plan.environment, plan.cluster)}-cache": graphs}


def _of(name: str, statistic: Statistic) -> str:
    return search(TRINO_METRICS[name], statistic, MINUTE)


def _marks(plan: TrinoPlan) -> tuple[Mark, Mark]:
    return (
        Mark(value=round(plan.hit_rate, 4), label="planned when warm"),
        Mark(value=round(plan.least_hit_rate, 4), label="alarm below this, for half an hour"),
    )


def _ratio(cached: str, fetched: str, label: str) -> tuple[GraphLine, GraphLine, GraphLine]:
    """Return the ratio of a minute: both metrics are summed over the workers before they are divided."""
    return (
        GraphLine(of=f"SUM({_of(cached, 'Sum')})", id="cached", label="from the caches", visible=False),
        GraphLine(of=f"SUM({_of(fetched, 'Sum')})", id="fetched", label="from S3", visible=False),
        GraphLine(of="cached / (cached + fetched)", id="ratio", label=label),
    )


def _bytes() -> Graph:
    return Graph(
        title="ReadFromCache and ReadFromRemote per second, all workers",
        lines=(
            GraphLine(of=f"SUM({_of('ReadFromCache', 'Sum')}) / {MINUTE * MIB}", id="cached", label="ReadFromCache"),
            GraphLine(of=f"SUM({_of('ReadFromRemote', 'Sum')}) / {MINUTE * MIB}", id="fetched", label="ReadFromRemote"),
        ),
        unit="MiB/s",
    )


def _workers(plan: TrinoPlan) -> Graph:
    return Graph(
        title="Workers that respond, and their nodes",
        lines=(
            GraphLine(of=f"SUM({_of('Answering', 'Minimum')})", id="answering", label="workers that respond"),
            GraphLine(of=of_cluster("CoreNodesRunning"), id="nodes", label="core nodes"),
        ),
        unit="workers",
        marks=(Mark(value=plan.workers.count, label="planned workers"),),
    )


_PUBLISHED: Final = (
    # name, CloudWatch's unit, attribute or place that it is read from, meaning
    ("Answering", "Count", "JMX", "1 while Trino responds on the worker, 0 while it does not"),
    ("ReadFromCache", "Bytes", "CacheReads.AllTime.Total", "bytes that queries read from cached pages"),
    ("ReadFromRemote", "Bytes", "ExternalReads.AllTime.Total", "bytes that queries read from S3, in whole pages"),
    (
        "RemoteOverLimit", "Bytes", "ReadFromCache, ReadFromRemote",
        "bytes from S3 beyond what the limit of the hit rate allows; the sum is above 0 when the cluster is below it",
    ),
    ("HitRate", "None", "ReadFromCache, ReadFromRemote", "bytes from the cache divided by all; none without reads"),
    ("CacheReads", "Count", "CacheReads.AllTime.Count", "reads that cached pages answered"),
    ("RemoteReads", "Count", "ExternalReads.AllTime.Count", "reads from S3, each a GET of one or more pages"),
    ("PagesEvicted", "Count", "Client.CachePagesEvicted", "pages evicted to make room for others"),
    ("SpaceUsed", "Bytes", "Client.CacheSpaceUsedCount", "bytes of all cached pages of the worker"),
    ("DiskUsed", "None", "statvfs", "fraction in use of the fullest cache volume; at 0.90 EMR replaces the node"),
)  # fmt: skip

TRINO_METRICS: Final = {
    name: Metric(
        source=MetricSource.NODE,
        bean="",
        attribute=attribute,
        cloudwatch=name,
        unit=unit,
        counter=False,
        meaning=meaning,
    )
    for name, unit, attribute, meaning in _PUBLISHED
}
"""The metrics by their names in CloudWatch."""


LOW_MINUTES: Final = 30
"""The time over which the hit rate is computed. judgement: one query of new data is a small part of what is read."""
# judgement: a query or two of new data read this much from S3 in half an hour, and nobody waits for more than these.
MIN_REMOTE_BYTES: Final = 10 * GIB
SILENT_MINUTES: Final = 5  # judgement: Trino starts in one or two minutes, and waits for the pages of a large cache
MIN_FILL_OF_PLAN: Final = 0.5
"""judgement: a cache with less than this share of its planned pages is still filling. Files are spread by a hash, so a
worker of a few has less than the mean for good."""


def trino_alarms(plan: TrinoPlan) -> tuple[Alarm, ...]:
    """Return every metric alarm. None of them notifies anybody: composite alarms do."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    advice = f"Run {_plan(plan)} to see how long queries take then."
    server_silent = alarm_below(
        name="server-silent",
        watched=_of_workers("Answering", "SUM"),
        threshold=plan.workers.count,
        periods=SILENT_MINUTES,
        missing="breaching",
        description=f"Fewer than {plan.workers.count} workers have answered on their nodes for {SILENT_MINUTES} "
        "minutes. Trino or its node is down, or the node's metrics timer has stopped, and then no other alarm sees "
        f"that node. Run {_status(plan)} to see which nodes the cluster has.",
    )
    alarms = (
        core_node_missing(plan.workers.count, advice),
        server_silent,
        *_of_hit_rate(plan),
        _disk_full(plan),
    )
    return tuple(replace(alarm, name=f"{name}-{alarm.name}") for alarm in alarms)


def trino_composite_alarms(plan: TrinoPlan) -> tuple[CompositeAlarm, ...]:
    """Return the notifications, one for each kind of cause."""
    prefix = emr_cluster_name(plan.environment, plan.cluster)

    servers = any_of(f"{prefix}-core-node-missing", f"{prefix}-server-silent")
    low, filling = in_alarm(f"{prefix}-hit-ratio-low"), in_alarm(f"{prefix}-cache-filling")
    rules = {"servers": servers, "cache": low & ~filling & ~servers, "room": in_alarm(f"{prefix}-disk-full")}
    descriptions = {
        "servers": f"Workers are missing. Run {_status(plan)} to see which nodes the cluster has.",
        "cache": "Queries read more from S3 than planned, although the caches are full and no worker is missing: they "
        f"read more data than the plan assumes, or other data each time. Run {_plan(plan)} to compare.",
        "room": f"A cache volume is nearly full. Run {_plan(plan)} to see the sizes of cache and volume.",
    }
    return tuple(
        CompositeAlarm(name=f"{prefix}-call-{cause}", description=descriptions[cause], rule=str(rule))
        for cause, rule in rules.items()
    )


def _of_workers(published: str, aggregate: Aggregate) -> str:
    return insights(TRINO_METRICS[published], aggregate)


def _status(plan: TrinoPlan) -> str:
    return f"warmbase status {plan.environment}"


def _plan(plan: TrinoPlan) -> str:
    return f"warmbase plan {plan.environment} --cluster {plan.cluster}"


def _of_hit_rate(plan: TrinoPlan) -> Iterator[Alarm]:
    yield alarm_above(
        name="hit-ratio-low",
        watched=_of_workers("RemoteOverLimit", "SUM"),
        threshold=MIN_REMOTE_BYTES,
        period_seconds=LOW_MINUTES * MINUTE,
        periods=1,
        description=f"For {LOW_MINUTES} minutes less than {plan.least_hit_rate:.3f} of all bytes that queries read "
        f"came from the caches; the plan expects {plan.hit_rate:.3f}. Run {_plan(plan)} to compare what queries read "
        "with the workload of the plan.",
    )
    filled_bytes = round(MIN_FILL_OF_PLAN * plan.warm_cache_bytes)
    yield alarm_below(
        name="cache-filling",
        watched=_of_workers("SpaceUsed", "MIN"),
        threshold=filled_bytes,
        description=f"A worker's cache holds less than {filled_bytes / GIB:,.0f} GiB, because the node was replaced or "
        f"queries have not read all data yet. This is no fault. Run {_plan(plan)} to see how many queries warm the "
        "caches.",
    )


def _disk_full(plan: TrinoPlan) -> Alarm:
    volume = plan.workers.volume("cache")
    planned = plan.cache.size_gib / volume.count / volume.size_gib
    return disk_full(
        _of_workers("DiskUsed", "MAX"), planned, f"Run {_plan(plan)} to see the sizes of cache and volume."
    )
