"""The graphs and alarms of nodes: heaps and pauses, disks, HDFS, and regions that no server serves.

Clusters of every engine have the alarms on core nodes and their cache volumes.
"""

from __future__ import annotations

from typing import Final

from warmbase.configurations.metrics import Metric, metric
from warmbase.dashboards.alarm import Alarm, alarm_above, alarm_below
from warmbase.dashboards.graph import CLUSTER_ID, FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark, by_minute, search
from warmbase.sizing.plan import Plan
from warmbase.sizing.search.disks import FILL_FRACTION

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
    has_cache, in_s3 = plan.mode.has_bucket_cache, plan.mode.keeps_data_in_s3
    answering = GraphLine(f"SUM({by_minute('Answering', 'Minimum')})", "answering", "RegionServers that respond")
    meta = GraphLine(f"SUM({by_minute('HostsMeta', 'Maximum')})", "meta", "servers of hbase:meta")
    local = by_minute("percentFilesLocal", "Minimum")
    locality = (
        Graph(
            "Store files on the server's own host, by RegionServer",
            "percent",
            (GraphLine(local, "local"),),
            most=100.0,
            marks=tuple(Mark(percent, label) for percent, label in LOW_LOCALITY.items()),
        ),
        Graph(
            "RegionServers with few store files on their own hosts (warmbase heal)",
            "servers",
            # Comparisons accept no array of series, but arithmetic and CEIL do: 1 below the limit, otherwise 0.
            tuple(
                GraphLine(f"SUM(CEIL(({percent} - {local}) / 100))", f"below_{percent}", f"below {percent} percent")
                for percent in LOW_LOCALITY
            ),
        ),
    )
    pauses = (GraphLine(f"SUM({by_minute('LongPauses', 'Sum')})", "pauses", "pauses"),)
    of_cache = (
        Graph("JVM pauses longer than ten seconds", "pauses", pauses),
        disk_graph(metric("DiskUsed"), "Cache volume in use, by node"),
    )
    return (
        Graph(
            "RegionServers that respond, core nodes, and RegionServers declared dead",
            "servers",
            (
                *((answering,) if has_cache else ()),
                GraphLine(of_cluster("CoreNodesRunning"), "nodes", "core nodes"),
                GraphLine(f"MAX({by_minute('numDeadRegionServers', 'Maximum')})", "dead", "declared dead"),
            ),
            marks=(Mark(plan.core.count, "planned core nodes"),),
        ),
        Graph(
            "Regions in transition for more than a minute, and servers of hbase:meta",
            "regions, servers",
            (
                GraphLine(f"MAX({by_minute('ritCountOverThreshold', 'Maximum')})", "regions", "regions in transition"),
                *((meta,) if has_cache else ()),
            ),
        ),
        Graph(
            "Heap in use (with garbage), by RegionServer",
            "MiB",
            (GraphLine(by_minute("MemHeapUsedM", "Maximum"), "heap"),),
            marks=(Mark(plan.heap.xmx_mib, "maximum heap"),),
        ),
        Graph(
            "GC time, busiest RegionServer (ZGC runs concurrently)",
            "percent",
            (
                GraphLine(
                    f"MAX(RATE({by_minute('GcTimeMillis', 'Maximum')})) / {MILLISECONDS_PER_PERCENT:g}",
                    "collecting",
                    "busiest",
                ),
            ),
        ),
        *(() if in_s3 else locality),
        *(of_cache if has_cache else ()),
        Graph(
            "I/O wait, disk and memory of the worst node",
            "percent",
            (
                GraphLine(f"MAX({by_minute('cpu_usage_iowait', 'Average')})", "cpu_usage_iowait", "highest I/O wait"),
                GraphLine(
                    f"MAX({by_minute('disk_used_percent', 'Maximum')})",
                    "disk_used_percent",
                    "fullest disk (unhealthy at 90)",
                ),
                GraphLine(
                    f"MIN({by_minute('mem_available_percent', 'Average')})",
                    "mem_available_percent",
                    "lowest available memory",
                ),
            ),
            most=100.0,
        ),
        Graph(
            f"HDFS capacity in use ({'write-ahead log' if in_s3 else 'data and write-ahead log'})",
            "percent",
            (GraphLine(of_cluster("HDFSUtilization"), "hdfs", "HDFS"),),
            most=100.0,
            period_seconds=FIVE_MINUTES,
        ),
    )


def disk_graph(used: Metric, title: str) -> Graph:
    """Return the graph of the cache volumes, with the limit of the plan."""
    limit = Mark(FULL, f"{FULL}: planned limit; at 0.90 EMR replaces the node")
    lines = (GraphLine(search(used, "Maximum", MINUTE), "disk"),)
    return Graph(title, "fraction used", lines, most=1.0, marks=(limit,))


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
