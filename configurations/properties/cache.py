"""Properties of the BucketCache: its file, slots, queues and persistent index, and which blocks enter it, and when."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BOTH,
    EMR_HBASE_S3,
    HBASE_264,
    HBASE_265,
    LONG,
    RECIPE,
    AnyText,
    Applied,
    Decimal,
    ListOf,
    Matching,
    OneOf,
    Span,
    Switch,
    Whole,
)
from warmbase.ground.units import MIB
from warmbase.sizing.cache.allocator import ACCEPT_FACTOR, MIN_FACTOR
from warmbase.sizing.cache.bucket_cache import THRESHOLD_FRACTION, largest_cached_compaction_bytes
from warmbase.sizing.cache.hit_ratio import EXTRA_FREE_FACTOR, MULTI_FACTOR, SINGLE_FACTOR
from warmbase.sizing.plan import Plan
from warmbase.sizing.workload.workload import BLOOM_ERROR_RATE

ENGINE: Final = Matching(
    form=r"offheap|(file|files|mmap|pmem):/[^:]*",
    described="offheap, or file:, files:, mmap: or pmem: with whole paths",
)
PATH: Final = Matching(form=r"/.+", described="a whole path")
LIVE_FROM: Final = (2, 6, 3)
"""HBASE-29249: HBase reads factors and waits again without a restart."""
QUEUE_WAIT_MS: Final = 1_000  # judgement: see the property's reason
_core = partial(hbase_site, when=RenderingContext.has_bucket_cache)
_factor = partial(_core, needed_by="hit ratio and size of the cache", live_from=LIVE_FROM)
_share = partial(
    _core,
    needed_by="hit ratio from HBase 2.6.5 on",
    values=Decimal(unit="fraction of the cache", most=1.0),
    live_from=LIVE_FROM,
)

BUCKET_CACHE: Final = (
    _core(
        key="hbase.bucketcache.ioengine",
        value=lambda context: f"files:{node_files.cache_files(context.plan.core)}",
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
        value=str(QUEUE_WAIT_MS),
        needed_by="the time until the caches are full",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="ms", most=LONG),
        reason=f"prefetch, flush and compaction wait up to {QUEUE_WAIT_MS:,} ms for room in a full queue, which is "
        "many batches at 5 ms for an fsync, instead of leaving the block out of the cache; reads never wait",
        live_from=LIVE_FROM,
    ),
    _core(
        key="hbase.bucketcache.persistent.path",
        value=node_files.INDEX_FILE,
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
    _factor(
        key="hbase.bucketcache.acceptfactor",
        value=str(ACCEPT_FACTOR),
        values=Decimal(unit="fraction of the cache", most=1.0),
        reason="the fill at which eviction starts and prefetch stops",
    ),
    _factor(
        key="hbase.bucketcache.minfactor",
        value=str(MIN_FACTOR),
        values=Decimal(unit="fraction of each slot size", most=1.0),
        reason="the fill at which eviction stops",
    ),
    _factor(
        key="hbase.bucketcache.extrafreefactor",
        value=str(EXTRA_FREE_FACTOR),
        values=Decimal(unit="fraction"),
        reason="the fraction that a second round of eviction frees in addition",
    ),
    _share(
        key="hbase.bucketcache.single.factor",
        value=str(SINGLE_FACTOR),
        reason="the share of the cache for blocks read once; it and the next two must add up to exactly 1 in float32, "
        "or the RegionServer does not start",
    ),
    _share(
        key="hbase.bucketcache.multi.factor",
        value=str(MULTI_FACTOR),
        reason="the share of the cache for blocks read more than once; before HBase 2.6.5 every block counts as such",
    ),
    _share(
        key="hbase.bucketcache.memory.factor",
        value=str(1 - SINGLE_FACTOR - MULTI_FACTOR),
        reason="the share of the cache for column families with IN_MEMORY",
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


# judgement: many files open at once on S3. Each takes a few GETs, and throttled GETs are repeated.
PREFETCH_DELAY_MS: Final = 10_000


def _largest_cached_compaction_bytes(plan: Plan) -> int | None:
    """Return the largest compaction whose output enters the cache; None where all do, or where there is no cache."""
    if plan.bucket_cache is None:
        return None
    data_bytes, _ = plan.hit_ratio.curve[-1]
    return largest_cached_compaction_bytes(plan.bucket_cache.size_mib * MIB, plan.core.count, data_bytes)


_switch = partial(_core, values=Switch())

CACHING: Final = (
    _switch(
        key="hbase.block.data.cacheonread",
        value="true",
        needed_by="every figure of a warm cache",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
        reason="false also switches off prefetch and the caching of compressed blocks",
    ),
    _switch(
        key="hbase.rs.prefetchblocksonopen",
        value=lambda context: "true" if context.has_bucket_cache() else "false",
        when=RenderingContext.has_root_in_s3,
        needed_by="the time until the caches are full",
        reason="regions fill the cache when they open. Prefetch stops when the cache is full, so a cache that holds "
        "less than the data starts with the regions that opened first, and reads then replace the blocks that nobody "
        "reads",
        source=RECIPE,
    ),
    _core(
        key="hbase.hfile.thread.prefetch",
        values=Whole(unit="threads", least=1),
        figure="prefetch_threads",
        reason="the rate of prefetch from S3 is threads divided by first-byte latency, whatever the bandwidth",
    ),
    _core(
        key="hbase.hfile.prefetch.delay",
        value=str(PREFETCH_DELAY_MS),
        needed_by="the time until the caches are full",
        values=Whole(unit="ms", most=LONG),
        applied=Applied.LIVE,
        reason=f"a store file has {PREFETCH_DELAY_MS / 1000:.0f} s to open, instead of HBase's 1 s. A prefetch that "
        "begins before the file's block index is loaded ends without a message, and the file is not prefetched until "
        "its region opens again",
    ),
    _core(
        key="hbase.hfile.prefetch.delay.variation",
        values=Decimal(unit="fraction of the delay", most=1.0),
        reason="spreads the starts of prefetch over time",
    ),
    _switch(
        key="hbase.rs.cacheblocksonwrite",
        value="true",
        needed_by="hit ratio under writes, and the initial load",
        applied=Applied.LIVE,
        reason="flushed blocks enter the cache at once, because new rows are often read soon; even in a cache that "
        "holds less than the data, they are few",
        source=RECIPE,
    ),
    _switch(
        key="hbase.rs.cachecompactedblocksonwrite",
        value="true",
        needed_by="hit ratio under writes, and compactions in waves",
        hbase=Span(since=(2, 4, 17)),
        reason="a compaction caches its output, so that its input's cached blocks are replaced and not lost",
        source=RECIPE,
    ),
    _core(
        key="hbase.rs.cachecompactedblocksonwrite.threshold",
        value=lambda context: str(_largest_cached_compaction_bytes(context.plan)),
        when=lambda context: _largest_cached_compaction_bytes(context.plan) is not None,
        needed_by="hit ratio under writes",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", most=LONG),
        reason="the output of a larger compaction is not cached. If the caches hold less than the data, this is "
        f"{THRESHOLD_FRACTION:.0%} of a server's cache, so that one large compaction does not replace blocks that are "
        "read often. If they hold all the data, every output is cached",
    ),
    _switch(
        key="hfile.block.index.cacheonwrite",
        reason="leaf indexes enter L1 when they are written",
    ),
    _switch(
        key="hfile.block.bloom.cacheonwrite",
        reason="Bloom chunks enter L1 when they are written",
    ),
    _switch(
        key="hbase.block.data.cachecompressed",
        value="true",
        needed_by="bytes of a cached block, and so the size and price of the cache",
        reason="compressed blocks stay compressed in the cache; without compression it has no effect",
        source=RECIPE,
    ),
    _switch(
        key="hbase.rs.evictblocksonclose",
        value="false",
        needed_by="restarts that keep the cache",
        applied=Applied.LIVE,
        reason="blocks stay cached when a region closes, so that a region that moves away and back finds them again",
    ),
    _switch(
        key="hbase.rs.evictblocksonsplit",
        value="false",
        reason="the daughters of a split find the parent's cached blocks; before HBase 2.6.3 they never do",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _switch(
        key="hbase.hfile.drop.behind.compaction",
        reason="compactions do not displace the page cache; HDFS only",
    ),
    _switch(
        key="hbase.regionserver.datatiering.enable",
        reason="files whose newest cell is old are neither prefetched nor kept in the cache",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.type",
        values=OneOf(names=("NONE", "TIME_RANGE", "CUSTOM")),
        reason="how HBase determines the age of a file; TIME_RANGE needs date-tiered compaction",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.hot.age.millis",
        values=Whole(unit="ms", most=LONG),
        reason="the age from which a file counts as old",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.grace.period.millis",
        values=Whole(unit="ms", most=LONG),
        reason="the time after that age for which blocks stay cached",
        source=HBASE_265,
        hbase=Span(since=(2, 6, 5)),
    ),
    _core(
        key="hbase.writer.unified.encoded.blocksize.ratio",
        values=Decimal(unit="block sizes"),
        reason="above 0, a block is closed by its encoded size",
    ),
    _core(
        key="hbase.block.compressed.size.predicator",
        hbase=Span(since=(2, 6, 0)),
        values=OneOf(
            names=(
                "org.apache.hadoop.hbase.io.hfile.UncompressedBlockSizePredicator",
                "org.apache.hadoop.hbase.io.hfile.PreviousBlockCompressionRatePredicator",
            ),
            others=True,
        ),
        reason="the second predicator grows blocks until their compressed size reaches the block size; the bucket "
        "sizes must follow",
    ),
    _core(
        key="hbase.block.max.size.uncompressed",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the uncompressed size at which that growth ends",
    ),
    _core(
        key="io.storefile.bloom.block.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the size of one Bloom chunk; chunks are cached in L1",
    ),
    hbase_site(
        key="io.storefile.bloom.error.rate",
        value=str(BLOOM_ERROR_RATE),
        needed_by="the size of L1",
        values=Decimal(unit="fraction", most=1.0, above=0.0),
        reason="the fraction of reads that open a file although it does not have the row",
    ),
    _core(
        key="hfile.index.block.max.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the size of one leaf index block; they are cached in L1",
    ),
    _core(
        key="hfile.index.block.min.entries",
        values=Whole(unit="entries", least=2),
        reason="the smallest number of entries in one leaf index block",
    ),
    _core(
        key="hbase.storescanner.pread.max.bytes",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", most=LONG),
        reason="after reading this many bytes a scan opens a stream of its own",
    ),
    _switch(
        key="hbase.storescanner.use.pread",
        reason="true prevents scans from opening a stream of their own",
    ),
)
