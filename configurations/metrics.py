"""The metrics of a cluster: everything that is published, and so everything that a dashboard or an alarm can use.

`emr-metrics` is rendered from this list. The program on each node publishes the metrics of `MetricSource.NODE`, and
dashboards and alarms use no others; tests hold each of these against the list. Each metric costs money for each node
and month, so EMR's agent publishes only metrics that are drawn: three system metrics in place of its 34.

HBase's counters count from the start of each daemon, and its lifetime ratio says nothing about the present. Metric math
cannot divide the counters of servers that it finds by SEARCH, an alarm may not search, and PromQL, which could do both,
reads only metrics that arrive by OTLP. So the node publishes the cache's metrics, and all that alarms use, as
differences over one minute. The attributes were read in HBase 2.6.2; the
first versions that have them, in the constants of hbase-hadoop-compat 1.4.14, 2.0.6, 2.1.10, 2.2.7, 2.3.7, 2.4.0 to
2.4.18, 2.5.0, 2.5.11, 2.6.0 and 2.6.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from warmbase.sizing.modes import Mode

EXPORT_INTERVAL_MS: Final = 60_000
"""The finest resolution of a standard metric; CloudWatch would merge the recipe's 30 s into it."""


COOL, COLD = 0.90, 0.80
"""The hit ratios under which a server is not fully warm, and cold: thresholds of the published systems.

The publisher on each node counts by the same two numbers; `bootstrap-actions/programs/publish_cache_metrics.py`.
"""
MISSES_FOR_ONE: Final = 2
"""The misses that HBase 2.6 counts for one block that is not in its BucketCache: a reader that misses checks again
under the block's lock, and CombinedBlockCache counts that check too (HBASE-28189).
Source: CombinedBlockCache.getBlock of 2.6.2 and 2.6.4; measured with 2.6.2 by the lab."""


class MetricSource(StrEnum):
    """The publisher of a metric: a daemon, by its classification under `emr-metrics`, a program on the node, or AWS."""

    REGION_SERVER = "emr-hbase-region-server-metrics"
    MASTER = "emr-hbase-master-metrics"
    SYSTEM = "emr-system-metrics"
    NODE = "warmbase"
    CLAIM = "warmbase, while the claim is in doubt"
    S3 = "AWS/S3"
    EMR = "AWS/ElasticMapReduce"


OF_AGENT: Final = frozenset({MetricSource.REGION_SERVER, MetricSource.MASTER, MetricSource.SYSTEM})
DIMENSIONS: Final = {
    **dict.fromkeys(OF_AGENT, ("cluster.id", "instance.id", "node.type", "service.name")),
    **dict.fromkeys((MetricSource.NODE, MetricSource.CLAIM), ("ClusterId", "InstanceId")),
    MetricSource.S3: ("BucketName", "FilterId"),
    MetricSource.EMR: ("JobFlowId",),
}
"""The dimensions of each source, complete.

Sources: EMR Release Guide, AmazonCloudWatchAgent-metrics; the program on the nodes; S3 User Guide, metrics-dimensions;
EMR Management Guide, UsingEMR_ViewingMetrics.
"""


class Metric(Struct, frozen=True, kw_only=True):
    """One metric. `bean` is the MBean of a daemon's metric, or the kind (`cpu`, `disk`, `mem`) of a node's metric.

    `cloudwatch` is its name there: for HBase by analogy with EMR's documented YARN names, to be confirmed on a cluster.
    A counter counts from the start of its daemon, so dashboards draw its rate. `since` is the first HBase that has the
    attribute, among the versions that were checked; it is empty for metrics that are not HBase's.
    """

    source: MetricSource
    bean: str
    attribute: str
    cloudwatch: str
    unit: str
    counter: bool
    meaning: str
    of_cache: bool = False
    of_hdfs: bool = False
    since: str = ""

    @property
    def namespace(self) -> str:
        """Return the CloudWatch namespace of the metric."""
        names = {**dict.fromkeys(OF_AGENT, "CWAgent"), MetricSource.CLAIM: str(MetricSource.NODE)}
        return names.get(self.source, str(self.source))

    def is_published_in(self, mode: Mode) -> bool:
        """Return whether a cluster of that mode publishes it."""
        return (mode.has_bucket_cache or not self.of_cache) and not (mode.keeps_data_in_s3 and self.of_hdfs)

    @property
    def series(self) -> str:
        """Return what has one series, for which CloudWatch charges: each node, the cluster or the root."""
        return {MetricSource.S3: "root", MetricSource.EMR: "cluster"}.get(self.source, "node")

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Return the dimensions that distinguish the series of the metric."""
        return DIMENSIONS[self.source]


_SERVER: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"
_IPC: Final = "Hadoop:service=HBase,name=RegionServer,sub=IPC"
_JVM: Final = "Hadoop:service=HBase,name=JvmMetrics"
_ASSIGNMENT: Final = "Hadoop:service=HBase,name=Master,sub=AssignmentManager"
_MASTER: Final = "Hadoop:service=HBase,name=Master,sub=Server"

_AGENT: Final = (
    # source, bean, attribute, unit, counter, meaning
    (MetricSource.REGION_SERVER, _SERVER, "readRequestCount", "requests", True, "read requests to this RegionServer"),
    (MetricSource.REGION_SERVER, _SERVER, "writeRequestCount", "requests", True, "write requests to it"),
    (
        MetricSource.REGION_SERVER, _SERVER, "percentFilesLocal", "percent", False,
        "the share of the bytes of its store files that is on its own host; only in mode hdfs",
    ),
    (MetricSource.REGION_SERVER, _IPC, "numActiveHandler", "handlers", False, "requests being processed"),
    (MetricSource.REGION_SERVER, _IPC, "queueSize", "bytes", False, "requests waiting for a handler"),
    (MetricSource.REGION_SERVER, _JVM, "MemHeapUsedM", "MiB", False, "heap in use, garbage included"),
    (MetricSource.REGION_SERVER, _JVM, "GcTimeMillis", "ms", True, "garbage collection, concurrent phases included"),
    (
        MetricSource.MASTER, _ASSIGNMENT, "ritCountOverThreshold", "regions", False,
        "regions that have been in transition for longer than a minute",
    ),
    (MetricSource.MASTER, _MASTER, "numDeadRegionServers", "servers", False, "RegionServers declared dead"),
)  # fmt: skip
_OF_HDFS: Final = frozenset({"percentFilesLocal"})
_SYSTEM: Final = (
    ("cpu", "cpu_usage_iowait", "CPU time idle while waiting for a disk"),
    ("mem", "mem_available_percent", "available memory, including the page cache"),
    ("disk", "disk_used_percent", "of each file system; at 90 YARN marks a disk unhealthy, and EMR replaces the node"),
)
_NODE: Final = (
    # name, CloudWatch's unit, attribute or place that it is read from, meaning; counts are of the last minute
    ("Answering", "Count", "JMX", "1 while the RegionServer responds, 0 while it does not"),
    ("UpSeconds", "Seconds", "regionServerStartTime", "time since the RegionServer started"),
    ("HostsMeta", "Count", "sub=Regions", "1 on the RegionServer that serves hbase:meta"),
    ("Hits", "Count", "l2CacheHitCount", "block reads that the BucketCache answered"),
    ("Misses", "Count", "l2CacheMissCount", "block reads that went to S3, compactions and uncached scans included"),
    ("HitRatio", "None", "Hits, Misses", "hits divided by block reads of the minute; not published without reads"),
    ("Below90", "Count", "HitRatio", f"1 where the hit ratio of the minute is below {COOL:.2f}"),
    ("Below80", "Count", "HitRatio", f"1 where it is below {COLD:.2f}"),
    (
        "MissesOver90", "Count", "Hits, Misses",
        "misses beyond a tenth of the reads; the sum over servers is above 0 when the cluster's ratio is below 0.90",
    ),
    ("MissesOver80", "Count", "Hits, Misses", f"misses beyond a fifth of the reads, likewise for {COLD:.2f}"),
    ("Fill", "None", "l2CacheSize", "fraction of slots in use; eviction starts at 0.95"),
    ("FreeBytes", "Bytes", "l2CacheFreeSize", "free space of the cache"),
    ("Evictions", "Count", "l2CacheEvictionCount", "blocks evicted; a cache that holds all data evicts none"),
    (
        "FailedInsertions", "Count", "blockCacheFailedInsertionCount",
        "blocks not cached because a writer's queue was full",
    ),
    ("CacheLost", "Count", "l2CacheSize", "1 where less than half of the cache survived a restart"),
    (
        "IndexBehindSeconds", "Seconds", "the index file",
        "time for which the cache has had changes that its index file lacks, at least",
    ),
    ("GetP99", "Milliseconds", "Get_99th_percentile", "latency within which 99 % of recent gets were served"),
    (
        "LongPauses", "Count", "pauseWarnThresholdExceeded",
        "JVM pauses longer than ten seconds, after which ZooKeeper may have expired the session",
    ),
    ("DiskUsed", "None", "statvfs", "fraction in use of the fullest cache volume; at 0.90 EMR replaces the node"),
    ("VolumeBytes", "Bytes", "/sys/dev/block", "bytes read from and written to the busiest cache volume"),
    ("VolumeOperations", "Count", "/sys/dev/block", "reads and writes of the busiest cache volume"),
)  # fmt: skip
_CLAIM: Final = (
    ("ForeignClaim", "1 while another cluster has the claim of the root and the node may write there"),
    ("ClaimUnconfirmedMinutes", "minutes for which the claim has not named this cluster"),
)
_AWS: Final = (
    (MetricSource.S3, "GetRequests", "requests", "GETs below the HBase root, from all clients"),
    (MetricSource.S3, "5xxErrors", "requests", "requests below the HBase root that S3 refused (5xx)"),
    (MetricSource.EMR, "CoreNodesRunning", "nodes", "core nodes running"),
    (MetricSource.EMR, "HDFSUtilization", "percent", "HDFS capacity in use; HDFS has the write-ahead log"),
)


NEWEST_CHECKED: Final = "2.6.4"
_SINCE: Final = dict.fromkeys(("l2CacheSize", "l2CacheFreeSize", "l2CacheEvictionCount"), "2.4.14") | dict.fromkeys(
    # Names that HBase builds at run time are in no constant; the lab read them from a RegionServer.
    ("Get_99th_percentile", "sub=Regions"),
    "2.6.2",
)
_OLDEST: Final = "1.4.14"
_NOT_HBASES: Final = frozenset({"statvfs", "/sys/dev/block", "the index file", "JMX", "MemHeapUsedM", "GcTimeMillis"})


def _since(attribute: str) -> str:
    """Return the first HBase that has an attribute; a figure computed from several has the newest of theirs."""
    if attribute in _NOT_HBASES:
        return ""
    inputs = {name: attributes for name, _, attributes, _ in _NODE}
    parts = [inputs.get(part, part) for part in attribute.split(", ")]
    if parts != [attribute]:
        return max((_since(part) for part in parts), key=_version)
    return _SINCE.get(attribute, _OLDEST)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _metrics() -> Iterator[Metric]:
    for source, bean, attribute, unit, counter, meaning in _AGENT:
        yield Metric(
            source=source, bean=bean, attribute=attribute, cloudwatch=f"{_prefix(bean)}.{attribute}", unit=unit,
            counter=counter, meaning=meaning, of_hdfs=attribute in _OF_HDFS, since=_since(attribute),
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
    for name, meaning in _CLAIM:
        yield Metric(
            source=MetricSource.CLAIM, bean="", attribute=name, cloudwatch=name, unit="Count", counter=False,
            meaning=meaning,
        )  # fmt: skip
    for source, name, unit, meaning in _AWS:
        yield Metric(source=source, bean="", attribute=name, cloudwatch=name, unit=unit, counter=False, meaning=meaning)


def _prefix(bean: str) -> str:
    """Return the prefix as EMR forms YARN's: `...,name=QueueMetrics,q0=root` gives `QueueMetrics.root`.

    Source: EMR best practices.
    """
    return ".".join(part.split("=")[1] for part in bean.split(",")[1:])


METRICS: Final = tuple(_metrics())


def metric(cloudwatch: str) -> Metric:
    """Return the metric with that name or attribute. Raises StopIteration for one that nobody publishes."""
    return next(candidate for candidate in METRICS if cloudwatch in {candidate.cloudwatch, candidate.attribute})


def metrics_of(source: MetricSource, mode: Mode) -> dict[str, list[str]]:
    """Return the attributes that a cluster of that mode publishes for a source, by bean."""
    published: dict[str, list[str]] = {}
    for candidate in METRICS:
        if candidate.source is source and candidate.is_published_in(mode):
            published.setdefault(candidate.bean, []).append(candidate.attribute)
    return published
