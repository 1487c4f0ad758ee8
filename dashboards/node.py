"""The dashboard of nodes: heaps and pauses, disks, HDFS, regions that nobody serves."""

from __future__ import annotations

from configurations.metrics import metric
from dashboards.graph import FIVE_MINUTES, MINUTE, Exact, Graph, GraphLine, Mark
from dashboards.query import CLUSTER_ID, search
from sizing.plan import Plan

__all__ = ["node_graphs", "of_cluster"]

FULL = 0.85
MILLISECONDS_PER_PERCENT = 10.0
"""Of one second."""


def of_cluster(name: str) -> Exact:
    """A metric that EMR itself publishes of the cluster."""
    return Exact(metric=metric(name), dimensions={"JobFlowId": CLUSTER_ID}, statistic="Minimum")


def node_graphs(plan: Plan) -> tuple[Graph, ...]:
    """From what stops a server to what only slows it."""
    return (
        _servers(plan),
        _regions(plan),
        _heap(plan),
        _collections(),
        *((_pauses(), _disk()) if plan.mode.has_bucket_cache else ()),
        _worst(),
        _hdfs(),
    )


def _servers(plan: Plan) -> Graph:
    answering = GraphLine(
        of=f"SUM({search(metric('Answering'), 'Minimum', MINUTE)})", id="answering", label="RegionServers that answer"
    )
    dead = search(metric("numDeadRegionServers"), "Maximum", MINUTE)
    return Graph(
        title="RegionServers that answer, core nodes, and RegionServers that the master has given up",
        lines=(
            *((answering,) if plan.mode.has_bucket_cache else ()),
            GraphLine(of=of_cluster("CoreNodesRunning"), id="nodes", label="core nodes"),
            GraphLine(of=f"MAX({dead})", id="dead", label="given up"),
        ),
        unit="servers",
        marks=(Mark(value=plan.core.count, label="planned"),),
    )


def _regions(plan: Plan) -> Graph:
    meta = GraphLine(
        of=f"SUM({search(metric('HostsMeta'), 'Maximum', MINUTE)})", id="meta", label="servers that serve hbase:meta"
    )
    long = search(metric("ritCountOverThreshold"), "Maximum", MINUTE)
    return Graph(
        title="Regions that have been in transition for over a minute, and who serves hbase:meta",
        lines=(
            GraphLine(of=f"MAX({long})", id="regions", label="regions"),
            *((meta,) if plan.mode.has_bucket_cache else ()),
        ),
        unit="regions, servers",
    )


def _heap(plan: Plan) -> Graph:
    return Graph(
        title="Heap in use, garbage included, by RegionServer",
        lines=(GraphLine(of=search(metric("MemHeapUsedM"), "Maximum", MINUTE), id="heap"),),
        unit="MiB",
        marks=(Mark(value=plan.heap.xmx_mib, label="all of it"),),
    )


def _collections() -> Graph:
    spent = f"MAX(RATE({search(metric('GcTimeMillis'), 'Maximum', MINUTE)}))"
    return Graph(
        title="Time in garbage collections, the busiest RegionServer's; ZGC's is beside the requests",
        lines=(GraphLine(of=f"{spent} / {MILLISECONDS_PER_PERCENT:g}", id="collecting", label="busiest"),),
        unit="percent",
    )


def _pauses() -> Graph:
    return Graph(
        title="JVM pauses of more than ten seconds",
        lines=(GraphLine(of=f"SUM({search(metric('LongPauses'), 'Sum', MINUTE)})", id="pauses", label="pauses"),),
        unit="pauses",
    )


def _disk() -> Graph:
    return Graph(
        title="The cache's volume, by node",
        lines=(GraphLine(of=search(metric("DiskUsed"), "Maximum", MINUTE), id="disk"),),
        unit="used, of 1",
        most=1.0,
        marks=(Mark(value=FULL, label="0.85: at 0.90 YARN calls the disk unhealthy, and EMR the node"),),
    )


def _worst() -> Graph:
    worst = (
        ("waiting for disks, most", "cpu_usage_iowait", "MAX", "Average"),
        ("fullest disk (YARN calls 90 unhealthy)", "disk_used_percent", "MAX", "Maximum"),
        ("memory left, least", "mem_available_percent", "MIN", "Average"),
    )
    return Graph(
        title="The worst node",
        lines=tuple(
            GraphLine(of=f"{of_nodes}({search(metric(name), statistic, MINUTE)})", id=name, label=label)  # type: ignore[arg-type]
            for label, name, of_nodes, statistic in worst
        ),
        unit="percent",
        most=100.0,
    )


def _hdfs() -> Graph:
    return Graph(
        title="HDFS in use, where the write-ahead log lies",
        lines=(GraphLine(of=of_cluster("HDFSUtilization"), id="hdfs", label="HDFS"),),
        unit="percent",
        most=100.0,
        period_seconds=FIVE_MINUTES,
    )
