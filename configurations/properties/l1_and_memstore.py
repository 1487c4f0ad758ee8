"""Properties that share the heap between the on-heap cache, the memstore and what the BucketCache needs of it."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    HBASE_264,
    HBASE_265,
    LONG,
    AnyText,
    Decimal,
    Matching,
    OneOf,
    Span,
    Switch,
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
        key="hfile.block.cache.size",
        values=Decimal(unit=HEAP, least=0.0, most=1.0, above=0.0001),
        figure="heap.l1_fraction",
        reason="L1 holds every leaf index and Bloom chunk; 0 would silently switch off the BucketCache too",
    ),
    hbase_site(
        key="hbase.regionserver.global.memstore.size",
        values=Decimal(unit=HEAP, most=0.8, above=0.0),
        figure="heap.memstore_fraction",
        reason="the fraction of heap that writes may fill before they flush; with L1 at most 0.8, and outside its "
        "range HBase uses 0.4",
    ),
    hbase_site(
        key="hbase.regionserver.global.memstore.size.lower.limit",
        when=RenderingContext.is_active,
        values=Decimal(unit="fraction of the memstore", most=1.0, above=0.0),
        figure="writes.settings.lower_limit",
        reason="flushes start at this fraction of the memstore, and the rest takes the writes that arrive meanwhile;"
        " HBase's default of 0.95 leaves hardly any room in a small memstore",
    ),
    hbase_site(
        key="hbase.hregion.memstore.flush.size",
        when=RenderingContext.is_active,
        values=Whole(unit="bytes", least=1, most=LONG),
        figure="writes.settings.flush_size_bytes",
        reason="a region is flushed when its writes fill this much heap: HBase's default of 128 MiB, or a multiple that"
        " holds a minute of faster writes, so that they do not make many small files",
    ),
    hbase_site(
        key="hbase.hregion.memstore.block.multiplier",
        value=str(BLOCK_MULTIPLIER),
        when=RenderingContext.is_active,
        needed_by="the largest flush size, and the writes that block",
        values=Whole(unit="flush sizes", least=1),
        reason="a region refuses writes with RegionTooBusyException when its memstore reaches this many flush sizes",
    ),
    hbase_site(
        key="hfile.block.cache.memory.size",
        values=SIZE,
        reason="the size of L1 in bytes; it overrides the fraction",
        hbase=Span(since=(2, 6, 2)),
    ),
    hbase_site(
        key="hfile.onheap.block.cache.fixed.size",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", most=LONG),
        reason="an upper limit of L1, where it is smaller than the fraction",
    ),
    hbase_site(
        key="hfile.block.cache.policy",
        hbase=Span(since=(2, 4, 17)),
        values=OneOf(names=("LRU", "IndexOnlyLRU", "TinyLFU", "AdaptiveLRU"), any_case=True),
        reason="the eviction policy of L1; an unknown name stops the RegionServer",
    ),
    hbase_site(
        key="hbase.lru.blockcache.min.factor",
        value=str(L1_MIN_FACTOR),
        needed_by="the size of L1",
        values=Decimal(unit="fraction of L1", most=1.0, above=0.0),
        reason="the fill of L1 at which eviction stops",
    ),
    hbase_site(
        key="hbase.lru.blockcache.acceptable.factor",
        value=str(L1_ACCEPTABLE_FACTOR),
        needed_by="the size of L1",
        values=Decimal(unit="fraction of L1", most=1.0, above=0.0),
        reason="the fill of L1 at which eviction starts",
    ),
    hbase_site(
        key="hbase.lru.blockcache.hard.capacity.limit.factor",
        values=Decimal(unit="acceptable sizes", least=1.0),
        reason="the fill above which L1 accepts no more blocks",
    ),
    _share(
        key="hbase.lru.blockcache.single.percentage",
        value=str((1 - MULTI_FRACTION) / 2),
        reason="the share of L1 for blocks read once; it and the next two must add up to exactly 1",
    ),
    _share(
        key="hbase.lru.blockcache.multi.percentage",
        value=str(MULTI_FRACTION),
        reason="the share of L1 for blocks read more than once",
    ),
    _share(
        key="hbase.lru.blockcache.memory.percentage",
        value=str((1 - MULTI_FRACTION) / 2),
        reason="the share of L1 for column families with IN_MEMORY",
    ),
    hbase_site(
        key="hbase.lru.max.block.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="larger blocks never enter L1",
    ),
    hbase_site(
        key="hbase.regionserver.offheap.global.memstore.size",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="MiB"),
        reason="the size of a memstore outside the heap; without MSLAB it has no effect",
    ),
    hbase_site(
        key="hbase.regionserver.free.heap.min.memory.size",
        values=SIZE,
        reason="replaces the fifth of the heap that stays free",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 4)),
    ),
    hbase_site(
        key="hbase.regionserver.global.memstore.memory.size",
        values=SIZE,
        reason="the size of the memstore in bytes",
        source=HBASE_265,
        hbase=Span(since=(2, 6, 5)),
    ),
    hbase_site(
        key="hfile.block.cache.size.min.range",
        values=Decimal(unit=HEAP, most=1.0),
        reason="a range lets HBase move memory between L1 and memstore every minute; without one, the sizes stay as "
        "planned",
    ),
    hbase_site(
        key="hfile.block.cache.size.max.range",
        values=Decimal(unit=HEAP, most=1.0),
        reason="the upper end of that range",
    ),
    hbase_site(
        key="hbase.regionserver.global.memstore.size.min.range",
        values=Decimal(unit=HEAP, most=1.0),
        reason="the same for the memstore",
    ),
    hbase_site(
        key="hbase.regionserver.global.memstore.size.max.range",
        values=Decimal(unit=HEAP, most=1.0),
        reason="the upper end of that range",
    ),
    hbase_site(
        key="hbase.blockcache.use.external",
        values=Switch(),
        reason="memcached replaces the BucketCache",
    ),
    hbase_site(
        key="hbase.blockcache.external.class",
        values=AnyText(described="memcached, or a class"),
        reason="the class of that external cache",
    ),
    hbase_site(
        key="hbase.blockcache.minblocksize",
        when=RenderingContext.has_bucket_cache,
        values=Whole(unit="bytes", least=1, most=LONG),
        figure="bucket_cache.nominal_block_bytes",
        reason="the nominal block size, for which maps and eviction queues are laid out; despite its name it is no "
        "minimum",
    ),
    hbase_site(
        key="hbase.regionserver.checksum.verify",
        values=Switch(),
        reason="HBase verifies checksums of blocks itself, and HDFS does not verify them again",
    ),
    hbase_site(
        key="hbase.hstore.checksum.algorithm",
        values=OneOf(names=("CRC32C", "CRC32", "NULL")),
        reason="the checksum of store files; it is never stored in the cache",
    ),
    hbase_site(
        key="hbase.hstore.bytes.per.checksum",
        value=str(CHECKSUM_CHUNK_BYTES),
        needed_by="bytes of a block in S3",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the number of bytes that share one checksum of 4 bytes",
    ),
)
