"""The graphs and alarms of nodes: heaps and pauses, disks, HDFS, and regions that no server serves.

Clusters of every engine have the alarms on core nodes and their cache volumes.
"""

from __future__ import annotations

from typing import Final

from warmbase.configurations.metrics import Metric, metric
from warmbase.dashboards.alarm import Alarm, alarm_above, alarm_below
from warmbase.dashboards.graph import CLUSTER_ID, FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark, search
from warmbase.sizing.plan import Plan
from warmbase.sizing.search.disks import FILL_FRACTION

SERVERS_TITLE = "RegionServers that respond, core nodes, and RegionServers declared dead"
FULL = FILL_FRACTION
"""The planned limit of a cache volume."""
LOW_LOCALITY = {90: "90: target", 80: "80: reads are slower below"}
"""HubSpot, Healing HBase Locality At Scale: it keeps locality above 90 percent, and sees problems below 80."""
MILLISECONDS_PER_PERCENT = 10.0  # of one second


def of_cluster(name: str) -> Exact:
    """Return a metric that EMR itself publishes for the cluster."""
    return Exact(metric=metric(name), dimensions={"JobFlowId": CLUSTER_ID}, statistic="Minimum")


def node_graphs(plan: Plan) -> tuple[Graph, ...]:
    """Return the graphs, from faults that stop a server to those that only slow it."""
    return (
        _servers(plan),
        _regions(plan),
        _heap(plan),
        _collections(),
        *(() if plan.mode.keeps_data_in_s3 else (_locality(), _servers_with_low_locality())),
        *(
            (_pauses(), disk_graph(metric("DiskUsed"), "Cache volume in use, by node"))
            if plan.mode.has_bucket_cache
            else ()
        ),
        _worst(),
        _hdfs(plan),
    )


def _servers(plan: Plan) -> Graph:
    answering = GraphLine(
        of=f"SUM({search(metric('Answering'), 'Minimum', MINUTE)})", id="answering", label="RegionServers that respond"
    )
    dead = search(metric("numDeadRegionServers"), "Maximum", MINUTE)
    return Graph(
        title=SERVERS_TITLE,
        lines=(
            *((answering,) if plan.mode.has_bucket_cache else ()),
            GraphLine(of=of_cluster("CoreNodesRunning"), id="nodes", label="core nodes"),
            GraphLine(of=f"MAX({dead})", id="dead", label="declared dead"),
        ),
        unit="servers",
        marks=(Mark(value=plan.core.count, label="planned core nodes"),),
    )


def _regions(plan: Plan) -> Graph:
    meta = GraphLine(
        of=f"SUM({search(metric('HostsMeta'), 'Maximum', MINUTE)})", id="meta", label="servers of hbase:meta"
    )
    long = search(metric("ritCountOverThreshold"), "Maximum", MINUTE)
    return Graph(
        title="Regions in transition for more than a minute, and servers of hbase:meta",
        lines=(
            GraphLine(of=f"MAX({long})", id="regions", label="regions in transition"),
            *((meta,) if plan.mode.has_bucket_cache else ()),
        ),
        unit="regions, servers",
    )


def _heap(plan: Plan) -> Graph:
    return Graph(
        title="Heap in use (with garbage), by RegionServer",
        lines=(GraphLine(of=search(metric("MemHeapUsedM"), "Maximum", MINUTE), id="heap"),),
        unit="MiB",
        marks=(Mark(value=plan.heap.xmx_mib, label="maximum heap"),),
    )


def _collections() -> Graph:
    spent = f"MAX(RATE({search(metric('GcTimeMillis'), 'Maximum', MINUTE)}))"
    return Graph(
        title="GC time, busiest RegionServer (ZGC runs concurrently)",
        lines=(GraphLine(of=f"{spent} / {MILLISECONDS_PER_PERCENT:g}", id="collecting", label="busiest"),),
        unit="percent",
    )


def _pauses() -> Graph:
    return Graph(
        title="JVM pauses longer than ten seconds",
        lines=(GraphLine(of=f"SUM({search(metric('LongPauses'), 'Sum', MINUTE)})", id="pauses", label="pauses"),),
        unit="pauses",
    )


def disk_graph(used: Metric, title: str) -> Graph:
    """Return the graph of the cache volumes, with the limit of the plan."""
    return Graph(
        title=title,
        lines=(GraphLine(of=search(used, "Maximum", MINUTE), id="disk"),),
        unit="fraction used",
        most=1.0,
        marks=(Mark(value=FULL, label=f"{FULL}: planned limit; at 0.90 EMR replaces the node"),),
    )


def _locality() -> Graph:
    return Graph(
        title="Store files on the server's own host, by RegionServer",
        lines=(GraphLine(of=_local_percent(), id="local"),),
        unit="percent",
        most=100.0,
        marks=tuple(Mark(value=percent, label=label) for percent, label in LOW_LOCALITY.items()),
    )


def _servers_with_low_locality() -> Graph:
    # Comparisons accept no array of series, but arithmetic and CEIL do. The result is 1 below the limit, otherwise 0.
    counts = {percent: f"SUM(CEIL(({percent} - {_local_percent()}) / 100))" for percent in LOW_LOCALITY}
    return Graph(
        title="RegionServers with few store files on their own hosts (warmbase heal)",
        lines=tuple(
            GraphLine(of=count, id=f"below_{percent}", label=f"below {percent} percent")
            for percent, count in counts.items()
        ),
        unit="servers",
    )


def _local_percent() -> str:
    return search(metric("percentFilesLocal"), "Minimum", MINUTE)


def _worst() -> Graph:
    worst = (
        ("highest I/O wait", "cpu_usage_iowait", "MAX", "Average"),
        ("fullest disk (unhealthy at 90)", "disk_used_percent", "MAX", "Maximum"),
        ("lowest available memory", "mem_available_percent", "MIN", "Average"),
    )
    return Graph(
        title="I/O wait, disk and memory of the worst node",
        lines=tuple(
            GraphLine(of=f"{of_nodes}({search(metric(name), statistic, MINUTE)})", id=name, label=label)  # type: ignore[arg-type]
            for label, name, of_nodes, statistic in worst
        ),
        unit="percent",
        most=100.0,
    )


def _hdfs(plan: Plan) -> Graph:
    content = "write-ahead log" if plan.mode.keeps_data_in_s3 else "data and write-ahead log"
    return Graph(
        title=f"HDFS capacity in use ({content})",
        lines=(GraphLine(of=of_cluster("HDFSUtilization"), id="hdfs", label="HDFS"),),
        unit="percent",
        most=100.0,
        period_seconds=FIVE_MINUTES,
    )


DISK_MARGIN_FRACTION: Final = 0.02  # judgement: above the planned fill, for logs and the file system's own blocks
NOT_YET_UNHEALTHY: Final = 0.89  # YARN calls a disk unhealthy at 0.90


def core_node_missing(count: int, advice: str) -> Alarm:
    """Return the alarm on fewer running core nodes than planned; `advice` ends its description."""
    return alarm_below(
        name="core-node-missing",
        watched=of_cluster("CoreNodesRunning"),
        threshold=count,
        periods=2,
        period_seconds=FIVE_MINUTES,
        missing="breaching",
        description=f"Fewer than {count} core nodes are running. A replacement node starts with an empty cache. "
        f"{advice}",
    )


def disk_full(watched: str, planned: float, advice: str) -> Alarm:
    """Return the alarm on a cache volume that is fuller than planned, before EMR replaces its node."""
    full = round(min(NOT_YET_UNHEALTHY, max(FULL, planned + DISK_MARGIN_FRACTION)), 3)
    return alarm_above(
        name="disk-full",
        watched=watched,
        threshold=full,
        description=f"A node's cache volume is filled to more than {full}; the plan fills at most {planned:.3f}. "
        f"At 0.90 YARN marks the disk as unhealthy, and EMR replaces the node together with its cache. {advice}",
    )
