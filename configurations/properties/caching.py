"""Properties that decide which blocks enter the cache, and when."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import CORE, Applied, Property, Span
from configurations.properties.sources import HBASE_262, HBASE_264, HBASE_265, RECIPE
from configurations.properties.values import LONG, Decimal, OneOf, Switch, Whole
from sizing.compacted_blocks import THRESHOLD_FRACTION

# judgement: many files open at once on S3. Each takes a few GETs, and throttled GETs are repeated.
PREFETCH_DELAY_MS: Final = 10_000

_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART, source=HBASE_262)
_switch = partial(_core, values=Switch())

CACHING: Final = (
    _switch(
        key="hbase.block.data.cacheonread",
        needed_by="every figure of a warm cache",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
        reason="false also switches off prefetch and the caching of compressed blocks",
    ),
    _switch(
        key="hbase.rs.prefetchblocksonopen",
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
        needed_by="hit ratio under writes, and the initial load",
        applied=Applied.LIVE,
        reason="flushed blocks enter the cache at once, because new rows are often read soon; even in a cache that "
        "holds less than the data, they are few",
        source=RECIPE,
    ),
    _switch(
        key="hbase.rs.cachecompactedblocksonwrite",
        needed_by="hit ratio under writes, and compactions in waves",
        hbase=Span(since=(2, 4, 17)),
        reason="a compaction caches its output, so that its input's cached blocks are replaced and not lost",
        source=RECIPE,
    ),
    _core(
        key="hbase.rs.cachecompactedblocksonwrite.threshold",
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
        needed_by="bytes of a cached block, and so the size and price of the cache",
        reason="compressed blocks stay compressed in the cache; without compression it has no effect",
        source=RECIPE,
    ),
    _switch(
        key="hbase.rs.evictblocksonclose",
        needed_by="restarts that keep the cache",
        applied=Applied.LIVE,
        reason="blocks stay cached when a region closes, so that a region that moves away and back finds them again",
    ),
    _switch(
        key="hbase.rs.evictblocksonsplit",
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
    _core(
        key="io.storefile.bloom.error.rate",
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
