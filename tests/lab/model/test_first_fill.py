"""How many blocks a cache holds before it first evicts, in orders of chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lab.prediction import _blocks_until_full, filled_by_chance
from warmbase.ground.block import LengthHistogram
from warmbase.ground.units import MIB
from warmbase.sizing.cache.bucket_sizes import BucketAllocator

SIZES = (65_792, 66_048, 99_328, 495_360)
MIXED = LengthHistogram(pairs=((65_700, 54), (66_000, 4_000), (90_000, 36)))


def _one_by_one(allocator: BucketAllocator, slots: list[int], first: dict[int, int]) -> int:
    """Return the same, asked of the allocator after each block."""
    claims: Counter[int] = Counter(first)
    for filled, slot in enumerate(slots):
        claims[slot] += 1
        if not allocator.fits(claims):
            return filled
    return len(slots)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("first", [{}, {65_792: 8}, {99_328: 25}])
@pytest.mark.parametrize("mib", [8, 40, 136, 400])
def test_it_is_what_the_allocator_says_block_by_block(mib: int, first: dict[int, int], seed: int) -> None:
    allocator = BucketAllocator(capacity_bytes=mib * MIB, sizes=SIZES)
    slots = np.random.default_rng(seed).permutation(np.repeat(SIZES[:3], [54, 4_000, 36]))
    assert _blocks_until_full(allocator, slots, first) == _one_by_one(allocator, slots.tolist(), first)


def test_blocks_of_one_length_appear_in_any_order() -> None:
    allocator = BucketAllocator(capacity_bytes=40 * MIB, sizes=SIZES)
    filled = filled_by_chance(allocator, LengthHistogram(pairs=((66_000, 4_000),)), orders=5)
    assert (filled.mean, filled.deviation) == (allocator.block_capacity(LengthHistogram.of([(66_000, 1)])), 0)


def test_the_mean_is_what_proportions_give_but_for_rounding() -> None:
    allocator = BucketAllocator(capacity_bytes=136 * MIB, sizes=SIZES)
    filled = filled_by_chance(allocator, MIXED)
    assert filled.mean == pytest.approx(allocator.block_capacity(MIXED), rel=0.01)
    assert 0 < filled.deviation < 0.01 * filled.mean


def test_all_are_cached_where_all_fit() -> None:
    allocator = BucketAllocator(capacity_bytes=400 * MIB, sizes=SIZES)
    assert filled_by_chance(allocator, MIXED, orders=3).mean == 4_090


def test_a_few_blocks_that_were_there_before_may_take_a_whole_bucket_more() -> None:
    """With 12 other blocks, 23 of the table's need 35 of a bucket's 30 slots, so a second bucket begins."""
    allocator = BucketAllocator(capacity_bytes=136 * MIB, sizes=(*range(65_792, 68_865, 256), 495_360))
    blocks = LengthHistogram(pairs=((65_700, 54), (66_000, 4_036)))
    alone = filled_by_chance(allocator, blocks)
    beside = filled_by_chance(allocator, blocks, LengthHistogram(pairs=((4_000, 12),)))
    assert 25 < alone.mean - beside.mean < 35
