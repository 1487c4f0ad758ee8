"""The list of bucket sizes (`hbase.bucketcache.bucket.sizes`) under which given blocks claim the least capacity.

A block in a slot of s bytes claims what one block of a full cache does: a share of a bucket, B / ⌊B / s⌋ with B four
times the largest size, or of the slots that may be claimed before eviction starts, s / 0.95, whichever is more. Its
reciprocal is HBase's never-evict capacity for that size. The list returned has the least total claim of all lists. For
one largest size, claims rise with the slot, so the best slots are block lengths rounded up to 256 bytes and `Partition`
finds them exactly; largest sizes are tried by rising lower bound until the bound excludes the rest. HBase's own list,
KiB steps plus 1 KiB, loses a fifth of the cache at cells of 2 KB.

`Partition` serves blocks of many lengths with few slots at the least cost. Slots ascend, and so does the claim of one
block in them; every class is a run of neighbouring slots and pays the claim of its last. Serving the first j slots with
t classes costs min over i of cost(t - 1, i) + claim(j) x blocks(i, j], a matrix whose rows' minima move right only
(Monge, since claims ascend): each of its layers is solved in n log n instead of n². Source: Aggarwal and others,
"Geometric applications of a matrix-searching algorithm", 1987.

`CoarseCaches` are so small that one bucket is a noticeable part of them. In a large cache, the number of blocks is
proportional to its size. In a small cache it is not: each bucket size needs a bucket of its own, and a bucket has room
for four of the longest blocks, which is megabytes for cells of megabytes. So shorter lists of sizes are tried with
HBase's own allocation, and the list that holds the most blocks is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from warmbase.ground.block import LengthHistogram
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import MIB
from warmbase.ground.values import memoized
from warmbase.sizing.cache.allocator import (
    ACCEPT_FACTOR,
    DEFAULT_BUCKET_SIZES,
    FEWEST_ITEMS_IN_BUCKET,
    LARGEST_SIZE_BYTES,
    SIZE_STEP_BYTES,
    BucketAllocator,
    bucket_bytes,
    minimum_capacity_bytes,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Partition(Struct, frozen=True, kw_only=True):
    """Cheapest service of the first i slots with at most t classes, for every i and t up to a limit.

    `costs[t, i]` is its cost and `begins[t, i]` the number of slots before its last class; `blocks_below[i]` counts
    the blocks of the first i slots.
    """

    blocks_below: Floats
    costs: Floats
    begins: Integers

    @classmethod
    def of(cls, blocks_below: Floats, claims: Floats, most: int) -> Partition:
        """Return all cheapest services with 0 to `most` classes, given one block's claim in each slot, ascending."""
        ends = np.arange(len(blocks_below))
        padded = np.concatenate((claims[:1], claims))
        costs, begins = [np.where(ends == 0, 0.0, np.inf)], [np.zeros_like(ends)]
        if most:
            costs.append(padded * blocks_below)
            begins.append(np.zeros_like(ends))
        rows = _Rows(blocks_below=blocks_below, claims=padded, totals=blocks_below, last=ends)
        for _ in range(2, most + 1):
            cost, begin = rows.minima(costs[-1])
            costs.append(cost)
            begins.append(begin)
        return cls(blocks_below=blocks_below, costs=np.array(costs), begins=np.array(begins))

    def closed(self, most: int, claims: Floats) -> tuple[Floats, Integers]:
        """The cost when one more class of each given claim (ascending) serves all slots from some point on.

        Returns the cheapest cost and that point, for each claim; `most` classes at most serve the slots before it.
        """
        everything = np.full(len(claims), self.blocks_below[-1])
        last = np.full(len(claims), len(self.blocks_below) - 1)
        rows = _Rows(blocks_below=self.blocks_below, claims=claims, totals=everything, last=last)
        return rows.minima(self.costs[most])

    def ends(self, end: int, most: int) -> list[int]:
        """Return the ends of the classes, ascending, in the cheapest service of the first `end` slots."""
        class_ends: list[int] = []
        while end > 0:
            begin = int(self.begins[most, end])
            if begin < end:
                class_ends.append(end)
            end, most = begin, most - 1
        return class_ends[::-1]


def partition_cost(blocks_below: Floats, claims: Floats, closing_claim: float, most: int) -> float:
    """The cost of the cheapest service with at most `most` classes and one that closes; quick for under 100 slots."""
    padded = np.concatenate((claims[:1], claims))
    blocks = blocks_below[:, None] - blocks_below[None, :]
    steps = np.where(blocks >= 0, padded[:, None] * blocks, np.inf)
    costs = steps[:, 0] if most else np.where(np.arange(len(padded)) == 0, 0.0, np.inf)
    for _ in range(2, most + 1):
        costs = (steps + costs).min(axis=1)
    return float((costs + closing_claim * (blocks_below[-1] - blocks_below)).min())


class _Rows(Struct, frozen=True, kw_only=True):
    """Rows of costs[i] + claims[r] x (totals[r] - blocks_below[i]) over i <= last[r]; claims and last ascend."""

    blocks_below: Floats
    claims: Floats
    totals: Floats
    last: Integers

    def minima(self, costs: Floats) -> tuple[Floats, Integers]:
        """Return each row's minimum and its column: rows by halving strides, each between its neighbours' columns."""
        rows = len(self.claims)
        minima, columns = np.empty(rows), np.zeros(rows, dtype=np.int64)
        stride = 1 << rows.bit_length()
        while stride > 1:
            row = np.arange(stride // 2, rows + 1, stride) - 1
            before, after = row - stride // 2, row + stride // 2
            low = np.where(before >= 0, columns[np.maximum(before, 0)], 0)
            high = np.where(after < rows, columns[np.minimum(after, rows - 1)], self.last[-1])
            minima[row], columns[row] = self._minima_within(costs, row, low, np.minimum(high, self.last[row]))
            stride //= 2
        return minima, columns

    def _minima_within(self, costs: Floats, rows: Integers, low: Integers, high: Integers) -> tuple[Floats, Integers]:
        """Return the minimum and first column of these rows, each over its own columns low to high."""
        lengths = high - low + 1
        starts = np.cumsum(lengths) - lengths
        member = np.repeat(np.arange(len(rows)), lengths)
        column = np.arange(len(member)) - np.repeat(starts - low, lengths)
        blocks = self.totals[rows][member] - self.blocks_below[column]
        values = costs[column] + self.claims[rows][member] * blocks
        minima = np.minimum.reduceat(values, starts)
        least = np.flatnonzero(values == minima[member])
        return minima, column[least[np.searchsorted(member[least], np.arange(len(rows)))]]


# From five times the longest block on, a bucket holds 20 of any block and leaves less than 5 % of itself unused, which
# the accept factor leaves unclaimed anyway: a still larger size cannot lower a claim.
ENOUGH_LARGEST_MULTIPLE: Final = 5
# judgement: largest sizes are bounded in runs of so many, over so many slots: 8 KiB of them within 0.4 % of the optimum
# in 1 ms, then 1 KiB within 0.2 % in 4 ms. At 10,000 distinct lengths a run costs less than one exact list.
BOUND_PASSES: Final = ((32, 256), (4, 512))
# judgement: this many largest sizes are tried: every one for blocks below 800 KiB, then every second, third and so on.
MOST_LARGEST: Final = 16_384
ROUNDING: Final = 1e-12  # of sums of float64 claims: lists closer than this are equal
WORTHWHILE: Final = 1 - ROUNDING  # the share of a claim that another must stay below to be preferred


class _Demand(Struct, frozen=True, kw_only=True):
    """Blocks by the slot that fits them best: `slots` ascending, `blocks_below[i]` blocks in the first i of them."""

    slots: Integers
    blocks_below: Floats

    @classmethod
    def of(cls, histogram: LengthHistogram) -> _Demand:
        lengths, blocks = np.array(histogram.pairs, dtype=np.int64).T
        slots, members = np.unique(_stepped(lengths), return_inverse=True)
        below = np.concatenate(([0.0], np.cumsum(np.bincount(members, weights=blocks))))
        return cls(slots=slots, blocks_below=below)

    def coarse(self, slots: int) -> _Demand:
        """Count every block in the smallest slot of its group, in at most `slots` groups; no claim is too large."""
        begins = np.unique(np.linspace(0, len(self.slots), slots, endpoint=False).astype(np.int64))
        below = np.concatenate((self.blocks_below[begins], self.blocks_below[-1:]))
        return _Demand(slots=self.slots[begins], blocks_below=below)

    def claimed(self, sizes: tuple[int, ...]) -> float:
        """Return the capacity that all blocks claim under that list."""
        return float(self.blocks_in(sizes) @ _claims(np.array(sizes), np.array(sizes[-1:])))

    def blocks_in(self, sizes: tuple[int, ...]) -> Floats:
        """Return how many blocks go to each size of an ascending list."""
        ends = np.searchsorted(self.slots, np.array(sizes), side="right")
        return np.diff(self.blocks_below[ends], prepend=0.0)


class _Candidates(Struct, frozen=True, kw_only=True):
    """Largest sizes, each with a bound that the claim of no list with that largest undercuts."""

    bounds: Floats
    largest: Integers

    def below(self, claimed: float) -> _Candidates:
        """Those whose bound is less than that, by rising bound."""
        order = np.argsort(self.bounds, kind="stable")
        order = order[self.bounds[order] < claimed]
        return _Candidates(bounds=self.bounds[order], largest=self.largest[order])

    def raised(self, coarse: _Demand, k: int, run: int) -> _Candidates:
        """The same with bounds that mind whole items, reckoned once for every `run` largest sizes in a row."""
        order = np.argsort(self.largest, kind="stable")
        bounds, largest = self.bounds[order], self.largest[order]
        for begin in range(0, len(order), run):
            members = slice(begin, begin + run)
            bounds[members] = np.maximum(bounds[members], _coarse_bound(coarse, largest[members], k))
        return _Candidates(bounds=bounds, largest=largest)


def bytes_claimed_per_block(histogram: LengthHistogram, sizes: tuple[int, ...]) -> float:
    """The mean capacity that one block of the histogram claims under that ascending list, which has a slot for each."""
    return _Demand.of(histogram).claimed(sizes) / histogram.blocks


def bucket_sizes(
    histogram: LengthHistogram,
    k: int = len(DEFAULT_BUCKET_SIZES),
    *,
    must_fit_bytes: int = 0,
) -> tuple[int, ...]:
    """Return at most k sizes, ascending multiples of 256, under which the blocks claim the least capacity.

    Every block fits, and any of `must_fit_bytes` (the longest block a sample may have missed: block size plus largest
    cell plus overhead) does too; HBase would silently never cache a longer one. With k of 14 or more no histogram
    claims more than under HBase's default list. Raises InvalidInput where k is below 1 or the longest block needs more
    than HBase's largest size.
    """
    demand = _Demand.of(histogram)
    least = int(_stepped(np.array([max(histogram.largest_bytes, must_fit_bytes)]))[0])
    most = min(max(ENOUGH_LARGEST_MULTIPLE * least, DEFAULT_BUCKET_SIZES[-1]), LARGEST_SIZE_BYTES)
    if k < 1 or most < least:
        raise InvalidInput([_nothing_fits(k, least)])
    steps = -(-(most - least + 1) // SIZE_STEP_BYTES)
    largest = np.arange(least, most + 1, SIZE_STEP_BYTES * -(-steps // MOST_LARGEST))
    return _with_fullest_largest(demand, _search(demand, largest, k), largest)


def short_lists(
    histogram: LengthHistogram, counts: Sequence[int], *, must_fit_bytes: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Return the best list of sizes for each count.

    The largest size is the smallest that fits every block, so buckets are small. These lists suit a cache of few
    buckets, where each size takes a bucket away from the others.
    """
    demand = _Demand.of(histogram)
    least = int(_stepped(np.array([max(histogram.largest_bytes, must_fit_bytes)]))[0])
    if not counts or min(counts) < 1 or least > LARGEST_SIZE_BYTES:
        raise InvalidInput([_nothing_fits(min(counts, default=0), least)])
    claims = _claims(demand.slots, np.array([least]))
    services = Partition.of(demand.blocks_below, claims, max(counts) - 1)
    closing = _claims(np.array([least]), np.array([least]))
    ends = {count: int(services.closed(count - 1, closing)[1][0]) for count in counts}
    return tuple(_list(demand, services.ends(ends[count], count - 1), least) for count in counts)


def _search(demand: _Demand, largest: Integers, k: int) -> tuple[int, ...]:
    """Return the list of least claim, with one of these largest sizes and at most k sizes."""
    accept = Partition.of(demand.blocks_below, demand.slots / ACCEPT_FACTOR, k - 1)
    bounds, _ = accept.closed(k - 1, largest / ACCEPT_FACTOR)
    candidates = _Candidates(bounds=bounds, largest=largest)
    best = _cheapest(demand, accept, int(largest[-1]), k)
    for run, slots in BOUND_PASSES:
        candidates = candidates.below(best[0] * WORTHWHILE).raised(demand.coarse(slots), k, run)
    candidates = candidates.below(best[0] * WORTHWHILE)
    for bound, size in zip(candidates.bounds, candidates.largest, strict=True):
        if bound >= best[0] * WORTHWHILE:
            break
        cheapest = _cheapest(demand, accept, int(size), k)
        best = cheapest if cheapest[0] < best[0] * WORTHWHILE else best
    return best[1]


def _coarse_bound(coarse: _Demand, largest: Integers, sizes: int) -> float:
    """Return a claim below which no list of this many sizes with any of these largest sizes can be."""
    column = largest[:, None]
    claims = _claims(np.broadcast_to(coarse.slots, (len(largest), len(coarse.slots))), column)
    closing = _claims(column, column)
    return partition_cost(coarse.blocks_below, claims.min(axis=0), float(closing.min()), sizes - 1)


def _cheapest(demand: _Demand, accept: Partition, largest: int, sizes: int) -> tuple[float, tuple[int, ...]]:
    """Return the least claim of a list with this largest size and at most this many sizes, and the list itself.

    The best list for the accept factor alone is the answer when no class lacks buckets under it.
    """
    size = np.array([largest])
    costs, ends = accept.closed(sizes - 1, size / ACCEPT_FACTOR)
    chosen = _list(demand, accept.ends(int(ends[0]), sizes - 1), largest)
    claimed = demand.claimed(chosen)
    if claimed <= costs[0] * (1 + ROUNDING):
        return claimed, chosen
    exact = Partition.of(demand.blocks_below, _claims(demand.slots, size), sizes - 1)
    _, ends = exact.closed(sizes - 1, _claims(size, size))
    chosen = _list(demand, exact.ends(int(ends[0]), sizes - 1), largest)
    return demand.claimed(chosen), chosen


def _claims(slots: Integers, largest: Integers) -> Floats:
    """Return the capacity that one block claims in each slot, under a list with that largest size."""
    bucket = FEWEST_ITEMS_IN_BUCKET * largest
    claims: Floats = np.maximum(bucket / (bucket // slots), slots / ACCEPT_FACTOR)
    return claims


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
    claimed = demand.claimed(sizes) * (1 + ROUNDING)
    bucket = FEWEST_ITEMS_IN_BUCKET * largest[largest > used[-1]][:, None]
    remainder = (bucket / (bucket // used)) @ blocks[:-1]
    for at in np.argsort(remainder, kind="stable"):
        chosen = (*sizes[:-1], int(bucket[at, 0]) // FEWEST_ITEMS_IN_BUCKET)
        if demand.claimed(chosen) <= claimed:
            return chosen
    return sizes


def _stepped(lengths: Integers) -> Integers:
    """Each length rounded up to the step that HBase asks of a size."""
    return -(-lengths // SIZE_STEP_BYTES) * SIZE_STEP_BYTES


def _nothing_fits(k: int, least: int) -> Problem:
    return Problem(
        where="hbase.bucketcache.bucket.sizes",
        what=f"no list of {k} sizes serves these blocks",
        why=f"the longest block needs a size of {least} bytes",
        fix=f"allow at least one size, and blocks of at most {LARGEST_SIZE_BYTES} bytes",
    )


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
    def proportional_bytes(self) -> int:
        """Return the size of the smallest cache whose blocks need not be counted bucket by bucket."""
        return PROPORTIONAL_BUCKETS * bucket_bytes(self.sizes)

    @memoized
    def slots(self, size_mib: int) -> Slots:
        """Return the list of sizes that holds the most blocks, and its blocks; none where no bucket fits."""
        capacity_bytes, most = size_mib * MIB, Slots(sizes=(), blocks=0)
        is_small = capacity_bytes < COARSE_BUCKETS * bucket_bytes(self.sizes)
        for sizes in (self.sizes, *self._short_lists) if is_small else (self.sizes,):
            if minimum_capacity_bytes(sizes) <= capacity_bytes:
                blocks = BucketAllocator(capacity_bytes=capacity_bytes, sizes=sizes).block_capacity(self.lengths)
                if not most.sizes or blocks > most.blocks:
                    most = Slots(sizes=sizes, blocks=blocks)
        return most

    @cached_property
    def _short_lists(self) -> tuple[tuple[int, ...], ...]:
        return short_lists(self.lengths, LIST_LENGTHS, must_fit_bytes=self.longest_bytes)
