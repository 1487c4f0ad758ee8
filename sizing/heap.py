"""The heap of a RegionServer whose BucketCache keeps its blocks on disk and their index on the heap.

Heap = L1 (leaf indexes and Bloom chunks, which the combined cache keeps on heap) + memstore + BucketCache index
+ write queues + one chunk of the persistence dump + a fifth of everything, which HBase's own rule leaves free.

Glossary
    l1_bytes            every leaf index and Bloom chunk of the hosted files; grows with blocks and rows
    memstore_bytes      what writes may fill before they are flushed; grows with the write rate
    index_bytes         one entry for each cached block; grows with the blocks a node holds, not with their size
    write_queue_bytes   blocks waiting to be written to the cache: one batch draining, one queued
    persist_chunk_bytes entries of one chunk while the index is dumped

Source: HBase 2.6.2 BucketCache, MemorySizeUtil.checkForClusterFreeHeapMemoryLimit; entries measured on it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from msgspec import Struct

from sizing.units import MIB

__all__ = ["Heap", "HeapNeeds", "heap", "index_bytes_per_block", "live_index_bytes", "within_heap_limit"]

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

    @property
    def total_bytes(self) -> int:
        """Return the sum of the needs, without the part that stays free."""
        fixed_bytes = self.index_bytes + self.write_queue_bytes + self.persist_chunk_bytes
        return self.l1_bytes + self.memstore_bytes + fixed_bytes


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
    fixed = needs.total_bytes - needs.l1_bytes - needs.memstore_bytes
    shares = (needs.l1_bytes, needs.memstore_bytes)
    xmx_mib = max(MINIMUM_MIB, _stepped(_least_bytes(fixed, *shares)))
    while True:
        l1_fraction, memstore_fraction = (_fraction(share, xmx_mib) for share in shares)
        used = l1_fraction + memstore_fraction + fixed / (xmx_mib * MIB)
        if used <= 1 - FREE_FRACTION and within_heap_limit(l1_fraction, memstore_fraction):
            return Heap(
                xmx_mib=xmx_mib,
                collector=collector,
                l1_fraction=l1_fraction,
                memstore_fraction=memstore_fraction,
            )
        xmx_mib += STEP_MIB


def _least_bytes(fixed: int, l1_bytes: int, memstore_bytes: int) -> float:
    """Return a lower bound of the heap: each share takes its bytes, and at least its least fraction of the heap."""

    def bound(needed_bytes: int, *, least_fractions: int) -> float:
        return (fixed + needed_bytes) / (1 - FREE_FRACTION - least_fractions * MINIMUM_FRACTION)

    return max(
        bound(l1_bytes + memstore_bytes, least_fractions=0),
        bound(l1_bytes, least_fractions=1),
        bound(memstore_bytes, least_fractions=1),
        bound(0, least_fractions=2),
    )


def _fraction(need_bytes: int, xmx_mib: int) -> float:
    return max(MINIMUM_FRACTION, math.ceil(PERCENTS * need_bytes / (xmx_mib * MIB)) / PERCENTS)


def _stepped(need_bytes: float) -> int:
    return STEP_MIB * math.ceil(need_bytes / MIB / STEP_MIB)
