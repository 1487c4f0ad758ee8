"""HBase's BucketAllocator: how a BucketCache of some capacity is cut into slots, and how many blocks it holds.

Capacity is cut into buckets of four times the largest configured size. Each bucket serves one size at a time, as
whole items; each size always keeps at least one bucket. Eviction starts when claimed slots exceed the accept factor
or when a size finds no bucket. Source: HBase 2.6.2 BucketAllocator and BucketCache (allocator identical to 2.6.6).

The plan's list of bucket sizes (`hbase.bucketcache.bucket.sizes`) is the one under which the given blocks claim the
least capacity.

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

Some caches are so small that one bucket is a noticeable part of them. In a large cache, the number of blocks is
proportional to its size. In a small cache it is not: each bucket size needs a bucket of its own, and a bucket has room
for four of the longest blocks, which is megabytes for cells of megabytes. So `fullest_list` tries shorter lists of
sizes with HBase's own allocation, and chooses the one that holds the most blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import starmap
from operator import itemgetter, mul
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from warmbase.ground.block import BLOCKS, LengthHistogram
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import MIB

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


Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


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
# judgement: with 14 sizes, 13 of 200 buckets may be idle, 6 % of the cache, so a shorter list is worth a trial.
COARSE_BUCKETS: Final = 200
# judgement: beyond a thousand buckets the allocator and the proportion differ by 1 % at most.
PROPORTIONAL_BUCKETS: Final = 1_000
LIST_LENGTHS: Final = (1, 2, 3, 4, 6, 9, 13)  # judgement: another size matters less, the more sizes there are
HISTOGRAMS: Final = 32  # so many histograms have their short lists cached
CACHES: Final = 4_096  # so many caches of few buckets have their lists cached


class Demand(Struct, frozen=True, kw_only=True):
    """Blocks by the slot that fits them best: `slots` ascending, `blocks_below[i]` blocks in the first i of them."""

    slots: Integers
    blocks_below: Floats

    @classmethod
    def of(cls, histogram: LengthHistogram) -> Demand:
        """Return the blocks of a histogram, whose lengths are rounded up to the step that HBase asks of a size."""
        lengths, blocks = np.array(histogram.pairs, dtype=np.int64).T
        slots, members = np.unique(-(-lengths // SIZE_STEP_BYTES) * SIZE_STEP_BYTES, return_inverse=True)
        below = np.concatenate(([0.0], np.cumsum(np.bincount(members, weights=blocks))))
        return cls(slots=slots, blocks_below=below)

    def blocks_in(self, sizes: tuple[int, ...]) -> Floats:
        """Return how many blocks go to each size of an ascending list."""
        ends = np.searchsorted(self.slots, np.array(sizes), side="right")
        return np.diff(self.blocks_below[ends], prepend=0.0)

    def claimed(self, sizes: tuple[int, ...]) -> float:
        """Return the capacity that all blocks claim under that list."""
        return float(self.blocks_in(sizes) @ _claims(np.array(sizes), np.array(sizes[-1:])))


class Partition(Struct, frozen=True, kw_only=True):
    """Cheapest service of the first i slots with at most t classes, for every i and t up to a limit.

    `costs[t, i]` is its cost and `begins[t, i]` the number of slots before its last class.
    """

    demand: Demand
    costs: Floats
    begins: Integers

    @classmethod
    def of(cls, demand: Demand, claims: Floats, most: int) -> Partition:
        """Return all cheapest services with 0 to `most` classes, given one block's claim in each slot, ascending."""
        below = demand.blocks_below
        ends, padded = np.arange(len(below)), np.concatenate((claims[:1], claims))
        costs, begins = [np.where(ends == 0, 0.0, np.inf)], [np.zeros_like(ends)]
        if most:
            costs.append(padded * below)
            begins.append(np.zeros_like(ends))
        for _ in range(2, most + 1):
            cost, begin = _minima(costs[-1], below, (padded, below, ends))
            costs.append(cost)
            begins.append(begin)
        return cls(demand=demand, costs=np.array(costs), begins=np.array(begins))

    def closed(self, most: int, claims: Floats) -> tuple[Floats, Integers]:
        """The cost when one more class of each given claim (ascending) serves all slots from some point on.

        Returns the cheapest cost and that point, for each claim; `most` classes at most serve the slots before it.
        """
        below = self.demand.blocks_below
        everything, last = np.full(len(claims), below[-1]), np.full(len(claims), len(below) - 1)
        return _minima(self.costs[most], below, (claims, everything, last))

    def sizes(self, end: int, most: int, largest: int) -> tuple[int, ...]:
        """Return the list of the cheapest service of the first `end` slots, and the largest size."""
        sizes = {largest}
        while end > 0:
            begin = int(self.begins[most, end])
            if begin < end:
                sizes.add(int(self.demand.slots[end - 1]))
            end, most = begin, most - 1
        return tuple(sorted(sizes))


def _minima(costs: Floats, blocks_below: Floats, rows: tuple[Floats, Floats, Integers]) -> tuple[Floats, Integers]:
    """Return the minimum over i <= last[r] of costs[i] + claims[r] x (totals[r] - blocks_below[i]), and its first i.

    `rows` are claims, totals and last of each r; claims and last ascend, so minima move right only. Rows are solved by
    halving strides, each between the columns of its neighbours.
    """
    claims, totals, last = rows
    count = len(claims)
    minima, columns = np.empty(count), np.zeros(count, dtype=np.int64)
    stride = 1 << count.bit_length()
    while stride > 1:
        row = np.arange(stride // 2, count + 1, stride) - 1
        before, after = row - stride // 2, row + stride // 2
        low = np.where(before >= 0, columns[np.maximum(before, 0)], 0)
        high = np.where(after < count, columns[np.minimum(after, count - 1)], last[-1])
        lengths = np.minimum(high, last[row]) - low + 1
        starts = np.cumsum(lengths) - lengths
        member = np.repeat(np.arange(len(row)), lengths)
        column = np.arange(len(member)) - np.repeat(starts - low, lengths)
        values = costs[column] + claims[row][member] * (totals[row][member] - blocks_below[column])
        minima[row] = np.minimum.reduceat(values, starts)
        least = np.flatnonzero(values == minima[row][member])
        columns[row] = column[least[np.searchsorted(member[least], np.arange(len(row)))]]
        stride //= 2
    return minima, columns


def bytes_claimed_per_block(histogram: LengthHistogram, sizes: tuple[int, ...]) -> float:
    """The mean capacity that one block of the histogram claims under that ascending list, which has a slot for each."""
    return Demand.of(histogram).claimed(sizes) / histogram.blocks


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
    demand = Demand.of(histogram)
    least = -(-max(histogram.largest_bytes, must_fit_bytes) // SIZE_STEP_BYTES) * SIZE_STEP_BYTES
    most = min(max(ENOUGH_LARGEST_MULTIPLE * least, DEFAULT_BUCKET_SIZES[-1]), LARGEST_SIZE_BYTES)
    if k < 1 or most < least:
        raise InvalidInput([_nothing_fits(k, least)])
    steps = -(-(most - least + 1) // SIZE_STEP_BYTES)
    largest = np.arange(least, most + 1, SIZE_STEP_BYTES * -(-steps // MOST_LARGEST))
    # No list with one of these largest sizes undercuts its bound.
    accept = Partition.of(demand, demand.slots / ACCEPT_FACTOR, k - 1)
    candidates, (bounds, _) = largest, accept.closed(k - 1, largest / ACCEPT_FACTOR)
    claimed, sizes = _cheapest(accept, int(largest[-1]), k)
    for run, groups in BOUND_PASSES:
        # Every block counts in the smallest slot of its group, so no claim is too large. These bounds account for whole
        # items, and are computed once for every `run` largest sizes in a row.
        begins = np.unique(np.linspace(0, len(demand.slots), groups, endpoint=False).astype(np.int64))
        below = np.concatenate((demand.blocks_below[begins], demand.blocks_below[-1:]))
        rest = bounds < claimed * WORTHWHILE
        bounds, candidates = bounds[rest], candidates[rest]
        for begin in range(0, len(candidates), run):
            members = slice(begin, begin + run)
            bound = _coarse_bound(demand.slots[begins], below, candidates[members], k)
            bounds[members] = np.maximum(bounds[members], bound)
    for at in np.argsort(bounds, kind="stable"):
        if bounds[at] >= claimed * WORTHWHILE:
            break
        other, chosen = _cheapest(accept, int(candidates[at]), k)
        if other < claimed * WORTHWHILE:
            claimed, sizes = other, chosen
    blocks = demand.blocks_in(sizes)
    if len(sizes) == 1 or blocks[-1]:
        return sizes
    # The largest size serves no block. Up to the accept factor a bucket's remainder costs nothing; once blocks are
    # evicted, to 0.85 of each size's items, it does. So of the largest sizes with equal claims, choose the one that
    # leaves the buckets fullest, and of several the smallest.
    used = np.array(sizes[:-1])
    most_claimed = demand.claimed(sizes) * (1 + ROUNDING)
    bucket = FEWEST_ITEMS_IN_BUCKET * largest[largest > used[-1]][:, None]
    remainder = (bucket / (bucket // used)) @ blocks[:-1]
    for at in np.argsort(remainder, kind="stable"):
        chosen = (*sizes[:-1], int(bucket[at, 0]) // FEWEST_ITEMS_IN_BUCKET)
        if demand.claimed(chosen) <= most_claimed:
            return chosen
    return sizes


def _coarse_bound(slots: Integers, blocks_below: Floats, largest: Integers, sizes: int) -> float:
    """Return a lower bound for the claim of any list of this many sizes with one of these largest sizes.

    It is that of the cheapest service with one class fewer and one that closes; quick for under 100 slots.
    """
    column = largest[:, None]
    claims = _claims(np.broadcast_to(slots, (len(largest), len(slots))), column).min(axis=0)
    padded = np.concatenate((claims[:1], claims))
    blocks = blocks_below[:, None] - blocks_below[None, :]
    services = np.where(blocks >= 0, padded[:, None] * blocks, np.inf)
    costs = services[:, 0] if sizes > 1 else np.where(np.arange(len(padded)) == 0, 0.0, np.inf)
    for _ in range(2, sizes):
        costs = (services + costs).min(axis=1)
    closing_claim = float(_claims(column, column).min())
    return float((costs + closing_claim * (blocks_below[-1] - blocks_below)).min())


def _cheapest(accept: Partition, largest: int, sizes: int) -> tuple[float, tuple[int, ...]]:
    """Return the least claim of a list with this largest size and at most this many sizes, and the list itself.

    The best list for the accept factor alone is the answer when no class lacks buckets under it.
    """
    demand, size = accept.demand, np.array([largest])
    costs, ends = accept.closed(sizes - 1, size / ACCEPT_FACTOR)
    chosen = accept.sizes(int(ends[0]), sizes - 1, largest)
    claimed = demand.claimed(chosen)
    if claimed <= costs[0] * (1 + ROUNDING):
        return claimed, chosen
    exact = Partition.of(demand, _claims(demand.slots, size), sizes - 1)
    _, ends = exact.closed(sizes - 1, _claims(size, size))
    chosen = exact.sizes(int(ends[0]), sizes - 1, largest)
    return demand.claimed(chosen), chosen


def _claims(slots: Integers, largest: Integers) -> Floats:
    """Return the capacity that one block claims in each slot, under a list with that largest size."""
    bucket = FEWEST_ITEMS_IN_BUCKET * largest
    claims: Floats = np.maximum(bucket / (bucket // slots), slots / ACCEPT_FACTOR)
    return claims


def _nothing_fits(k: int, least: int) -> Problem:
    return Problem(
        where="hbase.bucketcache.bucket.sizes",
        what=f"no list of {k} sizes serves these blocks",
        why=f"the longest block needs a size of {least} bytes",
        fix=f"allow at least one size, and blocks of at most {LARGEST_SIZE_BYTES} bytes",
    )


@lru_cache(maxsize=HISTOGRAMS)
def short_lists(
    histogram: LengthHistogram, counts: tuple[int, ...], *, must_fit_bytes: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Return the best list of sizes for each count.

    The largest size is the smallest that fits every block, so buckets are small. These lists suit a cache of few
    buckets, where each size takes a bucket away from the others.
    """
    demand = Demand.of(histogram)
    least = -(-max(histogram.largest_bytes, must_fit_bytes) // SIZE_STEP_BYTES) * SIZE_STEP_BYTES
    if not counts or min(counts) < 1 or least > LARGEST_SIZE_BYTES:
        raise InvalidInput([_nothing_fits(min(counts, default=0), least)])
    size = np.array([least])
    services, lists = Partition.of(demand, _claims(demand.slots, size), max(counts) - 1), []
    for count in counts:
        _, ends = services.closed(count - 1, _claims(size, size))
        lists.append(services.sizes(int(ends[0]), count - 1, least))
    return tuple(lists)


@lru_cache(maxsize=CACHES)
def fullest_list(
    histogram: LengthHistogram, longest_bytes: int, sizes: tuple[int, ...], size_mib: int
) -> tuple[tuple[int, ...], int]:
    """Return the list of sizes with which a cache of this size holds the most blocks, and how many it holds then.

    `sizes` is the best list for a large cache. The result is an empty list if no bucket fits.
    """
    capacity_bytes, best, most_blocks = size_mib * MIB, tuple[int, ...](), 0
    is_small = capacity_bytes < COARSE_BUCKETS * bucket_bytes(sizes)
    for others in (
        (sizes, *short_lists(histogram, LIST_LENGTHS, must_fit_bytes=longest_bytes)) if is_small else (sizes,)
    ):
        if minimum_capacity_bytes(others) <= capacity_bytes:
            blocks = BucketAllocator(capacity_bytes=capacity_bytes, sizes=others).block_capacity(histogram)
            if not best or blocks > most_blocks:
                best, most_blocks = others, blocks
    return best, most_blocks
