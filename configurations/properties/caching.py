"""What gets cached, and when."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import CORE, Applied, Property, Span
from configurations.properties.sources import HBASE_262, HBASE_264, HBASE_265, RECIPE
from configurations.properties.values import LONG, Decimal, OneOf, Switch, Whole

__all__ = ["CACHING"]

_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART, source=HBASE_262)

CACHING: Final = (
    _core(
        key="hbase.block.data.cacheonread",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        applied=Applied.LIVE,
        reason="false switches prefetch and compressed caching off too",
    ),
    _core(
        key="hbase.rs.prefetchblocksonopen",
        values=Switch(),
        reason="regions fill the cache when they open",
        source=RECIPE,
    ),
    _core(
        key="hbase.hfile.thread.prefetch",
        values=Whole(unit="threads", least=1),
        figure="prefetch_threads",
        reason="prefetch from S3 runs at threads over first-byte latency, whatever the bandwidth",
    ),
    _core(
        key="hbase.hfile.prefetch.delay",
        values=Whole(unit="ms", most=LONG),
        applied=Applied.LIVE,
        reason="raised before a rolling restart, so that hosts in the interim do not fetch what goes back",
    ),
    _core(
        key="hbase.hfile.prefetch.delay.variation",
        values=Decimal(unit="fraction of the delay", most=1.0),
        reason="spreads the starts",
    ),
    _core(
        key="hbase.rs.cacheblocksonwrite",
        values=Switch(),
        applied=Applied.LIVE,
        reason="what is flushed is cached at once",
        source=RECIPE,
    ),
    _core(
        key="hbase.rs.cachecompactedblocksonwrite",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="a compaction replaces cached blocks instead of losing them",
        source=RECIPE,
    ),
    _core(
        key="hbase.rs.cachecompactedblocksonwrite.threshold",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", most=LONG),
        reason="compactions of more than this are not cached",
    ),
    _core(
        key="hfile.block.index.cacheonwrite",
        values=Switch(),
        reason="leaf indexes enter L1 as they are written",
    ),
    _core(
        key="hfile.block.bloom.cacheonwrite",
        values=Switch(),
        reason="Bloom chunks enter L1 as they are written",
    ),
    _core(
        key="hbase.block.data.cachecompressed",
        values=Switch(),
        reason="compressed blocks stay compressed in the cache; without compression it does nothing",
        source=RECIPE,
    ),
    _core(
        key="hbase.rs.evictblocksonclose",
        values=Switch(),
        applied=Applied.LIVE,
        reason="a region that moves away and back finds its blocks again",
    ),
    _core(
        key="hbase.rs.evictblocksonsplit",
        values=Switch(),
        reason="a split region's parts find its blocks again; before HBase 2.6.3 they never do",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _core(
        key="hbase.hfile.drop.behind.compaction",
        values=Switch(),
        reason="compactions leave the page cache alone; HDFS only",
    ),
    _core(
        key="hbase.regionserver.datatiering.enable",
        values=Switch(),
        reason="files whose newest cell is old are neither fetched nor kept",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.type",
        values=OneOf(names=("NONE", "TIME_RANGE", "CUSTOM")),
        reason="how a file's age is told; TIME_RANGE needs date-tiered compaction",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.hot.age.millis",
        values=Whole(unit="ms", most=LONG),
        reason="how old is old",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    _core(
        key="hbase.hstore.datatiering.grace.period.millis",
        values=Whole(unit="ms", most=LONG),
        reason="how long after that blocks stay",
        source=HBASE_265,
        hbase=Span(since=(2, 6, 5)),
    ),
    _core(
        key="hbase.writer.unified.encoded.blocksize.ratio",
        values=Decimal(unit="block sizes"),
        reason="above 0 a block closes by its encoded size",
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
        reason="the second grows blocks until they are large on disk; bucket sizes must follow",
    ),
    _core(
        key="hbase.block.max.size.uncompressed",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="where that growth ends",
    ),
    _core(
        key="io.storefile.bloom.block.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="one Bloom chunk; chunks live in L1",
    ),
    _core(
        key="io.storefile.bloom.error.rate",
        values=Decimal(unit="fraction", most=1.0, above=0.0),
        reason="reads of a file that has nothing for them",
    ),
    _core(
        key="hfile.index.block.max.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="one leaf index block; they live in L1",
    ),
    _core(
        key="hfile.index.block.min.entries",
        values=Whole(unit="entries", least=2),
        reason="never fewer entries than this in one",
    ),
    _core(
        key="hbase.storescanner.pread.max.bytes",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", most=LONG),
        reason="from there a scan reads with a stream of its own",
    ),
    _core(
        key="hbase.storescanner.use.pread",
        values=Switch(),
        reason="true keeps scans from ever doing so",
    ),
)
