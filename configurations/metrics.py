"""The metrics of a cluster: everything that is published of it, and so everything that may be drawn or alarmed on.

`emr-metrics` is rendered from it, the node's own program publishes what it says of a node, and dashboards and alarms
are made of its metrics alone; tests hold each of these against it. Each metric costs by node and month, so EMR's agent
names what is drawn and its 34 default system metrics give way to three.

HBase has counters since each daemon's start, and a lifetime ratio that means nothing of now. CloudWatch cannot divide
one server's counters by each other for servers that it finds by SEARCH, and an alarm may not search. So what is alarmed
on, and all of the cache, is published by the node: windows of a minute, differenced there. Attributes were read in
HBase 2.6.2, and since when they are there in the constants of hbase-hadoop-compat 1.4.14, 2.0.6, 2.1.10, 2.2.7, 2.3.7,
2.4.0 to 2.4.18, 2.5.0, 2.5.11, 2.6.0 and 2.6.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sizing.modes import Mode

__all__ = [
    "EXPORT_INTERVAL_MS",
    "METRICS",
    "MISSES_FOR_ONE",
    "NEWEST_LOOKED_AT",
    "OF_AGENT",
    "Metric",
    "MetricSource",
    "metric",
    "metrics_of",
]

EXPORT_INTERVAL_MS: Final = 60_000
"""As fine as a standard metric is kept; the recipe's 30 s would be folded into it."""


MISSES_FOR_ONE: Final = 2
"""What HBase 2.6 counts for one block that is not in its BucketCache: a reader that misses looks again under the
block's lock, and CombinedBlockCache counts that look too, for it does not ask whether it is one (HBASE-28189).
Source: CombinedBlockCache.getBlock of 2.6.2 and 2.6.4; measured with 2.6.2 by the lab."""


class MetricSource(StrEnum):
    """Who publishes: a daemon, by the classification under `emr-metrics` that asks for it; the node's program; AWS."""

    REGION_SERVER = "emr-hbase-region-server-metrics"
    MASTER = "emr-hbase-master-metrics"
    SYSTEM = "emr-system-metrics"
    NODE = "warmbase"
    S3 = "AWS/S3"
    EMR = "AWS/ElasticMapReduce"


OF_AGENT: Final = frozenset({MetricSource.REGION_SERVER, MetricSource.MASTER, MetricSource.SYSTEM})
OF_AWS: Final = frozenset({MetricSource.S3, MetricSource.EMR})
DIMENSIONS: Final = {
    **dict.fromkeys(OF_AGENT, ("cluster.id", "instance.id", "node.type", "service.name")),
    MetricSource.NODE: ("ClusterId", "InstanceId"),
    MetricSource.S3: ("BucketName", "FilterId"),
    MetricSource.EMR: ("JobFlowId",),
}
"""Exactly these. Sources: EMR Release Guide, AmazonCloudWatchAgent-metrics; our own program; S3 User Guide,
metrics-dimensions; EMR Management Guide, UsingEMR_ViewingMetrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric. `bean` is the MBean of a daemon's, or the kind (`cpu`, `disk`, `mem`) of a node's.

    `cloudwatch` is its name there: for HBase by analogy with EMR's documented YARN names, to be confirmed on a cluster.
    A counter counts since its daemon began: its rate is drawn. `since` is the first HBase that is known to have the
    attribute, of those looked at; empty for what is not HBase's.
    """

    source: MetricSource
    bean: str
    attribute: str
    cloudwatch: str
    unit: str
    counter: bool
    meaning: str
    of_cache: bool = False
    since: str = ""

    @property
    def namespace(self) -> str:
        """In which CloudWatch has it."""
        return "CWAgent" if self.source in OF_AGENT else str(self.source)

    @property
    def series(self) -> str:
        """Of what CloudWatch keeps, and charges, one series: a node, a cluster or the root."""
        return {MetricSource.S3: "root", MetricSource.EMR: "cluster"}.get(self.source, "node")

    @property
    def dimensions(self) -> tuple[str, ...]:
        """By which CloudWatch tells its series apart."""
        return DIMENSIONS[self.source]


_SERVER: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"
_IPC: Final = "Hadoop:service=HBase,name=RegionServer,sub=IPC"
_JVM: Final = "Hadoop:service=HBase,name=JvmMetrics"
_ASSIGNMENT: Final = "Hadoop:service=HBase,name=Master,sub=AssignmentManager"
_MASTER: Final = "Hadoop:service=HBase,name=Master,sub=Server"

_AGENT: Final = (
    # source, bean, attribute, unit, counter, meaning
    (MetricSource.REGION_SERVER, _SERVER, "readRequestCount", "requests", True, "reads asked of this RegionServer"),
    (MetricSource.REGION_SERVER, _SERVER, "writeRequestCount", "requests", True, "writes asked of it"),
    (MetricSource.REGION_SERVER, _IPC, "numActiveHandler", "handlers", False, "requests in service now"),
    (MetricSource.REGION_SERVER, _IPC, "queueSize", "bytes", False, "requests that wait for a handler"),
    (MetricSource.REGION_SERVER, _JVM, "MemHeapUsedM", "MiB", False, "heap in use, garbage included"),
    (MetricSource.REGION_SERVER, _JVM, "GcTimeMillis", "ms", True, "garbage collection, concurrent phases included"),
    (
        MetricSource.MASTER, _ASSIGNMENT, "ritCountOverThreshold", "regions", False,
        "regions that have been in transition for longer than a minute",
    ),
    (MetricSource.MASTER, _MASTER, "numDeadRegionServers", "servers", False, "RegionServers declared dead"),
)  # fmt: skip
_SYSTEM: Final = (
    ("cpu", "cpu_usage_iowait", "processors idle while a disk is waited for"),
    ("mem", "mem_available_percent", "memory that could be had, the page cache's among it"),
    ("disk", "disk_used_percent", "of each file system; at 90 YARN calls a disk unhealthy, and EMR the node"),
)
_NODE: Final = (
    # name, unit as CloudWatch has it, from which attribute or place, meaning; of the last minute where it counts
    ("Answering", "Count", "JMX", "1 while the RegionServer answers, 0 while it does not"),
    ("UpSeconds", "Seconds", "regionServerStartTime", "how long the RegionServer is up"),
    ("HostsMeta", "Count", "sub=Regions", "1 on the RegionServer that serves hbase:meta"),
    ("Hits", "Count", "l2CacheHitCount", "block reads that the BucketCache answered"),
    ("Misses", "Count", "l2CacheMissCount", "block reads that went to S3, compactions' and uncached scans' among them"),
    ("HitRatio", "None", "Hits, Misses", "hits of the window's block reads; none without reads"),
    ("Below90", "Count", "HitRatio", "1 where the window's hit ratio is below 0.90"),
    ("Below80", "Count", "HitRatio", "1 where it is below 0.80"),
    (
        "MissesOver90", "Count", "Hits, Misses",
        "misses above a tenth of the reads; summed over servers it is above 0 where the cluster's ratio is below 0.90",
    ),
    ("MissesOver80", "Count", "Hits, Misses", "misses above a fifth of the reads, likewise"),
    ("Fill", "None", "l2CacheSize", "slots in use, of the cache; eviction starts at 0.95"),
    ("FreeBytes", "Bytes", "l2CacheFreeSize", "what is left of it"),
    ("Evictions", "Count", "l2CacheEvictionCount", "blocks evicted: a cache that holds everything evicts none"),
    (
        "FailedInsertions", "Count", "blockCacheFailedInsertionCount",
        "blocks not cached because a writer's queue was full",
    ),
    ("CacheLost", "Count", "l2CacheSize", "1 where a restart left less than half of what was cached before it"),
    (
        "IndexBehindSeconds", "Seconds", "the index file",
        "since when the cache has held what its index has not, at least",
    ),
    ("GetP99", "Milliseconds", "Get_99th_percentile", "99 of 100 gets were served within it, of the latest ones"),
    (
        "LongPauses", "Count", "pauseWarnThresholdExceeded",
        "the JVM stood still for longer than ten seconds, and ZooKeeper may have given it up",
    ),
    ("DiskUsed", "None", "statvfs", "of the cache's volume; at 0.90 YARN calls a disk unhealthy, and EMR the node"),
    ("VolumeBytes", "Bytes", "/sys/dev/block", "read from and written to the cache's volume"),
    ("VolumeOperations", "Count", "/sys/dev/block", "reads and writes of it"),
)  # fmt: skip
_AWS: Final = (
    (MetricSource.S3, "GetRequests", "requests", "GETs below the root, of everybody"),
    (MetricSource.S3, "5xxErrors", "requests", "requests below the root that S3 refused for the moment"),
    (MetricSource.EMR, "CoreNodesRunning", "nodes", "core nodes that run"),
    (MetricSource.EMR, "HDFSUtilization", "percent", "of HDFS, where the write-ahead log lies"),
)


NEWEST_LOOKED_AT: Final = "2.6.4"
_SINCE: Final = dict.fromkeys(("l2CacheSize", "l2CacheFreeSize", "l2CacheEvictionCount"), "2.4.14") | dict.fromkeys(
    # Names that are made while HBase runs are in no constant, and were seen on a RegionServer of the lab.
    ("Get_99th_percentile", "sub=Regions"),
    "2.6.2",
)
_OLDEST: Final = "1.4.14"
_NOT_HBASES: Final = frozenset({"statvfs", "/sys/dev/block", "the index file", "JMX", "MemHeapUsedM", "GcTimeMillis"})


def _since(attribute: str) -> str:
    """Of an attribute, or of the newest of several figures that were made of such."""
    if attribute in _NOT_HBASES:
        return ""
    made_of = {name: of for name, _, of, _ in _NODE}
    parts = [made_of.get(part, part) for part in attribute.split(", ")]
    if parts != [attribute]:
        return max((_since(part) for part in parts), key=_version)
    return _SINCE.get(attribute, _OLDEST)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _metrics() -> Iterator[Metric]:
    for source, bean, attribute, unit, counter, meaning in _AGENT:
        yield Metric(
            source=source, bean=bean, attribute=attribute, cloudwatch=f"{_prefix(bean)}.{attribute}", unit=unit,
            counter=counter, meaning=meaning, since=_since(attribute),
        )  # fmt: skip
    for bean, attribute, meaning in _SYSTEM:
        yield Metric(
            source=MetricSource.SYSTEM, bean=bean, attribute=attribute, cloudwatch=attribute, unit="percent",
            counter=False,
            meaning=meaning,
        )  # fmt: skip
    for name, unit, attribute, meaning in _NODE:
        yield Metric(
            source=MetricSource.NODE, bean="", attribute=attribute, cloudwatch=name, unit=unit, counter=False,
            meaning=meaning, of_cache=True, since=_since(attribute),
        )  # fmt: skip
    for source, name, unit, meaning in _AWS:
        yield Metric(source=source, bean="", attribute=name, cloudwatch=name, unit=unit, counter=False, meaning=meaning)


def _prefix(bean: str) -> str:
    """As EMR names YARN's: MBean `...,name=QueueMetrics,q0=root` gives `QueueMetrics.root` (EMR best practices)."""
    return ".".join(part.split("=")[1] for part in bean.split(",")[1:])


METRICS: Final = tuple(_metrics())


def metric(cloudwatch: str) -> Metric:
    """The metric of that name, or of an agent's attribute. Raises StopIteration for one that nobody publishes."""
    return next(each for each in METRICS if cloudwatch in {each.cloudwatch, each.attribute})


def metrics_of(source: MetricSource, mode: Mode) -> dict[str, list[str]]:
    """Attributes by bean that a cluster of that mode publishes for a daemon: without a cache, none of it."""
    published: dict[str, list[str]] = {}
    for each in METRICS:
        if each.source is source and (mode.has_bucket_cache or not each.of_cache):
            published.setdefault(each.bean, []).append(each.attribute)
    return published
