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
from warmbase.dashboards.graph import FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark, board_body, by_minute
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
TIERS = (
    Mark(COOL, f"{COOL:.2f}: a server is not fully warm below this"),
    Mark(COLD, f"{COLD:.2f}: a server is cold below this"),
)


def cache_graphs(plan: Plan) -> tuple[Graph, ...]:
    """Return the graphs, from the cluster to its servers, and from the state to its causes."""
    hits, misses = f"SUM({by_minute('Hits', 'Sum')})", f"SUM({by_minute('Misses', 'Sum')})"
    # Hits and misses of a minute are summed over the servers before they are divided.
    ratio = (
        GraphLine(hits, "hits", "hits", visible=False),
        GraphLine(misses, "misses", "misses", visible=False),
        GraphLine("hits / (hits + misses)", "ratio", "hit ratio"),
    )
    # CloudWatch draws no curve that begins at a restart, so marks show the planned warm-up at some hours.
    curve = dict(plan.warm_up.curve)
    warm_up = [
        Mark(round(curve[hours], 3), f"planned {hours:g} h after a cold start")
        for hours in CURVE_HOURS
        if hours in curve and curve[hours] < 1
    ]
    evictions = "none planned" if plan.hit_ratio.predicted >= 1 else "planned, because not all data fits"
    return (
        Graph(
            "Hit ratio per minute, all RegionServers, weighted by requests",
            "hit ratio",
            ratio,
            most=1.0,
            marks=(Mark(round(plan.hit_ratio.predicted, 4), "planned when warm"), *TIERS),
        ),
        Graph(
            "Hit ratio per minute, worst RegionServer",
            "hit ratio",
            (GraphLine(f"MIN({by_minute('HitRatio', 'Minimum')})", "worst", "lowest hit ratio"),),
            most=1.0,
            marks=TIERS,
        ),
        Graph(
            "Hit ratio per minute, by RegionServer",
            "hit ratio",
            (GraphLine(by_minute("HitRatio", "Average"), "ratios"),),
            most=1.0,
            marks=TIERS,
        ),
        Graph(
            "RegionServers with a low hit ratio, and RegionServers that lost their cache in a restart",
            "servers",
            (
                GraphLine(f"SUM({by_minute('Below90', 'Maximum')})", "cool", f"hit ratio below {COOL:.2f}"),
                GraphLine(f"SUM({by_minute('Below80', 'Maximum')})", "cold", f"hit ratio below {COLD:.2f}"),
                GraphLine(f"SUM({by_minute('CacheLost', 'Maximum')})", "lost", "cache lost"),
            ),
        ),
        Graph(
            "Cache fill, by RegionServer",
            "fraction of slots",
            (GraphLine(by_minute("Fill", "Average"), "fill"),),
            most=1.0,
            marks=(Mark(0.95, "0.95: eviction starts"), Mark(round(warm_fill(plan), 3), "planned when warm")),
        ),
        Graph(
            "Warm-up by reads: hit ratio against the plan, and mean fill",
            "hit ratio",
            (*ratio, GraphLine(f"AVG({by_minute('Fill', 'Average')})", "mean_fill", "mean fill")),
            most=1.0,
            marks=tuple(warm_up),
        ),
        Graph(
            "Block reads per second, all RegionServers",
            "blocks/s",
            (
                GraphLine(f"{hits} / {MINUTE}", "hits", "from the cache"),
                GraphLine(f"{misses} / {MINUTE}", "misses", "from S3"),
            ),
        ),
        Graph(
            f"Blocks evicted ({evictions}), and blocks not cached because a writer's queue was full",
            "blocks/s",
            (
                GraphLine(f"SUM({by_minute('Evictions', 'Sum')}) / {MINUTE}", "evicted", "evicted"),
                GraphLine(f"SUM({by_minute('FailedInsertions', 'Sum')}) / {MINUTE}", "failed", "not cached"),
            ),
        ),
        Graph(
            "Cache at risk in a crash: seconds since its index was saved, by RegionServer",
            "s",
            (GraphLine(by_minute("IndexBehindSeconds", "Maximum"), "behind"),),
            marks=(Mark(plan.persistence.interval_ms / 1000, "planned interval between saves"),),
        ),
    )


def of_root(name: str, root: Root) -> Exact:
    """Return a request metric of the HBase root."""
    dimensions = {"BucketName": root.bucket, "FilterId": root.metrics_id}
    return Exact(metric=metric(name), dimensions=dimensions, statistic="Sum")


def rate(attribute: str, identity: str, label: str) -> tuple[GraphLine, GraphLine]:
    """Return the rate of a counter over all daemons. A restart resets the counter, and its minute is drawn as 0."""
    change = f"{identity}_change"
    return (
        GraphLine(f"SUM(RATE({by_minute(attribute, 'Maximum')}))", change, label, visible=False),
        GraphLine(f"IF({change} > 0, {change}, 0)", identity, label),
    )


REQUESTS_TITLE = "Requests per second, all RegionServers (too low in the minute of a restart)"


def read_graphs(plan: Plan, root: Root) -> tuple[Graph, ...]:
    """Return the graphs, from what clients notice down to volumes and S3."""
    latency, volumes, s3 = [], [], []
    if plan.mode.has_bucket_cache:
        planned = Mark(round(plan.busiest_hour.p99_latency_ms, 1), "planned p99, with waiting time (estimate)")
        p99 = (GraphLine(by_minute("GetP99", "Maximum"), "p99"),)
        latency = [Graph("Latency of gets, 99th percentile, by RegionServer", "ms", p99, marks=(planned,))]
        volume = plan.core.volume("cache")
        # If the cache has several volumes, the node's metrics describe the busiest one.
        which = "busiest cache volume" if volume.count > 1 else "cache volume"
        throughput = (volume.throughput_mib_s or 0) * MIB
        volumes = [
            Graph(
                f"Throughput of the {which}, busiest node",
                "B/s",
                (GraphLine(f"MAX({by_minute('VolumeBytes', 'Sum')}) / {MINUTE}", "bytes", "busiest"),),
                marks=(Mark(throughput, "provisioned"),) if throughput else (),
            ),
            Graph(
                f"Reads and writes of the {which}, busiest node",
                "IO/s",
                (GraphLine(f"MAX({by_minute('VolumeOperations', 'Sum')}) / {MINUTE}", "io", "busiest"),),
                marks=(Mark(volume.iops, "provisioned"),) if volume.iops else (),
            ),
        ]
    if plan.mode.keeps_data_in_s3:
        requests = (
            GraphLine(of_root("GetRequests", root), "gets", "GETs"),
            GraphLine(of_root("5xxErrors", root), "refused", "refused (5xx)"),
        )
        title = "Requests to S3 below the HBase root, per five minutes"
        s3 = [Graph(title, "requests", requests, period_seconds=FIVE_MINUTES)]
    return (
        Graph(
            REQUESTS_TITLE,
            "requests/s",
            (*rate("readRequestCount", "reads", "reads"), *rate("writeRequestCount", "writes", "writes")),
        ),
        *latency,
        Graph(
            "Handlers in use, by RegionServer (requests queue when all are)",
            "handlers",
            (GraphLine(by_minute("numActiveHandler", "Maximum"), "handlers"),),
            marks=(Mark(plan.handlers, "all handlers"),),
        ),
        Graph(
            "Requests waiting for a handler, by RegionServer",
            "bytes",
            (GraphLine(by_minute("queueSize", "Maximum"), "queue"),),
        ),
        *s3,
        *volumes,
    )
