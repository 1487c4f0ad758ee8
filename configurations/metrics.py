"""The metrics that EMR's CloudWatch agent publishes for us: what the dashboard draws, and no more.

Each costs by node and month, so the agent's 34 default system metrics give way to three. Attribute names were read in
HBase 2.6.2. Counters count since the start of their daemon: draw their rate. The lifetime ratio `l2CacheHitRatio` of
the published recipe is not among them: it averages over everything since each server's start.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sizing.mode import Mode

__all__ = ["EXPORT_INTERVAL_MS", "METRICS", "MISSES_FOR_ONE", "Daemon", "Metric", "metric", "metrics_of"]

EXPORT_INTERVAL_MS: Final = 60_000
"""As fine as a standard metric is kept; the recipe's 30 s would be folded into it."""


MISSES_FOR_ONE: Final = 2
"""What HBase 2.6 counts for one block that is not in its BucketCache: a reader that misses looks again under the
block's lock, and CombinedBlockCache counts that look too, for it does not ask whether it is one (HBASE-28189).
Source: CombinedBlockCache.getBlock of 2.6.2 and 2.6.4; measured with 2.6.2 by the lab."""


class Daemon(StrEnum):
    """Whose metric it is, by the classification under `emr-metrics` that asks for it."""

    REGION_SERVER = "emr-hbase-region-server-metrics"
    MASTER = "emr-hbase-master-metrics"
    SYSTEM = "emr-system-metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric. `bean` is the MBean of a daemon's, or the kind (`cpu`, `disk`, `mem`) of a node's.

    `cloudwatch` is its name there: for HBase by analogy with EMR's documented YARN names, to be confirmed on a cluster.
    """

    daemon: Daemon
    bean: str
    attribute: str
    cloudwatch: str
    unit: str
    counter: bool
    meaning: str
    of_cache: bool = False


_SERVER: Final = "Hadoop:service=HBase,name=RegionServer,sub=Server"
_IPC: Final = "Hadoop:service=HBase,name=RegionServer,sub=IPC"
_ASSIGNMENT: Final = "Hadoop:service=HBase,name=Master,sub=AssignmentManager"

_ROWS: Final = (
    # daemon, bean, attribute, CloudWatch name, unit, counter, of the cache, meaning
    (
        Daemon.REGION_SERVER, _SERVER, "readRequestCount", "RegionServer.Server.readRequestCount", "requests",
        True, False, "reads asked of this RegionServer",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "writeRequestCount", "RegionServer.Server.writeRequestCount", "requests",
        True, False, "writes asked of it",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "Get_99th_percentile", "RegionServer.Server.Get_99th_percentile", "ms",
        False, False, "99 of 100 gets were served within it, of the latest ones",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "pauseInfoThresholdExceeded", "RegionServer.Server.pauseInfoThresholdExceeded",
        "pauses", True, False, "the JVM stood still for one to ten seconds",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "pauseWarnThresholdExceeded", "RegionServer.Server.pauseWarnThresholdExceeded",
        "pauses", True, False, "the JVM stood still for longer than ten, and ZooKeeper may have given it up",
    ),
    (
        Daemon.REGION_SERVER, _IPC, "numActiveHandler", "RegionServer.IPC.numActiveHandler", "handlers",
        False, False, "requests in service now",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "l2CacheHitCount", "RegionServer.Server.l2CacheHitCount", "blocks",
        True, True, "block reads that the BucketCache answered",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "l2CacheMissCount", "RegionServer.Server.l2CacheMissCount", "blocks",
        True, True, "block reads that went to S3, compactions' and uncached scans' among them",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "l2CacheSize", "RegionServer.Server.l2CacheSize", "bytes",
        False, True, "slots in use; eviction starts at 95 % of the cache",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "l2CacheEvictionCount", "RegionServer.Server.l2CacheEvictionCount", "blocks",
        True, True, "blocks evicted: a cache that holds everything evicts none",
    ),
    (
        Daemon.REGION_SERVER, _SERVER, "blockCacheFailedInsertionCount",
        "RegionServer.Server.blockCacheFailedInsertionCount", "blocks", True, True,
        "blocks not cached because a writer's queue was full",
    ),
    (
        Daemon.MASTER, _ASSIGNMENT, "ritCountOverThreshold", "Master.AssignmentManager.ritCountOverThreshold",
        "regions", False, False, "regions that have been in transition for longer than a minute",
    ),
    (
        Daemon.SYSTEM, "cpu", "cpu_usage_iowait", "cpu_usage_iowait", "percent", False, False,
        "processors idle while a disk is waited for",
    ),
    (
        Daemon.SYSTEM, "mem", "mem_available_percent", "mem_available_percent", "percent", False, False,
        "memory that could be had, the page cache's among it",
    ),
    (
        Daemon.SYSTEM, "disk", "disk_used_percent", "disk_used_percent", "percent", False, False,
        "of each file system; at 90 YARN calls a disk unhealthy, and EMR the node",
    ),
)  # fmt: skip

METRICS: Final = tuple(
    Metric(
        daemon=daemon,
        bean=bean,
        attribute=attribute,
        cloudwatch=cloudwatch,
        unit=unit,
        counter=counter,
        meaning=meaning,
        of_cache=of_cache,
    )
    for daemon, bean, attribute, cloudwatch, unit, counter, of_cache, meaning in _ROWS
)


def metric(attribute: str) -> Metric:
    """The metric of that attribute. Raises StopIteration for one that is not published: a fault of ours."""
    return next(each for each in METRICS if each.attribute == attribute)


def metrics_of(daemon: Daemon, mode: Mode) -> dict[str, list[str]]:
    """Attributes by bean that a cluster of that mode publishes for a daemon: without a cache, none of it."""
    published: dict[str, list[str]] = {}
    for each in METRICS:
        if each.daemon is daemon and (mode is Mode.S3_CACHED or not each.of_cache):
            published.setdefault(each.bean, []).append(each.attribute)
    return published
