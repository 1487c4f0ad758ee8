"""The BucketCache of one RegionServer: how large it must be for its share of the data, and what it then holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sizing.allocator import ACCEPT_FACTOR, BucketAllocator
from sizing.bucket_sizes import bucket_sizes
from sizing.stored_blocks import StoredBlocks
from sizing.units import GIB, MIB

__all__ = ["EFFECTIVE_FRACTION", "BucketCache", "CacheDemand"]

EFFECTIVE_FRACTION: Final = 0.88
"""Mean share of the slots that stay claimed once eviction runs: it swings between 95 % and 81 %.

Eviction wants 15 % of each size's own slots free (HBase 2.6.2 BucketAllocator.freeSpace), and the replay of that
algorithm swings so for a size that is not the largest of the list.
"""

# judgement: eight threads, each with a few hundred blocks to batch, amortise the fsync that ends every batch
# without taking the heap that more would (2 x threads x length x block).
WRITER_THREADS: Final = 8
WRITER_QUEUE_LENGTH: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCache:
    """The disk-backed cache of one RegionServer. `blocks_held` is how many fit without one eviction."""

    size_mib: int
    bucket_sizes: tuple[int, ...]
    nominal_block_bytes: int
    blocks_held: int
    slot_efficiency_fraction: float
    writer_threads: int
    writer_queue_length: int

    @property
    def size_bytes(self) -> int:
        """`hbase.bucketcache.size` in bytes."""
        return self.size_mib * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheDemand:
    """What the data asks of caches: the bucket sizes for its blocks, and capacity claimed by each block.

    `claimed_bytes` is capacity for one block in a cache that never evicts: its slot, its share of what a bucket
    leaves unused, and the twentieth that stays free.
    """

    blocks: StoredBlocks
    sizes: tuple[int, ...]
    claimed_bytes: float

    @classmethod
    def of(cls, blocks: StoredBlocks) -> CacheDemand:
        """With the bucket sizes that waste least on these blocks."""
        sizes = bucket_sizes(blocks.lengths)
        probe = BucketAllocator(capacity_bytes=1024 * 4 * len(sizes) * sizes[-1], sizes=sizes)
        return cls(
            blocks=blocks,
            sizes=sizes,
            claimed_bytes=probe.capacity_bytes / probe.blocks_held(blocks.lengths),
        )

    def size_mib(self, hit_ratio: float, servers: int) -> int:
        """Cache for each of `servers` that gives the hit ratio however reads spread over the data; whole GiB.

        Either everything is held and nothing evicted, or eviction runs and 88 % of the slots hold blocks. With
        the second, a share of the data larger than 0.88 / 0.95 costs more than all of it, so all is held then.
        """
        share = min(1.0, hit_ratio * ACCEPT_FACTOR / EFFECTIVE_FRACTION)
        return math.ceil(self.blocks.count * self.claimed_bytes * share / servers / GIB) * 1024

    def hit_ratio(self, size_mib: int, servers: int) -> float:
        """Share of block reads that warm caches of this size answer, however reads spread over the data."""
        share = size_mib * MIB * servers / (self.blocks.count * self.claimed_bytes)
        return 1.0 if share >= 1 else share * EFFECTIVE_FRACTION / ACCEPT_FACTOR

    def blocks_cached(self, size_mib: int, servers: int) -> int:
        """Blocks that one warm RegionServer holds."""
        return math.ceil(self.hit_ratio(size_mib, servers) * self.blocks.count / servers)

    def bucket_cache(self, size_mib: int) -> BucketCache:
        """The cache with its exact count of blocks, by the allocator's own arithmetic."""
        allocator = BucketAllocator(capacity_bytes=size_mib * MIB, sizes=self.sizes)
        return BucketCache(
            size_mib=size_mib,
            bucket_sizes=self.sizes,
            nominal_block_bytes=round(self.blocks.lengths.mean_bytes),
            blocks_held=allocator.blocks_held(self.blocks.lengths),
            slot_efficiency_fraction=allocator.slot_efficiency_fraction(self.blocks.lengths),
            writer_threads=WRITER_THREADS,
            writer_queue_length=WRITER_QUEUE_LENGTH,
        )
