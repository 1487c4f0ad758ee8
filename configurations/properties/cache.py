"""Properties of the BucketCache, and of the shares of the heap for L1 and the memstore.

The properties of the BucketCache are about its file, slots, queues and persistent index, and about which blocks enter
it, and when.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations import node_files
from warmbase.configurations.properties.property import (
    BOTH,
    BYTES,
    EMR_HBASE_S3,
    HBASE_264,
    HBASE_265,
    LONG,
    PERIOD_MS,
    RECIPE,
    SWITCH,
    THREADS,
    WAIT_MS,
    WHOLE_PATH,
    AnyText,
    Applied,
    Decimal,
    ListOf,
    Matching,
    OneOf,
    RenderingContext,
    Span,
    Whole,
    hbase_site,
)
from warmbase.ground.units import MIB
from warmbase.sizing.cache.bucket_cache import THRESHOLD_FRACTION, largest_cached_compaction_bytes
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR, MIN_FACTOR
from warmbase.sizing.cache.hit_ratio import EXTRA_FREE_FACTOR, MULTI_FACTOR, SINGLE_FACTOR
from warmbase.sizing.plan import Plan
from warmbase.sizing.server.memory import L1_ACCEPTABLE_FACTOR, L1_MIN_FACTOR, MULTI_FRACTION
from warmbase.sizing.server.writes import BLOCK_MULTIPLIER
from warmbase.sizing.workload.workload import BLOOM_ERROR_RATE, CHECKSUM_CHUNK_BYTES

ENGINE: Final = Matching(
    form=r"offheap|(file|files|mmap|pmem):/[^:]*",
    described="offheap, or file:, files:, mmap: or pmem: with whole paths",
)

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
        "hbase.bucketcache.ioengine",
        ENGINE,
        "stated, because EMR's default spreads a cache of 8 GiB over all volumes but one; paths are separated "
        "by commas",
        value=lambda context: f"files:{node_files.cache_files(context.plan.core)}",
        needed_by="the cache and all that is planned for it",
        source=EMR_HBASE_S3,
        holds_cache=True,
    ),
    _core(
        "hbase.bucketcache.size",
        Decimal(unit="MiB", least=1, most=2**24),
        "the size of one RegionServer's cache; a change empties the cache",
        figure="bucket_cache.size_mib",
        conversion="bytes / 1,048,576, a whole GiB",
        holds_cache=True,
    ),
    _core(
        "hbase.bucketcache.bucket.sizes",
        ListOf(member=Whole(unit="bytes", least=256, most=2**29, multiple_of=256)),
        "the slot sizes that waste the least space on this workload's blocks; multiples of 256",
        figure="bucket_cache.bucket_sizes",
        conversion="joined by commas",
        holds_cache=True,
    ),
    _core(
        "hbase.bucketcache.writer.threads",
        THREADS,
        "each batch of a writer ends with an fsync; several threads overlap these",
        figure="bucket_cache.writer_threads",
    ),
    _core(
        "hbase.bucketcache.writer.queuelength",
        Whole(unit="blocks per thread", least=1),
        "a block that finds its queue full is not cached, and nothing is logged. HBase limits the queue in "
        "blocks, so the plan limits the bytes: the heap holds up to twice the queue of every thread",
        figure="bucket_cache.writer_queue_length",
    ),
    _core(
        "hbase.bucketcache.queue.addition.waittime",
        WAIT_MS,
        f"prefetch, flush and compaction wait up to {QUEUE_WAIT_MS:,} ms for room in a full queue, which is "
        "many batches at 5 ms for an fsync, instead of leaving the block out of the cache; reads never wait",
        value=str(QUEUE_WAIT_MS),
        needed_by="the time until the caches are full",
        hbase=Span(since=(2, 4, 17)),
        live_from=LIVE_FROM,
    ),
    _core(
        "hbase.bucketcache.persistent.path",
        WHOLE_PATH,
        "the cache survives a restart; the master needs the path too, because its balancer ignores cached "
        "blocks without it",
        value=node_files.INDEX_FILE,
        needed_by="restarts that keep the cache, and the balancer",
        groups=BOTH,
        holds_cache=True,
    ),
    _core(
        "hbase.bucketcache.persist.intervalinmillis",
        PERIOD_MS,
        "each dump rewrites the whole index, so with the default of one second dumping never stops",
        figure="persistence.interval_ms",
        hbase=Span(since=(2, 6, 0)),
    ),
    _core(
        "hbase.bucketcache.persistence.chunksize",
        Whole(unit="blocks", least=1),
        "while a chunk is written it is on the heap, at 200 B for each block",
        figure="persistence.chunk_blocks",
        hbase=Span(since=(2, 6, 1)),
    ),
    _core(
        "hbase.bucketcache.persistent.file.integrity.check.algorithm",
        AnyText(described="the name of a message digest, such as MD5"),
        "the digest covers path, size and modification time of each cache file, never its content",
    ),
    _factor(
        "hbase.bucketcache.acceptfactor",
        Decimal(unit="fraction of the cache", most=1.0),
        "the fill at which eviction starts and prefetch stops",
        value=str(ACCEPT_FACTOR),
    ),
    _factor(
        "hbase.bucketcache.minfactor",
        Decimal(unit="fraction of each slot size", most=1.0),
        "the fill at which eviction stops",
        value=str(MIN_FACTOR),
    ),
    _factor(
        "hbase.bucketcache.extrafreefactor",
        Decimal(unit="fraction"),
        "the fraction that a second round of eviction frees in addition",
        value=str(EXTRA_FREE_FACTOR),
    ),
    _share(
        "hbase.bucketcache.single.factor",
        value=str(SINGLE_FACTOR),
        reason="the share of the cache for blocks read once; it and the next two must add up to exactly 1 in float32, "
        "or the RegionServer does not start",
    ),
    _share(
        "hbase.bucketcache.multi.factor",
        value=str(MULTI_FACTOR),
        reason="the share of the cache for blocks read more than once; before HBase 2.6.5 every block counts as such",
    ),
    _share(
        "hbase.bucketcache.memory.factor",
        value=str(1 - SINGLE_FACTOR - MULTI_FACTOR),
        reason="the share of the cache for column families with IN_MEMORY",
    ),
    _core(
        "hbase.bucketcache.ioengine.errors.tolerated.duration",
        WAIT_MS,
        "after I/O errors for this long the cache switches itself off until the RegionServer restarts",
    ),
    _core(
        "hbase.bucketcache.block.orphan.evictgraceperiod.seconds",
        Whole(unit="ms, in spite of its name"),
        "intended to evict blocks of regions that are on other servers; it has no effect, because no HBase 2.6 "
        "passes the list of regions",
        hbase=Span(since=(2, 6, 2)),
    ),
    _core(
        "hbase.bucketcache.combinedcache.enabled",
        SWITCH,
        "indexes and Bloom chunks are in L1, data blocks in the BucketCache; always so since HBase 2.0",
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


CACHING: Final = (
    _core(
        "hbase.block.data.cacheonread",
        SWITCH,
        "false also switches off prefetch and the caching of compressed blocks",
        value="true",
        needed_by="every figure of a warm cache",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
    ),
    _core(
        "hbase.rs.prefetchblocksonopen",
        SWITCH,
        "regions fill the cache when they open. Prefetch stops when the cache is full, so a cache that holds "
        "less than the data starts with the regions that opened first, and reads then replace the blocks that nobody "
        "reads",
        value=lambda context: "true" if context.has_bucket_cache() else "false",
        when=RenderingContext.has_root_in_s3,
        needed_by="the time until the caches are full",
        source=RECIPE,
    ),
    _core(
        "hbase.hfile.thread.prefetch",
        THREADS,
        "the rate of prefetch from S3 is threads divided by first-byte latency, whatever the bandwidth",
        figure="prefetch_threads",
    ),
    _core(
        "hbase.hfile.prefetch.delay",
        WAIT_MS,
        f"a store file has {PREFETCH_DELAY_MS / 1000:.0f} s to open, instead of HBase's 1 s. A prefetch that "
        "begins before the file's block index is loaded ends without a message, and the file is not prefetched until "
        "its region opens again",
        value=str(PREFETCH_DELAY_MS),
        needed_by="the time until the caches are full",
        applied=Applied.LIVE,
    ),
    _core(
        "hbase.hfile.prefetch.delay.variation",
        Decimal(unit="fraction of the delay", most=1.0),
        "spreads the starts of prefetch over time",
    ),
    _core(
        "hbase.rs.cacheblocksonwrite",
        SWITCH,
        "flushed blocks enter the cache at once, because new rows are often read soon; even in a cache that "
        "holds less than the data, they are few",
        value="true",
        needed_by="hit ratio under writes, and the initial load",
        applied=Applied.LIVE,
        source=RECIPE,
    ),
    _core(
        "hbase.rs.cachecompactedblocksonwrite",
        SWITCH,
        "a compaction caches its output, so that its input's cached blocks are replaced and not lost",
        value="true",
        needed_by="hit ratio under writes, and compactions in waves",
        hbase=Span(since=(2, 4, 17)),
        source=RECIPE,
    ),
    _core(
        "hbase.rs.cachecompactedblocksonwrite.threshold",
        Whole(unit="bytes", most=LONG),
        "the output of a larger compaction is not cached. If the caches hold less than the data, this is "
        f"{THRESHOLD_FRACTION:.0%} of a server's cache, so that one large compaction does not replace blocks that are "
        "read often. If they hold all the data, every output is cached",
        value=lambda context: str(_largest_cached_compaction_bytes(context.plan)),
        when=lambda context: _largest_cached_compaction_bytes(context.plan) is not None,
        needed_by="hit ratio under writes",
        hbase=Span(since=(2, 4, 17)),
    ),
    _core("hfile.block.index.cacheonwrite", SWITCH, "leaf indexes enter L1 when they are written"),
    _core("hfile.block.bloom.cacheonwrite", SWITCH, "Bloom chunks enter L1 when they are written"),
    _core(
        "hbase.block.data.cachecompressed",
        SWITCH,
        "compressed blocks stay compressed in the cache; without compression it has no effect",
        value="true",
        needed_by="bytes of a cached block, and so the size and price of the cache",
        source=RECIPE,
    ),
    _core(
        "hbase.rs.evictblocksonclose",
        SWITCH,
        "blocks stay cached when a region closes, so that a region that moves away and back finds them again",
        value="false",
        needed_by="restarts that keep the cache",
        applied=Applied.LIVE,
    ),
    _core(
        "hbase.rs.evictblocksonsplit",
        SWITCH,
        "the daughters of a split find the parent's cached blocks; before HBase 2.6.3 they never do",
        value="false",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _core("hbase.hfile.drop.behind.compaction", SWITCH, "compactions do not displace the page cache; HDFS only"),
    _core(
        "hbase.regionserver.datatiering.enable",
        SWITCH,
        "files whose newest cell is old are neither prefetched nor kept in the cache",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        "hbase.hstore.datatiering.type",
        OneOf(names=("NONE", "TIME_RANGE", "CUSTOM")),
        "how HBase determines the age of a file; TIME_RANGE needs date-tiered compaction",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        "hbase.hstore.datatiering.hot.age.millis",
        WAIT_MS,
        "the age from which a file counts as old",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        "hbase.hstore.datatiering.grace.period.millis",
        WAIT_MS,
        "the time after that age for which blocks stay cached",
        source=HBASE_265,
        hbase=Span(since=(2, 6, 5)),
    ),
    _core(
        "hbase.writer.unified.encoded.blocksize.ratio",
        Decimal(unit="block sizes"),
        "above 0, a block is closed by its encoded size",
    ),
    _core(
        "hbase.block.compressed.size.predicator",
        OneOf(
            names=(
                "org.apache.hadoop.hbase.io.hfile.UncompressedBlockSizePredicator",
                "org.apache.hadoop.hbase.io.hfile.PreviousBlockCompressionRatePredicator",
            ),
            others=True,
        ),
        "the second predicator grows blocks until their compressed size reaches the block size; the bucket "
        "sizes must follow",
        hbase=Span(since=(2, 6, 0)),
    ),
    _core(
        "hbase.block.max.size.uncompressed",
        BYTES,
        "the uncompressed size at which that growth ends",
        hbase=Span(since=(2, 6, 0)),
    ),
    _core("io.storefile.bloom.block.size", BYTES, "the size of one Bloom chunk; chunks are cached in L1"),
    hbase_site(
        "io.storefile.bloom.error.rate",
        Decimal(unit="fraction", most=1.0, above=0.0),
        "the fraction of reads that open a file although it does not have the row",
        value=str(BLOOM_ERROR_RATE),
        needed_by="the size of L1",
    ),
    _core("hfile.index.block.max.size", BYTES, "the size of one leaf index block; they are cached in L1"),
    _core(
        "hfile.index.block.min.entries",
        Whole(unit="entries", least=2),
        "the smallest number of entries in one leaf index block",
    ),
    _core(
        "hbase.storescanner.pread.max.bytes",
        Whole(unit="bytes", most=LONG),
        "after reading this many bytes a scan opens a stream of its own",
        hbase=Span(since=(2, 4, 17)),
    ),
    _core("hbase.storescanner.use.pread", SWITCH, "true prevents scans from opening a stream of their own"),
)


SIZE: Final = Matching(form=r"\d+[kmgtKMGT]?[bB]?", described="bytes, or with a suffix such as 10g", unit="bytes")
HEAP: Final = "fraction of heap"
_l1_share = partial(hbase_site, needed_by="the size of L1", values=Decimal(unit="fraction of L1", most=1.0))

L1_AND_MEMSTORE: Final = (
    hbase_site(
        "hfile.block.cache.size",
        Decimal(unit=HEAP, least=0.0, most=1.0, above=0.0001),
        "L1 holds every leaf index and Bloom chunk; 0 would silently switch off the BucketCache too",
        figure="heap.l1_fraction",
    ),
    hbase_site(
        "hbase.regionserver.global.memstore.size",
        Decimal(unit=HEAP, most=0.8, above=0.0),
        "the fraction of heap that writes may fill before they flush; with L1 at most 0.8, and outside its "
        "range HBase uses 0.4",
        figure="heap.memstore_fraction",
    ),
    hbase_site(
        "hbase.regionserver.global.memstore.size.lower.limit",
        Decimal(unit="fraction of the memstore", most=1.0, above=0.0),
        "flushes start at this fraction of the memstore, and the rest takes the writes that arrive meanwhile;"
        " HBase's default of 0.95 leaves hardly any room in a small memstore",
        when=RenderingContext.is_active,
        figure="writes.settings.lower_limit",
    ),
    hbase_site(
        "hbase.hregion.memstore.flush.size",
        BYTES,
        "a region is flushed when its writes fill this much heap: HBase's default of 128 MiB, or a multiple that"
        " holds a minute of faster writes, so that they do not make many small files",
        when=RenderingContext.is_active,
        figure="writes.settings.flush_size_bytes",
    ),
    hbase_site(
        "hbase.hregion.memstore.block.multiplier",
        Whole(unit="flush sizes", least=1),
        "a region refuses writes with RegionTooBusyException when its memstore reaches this many flush sizes",
        value=str(BLOCK_MULTIPLIER),
        when=RenderingContext.is_active,
        needed_by="the largest flush size, and the writes that block",
    ),
    hbase_site(
        "hfile.block.cache.memory.size",
        SIZE,
        "the size of L1 in bytes; it overrides the fraction",
        hbase=Span(since=(2, 6, 2)),
    ),
    hbase_site(
        "hfile.onheap.block.cache.fixed.size",
        Whole(unit="bytes", most=LONG),
        "an upper limit of L1, where it is smaller than the fraction",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hfile.block.cache.policy",
        OneOf(names=("LRU", "IndexOnlyLRU", "TinyLFU", "AdaptiveLRU"), any_case=True),
        "the eviction policy of L1; an unknown name stops the RegionServer",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hbase.lru.blockcache.min.factor",
        Decimal(unit="fraction of L1", most=1.0, above=0.0),
        "the fill of L1 at which eviction stops",
        value=str(L1_MIN_FACTOR),
        needed_by="the size of L1",
    ),
    hbase_site(
        "hbase.lru.blockcache.acceptable.factor",
        Decimal(unit="fraction of L1", most=1.0, above=0.0),
        "the fill of L1 at which eviction starts",
        value=str(L1_ACCEPTABLE_FACTOR),
        needed_by="the size of L1",
    ),
    hbase_site(
        "hbase.lru.blockcache.hard.capacity.limit.factor",
        Decimal(unit="acceptable sizes", least=1.0),
        "the fill above which L1 accepts no more blocks",
    ),
    _l1_share(
        "hbase.lru.blockcache.single.percentage",
        value=str((1 - MULTI_FRACTION) / 2),
        reason="the share of L1 for blocks read once; it and the next two must add up to exactly 1",
    ),
    _l1_share(
        "hbase.lru.blockcache.multi.percentage",
        value=str(MULTI_FRACTION),
        reason="the share of L1 for blocks read more than once",
    ),
    _l1_share(
        "hbase.lru.blockcache.memory.percentage",
        value=str((1 - MULTI_FRACTION) / 2),
        reason="the share of L1 for column families with IN_MEMORY",
    ),
    hbase_site("hbase.lru.max.block.size", BYTES, "larger blocks never enter L1"),
    hbase_site(
        "hbase.regionserver.offheap.global.memstore.size",
        Whole(unit="MiB"),
        "the size of a memstore outside the heap; without MSLAB it has no effect",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hbase.regionserver.free.heap.min.memory.size",
        SIZE,
        "replaces the fifth of the heap that stays free",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    hbase_site(
        "hbase.regionserver.global.memstore.memory.size",
        SIZE,
        "the size of the memstore in bytes",
        source=HBASE_265,
        hbase=Span(since=(2, 6, 5)),
    ),
    hbase_site(
        "hfile.block.cache.size.min.range",
        Decimal(unit=HEAP, most=1.0),
        "a range lets HBase move memory between L1 and memstore every minute; without one, the sizes stay as planned",
    ),
    hbase_site("hfile.block.cache.size.max.range", Decimal(unit=HEAP, most=1.0), "the upper end of that range"),
    hbase_site(
        "hbase.regionserver.global.memstore.size.min.range", Decimal(unit=HEAP, most=1.0), "the same for the memstore"
    ),
    hbase_site(
        "hbase.regionserver.global.memstore.size.max.range", Decimal(unit=HEAP, most=1.0), "the upper end of that range"
    ),
    hbase_site("hbase.blockcache.use.external", SWITCH, "memcached replaces the BucketCache"),
    hbase_site(
        "hbase.blockcache.external.class",
        AnyText(described="memcached, or a class"),
        "the class of that external cache",
    ),
    hbase_site(
        "hbase.blockcache.minblocksize",
        BYTES,
        "the nominal block size, for which maps and eviction queues are laid out; despite its name it is no minimum",
        when=RenderingContext.has_bucket_cache,
        figure="bucket_cache.nominal_block_bytes",
    ),
    hbase_site(
        "hbase.regionserver.checksum.verify",
        SWITCH,
        "HBase verifies checksums of blocks itself, and HDFS does not verify them again",
    ),
    hbase_site(
        "hbase.hstore.checksum.algorithm",
        OneOf(names=("CRC32C", "CRC32", "NULL")),
        "the checksum of store files; it is never stored in the cache",
    ),
    hbase_site(
        "hbase.hstore.bytes.per.checksum",
        BYTES,
        "the number of bytes that share one checksum of 4 bytes",
        value=str(CHECKSUM_CHUNK_BYTES),
        needed_by="bytes of a block in S3",
    ),
)
