"""How the memory of a core node is shared out, and the heap of its RegionServer.

RAM = operating system + daemons of EMR + YARN containers + heap + what the JVM takes beside it + direct buffers + page
cache. The page cache is what is left: BucketCache files are read and written through it.

Heap = L1 (leaf indexes and Bloom chunks, which the combined cache keeps on heap) + memstore + BucketCache index + write
queues + one chunk of the persistence dump + a fifth of everything, which HBase's own rule leaves free. The BucketCache
keeps its blocks on disk and only their index on the heap.

Glossary
    l1_bytes            every leaf index and Bloom chunk of the hosted files; grows with blocks and rows
    memstore_bytes      what writes may fill before they are flushed; grows with the write rate
    index_bytes         one entry for each cached block; grows with the blocks a node holds, not with their size
    write_queue_bytes   blocks waiting to be written to the cache: one batch draining, one queued
    persist_chunk_bytes entries of one chunk while the index is dumped

Sources: Amazon EMR best practices (at least 2 GB for the operating system; YARN's share is given back where HBase is
what the node is for); HBase 2.6.2 ByteBuffAllocator for the direct buffers; HBase 2.6.2 BucketCache,
MemorySizeUtil.checkForClusterFreeHeapMemoryLimit for the heap; entries measured on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from warmbase.ground.units import GIB, MIB

# Measured on 2.6.2 by filling, stopping and restoring a cache of 2 million blocks: by how much the heap in use had then
# grown for each, table included. A quarter of it with ZGC is what the restore has left to be collected.
RESTORED_ENTRY_BYTES: Final = {"zgc": 540, "g1": 445}
ENTRY_BYTES: Final = {
    "BucketEntry": 80,
    "BlockCacheKey": 48,
    "String of the file's name": 32,
    "byte[] of 32 characters": 48,
    "ConcurrentHashMap.Node": 40,
    "ConcurrentSkipListMap.Node": 40,
    "half a ConcurrentSkipListMap.Index": 20,
    "RefCnt": 32,
    "its recycler": 32,
    "AtomicBoolean": 16,
}
"""The objects on the heap for a cached block of HBase 2.6.2 with references of 8 bytes: ZGC, or 32 GB and more."""
REFERENCE_BYTES: Final = 8
LOAD_FACTOR: Final = 0.75  # of Java's ConcurrentHashMap
FREE_FRACTION: Final = 0.20  # HBase refuses to start with L1 and memstore above 0.8; the index is not in its sum
STEP_MIB: Final = 256
# judgement: below 4 GiB the fixed costs of a RegionServer (RPC, region and file metadata) are no longer small.
MINIMUM_MIB: Final = 4_096
# judgement: L1 also takes root indexes and file metadata, and evicts from 99 % of its size down to 95 %.
L1_SLACK: Final = 1.25
L1_ACCEPTABLE_FACTOR: Final = 0.99  # hbase.lru.blockcache.acceptable.factor
L1_MIN_FACTOR: Final = 0.95  # hbase.lru.blockcache.min.factor
MULTI_FRACTION: Final = 0.5  # hbase.lru.blockcache.multi.percentage
# judgement: HBase takes any fraction above 0; a twentieth of 4 GiB holds root indexes and one flush of meta.
MINIMUM_FRACTION: Final = 0.05
PERCENTS: Final = 100  # HBase reads both fractions with two decimals


class HeapNeeds(Struct, frozen=True, kw_only=True):
    """The needs that must fit on the heap of one RegionServer, in bytes."""

    l1_bytes: int
    memstore_bytes: int
    index_bytes: int
    write_queue_bytes: int
    persist_chunk_bytes: int


class Heap(Struct, frozen=True, kw_only=True):
    """The heap as it is configured. Fractions are of `xmx_mib` and have two decimals, as HBase reads them."""

    xmx_mib: int
    collector: str
    l1_fraction: float
    memstore_fraction: float

    @property
    def xmx_bytes(self) -> int:
        """Return the value of -Xms and -Xmx alike."""
        return self.xmx_mib * MIB


def index_bytes_per_block(collector: str) -> int:
    """Heap to plan for one cached block: what is in use after a restart, which is when it is most."""
    return RESTORED_ENTRY_BYTES[collector]


def live_index_bytes(blocks: int, cache_bytes: int, nominal_block_bytes: int) -> int:
    """Heap of so many cached blocks once collected: their objects, and the map's table, which is made for a full cache.

    References have 8 bytes. Source: HBase 2.6.2 BucketCache, Java's ConcurrentHashMap; each class counted on a heap.
    """
    slots = 1 << max(0, math.ceil(math.log2(cache_bytes / nominal_block_bytes / LOAD_FACTOR + 1)))
    return blocks * sum(ENTRY_BYTES.values()) + REFERENCE_BYTES * slots


def l1_bytes(index_and_bloom_bytes: float, *, data_blocks: bool) -> int:
    """Return the size of L1 for the leaf indexes and Bloom chunks of one RegionServer's files.

    Without a BucketCache, L1 also has the data blocks, and only its share for blocks that are read more than once is
    safe from them.
    """
    return math.ceil(L1_SLACK * index_and_bloom_bytes / (MULTI_FRACTION if data_blocks else 1))


def within_heap_limit(l1_fraction: float, memstore_fraction: float) -> bool:
    """Apply HBase's own start-up check: float32, truncated to whole percents, together at most 80."""
    percents = int(np.float32(l1_fraction) * np.float32(100)) + int(np.float32(memstore_fraction) * np.float32(100))
    return percents <= 80  # noqa: PLR2004 - the rule's own figure


def heap(needs: HeapNeeds, collector: str) -> Heap:
    """The smallest heap in steps of 256 MiB that holds the needs and leaves a fifth free.

    L1 and memstore are never below 5 % of it, and pass HBase's own check.
    """
    fixed = needs.index_bytes + needs.write_queue_bytes + needs.persist_chunk_bytes
    # A lower bound: each share takes its bytes, and at least its least fraction of the heap.
    rest = 1 - FREE_FRACTION
    least_bytes = max(
        (fixed + needs.l1_bytes + needs.memstore_bytes) / rest,
        (fixed + needs.l1_bytes) / (rest - MINIMUM_FRACTION),
        (fixed + needs.memstore_bytes) / (rest - MINIMUM_FRACTION),
        fixed / (rest - 2 * MINIMUM_FRACTION),
    )
    xmx_mib = max(MINIMUM_MIB, STEP_MIB * math.ceil(least_bytes / MIB / STEP_MIB))
    while True:
        l1_fraction, memstore_fraction = (
            max(MINIMUM_FRACTION, math.ceil(PERCENTS * share / (xmx_mib * MIB)) / PERCENTS)
            for share in (needs.l1_bytes, needs.memstore_bytes)
        )
        used = l1_fraction + memstore_fraction + fixed / (xmx_mib * MIB)
        if used <= 1 - FREE_FRACTION and within_heap_limit(l1_fraction, memstore_fraction):
            return Heap(
                xmx_mib=xmx_mib,
                collector=collector,
                l1_fraction=l1_fraction,
                memstore_fraction=memstore_fraction,
            )
        xmx_mib += STEP_MIB


SYSTEM_BYTES: Final = 2 * GIB
# judgement: DataNode, NodeManager, the CloudWatch and EMR agents; their own heaps come to about 3 GiB.
DAEMON_BYTES: Final = 4 * GIB
YARN_MIB: Final = 2_048  # judgement: enough for one container of an EMR step; HBase is what the node is for
JVM_FIXED_BYTES: Final = 512 * MIB  # judgement: metaspace, code cache and thread stacks
JVM_FRACTION: Final = 0.05  # judgement: ZGC's own tables; the G1 remembered sets are of the same order
PAGE_CACHE_FRACTION: Final = 0.10  # judgement: unaligned slots make partial pages, which are re-read without it
POOL_BUFFER_BYTES: Final = 66_560  # hbase.server.allocator.buffer.size
POOL_BUFFERS_PER_HANDLER: Final = 31 * 2  # hbase.server.allocator.max.buffer.count, as ByteBuffAllocator computes it
NETTY_BYTES: Final = 512 * MIB  # judgement: RPC and S3 client buffers outside the pool


class NodeMemory(Struct, frozen=True, kw_only=True):
    """One core node's RAM; the parts sum to `ram_bytes` exactly."""

    ram_bytes: int
    parts: Mapping[str, int]


class NotEnoughMemory(ValueError):
    """The RegionServer's needs leave too little page cache; the text says how much is missing."""

    def __init__(self, text: str, *, page_cache_bytes: int, least_bytes: int) -> None:
        """`page_cache_bytes` is what the page cache would have, `least_bytes` what it must have."""
        self.page_cache_bytes, self.least_bytes = page_cache_bytes, least_bytes
        super().__init__(text)


def most_handlers(ram_bytes: int, heap: Heap) -> int:
    """Return how many handlers have room for their buffers beside this heap; negative if not even the heap fits."""
    spare_bytes = ram_bytes - sum(_parts(heap).values()) - math.ceil(PAGE_CACHE_FRACTION * ram_bytes)
    pool_bytes = math.floor(spare_bytes / MIB) * MIB - NETTY_BYTES
    return math.floor(pool_bytes / (POOL_BUFFERS_PER_HANDLER * POOL_BUFFER_BYTES))


def split_memory(ram_bytes: int, heap: Heap, handlers: int) -> NodeMemory:
    """Return one core node's RAM, shared out; the parts sum to ram_bytes exactly.

    Raises NotEnoughMemory when less than a tenth would be left to the page cache.
    """
    # -XX:MaxDirectMemorySize: the buffer pool of the RPC server and what else is direct, in whole MiB.
    pool_bytes = handlers * POOL_BUFFERS_PER_HANDLER * POOL_BUFFER_BYTES
    parts = {**_parts(heap), "direct": math.ceil((pool_bytes + NETTY_BYTES) / MIB) * MIB}
    page_cache_bytes = ram_bytes - sum(parts.values())
    least_bytes = math.ceil(PAGE_CACHE_FRACTION * ram_bytes)
    missing_bytes = least_bytes - page_cache_bytes
    if missing_bytes > 0:
        raise NotEnoughMemory(
            f"{heap.xmx_mib / 1024:.1f} GiB of heap in {ram_bytes / GIB:.0f} GiB of RAM leave "
            f"{max(0, page_cache_bytes) / GIB:.1f} GiB of page cache, {missing_bytes / GIB:.1f} GiB too little",
            page_cache_bytes=page_cache_bytes,
            least_bytes=least_bytes,
        )
    return NodeMemory(ram_bytes=ram_bytes, parts={**parts, "page_cache": page_cache_bytes})


def _parts(heap: Heap) -> dict[str, int]:
    """The parts of a node's RAM that its handlers do not change."""
    return {
        "system": SYSTEM_BYTES,
        "daemons": DAEMON_BYTES,
        "yarn": YARN_MIB * MIB,
        "heap": heap.xmx_bytes,
        "jvm": JVM_FIXED_BYTES + math.ceil(JVM_FRACTION * heap.xmx_bytes),
    }
