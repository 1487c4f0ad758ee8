"""Properties that share the heap between the on-heap cache, the memstore and what the BucketCache needs of it."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    BYTES,
    HBASE_264,
    HBASE_265,
    LONG,
    SWITCH,
    AnyText,
    Decimal,
    Matching,
    OneOf,
    Span,
    Whole,
)
from warmbase.sizing.server.memory import L1_ACCEPTABLE_FACTOR, L1_MIN_FACTOR, MULTI_FRACTION
from warmbase.sizing.server.write_path import BLOCK_MULTIPLIER
from warmbase.sizing.workload.workload import CHECKSUM_CHUNK_BYTES

SIZE: Final = Matching(form=r"\d+[kmgtKMGT]?[bB]?", described="bytes, or with a suffix such as 10g", unit="bytes")
HEAP: Final = "fraction of heap"
_share = partial(hbase_site, needed_by="the size of L1", values=Decimal(unit="fraction of L1", most=1.0))

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
    _share(
        "hbase.lru.blockcache.single.percentage",
        value=str((1 - MULTI_FRACTION) / 2),
        reason="the share of L1 for blocks read once; it and the next two must add up to exactly 1",
    ),
    _share(
        "hbase.lru.blockcache.multi.percentage",
        value=str(MULTI_FRACTION),
        reason="the share of L1 for blocks read more than once",
    ),
    _share(
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
