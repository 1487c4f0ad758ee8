"""The list of bucket sizes (`hbase.bucketcache.bucket.sizes`) under which given blocks claim the least capacity.

A block in a slot of s bytes claims what one block of a full cache does: a share of a bucket, B / ⌊B / s⌋ with B four
times the largest size, or of the slots that may be claimed before eviction starts, s / 0.95, whichever is more. Its
reciprocal is HBase's never-evict capacity for that size; where `capacity_bytes` is given, whole buckets are counted,
less one for every other size. The list returned has the least total claim of all lists. For one largest size, claims
rise with the slot, so the best slots are block lengths rounded up to 256 bytes and `partition` finds them exactly;
largest sizes are tried by rising lower bound until the bound excludes the rest. HBase's own list, KiB steps plus 1 KiB,
loses a fifth of the cache at cells of 2 KB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from sizing.allocator import (
    ACCEPT_FACTOR,
    DEFAULT_BUCKET_SIZES,
    FEWEST_ITEMS_IN_BUCKET,
    LARGEST_SIZE_BYTES,
    SIZE_STEP_BYTES,
)
from sizing.block import LengthHistogram
from sizing.partition import Floats, Integers, Partition, partition_cost
from sizing.problem import InvalidInput, Problem

# From five times the longest block on, a bucket holds 20 of any block and leaves less than 5 % of itself unused, which
# the accept factor leaves unclaimed anyway: a still larger size cannot lower a claim.
ENOUGH_LARGEST_MULTIPLE: Final = 5
# judgement: largest sizes are bounded in runs of so many, over so many slots: 8 KiB of them within 0.4 % of the optimum
# in 1 ms, then 1 KiB within 0.2 % in 4 ms. At 10,000 distinct lengths a run costs less than one exact list.
BOUND_PASSES: Final = ((32, 256), (4, 512))
ROUNDING: Final = 1e-12  # of sums of float64 claims: lists closer than this are equal
# judgement: in a given capacity the bytes left over after the last whole bucket favour one largest size or another by
# chance; a gain of 0.01 % is not worth searching them all.
CAPACITY_ROUNDING: Final = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """Blocks by the slot that fits them best: `slots` ascending, `blocks_below[i]` blocks in the first i of them."""

    slots: Integers
    blocks_below: Floats
    capacity_bytes: int | None

    @classmethod
    def of(cls, histogram: LengthHistogram, capacity_bytes: int | None) -> _Demand:
        lengths, blocks = np.array(histogram.pairs, dtype=np.int64).T
        slots, members = np.unique(_stepped(lengths), return_inverse=True)
        below = np.concatenate(([0.0], np.cumsum(np.bincount(members, weights=blocks))))
        return cls(slots=slots, blocks_below=below, capacity_bytes=capacity_bytes)

    def coarse(self, slots: int) -> _Demand:
        """At most so many slots: every block counted in the least slot of its group, so no list claims more."""
        begins = np.unique(np.linspace(0, len(self.slots), slots, endpoint=False).astype(np.int64))
        below = np.concatenate((self.blocks_below[begins], self.blocks_below[-1:]))
        return _Demand(slots=self.slots[begins], blocks_below=below, capacity_bytes=self.capacity_bytes)

    def scale(self, largest: Integers) -> Floats:
        """Capacity over what whole buckets of that largest size use of it; 1 where the capacity is open."""
        if self.capacity_bytes is None:
            return np.ones(largest.shape)
        bucket = FEWEST_ITEMS_IN_BUCKET * largest
        return self.capacity_bytes / (self.capacity_bytes // bucket * bucket)

    def claims(self, slots: Integers, largest: Integers, sizes: int) -> Floats:
        """Capacity that one block claims in each slot, under a list of so many sizes with that largest."""
        bucket = FEWEST_ITEMS_IN_BUCKET * largest
        share = bucket / (bucket // slots)
        if self.capacity_bytes is not None:
            buckets = self.capacity_bytes // bucket
            share = share * (buckets / (buckets - (sizes - 1)))
        claims: Floats = self.scale(largest) * np.maximum(share, slots / ACCEPT_FACTOR)
        return claims

    def claimed(self, sizes: tuple[int, ...], count: int) -> float:
        """Capacity that all blocks claim under that list, its claims reckoned as for `count` sizes."""
        return float(self.blocks_in(sizes) @ self.claims(np.array(sizes), np.array(sizes[-1:]), count))

    def blocks_in(self, sizes: tuple[int, ...]) -> Floats:
        """How many blocks go to each size of an ascending list."""
        ends = np.searchsorted(self.slots, np.array(sizes), side="right")
        return np.diff(self.blocks_below[ends], prepend=0.0)

    @property
    def worthwhile(self) -> float:
        """The share of a claim that another must stay below to be preferred."""
        return 1 - (ROUNDING if self.capacity_bytes is None else CAPACITY_ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    """Largest sizes and numbers of sizes, each with a bound that no such list's claim undercuts."""

    bounds: Floats
    largest: Integers
    sizes: Integers

    @classmethod
    def of(cls, demand: _Demand, accept: Partition, largest: Integers, k: int) -> _Candidates:
        """All that the capacity admits, bounded by what the accept factor alone asks."""
        found: list[tuple[Floats, Integers, Integers]] = []
        for sizes in range(k if demand.capacity_bytes is None else 1, k + 1):
            fitting = largest[FEWEST_ITEMS_IN_BUCKET * largest * sizes <= (demand.capacity_bytes or np.inf)]
            if len(fitting):
                costs, _ = accept.closed(sizes - 1, fitting / ACCEPT_FACTOR)
                found.append((costs * demand.scale(fitting), fitting, np.full(len(fitting), sizes)))
        bounds, fitting, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        return cls(bounds=bounds, largest=fitting, sizes=counts)

    def below(self, claimed: float) -> _Candidates:
        """Those whose bound is less than that, by rising bound."""
        order = np.argsort(self.bounds, kind="stable")
        order = order[self.bounds[order] < claimed]
        return _Candidates(bounds=self.bounds[order], largest=self.largest[order], sizes=self.sizes[order])

    def raised(self, coarse: _Demand, run: int) -> _Candidates:
        """The same with bounds that mind whole items, reckoned once for every `run` largest sizes in a row."""
        order = np.lexsort((self.largest, self.sizes))
        bounds, largest, sizes = self.bounds[order], self.largest[order], self.sizes[order]
        for begin in range(0, len(order), run):
            members = slice(begin, begin + run)
            if sizes[members][0] == sizes[members][-1]:
                least = _coarse_bound(coarse, largest[members], int(sizes[begin]))
                bounds[members] = np.maximum(bounds[members], least)
        return _Candidates(bounds=bounds, largest=largest, sizes=sizes)


def bucket_sizes(
    histogram: LengthHistogram,
    k: int = len(DEFAULT_BUCKET_SIZES),
    *,
    capacity_bytes: int | None = None,
    must_fit_bytes: int = 0,
) -> tuple[int, ...]:
    """At most k sizes, ascending multiples of 256, under which the histogram's blocks claim the least capacity.

    Every block fits, and any of `must_fit_bytes` (the longest block a sample may have missed: block size plus largest
    cell plus overhead) does too; HBase would silently never cache a longer one. With `capacity_bytes` the list leaves
    a bucket for each size in it. With k of 14 or more no histogram claims more than under HBase's default list.
    Raises InvalidInput where k is below 1 or not even one size fits the capacity.
    """
    demand = _Demand.of(histogram, capacity_bytes)
    least = int(_stepped(np.array([max(histogram.largest_bytes, must_fit_bytes)]))[0])
    most = _most_largest(least, capacity_bytes)
    if k < 1 or most < least:
        raise InvalidInput([_nothing_fits(k, least, capacity_bytes)])
    largest = np.arange(least, most + 1, SIZE_STEP_BYTES)
    return _with_fullest_largest(demand, _search(demand, largest, k), largest)


def _search(demand: _Demand, largest: Integers, k: int) -> tuple[int, ...]:
    """Return the list of least claim, with one of these largest sizes and at most k sizes."""
    accept = Partition.of(demand.blocks_below, demand.slots / ACCEPT_FACTOR, k - 1)
    candidates = _Candidates.of(demand, accept, largest, k)
    enough = candidates.largest >= min(ENOUGH_LARGEST_MULTIPLE * largest[0], candidates.largest[-1])
    first = int(np.flatnonzero(enough)[-1])
    best = _cheapest(demand, accept, int(candidates.largest[first]), int(candidates.sizes[first]))
    for run, slots in BOUND_PASSES:
        candidates = candidates.below(best[0] * demand.worthwhile).raised(demand.coarse(slots), run)
    candidates = candidates.below(best[0] * demand.worthwhile)
    for bound, size, count in zip(candidates.bounds, candidates.largest, candidates.sizes, strict=True):
        if bound >= best[0] * demand.worthwhile:
            break
        found = _cheapest(demand, accept, int(size), int(count))
        best = found if found[0] < best[0] * demand.worthwhile else best
    return best[1]


def _coarse_bound(coarse: _Demand, largest: Integers, sizes: int) -> float:
    """Return a claim that no list of so many sizes and any of these largest undercuts."""
    column = largest[:, None]
    claims = coarse.claims(np.broadcast_to(coarse.slots, (len(largest), len(coarse.slots))), column, sizes)
    closing = coarse.claims(column, column, sizes)
    return partition_cost(coarse.blocks_below, claims.min(axis=0), float(closing.min()), sizes - 1)


def _cheapest(demand: _Demand, accept: Partition, largest: int, sizes: int) -> tuple[float, tuple[int, ...]]:
    """Return the least claim of a list with that largest and at most so many sizes, and that list.

    The best list for the accept factor alone is the answer when no class lacks buckets under it.
    """
    size = np.array([largest])
    costs, ends = accept.closed(sizes - 1, size / ACCEPT_FACTOR)
    chosen = _list(demand, accept.ends(int(ends[0]), sizes - 1), largest)
    claimed = demand.claimed(chosen, sizes)
    if claimed <= costs[0] * demand.scale(size)[0] * (1 + ROUNDING):
        return claimed, chosen
    exact = Partition.of(demand.blocks_below, demand.claims(demand.slots, size, sizes), sizes - 1)
    _, ends = exact.closed(sizes - 1, demand.claims(size, size, sizes))
    chosen = _list(demand, exact.ends(int(ends[0]), sizes - 1), largest)
    return demand.claimed(chosen, sizes), chosen


def _list(demand: _Demand, ends: list[int], largest: int) -> tuple[int, ...]:
    """Return the sizes whose classes end there, and the largest."""
    return tuple(sorted({*(int(demand.slots[end - 1]) for end in ends), largest}))


def _with_fullest_largest(demand: _Demand, sizes: tuple[int, ...], largest: Integers) -> tuple[int, ...]:
    """The list, with the largest size that leaves buckets fullest where that size serves no block.

    Up to the accept factor a bucket's remainder costs nothing; once blocks are evicted, to 0.85 of each size's items,
    it does. So among largest sizes of equal claim the one of least remainder is taken, and the smallest of those.
    """
    blocks = demand.blocks_in(sizes)
    if len(sizes) == 1 or blocks[-1]:
        return sizes
    used = np.array(sizes[:-1])
    claimed = demand.claimed(sizes, len(sizes)) * (1 + ROUNDING)
    bucket = FEWEST_ITEMS_IN_BUCKET * largest[largest > used[-1]][:, None]
    remainder = (bucket / (bucket // used)) @ blocks[:-1]
    for at in np.argsort(remainder, kind="stable"):
        chosen = (*sizes[:-1], int(bucket[at, 0]) // FEWEST_ITEMS_IN_BUCKET)
        if _admits(demand.capacity_bytes, chosen) and demand.claimed(chosen, len(sizes)) <= claimed:
            return chosen
    return sizes


def _admits(capacity_bytes: int | None, sizes: tuple[int, ...]) -> bool:
    """Return whether the capacity has a bucket for each size."""
    return capacity_bytes is None or len(sizes) * FEWEST_ITEMS_IN_BUCKET * sizes[-1] <= capacity_bytes


def _stepped(lengths: Integers) -> Integers:
    """Each length rounded up to the step that HBase asks of a size."""
    return -(-lengths // SIZE_STEP_BYTES) * SIZE_STEP_BYTES


def _most_largest(least: int, capacity_bytes: int | None) -> int:
    """The greatest largest size worth trying: beyond it no claim falls, or not one bucket fits."""
    most = min(max(ENOUGH_LARGEST_MULTIPLE * least, DEFAULT_BUCKET_SIZES[-1]), LARGEST_SIZE_BYTES)
    if capacity_bytes is None:
        return most
    fitting = capacity_bytes // FEWEST_ITEMS_IN_BUCKET
    return min(most, fitting - fitting % SIZE_STEP_BYTES)


def _nothing_fits(k: int, least: int, capacity_bytes: int | None) -> Problem:
    return Problem(
        where="hbase.bucketcache.bucket.sizes",
        what=f"no list of {k} sizes serves these blocks",
        why=f"the longest needs a size of {least} bytes; capacity: {capacity_bytes or 'any'} bytes",
        fix=f"allow at least one size, of at most 512 MiB, and a capacity of {FEWEST_ITEMS_IN_BUCKET} such slots",
    )
