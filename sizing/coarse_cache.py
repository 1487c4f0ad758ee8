"""Bucket sizes and blocks of a cache so small that one bucket is a noticeable part of it.

In a large cache, the number of blocks is proportional to its size. In a small cache it is not: each bucket size needs a
bucket of its own, and a bucket has room for four of the longest blocks, which is megabytes for cells of megabytes. So
shorter lists of sizes are tried with HBase's own allocation, and the list that holds the most blocks is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from msgspec import Struct

from sizing.allocator import BucketAllocator, bucket_bytes, minimum_capacity_bytes
from sizing.block import LengthHistogram
from sizing.bucket_sizes import short_lists
from sizing.units import MIB

# judgement: with 14 sizes, 13 of 200 buckets may be idle, 6 % of the cache, so a shorter list is worth a trial.
COARSE_BUCKETS: Final = 200
# judgement: beyond a thousand buckets the allocator and the proportion differ by 1 % at most.
PROPORTIONAL_BUCKETS: Final = 1_000
LIST_LENGTHS: Final = (1, 2, 3, 4, 6, 9, 13)  # judgement: another size matters less, the more sizes there are


class Slots(Struct, frozen=True, kw_only=True):
    """The bucket sizes of one cache, and how many blocks it holds before the first eviction."""

    sizes: tuple[int, ...]
    blocks: int


class CoarseCaches(Struct, frozen=True, kw_only=True, dict=True):
    """Caches for blocks of these lengths, whose best list of sizes in a large cache is `sizes`."""

    lengths: LengthHistogram
    longest_bytes: int
    sizes: tuple[int, ...]

    @cached_property
    def _slots_by_size(self) -> dict[int, Slots]:
        return {}

    def is_coarse(self, size_mib: int) -> bool:
        """Return whether blocks must be counted bucket by bucket in a cache of that size."""
        return size_mib * MIB < self._proportional_bytes

    @cached_property
    def _proportional_bytes(self) -> int:
        return PROPORTIONAL_BUCKETS * bucket_bytes(self.sizes)

    def slots(self, size_mib: int) -> Slots:
        """Return the list of sizes that holds the most blocks, and its blocks; none where no bucket fits."""
        if size_mib not in self._slots_by_size:
            counted = [self._counted(sizes, size_mib) for sizes in self._lists(size_mib)]
            self._slots_by_size[size_mib] = max(
                counted, key=lambda slots: slots.blocks, default=Slots(sizes=(), blocks=0)
            )
        return self._slots_by_size[size_mib]

    def _lists(self, size_mib: int) -> Iterator[tuple[int, ...]]:
        capacity_bytes = size_mib * MIB
        lists: tuple[tuple[int, ...], ...] = (self.sizes,)
        if capacity_bytes < COARSE_BUCKETS * bucket_bytes(self.sizes):
            lists = (self.sizes, *self._short_lists)
        return (sizes for sizes in lists if minimum_capacity_bytes(sizes) <= capacity_bytes)

    def _counted(self, sizes: tuple[int, ...], size_mib: int) -> Slots:
        allocator = BucketAllocator(capacity_bytes=size_mib * MIB, sizes=sizes)
        return Slots(sizes=sizes, blocks=allocator.block_capacity(self.lengths))

    @cached_property
    def _short_lists(self) -> tuple[tuple[int, ...], ...]:
        return short_lists(self.lengths, LIST_LENGTHS, must_fit_bytes=self.longest_bytes)
