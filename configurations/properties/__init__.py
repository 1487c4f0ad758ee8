"""The closed catalogue of properties: those that warmbase sets, and those that it knows and leaves at their default.

Classifications are rendered from the catalogue, and docs/properties.md is generated from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from warmbase.configurations.properties.assignment import ASSIGNMENT
from warmbase.configurations.properties.cache import BUCKET_CACHE, CACHING, L1_AND_MEMSTORE
from warmbase.configurations.properties.hadoop import HADOOP
from warmbase.configurations.properties.java import JAVA
from warmbase.configurations.properties.observation import OBSERVATION
from warmbase.configurations.properties.property import Applied, HBaseProperty, PropertyScope, RenderingContext
from warmbase.configurations.properties.rpc import RPC, SECURITY
from warmbase.configurations.properties.storage import COMPACTION, STORAGE
from warmbase.emr.cluster_spec import ClassificationPath

__all__ = ["CATALOGUE", "RENDERED", "TOPICS", "Applied", "HBaseProperty", "PropertyScope", "RenderingContext"]

TOPICS: Final[Mapping[str, tuple[HBaseProperty, ...]]] = {
    "Storage": STORAGE,
    "Compactions": COMPACTION,
    "The BucketCache": BUCKET_CACHE,
    "What gets cached, and when": CACHING,
    "L1 and memstore": L1_AND_MEMSTORE,
    "Requests": RPC,
    "Where regions go": ASSIGNMENT,
    "Who may do what": SECURITY,
    "Java": JAVA,
    "HDFS, YARN and S3 clients": HADOOP,
    "Metrics and logs": OBSERVATION,
}

CATALOGUE: Final[Mapping[tuple[ClassificationPath, str], HBaseProperty]] = {
    (entry.classification, entry.key): entry for topic in TOPICS.values() for entry in topic
}

ORDER: Final = """
    hbase.emr.readreplica.enabled hbase.regionserver.fixed.heap.enabled hbase.emr.wal.enabled hbase.emr.storageMode
    JAVA_HOME HBASE_HEAPSIZE HBASE_REGIONSERVER_GC_OPTS HBASE_REGIONSERVER_OPTS HBASE_STOP_TIMEOUT
    emr.wal.client.endpoint emr.wal.workspace hbase.rootdir hbase.store.file-tracker.impl hbase.bucketcache.ioengine
    hbase.bucketcache.size hbase.bucketcache.bucket.sizes hbase.blockcache.minblocksize
    hbase.bucketcache.writer.threads hbase.bucketcache.writer.queuelength hbase.bucketcache.queue.addition.waittime
    hbase.master.loadbalancer.class hbase.master.balancer.maxRitPercent hbase.bucketcache.persistent.path
    hbase.bucketcache.persist.intervalinmillis hbase.bucketcache.persistence.chunksize
    hbase.bucketcache.acceptfactor hbase.bucketcache.minfactor hbase.bucketcache.extrafreefactor
    hbase.bucketcache.single.factor hbase.bucketcache.multi.factor hbase.bucketcache.memory.factor
    hbase.block.data.cacheonread hbase.hfile.thread.prefetch hbase.hfile.prefetch.delay
    hbase.rs.prefetchblocksonopen hbase.rs.cacheblocksonwrite hbase.rs.cachecompactedblocksonwrite
    hbase.rs.cachecompactedblocksonwrite.threshold hbase.rs.evictblocksonclose hbase.rs.evictblocksonsplit
    hbase.block.data.cachecompressed hbase.hregion.majorcompaction dfs.client.refresh.read-block-locations.ms
    dfs.client.refresh.read-block-locations.register-automatically hbase.locality.inputstream.derive.enabled
    hbase.ipc.server.callqueue.read.ratio fs.s3a.connection.maximum fs.s3a.buffer.dir fs.s3a.multipart.size
    fs.s3a.fast.upload.active.blocks hbase.master.scp.retain.assignment hbase.master.scp.retain.assignment.force
    hbase.master.scp.retain.assignment.force.wait-interval hbase.master.scp.retain.assignment.force.retries
    fs.s3a.experimental.input.fadvise hbase.offpeak.start.hour hbase.offpeak.end.hour
    hbase.hstore.compaction.max.size hbase.hstore.compaction.max.size.offpeak hbase.hstore.compaction.ratio.offpeak
    hbase.hstore.compaction.throughput.offpeak hbase.hstore.compaction.min hbase.hstore.compaction.max
    hbase.hstore.compaction.ratio hbase.regionserver.thread.compaction.throttle hbase.hstore.compaction.min.size
    hbase.hstore.compaction.throughput.lower.bound hbase.hstore.compaction.throughput.higher.bound
    hbase.regionserver.thread.compaction.small hbase.regionserver.thread.compaction.large
    hbase.hstore.blockingStoreFiles hbase.hstore.flusher.count hbase.hregion.memstore.flush.size
    hbase.hregion.memstore.block.multiplier hbase.regionserver.global.memstore.size.lower.limit
    hbase.master.balancer.uselocality hbase.snapshot.before.destructive.action.enabled hbase.security.authentication
    hbase.security.authorization hbase.coprocessor.region.classes hbase.coprocessor.regionserver.classes
    hbase.security.exec.permission.checks hbase.coprocessor.master.classes hbase.rpc.protection
    hbase.coprocessor.user.enabled hbase.regionserver.port hbase.regionserver.info.port hbase.wal.hsync
    hbase.hregion.max.filesize.jitter hbase.hstore.bytes.per.checksum io.storefile.bloom.error.rate
    hbase.lru.blockcache.min.factor hbase.lru.blockcache.acceptable.factor hbase.lru.blockcache.single.percentage
    hbase.lru.blockcache.multi.percentage hbase.lru.blockcache.memory.percentage hbase.regionserver.handler.count
    hbase.server.allocator.buffer.size hbase.server.allocator.max.buffer.count hbase.balancer.period
    hbase.balancer.max.balancing hbase.balancer.tablesOnMaster hbase.master.loadbalance.bytable
    hbase.master.cleaner.interval hbase.master.logcleaner.ttl hbase.master.port hbase.master.info.port
    zookeeper.session.timeout hbase.regionserver.executor.openregion.threads
    hbase.reopen.table.regions.progressive.batch.size.max hbase.reopen.table.regions.progressive.batch.backoff.ms
    hbase.hregion.max.filesize hfile.block.cache.size hbase.regionserver.global.memstore.size
    hbase.master.wait.on.regionservers.maxtostart hbase.master.wait.on.regionservers.timeout
    dfs.client.read.shortcircuit dfs.domain.socket.path dfs.datanode.handler.count dfs.datanode.max.transfer.threads
    dfs.bytes-per-checksum dfs.datanode.data.dir dfs.namenode.handler.count dfs.replication
    fs.s3a.retry.throttle.interval fs.s3a.retry.throttle.limit fs.s3a.endpoint.region fs.s3.maxConnections
    logger.bucketallocator.name logger.bucketallocator.level
    yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage yarn.nodemanager.local-dirs
    yarn.nodemanager.resource.memory-mb yarn.scheduler.maximum-allocation-mb
""".split()  # noqa: SIM905 - as a list, it would have a line for each key
"""The order in which classifications name their keys, so that renderings of two versions can be compared line by line.

A key that is not in it comes after these, in the order of the catalogue: a new property needs no place here.
"""

RENDERED: Final = tuple(
    sorted(
        (entry for entry in CATALOGUE.values() if entry.is_rendered),
        key=lambda entry: ORDER.index(entry.key) if entry.key in ORDER else len(ORDER),
    )
)
"""The properties that warmbase renders for some cluster, in the order of the renderings."""
