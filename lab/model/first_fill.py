"""The number of blocks in a cache at its first eviction, when blocks come in random order.

`BucketAllocator.block_capacity` lets each length come in its proportion. In a cache of few buckets it matters how many
of a rare length come before the others: each size that is begun takes a whole bucket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from sizing.allocator import BucketAllocator
from sizing.block import LengthHistogram

ORDERS: Final = 200  # judgement: the standard error of the mean is then a fourteenth of the deviation
SEED: Final = 1


class Filled(Struct, frozen=True, kw_only=True):
    """Blocks held before the first eviction: their mean over the orders, and the standard deviation."""

    mean: float
    deviation: float


def filled_by_chance(
    allocator: BucketAllocator, blocks: LengthHistogram, there: LengthHistogram | None = None, orders: int = ORDERS
) -> Filled:
    """Return how many blocks the cache holds at its first eviction, over seeded orders; all of them where all fit.

    `there` are blocks that the cache holds from before; they are not counted, and take their slots. Blocks longer than
    the largest size count for nothing.
    """
    claims = allocator.claims(blocks)
    slots = np.repeat(np.array(list(claims)), list(claims.values()))
    first = allocator.claims(there) if there else {}
    draws = np.random.default_rng(SEED)
    counts = [_blocks_until_full(allocator, draws.permutation(slots), first) for _ in range(orders)]
    return Filled(mean=float(np.mean(counts)), deviation=float(np.std(counts)))


def _blocks_until_full(
    allocator: BucketAllocator, slots: np.ndarray[tuple[int], np.dtype[np.int64]], first: Mapping[int, int]
) -> int:
    """Return how many slots fit, one after the other, before one finds neither slot nor bucket or the cache is full."""
    used = np.cumsum(slots) + sum(slot * blocks for slot, blocks in first.items())
    buckets = np.full(len(slots), len(allocator.sizes))
    for slot in {*np.unique(slots).tolist(), *first}:
        of_size = np.cumsum(slots == slot) + first.get(slot, 0)
        # Each size has a first bucket from the start, and gets another when the last one is full.
        buckets += np.maximum(0, -(-of_size // allocator.items(slot)) - 1)
    refused = (used > allocator.accept_bytes) | (buckets > allocator.buckets)
    return int(np.argmax(refused)) if refused.any() else len(slots)
