"""The dashboards of one cluster, with the graphs of its cache and of its reads.

The cache's graphs show the reads that it answers, its fill, and the blocks that it loses. They do not show the lifetime
ratio `l2CacheHitRatio`, which averages over everything since each server's start. The ratios here are of one minute:
the cluster's, weighted by requests, and the worst server's, because one cold server of eleven slows a multi-get as much
as eleven do.

The graphs of reads show their rate and latency, the handlers they wait for, and their load on S3 and volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warmbase.configurations.metrics import COLD, COOL, metric
from warmbase.dashboards.expected import warm_fill
from warmbase.dashboards.graph import FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark, Statistic, board_body, search
from warmbase.dashboards.node import node_graphs
from warmbase.environments.environment import Root
from warmbase.environments.names import emr_cluster_name
from warmbase.ground.units import MIB
from warmbase.sizing.modes import Board
from warmbase.sizing.plan import Plan


def boards(plan: Plan, root: Root) -> Mapping[str, tuple[Graph, ...]]:
    """Return the graphs of each dashboard that the storage mode has, by the dashboard's name."""
    name = emr_cluster_name(plan.environment, plan.cluster)
    graphs: Mapping[Board, Callable[[], tuple[Graph, ...]]] = {
        "cache": lambda: cache_graphs(plan),
        "reads": lambda: read_graphs(plan, root),
        "nodes": lambda: node_graphs(plan),
    }
    return {f"{name}-{board}": graphs[board]() for board in plan.mode.dashboards}


def dashboard_bodies(plan: Plan, region: str, root: Root) -> Mapping[str, str]:
    """Return each DashboardBody by its dashboard's name; CloudFormation fills in `${ClusterId}`."""
    return {name: board_body(graphs, region) for name, graphs in boards(plan, root).items()}


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
    Mark(value=COOL, label=f"{COOL:.2f}: a server is not fully warm below this"),
    Mark(value=COLD, label=f"{COLD:.2f}: a server is cold below this"),
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
            GraphLine(of=f"SUM({_of('Below90', 'Maximum')})", id="cool", label=f"hit ratio below {COOL:.2f}"),
            GraphLine(of=f"SUM({_of('Below80', 'Maximum')})", id="cold", label=f"hit ratio below {COLD:.2f}"),
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


REQUESTS_TITLE = "Requests per second, all RegionServers (too low in the minute of a restart)"


def read_graphs(plan: Plan, root: Root) -> tuple[Graph, ...]:
    """Return the graphs, from what clients notice down to volumes and S3."""
    return (
        _requests(),
        *((_latency(plan),) if plan.mode.has_bucket_cache else ()),
        _handlers(plan),
        _queue(),
        *((_s3(root),) if plan.mode.keeps_data_in_s3 else ()),
        *((_volume_bytes(plan), _volume_operations(plan)) if plan.mode.has_bucket_cache else ()),
    )


def of_root(name: str, root: Root) -> Exact:
    """Return a request metric of the HBase root."""
    dimensions = {"BucketName": root.bucket, "FilterId": root.metrics_id}
    return Exact(metric=metric(name), dimensions=dimensions, statistic="Sum")


def rate(attribute: str, identity: str, label: str) -> tuple[GraphLine, GraphLine]:
    """Return the rate of a counter over all daemons. A restart resets the counter, and its minute is drawn as 0."""
    summed = f"SUM(RATE({search(metric(attribute), 'Maximum', MINUTE)}))"
    return (
        GraphLine(of=summed, id=f"{identity}_change", label=label, visible=False),
        GraphLine(of=f"IF({identity}_change > 0, {identity}_change, 0)", id=identity, label=label),
    )


def _requests() -> Graph:
    return Graph(
        title=REQUESTS_TITLE,
        lines=(*rate("readRequestCount", "reads", "reads"), *rate("writeRequestCount", "writes", "writes")),
        unit="requests/s",
    )


def _latency(plan: Plan) -> Graph:
    return Graph(
        title="Latency of gets, 99th percentile, by RegionServer",
        lines=(GraphLine(of=search(metric("GetP99"), "Maximum", MINUTE), id="p99"),),
        unit="ms",
        marks=(
            Mark(value=round(plan.busiest_hour.p99_latency_ms, 1), label="planned p99, with waiting time (estimate)"),
        ),
    )


def _handlers(plan: Plan) -> Graph:
    return Graph(
        title="Handlers in use, by RegionServer (requests queue when all are)",
        lines=(GraphLine(of=search(metric("numActiveHandler"), "Maximum", MINUTE), id="handlers"),),
        unit="handlers",
        marks=(Mark(value=plan.handlers, label="all handlers"),),
    )


def _queue() -> Graph:
    return Graph(
        title="Requests waiting for a handler, by RegionServer",
        lines=(GraphLine(of=search(metric("queueSize"), "Maximum", MINUTE), id="queue"),),
        unit="bytes",
    )


def _s3(root: Root) -> Graph:
    return Graph(
        title="Requests to S3 below the HBase root, per five minutes",
        lines=(
            GraphLine(of=of_root("GetRequests", root), id="gets", label="GETs"),
            GraphLine(of=of_root("5xxErrors", root), id="refused", label="refused (5xx)"),
        ),
        unit="requests",
        period_seconds=FIVE_MINUTES,
    )


def _volume_name(plan: Plan) -> str:
    """Return the name of the volume that the node's metrics describe: the busiest, where the cache has several."""
    return "busiest cache volume" if plan.core.volume("cache").count > 1 else "cache volume"


def _volume_bytes(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    provisioned = (volume.throughput_mib_s or 0) * MIB
    return Graph(
        title=f"Throughput of the {_volume_name(plan)}, busiest node",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeBytes'), 'Sum', MINUTE)}) / {MINUTE}", id="bytes", label="busiest"
            ),
        ),
        unit="B/s",
        marks=(Mark(value=provisioned, label="provisioned"),) if provisioned else (),
    )


def _volume_operations(plan: Plan) -> Graph:
    volume = plan.core.volume("cache")
    provisioned = volume.iops or 0
    return Graph(
        title=f"Reads and writes of the {_volume_name(plan)}, busiest node",
        lines=(
            GraphLine(
                of=f"MAX({search(metric('VolumeOperations'), 'Sum', MINUTE)}) / {MINUTE}", id="io", label="busiest"
            ),
        ),
        unit="IO/s",
        marks=(Mark(value=provisioned, label="provisioned"),) if provisioned else (),
    )
