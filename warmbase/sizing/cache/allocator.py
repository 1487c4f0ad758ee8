"""HBase's BucketAllocator: how a BucketCache of some capacity is cut into slots, and how many blocks it holds.

Capacity is cut into buckets of four times the largest configured size. Each bucket serves one size at a time, as
whole items; each size always keeps at least one bucket. Eviction starts when claimed slots exceed the accept factor
or when a size finds no bucket. Source: HBase 2.6.2 BucketAllocator and BucketCache (allocator identical to 2.6.6).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import starmap
from operator import itemgetter, mul
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr

from warmbase.ground.block import BLOCKS, LengthHistogram
from warmbase.ground.errors import InvalidInput, Problem

FEWEST_ITEMS_IN_BUCKET: Final = 4  # BucketAllocator.FEWEST_ITEMS_IN_BUCKET
SIZE_STEP_BYTES: Final = 256  # BucketEntry keeps offsets shifted right by 8 bits
LARGEST_SIZE_BYTES: Final = 512 * 2**20  # offsets inside a bucket are 32-bit; four items must stay below 2^31
ACCEPT_FACTOR: Final = 0.95  # hbase.bucketcache.acceptfactor: claimed slots above it start an eviction
MIN_FACTOR: Final = 0.85  # hbase.bucketcache.minfactor: what an eviction leaves claimed of each size
# BucketAllocator.DEFAULT_BUCKET_SIZES: powers and steps of KiB, each with 1 KiB for header, metadata and overshoot.
DEFAULT_BUCKET_SIZES: Final = (
    *(5_120, 9_216, 17_408, 33_792, 41_984, 50_176, 58_368),
    *(66_560, 99_328, 132_096, 197_632, 263_168, 394_240, 525_312),
)
LENGTH: Final = itemgetter(0)  # of a pair of a histogram


class BucketAllocator(Struct, frozen=True, kw_only=True):
    """A BucketCache of `capacity_bytes` (`hbase.bucketcache.size`) cut by `sizes` (`hbase.bucketcache.bucket.sizes`).

    Sizes are sorted, as HBase does. Raises InvalidInput with every reason for which HBase would not start, or
    would compute wrong offsets, with these.
    """

    capacity_bytes: int
    sizes: tuple[int, ...] = DEFAULT_BUCKET_SIZES

    def __post_init__(self) -> None:
        force_setattr(self, "sizes", tuple(sorted(self.sizes)))
        if not self.sizes:
            raise InvalidInput(
                [_problem("the list is empty", "a block needs at least one size", "name at least one size")]
            )
        problems, largest = [], self.sizes[-1]
        for size in self.sizes:
            if size <= 0 or size % SIZE_STEP_BYTES:
                why = f"it is not a positive multiple of {SIZE_STEP_BYTES}"
                problems.append(
                    _problem(f"size {size} bytes", why, f"use positive multiples of {SIZE_STEP_BYTES} bytes")
                )
        if largest > LARGEST_SIZE_BYTES:
            why = f"it exceeds {LARGEST_SIZE_BYTES} bytes, and HBase's offsets inside a bucket are 32-bit"
            problems.append(_problem(f"size {largest} bytes", why, "keep the largest size at 512 MiB or less"))
        needs = minimum_capacity_bytes(self.sizes)
        if not problems and self.capacity_bytes < needs:
            why = f"{len(self.sizes)} sizes need a bucket of {self.bucket_bytes} bytes each, {needs} bytes in all"
            fix = f"set hbase.bucketcache.size to {-(-needs // 2**20)} (MiB) or more, or use fewer or smaller sizes"
            problems.append(_problem(f"capacity of {self.capacity_bytes} bytes", why, fix))
        if problems:
            raise InvalidInput(problems)

    @property
    def bucket_bytes(self) -> int:
        """Return B, the capacity of one bucket."""
        return FEWEST_ITEMS_IN_BUCKET * self.sizes[-1]

    @property
    def buckets(self) -> int:
        """Return how many whole buckets the capacity has; at least one for each size."""
        return self.capacity_bytes // self.bucket_bytes

    @property
    def total_bytes(self) -> int:
        """The buckets' capacity; what is left of `capacity_bytes`, less than one bucket, is never used."""
        return self.buckets * self.bucket_bytes

    @property
    def accept_bytes(self) -> int:
        """Return the claimed slots above which an eviction starts: 0.95 of the total in Java's 32-bit floats."""
        return int(np.float32(self.total_bytes) * np.float32(ACCEPT_FACTOR))

    def items(self, slot_bytes: int) -> int:
        """How many items of that size one bucket holds."""
        return self.bucket_bytes // slot_bytes

    def claims(self, histogram: LengthHistogram) -> dict[int, int]:
        """Return how many of the histogram's blocks go to each size; those longer than the largest go to none."""
        claims, begin = dict[int, int](), 0
        for size in self.sizes:
            end = bisect_right(histogram.pairs, size, begin, key=LENGTH)
            if begin < end:
                claims[size] = sum(map(BLOCKS, histogram.pairs[begin:end]))
            begin = end
        return claims

    def slot_efficiency_fraction(self, histogram: LengthHistogram) -> float:
        """Bytes of blocks over bytes of the slots they claim; 0 where no block fits."""
        claimed = sum(starmap(mul, self.claims(histogram).items()))
        fitting = histogram.pairs[: bisect_right(histogram.pairs, self.sizes[-1], key=LENGTH)]
        return sum(starmap(mul, fitting)) / claimed if claimed else 0.0

    def block_capacity(self, histogram: LengthHistogram) -> int:
        """The most blocks that are all cached without one eviction, arriving in the histogram's proportions.

        Each size's share of the blocks is rounded up. They fit while the claimed slots are at most `accept_bytes`
        and every size has the whole buckets it needs, sizes without blocks keeping one each. For one length this is
        min(⌊accept / slot⌋, (buckets - (sizes - 1)) x items). Blocks longer than the largest size count for nothing.
        """
        claims = self.claims(histogram)
        if not claims:
            return 0
        fewest, most, total = 0, self.accept_bytes // min(claims), sum(claims.values())
        while fewest < most:
            middle = (fewest + most + 1) // 2
            if self.fits({slot: -(-middle * claim // total) for slot, claim in claims.items()}):
                fewest = middle
            else:
                most = middle - 1
        return fewest

    def fits(self, claims: dict[int, int]) -> bool:
        """Return whether the cache holds this many blocks of each size at once, without an eviction."""
        used, buckets, bucket_bytes = 0, len(self.sizes), self.bucket_bytes
        for slot, blocks in claims.items():
            used += slot * blocks
            buckets += max(0, -(-blocks // (bucket_bytes // slot)) - 1)
        return used <= self.accept_bytes and buckets <= self.buckets


def bucket_bytes(sizes: Iterable[int]) -> int:
    """Return the capacity of a bucket under that list: four of the largest size."""
    return FEWEST_ITEMS_IN_BUCKET * max(sizes)


def minimum_capacity_bytes(sizes: Sequence[int]) -> int:
    """The least capacity with which HBase starts under that list: one bucket for each size."""
    return len(sizes) * bucket_bytes(sizes)


def _problem(what: str, why: str, fix: str) -> Problem:
    return Problem(where="hbase.bucketcache.bucket.sizes", what=what, why=why, fix=fix)
