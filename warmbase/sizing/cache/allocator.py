"""HBase's BucketAllocator: how a BucketCache of some capacity is cut into slots, and how many blocks it holds.

Capacity is cut into buckets of four times the largest configured size. Each bucket serves one size at a time, as
whole items; each size always keeps at least one bucket. Eviction starts when claimed slots exceed the accept factor
or when a size finds no bucket. Source: HBase 2.6.2 BucketAllocator and BucketCache (allocator identical to 2.6.6).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from warmbase.ground.block import LengthHistogram
from warmbase.ground.errors import InvalidInput, Problem

FEWEST_ITEMS_IN_BUCKET: Final = 4  # BucketAllocator.FEWEST_ITEMS_IN_BUCKET
SIZE_STEP_BYTES: Final = 256  # BucketEntry keeps offsets shifted right by 8 bits
LARGEST_SIZE_BYTES: Final = 512 * 2**20  # offsets inside a bucket are 32-bit; four items must stay below 2^31
ACCEPT_FACTOR: Final = 0.95  # hbase.bucketcache.acceptfactor: claimed slots above it start an eviction
MIN_FACTOR: Final = 0.85  # hbase.bucketcache.minfactor: what an eviction leaves claimed of each size
# BucketAllocator.DEFAULT_BUCKET_SIZES: powers and steps of KiB, each with 1 KiB for header, metadata and overshoot.
DEFAULT_BUCKET_SIZES: Final = tuple(
    kib * 1024 + 1024 for kib in (4, 8, 16, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, 512)
)


class BucketAllocator(Struct, frozen=True, kw_only=True):
    """A BucketCache of `capacity_bytes` (`hbase.bucketcache.size`) cut by `sizes` (`hbase.bucketcache.bucket.sizes`).

    Sizes are sorted, as HBase does. Raises InvalidInput with every reason for which HBase would not start, or
    would compute wrong offsets, with these.
    """

    capacity_bytes: int
    sizes: tuple[int, ...] = DEFAULT_BUCKET_SIZES

    def __post_init__(self) -> None:
        force_setattr(self, "sizes", tuple(sorted(self.sizes)))
        problems = list_problems(self.sizes, self.capacity_bytes)
        if problems:
            raise InvalidInput(problems)

    @property
    def bucket_bytes(self) -> int:
        """Return B, the capacity of one bucket."""
        return bucket_bytes(self.sizes)

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
        return int(_float32(_float32(self.total_bytes) * _float32(ACCEPT_FACTOR)))

    def items(self, slot_bytes: int) -> int:
        """How many items of that size one bucket holds."""
        return self.bucket_bytes // slot_bytes

    def slot_bytes(self, length_bytes: int) -> int | None:
        """The smallest size that holds the block; None where none does, and the block is silently never cached."""
        return next((size for size in self.sizes if length_bytes <= size), None)

    def claims(self, histogram: LengthHistogram) -> dict[int, int]:
        """Return how many of the histogram's blocks go to each size; those longer than the largest go to none."""
        lengths = [length for length, _ in histogram.pairs]
        ends = [bisect_right(lengths, size) for size in self.sizes]
        return {
            size: sum(blocks for _, blocks in histogram.pairs[begin:end])
            for size, (begin, end) in zip(self.sizes, pairwise([0, *ends]), strict=True)
            if begin < end
        }

    def slot_efficiency_fraction(self, histogram: LengthHistogram) -> float:
        """Bytes of blocks over bytes of the slots they claim; 0 where no block fits."""
        claimed = sum(slot * blocks for slot, blocks in self.claims(histogram).items())
        fitting = sum(length * blocks for length, blocks in histogram.pairs if length <= self.sizes[-1])
        return fitting / claimed if claimed else 0.0

    def block_capacity(self, lengths: LengthHistogram | int) -> int:
        """The most blocks that are all cached without one eviction, arriving in the histogram's proportions.

        Each size's share of the blocks is rounded up. They fit while the claimed slots are at most `accept_bytes`
        and every size has the whole buckets it needs, sizes without blocks keeping one each. For one length this is
        min(⌊accept / slot⌋, (buckets - (sizes - 1)) x items). Blocks longer than the largest size count for nothing.
        """
        histogram = lengths if isinstance(lengths, LengthHistogram) else LengthHistogram(pairs=((lengths, 1),))
        claims = self.claims(histogram)
        if not claims:
            return 0
        fewest, most = 0, self.accept_bytes // min(claims)
        while fewest < most:
            middle = (fewest + most + 1) // 2
            fewest, most = (middle, most) if self.fits(_shares(claims, middle)) else (fewest, middle - 1)
        return fewest

    def fits(self, claims: dict[int, int]) -> bool:
        """Return whether the cache holds this many blocks of each size at once, without an eviction."""
        used = sum(slot * blocks for slot, blocks in claims.items())
        extra = sum(max(0, -(-blocks // self.items(slot)) - 1) for slot, blocks in claims.items())
        return used <= self.accept_bytes and len(self.sizes) + extra <= self.buckets


def bucket_bytes(sizes: Iterable[int]) -> int:
    """Return the capacity of a bucket under that list: four of the largest size."""
    return FEWEST_ITEMS_IN_BUCKET * max(sizes)


def minimum_capacity_bytes(sizes: Sequence[int]) -> int:
    """The least capacity with which HBase starts under that list: one bucket for each size."""
    return len(sizes) * bucket_bytes(sizes)


def list_problems(sizes: Sequence[int], capacity_bytes: int) -> list[Problem]:
    """Every reason why HBase would refuse or misuse this list at this capacity; empty when it is good."""
    if not sizes:
        return [_problem("the list is empty", "a block needs at least one size", "name at least one size")]
    step = f"use positive multiples of {SIZE_STEP_BYTES} bytes"
    problems = [
        _problem(f"size {size} bytes", f"it is not a positive multiple of {SIZE_STEP_BYTES}", step)
        for size in sizes
        if size <= 0 or size % SIZE_STEP_BYTES
    ]
    if max(sizes) > LARGEST_SIZE_BYTES:
        why = f"it exceeds {LARGEST_SIZE_BYTES} bytes, and HBase's offsets inside a bucket are 32-bit"
        problems.append(_problem(f"size {max(sizes)} bytes", why, "keep the largest size at 512 MiB or less"))
    if not problems and capacity_bytes < minimum_capacity_bytes(sizes):
        needs = minimum_capacity_bytes(sizes)
        why = f"{len(sizes)} sizes need a bucket of {bucket_bytes(sizes)} bytes each, {needs} bytes in all"
        fix = f"set hbase.bucketcache.size to {-(-needs // 2**20)} (MiB) or more, or use fewer or smaller sizes"
        problems.append(_problem(f"capacity of {capacity_bytes} bytes", why, fix))
    return problems


def _problem(what: str, why: str, fix: str) -> Problem:
    return Problem(where="hbase.bucketcache.bucket.sizes", what=what, why=why, fix=fix)


def _shares(claims: dict[int, int], blocks: int) -> dict[int, int]:
    """Return this many blocks divided among the sizes in proportion to the claims, each share rounded up."""
    total = sum(claims.values())
    return {slot: -(-blocks * claim // total) for slot, claim in claims.items()}


def _float32(number: float) -> float:
    """The nearest 32-bit float, as Java rounds a long before multiplying it by a float."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded
