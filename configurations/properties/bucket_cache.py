"""The BucketCache: its file, its slots, its queues, and the index that survives a restart."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CORE, Applied, Property, Span
from configurations.properties.sources import EMR_HBASE_S3, HBASE_262
from configurations.properties.values import LONG, AnyText, Decimal, ListOf, Matching, Switch, Whole

__all__ = ["BUCKET_CACHE"]

ENGINE: Final = Matching(
    form=r"offheap|(file|files|mmap|pmem):/[^:]*",
    described="offheap, or file:, files:, mmap: or pmem: with whole paths",
)
PATH: Final = Matching(form=r"/.+", described="a whole path")
LIVE_FROM: Final = (2, 6, 3)
"""HBASE-29249: factors and waits are read again without a restart."""
_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART, source=HBASE_262)

BUCKET_CACHE: Final = (
    _core(
        key="hbase.bucketcache.ioengine",
        values=ENGINE,
        reason="explicit, because EMR's default spreads 8 GiB over all volumes but one; commas between paths",
        source=EMR_HBASE_S3,
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.size",
        values=Decimal(unit="MiB", least=1, most=2**24),
        figure="bucket_cache.size_mib",
        conversion="bytes / 1,048,576, a whole GiB",
        reason="what one RegionServer caches; a change of it drops the cache",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.bucket.sizes",
        values=ListOf(member=Whole(unit="bytes", least=256, most=2**29, multiple_of=256)),
        figure="bucket_cache.bucket_sizes",
        conversion="joined by commas",
        reason="slots that waste least on these blocks; multiples of 256",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.writer.threads",
        values=Whole(unit="threads", least=1),
        figure="bucket_cache.writer_threads",
        reason="each batch ends with an fsync; several threads overlap them",
    ),
    _core(
        key="hbase.bucketcache.writer.queuelength",
        values=Whole(unit="blocks per thread", least=1),
        figure="bucket_cache.writer_queue_length",
        reason="a block that finds its queue full is silently not cached",
    ),
    _core(
        key="hbase.bucketcache.queue.addition.waittime",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="ms", most=LONG),
        reason="prefetch and cache-on-write wait for room in a queue instead of dropping the block; reads never wait",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.persistent.path",
        groups=BOTH,
        values=PATH,
        reason="the cache survives a restart; the master needs it too, or its balancer ignores what is cached",
        holds_cache=True,
    ),
    _core(
        key="hbase.bucketcache.persist.intervalinmillis",
        values=Whole(unit="ms", least=1, most=LONG),
        figure="persistence.interval_ms",
        reason="each dump rewrites the whole index; the default of one second never stops",
        hbase=Span(since=(2, 6, 0)),
    ),
    _core(
        key="hbase.bucketcache.persistence.chunksize",
        values=Whole(unit="blocks", least=1),
        figure="persistence.chunk_blocks",
        reason="one chunk lies on the heap while it is written, 200 B for each block",
        hbase=Span(since=(2, 6, 1)),
    ),
    _core(
        key="hbase.bucketcache.persistent.file.integrity.check.algorithm",
        values=AnyText(described="the name of a message digest, such as MD5"),
        reason="digest of path, size and time of each cache file, never of its content",
    ),
    _core(
        key="hbase.bucketcache.acceptfactor",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="eviction starts there; prefetch stops there",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.minfactor",
        values=Decimal(unit="fraction of each slot size", most=1.0),
        reason="eviction goes on until so much is left",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.extrafreefactor",
        values=Decimal(unit="fraction"),
        reason="what a second round of eviction frees beside",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.single.factor",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="cache for blocks read once; with the next two exactly 1 in float32, or the RegionServer does not start",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.multi.factor",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="cache for blocks read more than once; before HBase 2.6.5 every block is one",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.memory.factor",
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="cache for families that are IN_MEMORY",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.ioengine.errors.tolerated.duration",
        values=Whole(unit="ms", most=LONG),
        reason="after so long of errors the cache switches itself off until the RegionServer restarts",
    ),
    _core(
        key="hbase.bucketcache.block.orphan.evictgraceperiod.seconds",
        values=Whole(unit="ms, in spite of its name"),
        reason="meant to evict blocks of regions that are elsewhere; no 2.6 hands it the regions, so it does nothing",
        hbase=Span(since=(2, 6, 2)),
    ),
    _core(
        key="hbase.bucketcache.combinedcache.enabled",
        values=Switch(),
        reason="indexes and Bloom chunks in L1, data in the BucketCache; since HBase 2.0 always",
    ),
)
