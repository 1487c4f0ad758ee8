"""The closed list of what we set: each property with its unit, its reason and how a change of it is applied.

A property that is not here cannot be rendered; one that is here and is not rendered fails a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from configurations.classification import ClassificationPath

__all__ = ["CATALOGUE", "Applied", "Group", "Property"]


class Applied(StrEnum):
    """How a change of a property reaches a running cluster."""

    LIVE = "live"
    ROLLING_RESTART = "rolling restart"
    NEW_CLUSTER = "new cluster"


class Group(StrEnum):
    """Where a property is set: for all nodes at launch, or for an instance group, where it can be tuned later."""

    CLUSTER = "cluster"
    PRIMARY = "primary"
    CORE = "core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property that we render.

    `unit` is that of the value as written, empty for names and switches; `figure` the path of the plan's figure that
    it states, empty where the value is the same in every plan.
    """

    classification: ClassificationPath
    key: str
    groups: frozenset[Group]
    unit: str
    applied: Applied
    reason: str
    source: str
    figure: str = ""


CLUSTER: Final = frozenset({Group.CLUSTER})
PRIMARY: Final = frozenset({Group.PRIMARY})
CORE: Final = frozenset({Group.CORE})
BOTH: Final = PRIMARY | CORE

HBASE_26: Final = "HBase 2.6.2 source"
EMR_HBASE_S3: Final = "EMR Release Guide, emr-hbase-s3"
EMR_HBASE_CONFIGURE: Final = "EMR Release Guide, emr-hbase-configure"
EMR_AGENT: Final = "EMR Release Guide, emr-AmazonCloudWatchAgent"
RECIPE: Final = "AWS Big Data Blog, bucket caching on Amazon EMR"

_ROWS: Final = (
    # classification, key, groups, unit, applied, reason, source
    (
        "hbase", "hbase.emr.storageMode", CLUSTER, "", "new cluster",
        "the data lives in S3 and outlives every cluster", EMR_HBASE_S3,
    ),
    (
        "hbase-site", "hbase.rootdir", CLUSTER, "", "new cluster",
        "where the data lives; one active cluster at most may use it, and the slash at its end matters", EMR_HBASE_S3,
    ),
    (
        "hbase-site", "hbase.store.file-tracker.impl", CLUSTER, "", "new cluster",
        "store files are listed in a file, so that nothing is renamed in S3; part of what the root is", EMR_HBASE_S3,
    ),
    (
        "hbase", "hbase.regionserver.fixed.heap.enabled", CORE, "", "rolling restart",
        "the heap neither grows nor shrinks: ZGC gives no memory back that the cache index will want again",
        EMR_HBASE_CONFIGURE,
    ),
    (
        "hbase-env/export", "JAVA_HOME", BOTH, "", "rolling restart",
        "the Java whose collector flags are rendered", EMR_HBASE_CONFIGURE,
    ),
    (
        "hbase-env/export", "HBASE_HEAPSIZE", PRIMARY, "MiB, with its suffix", "rolling restart",
        "heap of a primary node's daemons; a RegionServer's stands in HBASE_REGIONSERVER_OPTS alone", RECIPE,
    ),
    (
        "hbase-env/export", "HBASE_REGIONSERVER_OPTS", CORE, "MiB, with suffixes", "rolling restart",
        "heap and direct memory, stated once; appended, for others put agents and exporters into the same variable",
        "Amazon EMR best practices",
    ),
    (
        "hbase-env/export", "HBASE_REGIONSERVER_GC_OPTS", CORE, "", "rolling restart",
        "one collector, stated nowhere else; memory is touched at start so that no read pays for it",
        EMR_HBASE_CONFIGURE,
    ),
    (
        "hbase-site", "hbase.bucketcache.ioengine", CORE, "", "rolling restart",
        "explicit, because EMR's default spreads 8 GiB over all volumes but one", EMR_HBASE_S3,
    ),
    (
        "hbase-site", "hbase.bucketcache.size", CORE, "MiB", "rolling restart",
        "what one RegionServer caches; a change of it drops the cache", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.bucket.sizes", CORE, "bytes", "rolling restart",
        "slots that waste least on these blocks; multiples of 256", HBASE_26,
    ),
    (
        "hbase-site", "hbase.blockcache.minblocksize", CORE, "bytes", "rolling restart",
        "the nominal block, by which maps and eviction queues are laid out", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.writer.threads", CORE, "threads", "rolling restart",
        "each batch ends with an fsync; several threads overlap them", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.writer.queuelength", CORE, "blocks per thread", "rolling restart",
        "a block that finds its queue full is silently not cached", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.queue.addition.waittime", CORE, "ms", "rolling restart",
        "prefetch and cache-on-write wait for room in a queue instead of dropping the block; reads never wait",
        HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.persistent.path", BOTH, "", "rolling restart",
        "the cache survives a restart; the master needs it too, or its balancer ignores what is cached", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.persist.intervalinmillis", CORE, "ms", "rolling restart",
        "each dump rewrites the whole index; the default of one second never stops", HBASE_26,
    ),
    (
        "hbase-site", "hbase.bucketcache.persistence.chunksize", CORE, "blocks", "rolling restart",
        "one chunk lies on the heap while it is written, 200 B for each block", HBASE_26,
    ),
    (
        "hbase-site", "hfile.block.cache.size", CORE, "fraction of heap", "rolling restart",
        "L1 holds every leaf index and Bloom chunk; 0 would switch the BucketCache off as well", HBASE_26,
    ),
    (
        "hbase-site", "hbase.regionserver.global.memstore.size", CORE, "fraction of heap", "rolling restart",
        "what writes may fill before a flush; with L1 at most 0.8", HBASE_26,
    ),
    (
        "hbase-site", "hbase.regionserver.handler.count", CORE, "threads", "rolling restart",
        "requests served at once on a RegionServer; handlers wait for disks most of the time", HBASE_26,
    ),
    (
        "hbase-site", "hbase.hfile.thread.prefetch", CORE, "threads", "rolling restart",
        "prefetch from S3 runs at threads over first-byte latency, whatever the bandwidth", HBASE_26,
    ),
    (
        "hbase-site", "hbase.rs.prefetchblocksonopen", CORE, "", "rolling restart",
        "regions fill the cache when they open", RECIPE,
    ),
    (
        "hbase-site", "hbase.rs.cacheblocksonwrite", CORE, "", "live",
        "what is flushed is cached at once", RECIPE,
    ),
    (
        "hbase-site", "hbase.rs.cachecompactedblocksonwrite", CORE, "", "rolling restart",
        "a compaction replaces cached blocks instead of losing them", RECIPE,
    ),
    (
        "hbase-site", "hbase.rs.evictblocksonclose", CORE, "", "live",
        "a region that moves away and back finds its blocks again", HBASE_26,
    ),
    (
        "hbase-site", "hbase.block.data.cachecompressed", CORE, "", "rolling restart",
        "compressed blocks stay compressed in the cache; without compression it does nothing", RECIPE,
    ),
    (
        "hbase-site", "fs.s3a.experimental.input.fadvise", BOTH, "", "rolling restart",
        "releases 7.10 to 7.13 let the read policy drift to random, which starves scans and compactions", EMR_HBASE_S3,
    ),
    (
        "hbase-site", "hbase.master.loadbalancer.class", PRIMARY, "", "rolling restart",
        "regions go where their blocks are cached", RECIPE,
    ),
    (
        "hbase-site", "hbase.master.scp.retain.assignment", PRIMARY, "", "rolling restart",
        "regions return to the host they were on", HBASE_26,
    ),
    (
        "hbase-site", "hbase.master.scp.retain.assignment.force", PRIMARY, "", "rolling restart",
        "the master waits for that host instead of scattering the regions", HBASE_26,
    ),
    (
        "hbase-site", "hbase.master.scp.retain.assignment.force.retries", PRIMARY, "doublings of 50 ms",
        "rolling restart",
        "the wait covers a restart and ends after it; the default of 600 never ends for a host that is gone",
        HBASE_26,
    ),
    (
        "hbase-site", "hbase.master.wait.on.regionservers.mintostart", PRIMARY, "RegionServers", "rolling restart",
        "a full restart assigns when the servers that hold the cache are there, less those that may be lost",
        HBASE_26,
    ),
    (
        "hdfs-site", "dfs.replication", BOTH, "copies", "rolling restart",
        "the write-ahead log lies in HDFS; one copy would lose it with a node",
        "EMR Management Guide, emr-plan-storage",
    ),
    (
        "hdfs-site", "dfs.datanode.data.dir", CORE, "", "rolling restart",
        "HDFS stays off the cache volume", "Amazon EMR best practices",
    ),
    (
        "yarn-site", "yarn.nodemanager.local-dirs", CORE, "", "rolling restart",
        "YARN stays off the cache volume: it calls a disk over 90 % unhealthy, and EMR replaces the node",
        "Amazon EMR best practices; EMR Management Guide, emr-plan-node-replacement",
    ),
    (
        "yarn-site", "yarn.nodemanager.resource.memory-mb", CORE, "MiB", "rolling restart",
        "the rest of the memory is the RegionServer's", "EMR Release Guide, emr-hadoop-task-config",
    ),
    (
        "yarn-site", "yarn.scheduler.maximum-allocation-mb", BOTH, "MiB", "rolling restart",
        "no container may be asked for that no node can hold", "EMR Release Guide, emr-hadoop-task-config",
    ),
    (
        "emr-metrics/emr-hbase-region-server-metrics", "Hadoop:service=HBase,name=RegionServer,sub=Server", BOTH, "",
        "rolling restart", "the recipe's five and what the dashboard draws: each costs by node and month", EMR_AGENT,
    ),
    (
        "emr-metrics/emr-hbase-region-server-metrics", "otel.metric.export.interval", BOTH, "ms", "rolling restart",
        "once a minute, which is as fine as a standard metric is kept; the recipe's 30 s would be folded into it",
        EMR_AGENT,
    ),
)  # fmt: skip

_FIGURES: Final = {
    "HBASE_REGIONSERVER_OPTS": "heap.xmx_mib",
    "hbase.bucketcache.size": "bucket_cache.size_mib",
    "hbase.bucketcache.bucket.sizes": "bucket_cache.bucket_sizes",
    "hbase.blockcache.minblocksize": "bucket_cache.nominal_block_bytes",
    "hbase.bucketcache.writer.threads": "bucket_cache.writer_threads",
    "hbase.bucketcache.writer.queuelength": "bucket_cache.writer_queue_length",
    "hbase.bucketcache.persist.intervalinmillis": "persistence.interval_ms",
    "hbase.bucketcache.persistence.chunksize": "persistence.chunk_blocks",
    "hfile.block.cache.size": "heap.l1_fraction",
    "hbase.regionserver.global.memstore.size": "heap.memstore_fraction",
    "hbase.regionserver.handler.count": "handlers",
    "hbase.hfile.thread.prefetch": "prefetch_threads",
    "hbase.master.scp.retain.assignment.force.retries": "restart.retain_retries",
    "hbase.master.wait.on.regionservers.mintostart": "region_servers_to_start",
    "dfs.replication": "wal_replication",
    "yarn.nodemanager.resource.memory-mb": "yarn_mib",
    "yarn.scheduler.maximum-allocation-mb": "yarn_mib",
}

CATALOGUE: Final[Mapping[tuple[ClassificationPath, str], Property]] = {
    (classification, key): Property(
        classification=classification,
        key=key,
        groups=groups,
        unit=unit,
        applied=Applied(applied),
        reason=reason,
        source=source,
        figure=_FIGURES.get(key, ""),
    )
    for classification, key, groups, unit, applied, reason, source in _ROWS
}
