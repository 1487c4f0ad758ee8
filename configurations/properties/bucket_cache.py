"""Properties of the BucketCache: its file, its slots, its queues, and the index that survives a restart."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CORE, Applied, Property, Span
from configurations.properties.sources import EMR_HBASE_S3, HBASE_262
from configurations.properties.values import LONG, AnyText, Decimal, ListOf, Matching, Switch, Whole

ENGINE: Final = Matching(
    form=r"offheap|(file|files|mmap|pmem):/[^:]*",
    described="offheap, or file:, files:, mmap: or pmem: with whole paths",
)
PATH: Final = Matching(form=r"/.+", described="a whole path")
LIVE_FROM: Final = (2, 6, 3)
"""HBASE-29249: HBase reads factors and waits again without a restart."""
QUEUE_WAIT_MS: Final = 1_000  # judgement: see the property's reason
_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART, source=HBASE_262)

BUCKET_CACHE: Final = (
    _core(
        key="hbase.bucketcache.ioengine",
        needed_by="the cache and all that is planned for it",
        values=ENGINE,
        reason="stated, because EMR's default spreads a cache of 8 GiB over all volumes but one; paths are separated "
        "by commas",
        source=EMR_HBASE_S3,
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.size",
        values=Decimal(unit="MiB", least=1, most=2**24),
        figure="bucket_cache.size_mib",
        conversion="bytes / 1,048,576, a whole GiB",
        reason="the size of one RegionServer's cache; a change empties the cache",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.bucket.sizes",
        values=ListOf(member=Whole(unit="bytes", least=256, most=2**29, multiple_of=256)),
        figure="bucket_cache.bucket_sizes",
        conversion="joined by commas",
        reason="the slot sizes that waste the least space on this workload's blocks; multiples of 256",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.writer.threads",
        values=Whole(unit="threads", least=1),
        figure="bucket_cache.writer_threads",
        reason="each batch of a writer ends with an fsync; several threads overlap these",
    ),
    _core(
        key="hbase.bucketcache.writer.queuelength",
        values=Whole(unit="blocks per thread", least=1),
        figure="bucket_cache.writer_queue_length",
        reason="a block that finds its queue full is not cached, and nothing is logged. HBase limits the queue in "
        "blocks, so the plan limits the bytes: the heap holds up to twice the queue of every thread",
    ),
    _core(
        key="hbase.bucketcache.queue.addition.waittime",
        needed_by="the time until the caches are full",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="ms", most=LONG),
        reason=f"prefetch, flush and compaction wait up to {QUEUE_WAIT_MS:,} ms for room in a full queue, which is "
        "many batches at 5 ms for an fsync, instead of leaving the block out of the cache; reads never wait",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.persistent.path",
        needed_by="restarts that keep the cache, and the balancer",
        groups=BOTH,
        values=PATH,
        reason="the cache survives a restart; the master needs the path too, because its balancer ignores cached "
        "blocks without it",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.persist.intervalinmillis",
        values=Whole(unit="ms", least=1, most=LONG),
        figure="persistence.interval_ms",
        reason="each dump rewrites the whole index, so with the default of one second dumping never stops",
        hbase=Span(since=(2, 6, 0)),
    ),
    _core(
        key="hbase.bucketcache.persistence.chunksize",
        values=Whole(unit="blocks", least=1),
        figure="persistence.chunk_blocks",
        reason="while a chunk is written it is on the heap, at 200 B for each block",
        hbase=Span(since=(2, 6, 1)),
    ),
    _core(
        key="hbase.bucketcache.persistent.file.integrity.check.algorithm",
        values=AnyText(described="the name of a message digest, such as MD5"),
        reason="the digest covers path, size and modification time of each cache file, never its content",
    ),
    _core(
        key="hbase.bucketcache.acceptfactor",
        needed_by="hit ratio and size of the cache",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="the fill at which eviction starts and prefetch stops",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.minfactor",
        needed_by="hit ratio and size of the cache",
        values=Decimal(unit="fraction of each slot size", most=1.0),
        reason="the fill at which eviction stops",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.extrafreefactor",
        needed_by="hit ratio and size of the cache",
        values=Decimal(unit="fraction"),
        reason="the fraction that a second round of eviction frees in addition",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.single.factor",
        needed_by="hit ratio from HBase 2.6.5 on",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="the share of the cache for blocks read once; it and the next two must add up to exactly 1 in float32, "
        "or the RegionServer does not start",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.multi.factor",
        needed_by="hit ratio from HBase 2.6.5 on",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="the share of the cache for blocks read more than once; before HBase 2.6.5 every block counts as such",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.memory.factor",
        needed_by="hit ratio from HBase 2.6.5 on",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="the share of the cache for column families with IN_MEMORY",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.ioengine.errors.tolerated.duration",
        values=Whole(unit="ms", most=LONG),
        reason="after I/O errors for this long the cache switches itself off until the RegionServer restarts",
    ),
    _core(
        key="hbase.bucketcache.block.orphan.evictgraceperiod.seconds",
        values=Whole(unit="ms, in spite of its name"),
        reason="intended to evict blocks of regions that are on other servers; it has no effect, because no HBase 2.6 "
        "passes the list of regions",
        hbase=Span(since=(2, 6, 2)),
    ),
    _core(
        key="hbase.bucketcache.combinedcache.enabled",
        values=Switch(),
        reason="indexes and Bloom chunks are in L1, data blocks in the BucketCache; always so since HBase 2.0",
    ),
)
