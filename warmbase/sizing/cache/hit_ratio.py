"""The share of block reads that a BucketCache of some size answers, once warm, and the curve over sizes.

HBase evicts the least recently used blocks in batches. Between two batches the cache grows with every miss, and holds
at each moment the most recently read blocks: an LRU cache whose size swings. So Che's approximation gives the miss
ratio at each size m(c), and a cycle of growth from `kept` to `full` blocks takes the sum of 1 / m(c) reads: the miss
ratio is the harmonic mean of m over the swing. Source: Che, Tung, Wang, "Hierarchical Web caching systems", 2002; HBase
2.6.2 BucketCache.freeSpace; checked against `replay` to 1.5 points.

From HBase 2.6.5 on (`_promotion_times`), a block enters the SINGLE group and its second read moves it to MULTI.
Either group is an LRU list: a block leaves SINGLE after a time T1 without a read, MULTI after T2. Between reads of one
block its group is a two-state chain, which gives sizes and outflows of both groups for any T1 and T2 (Che's
approximation for each). HBase's freeSpace() shares an eviction between the groups by how far each exceeds its share;
the times sought are those that fill the cache and whose outflows have that proportion. They are found by bracketing T1
and, for each T1, T2. Source: HBASE-29667, BucketCache.freeSpace; checked against `replay`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.ground.block import LengthHistogram
from warmbase.sizing.cache.bucket_sizes import MIN_FACTOR, BucketAllocator
from warmbase.sizing.workload.popularity import Floats, Popularity

SINGLE_FACTOR: Final = 0.25  # hbase.bucketcache.single.factor
MULTI_FACTOR: Final = 0.50  # hbase.bucketcache.multi.factor
PARTS: Final = 4  # into which each step of a search divides the remaining range of log time
DIVISIONS: Final = 8  # steps of a search; each of 4^8 = 65,536 parts of a range of about 30 is 0.05 % of a time
CLASSES: Final = 32  # judgement: popularity classes; finer ones change hit ratios by less than 0.3 points
SHORTEST_TIME: Final = 1e-3  # in reads for each block held, if all are of the largest; SINGLE is then nearly empty
LONGEST_PROMOTION_TIME: Final = 8.0  # in reads of the rarest block; 0.03 % of the blocks are then unread


def _promotion_times(
    popularity: Popularity, swing: OccupancyRange, factors: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return how long an unread block stays in each group of caches that are `factors` times as large.

    The first pair are the numbers of reads for which it stays in SINGLE and in MULTI, shapes (sizes,). The second are
    the classes that these are computed with, at most CLASSES: the probability of a read of one block of each, and the
    reads of all its blocks.
    """
    full, least_held = factors * swing.full_blocks, factors * swing.blocks_after_eviction
    mean, freed, room = (full + least_held) / 2, full - least_held, factors * swing.room_blocks
    # Classes are merged by equal steps of log weight, without those that are never read.
    read = popularity.weights > 0
    logs = np.log(popularity.weights[read])
    width = max((logs.max() - logs.min()) / CLASSES, 1e-9)
    _, member = np.unique(np.floor((logs.max() - logs) / width), return_inverse=True)
    blocks = popularity.blocks[read]
    reads = np.bincount(member, weights=popularity.weights[read] * blocks).astype(np.float64)
    weights = reads / np.bincount(member, weights=blocks)
    claims = np.bincount(member, weights=popularity.claims[read]).astype(np.float64)
    longest = LONGEST_PROMOTION_TIME / weights.min()
    roomiest = float((claims * weights / reads).max())
    least = np.minimum(np.maximum(SHORTEST_TIME * mean / roomiest, SHORTEST_TIME), longest / 2)

    def in_multi(promoted: Floats) -> Floats:
        def has_room(time: Floats) -> NDArray[np.bool_]:
            return np.asarray(_hits(promoted, time, weights) @ claims < mean)

        return _last(has_room, np.broadcast_to(least, promoted.shape[:-1]), longest)

    def evicts_too_much_of_multi(in_single: Floats) -> NDArray[np.bool_]:
        """A longer time in SINGLE leaves less room for MULTI, so this holds only up to some time in SINGLE."""
        promoted = _read_within(in_single, weights)
        stays = _read_within(later := in_multi(promoted), weights)
        hits = _hits(promoted, later, weights)
        outflow = ((hits * (1 - stays)) @ reads) / np.maximum(1 - hits @ reads, 1e-300)
        alone = _hits(promoted, np.zeros(1), weights) @ claims
        # The share of an eviction that MULTI bears. The group less over its share gives up to half, the other the rest;
        # a second pass halves what is left. A group that is cut to its share each time swings above it by what it
        # loses: twice its mean excess.
        single, multi = ((1 - hits) * promoted) @ claims, (hits * stays) @ claims
        over_single = 2 * np.maximum(single - SINGLE_FACTOR * MIN_FACTOR * room, 0)
        over_multi = 2 * np.maximum(multi - MULTI_FACTOR * MIN_FACTOR * room, 0)
        less = np.minimum(np.minimum(over_single, over_multi), freed / 2)
        more = np.minimum(np.maximum(over_single, over_multi), freed - less)
        from_multi = np.where(over_multi < over_single, less, more) + (freed - less - more) / 2
        return np.asarray((alone < mean) & (from_multi / np.maximum(freed, 1e-300) > outflow))

    in_single = _last(evicts_too_much_of_multi, least, longest)
    return (in_single, in_multi(_read_within(in_single, weights))), (weights, reads)


def _read_within(times: Floats, weights: Floats) -> Floats:
    """Return the probability that a block of each weight is read within each time; shape (*times, classes)."""
    return np.asarray(-np.expm1(-times[..., None] * weights))


def _hits(promoted: Floats, in_multi: Floats, weights: Floats) -> Floats:
    """Return the share of a block's reads that find it in the cache, which equals the share of time that it is cached.

    Shape (*times, classes).
    """
    return np.asarray(promoted / (np.exp(-in_multi[..., None] * weights) + promoted))


def _last(holds: Callable[[Floats], NDArray[np.bool_]], least: Floats, longest: float) -> Floats:
    """Return the latest times at which `holds` is true, if it is false at all later times; shape as least."""
    first, width = np.log(least), np.log(longest / least)
    for _ in range(DIVISIONS):
        width = width / PARTS
        later = first + width * np.arange(1, PARTS).reshape(-1, *[1] * least.ndim)
        first = first + width * holds(np.exp(later)).sum(axis=0)
    return np.asarray(np.exp(first + width / 2))


EXTRA_FREE_FACTOR: Final = 0.10  # hbase.bucketcache.extrafreefactor: freed on top where a size is still short
# Gauss-Legendre on [0, 1]: six nodes, because 1 / m grows steeply where nearly everything fits.
NODES, NODE_SHARES = np.array(np.polynomial.legendre.leggauss(6)) / 2
GRID_POINTS: Final = 320  # judgement: characteristic times, so close together that one step from them finds any other
POPULARITIES: Final = 16  # whose times are cached: a plan asks for the hit ratios of many caches
LONGEST_TIME: Final = 40.0  # in reads of the rarest block; e^-40 of the blocks are then unread
# judgement: standard deviations by which a size's blocks have once exceeded their mean; it keeps those buckets.
PEAK: Final = 3.0
# e^-100 of the blocks is far below rounding, and processors are slow with numbers close to the least float64.
LEAST_EXPONENT: Final = -100.0
ROUNDING: Final = 1e-12  # of sums of float64 counts
CURVE_POINTS: Final = 40
# judgement: a curve that never rises a thousandth above the straight line is that line.
KNEE_RISE: Final = 1e-3


class OccupancyRange(Struct, frozen=True, kw_only=True):
    """The blocks in the cache when an eviction starts (`full_blocks`) and when it ends (`blocks_after_eviction`).

    `room_blocks` is what all slots' bytes would hold of such blocks, of which the priority groups have their shares;
    it counts only where the cache `promotes` blocks from SINGLE to MULTI: HBase 2.6.5 and later.
    """

    full_blocks: float
    blocks_after_eviction: float
    room_blocks: float = 0.0
    promotes: bool = False

    @classmethod
    def of(cls, allocator: BucketAllocator, histogram: LengthHistogram, *, promotes: bool = False) -> OccupancyRange:
        """Return what that cache swings between when it is warm and does not hold everything.

        An eviction wants 15 % of the slots of each size's own buckets free, so a size whose buckets are full loses
        15 % of its blocks: 0.95 of all slots become 0.81, not 0.85. Buckets that no size needed are all with the
        largest size, but for those that others took when chance gave them more blocks. Freed bytes are counted
        in block lengths, wanted bytes in slots; where several sizes hold blocks, one is mostly short after the first
        pass, and a second takes 10 % more. Source: HBase 2.6.2 BucketCache.freeSpace and BucketAllocator.
        """
        full, claims = allocator.block_capacity(histogram), allocator.claims(histogram)
        bucket_bytes = allocator.bucket_bytes
        all_claims = max(1, sum(claims.values()))
        used = {slot: blocks * (full / all_claims) for slot, blocks in claims.items()}
        # Compute the buckets that no used size needs, and the peak of each size, which may have taken some of them.
        total, needed, peaks = sum(used.values()), 0.0, dict[int, float]()
        for slot, blocks in used.items():
            needed += blocks / (bucket_bytes // slot)
            peaks[slot] = PEAK * slot * math.sqrt(blocks * (1 - blocks / total))
        idle = len(set(allocator.sizes) - used.keys())
        spare = max(0.0, allocator.buckets - idle - needed) * bucket_bytes
        taken = min(1.0, spare / max(1.0, sum(peaks.values())))
        free = {slot: peak * taken for slot, peak in peaks.items()}
        if allocator.sizes[-1] in free:
            free[allocator.sizes[-1]] += spare - sum(free.values())
        wanted, fitting = 0.0, 0
        for slot, blocks in used.items():
            wanted += max(0.0, blocks * slot * (1 - MIN_FACTOR) - free[slot] * MIN_FACTOR)
        for length, blocks in histogram.pairs:
            fitting += length * blocks if length <= allocator.sizes[-1] else 0
        freed, mean = wanted * (1 + (EXTRA_FREE_FACTOR if len(used) > 1 else 0)), max(1.0, fitting / all_claims)
        return cls(
            full_blocks=full,
            blocks_after_eviction=max(0.0, full - freed / mean),
            room_blocks=allocator.total_bytes / mean,
            promotes=promotes,
        )

    def scaled(self, factor: float) -> OccupancyRange:
        """Return the same cache this many times as large."""
        return replace(
            self,
            full_blocks=self.full_blocks * factor,
            blocks_after_eviction=self.blocks_after_eviction * factor,
            room_blocks=self.room_blocks * factor,
        )


class HitRatioCurve(Struct, frozen=True, kw_only=True):
    """Warm hit ratio by cache size: `points` of (bytes, ratio), from an empty cache to one that holds everything.

    `knee_bytes` is where the curve stands highest above the straight line between its ends. The curve is concave,
    so up to there a further byte buys more hits than the average byte does, and beyond it fewer. Reads without
    skew have no knee: the line is the curve, and `knee_bytes` holds everything.
    """

    points: tuple[tuple[int, float], ...]
    knee_bytes: int


def hit_ratio(popularity: Popularity, swing: OccupancyRange) -> float:
    """Share of reads that a warm cache answers; 1 where it never evicts because everything fits.

    Never falls as the cache grows.
    """
    return float(hit_ratios(popularity, swing, np.ones(1))[0])


def hit_ratio_curve(
    popularity: Popularity, swing: OccupancyRange, capacity_bytes: int, points: int = CURVE_POINTS
) -> HitRatioCurve:
    """Return the curve of the cache that swings so at `capacity_bytes`, over sizes in proportion, denser where small.

    Its last point is the least capacity that holds every block.
    """
    everything = popularity.total_blocks / swing.full_blocks
    factors = everything * (np.arange(points) / (points - 1)) ** 2
    ratios = hit_ratios(popularity, swing, factors)
    above = ratios - factors / everything
    knee = int(np.argmax(above)) if above.max() > KNEE_RISE else -1
    sizes = np.ceil(factors * capacity_bytes).astype(np.int64).tolist()
    return HitRatioCurve(points=tuple(zip(sizes, ratios.tolist(), strict=True)), knee_bytes=sizes[knee])


class TableCurves(Struct, frozen=True, kw_only=True):
    """The hit ratio and the cached blocks of each table in warm caches of several sizes; shapes (sizes, tables).

    `cached` counts blocks of mean length. `ratios` are the hit ratios of all block reads; shape (sizes,).
    """

    ratios: Floats
    tables: Floats
    cached: Floats


def table_curves(popularity: Popularity, swing: OccupancyRange, factors: Floats) -> TableCurves:
    """Return the hit ratios and the cached blocks of each table in caches that are `factors` times as large.

    The share of the time for which a block is cached is the share of its reads that hit, because reads come at random
    times.
    """
    reads, claims = popularity.weights * popularity.blocks, popularity.claims
    ratios = hit_ratios(popularity, swing, factors)
    missed = np.repeat((1 - ratios)[:, None], len(reads), axis=1)
    some = np.flatnonzero((ratios > 0) & (ratios < 1))
    if len(some):
        if swing.promotes:
            (in_single, in_multi), _ = _promotion_times(popularity, swing, factors[some])
            promoted = _read_within(in_single, popularity.weights)
            of_class = 1 - _hits(promoted, in_multi, popularity.weights)
        else:
            # While the cache grows between evictions, each size lasts for as many reads as it takes until one of them
            # misses. The share of its own reads that a block of each class misses; shape (factors, classes).
            sizes = _grown(popularity, swing, factors[some])
            missing = np.ones((sizes.size, len(popularity.weights)))
            missing[:, popularity.weights > 0] = missing_shares(popularity, sizes.ravel())
            lasting = NODE_SHARES / (missing @ reads).reshape(sizes.shape)
            of_class = (missing.reshape(*sizes.shape, -1) * lasting[:, :, None]).sum(axis=1)
            of_class /= lasting.sum(axis=1, keepdims=True)
        missed[some] = np.minimum(1.0, of_class * ((1 - ratios[some]) / (of_class @ reads))[:, None])
    return TableCurves(
        ratios=ratios,
        tables=1 - popularity.by_table(missed * reads) / popularity.by_table(reads),
        cached=popularity.by_table((1 - missed) * claims),
    )


def cold_misses(popularity: Popularity, reads: float) -> float:
    """Return the share of reads that miss after this many block reads because their block was never read before."""
    return float(popularity.weights @ (popularity.blocks * np.exp(-popularity.weights * reads)))


def hit_ratios(popularity: Popularity, swing: OccupancyRange, factors: Floats) -> Floats:
    """Return the hit ratios of warm caches that are `factors` times as large; shape as factors."""
    everything = factors * swing.full_blocks >= popularity.total_blocks * (1 - ROUNDING)
    if swing.promotes:
        (in_single, in_multi), (weights, reads) = _promotion_times(popularity, swing, factors)
        ratios = _hits(_read_within(in_single, weights), in_multi, weights) @ reads
    else:
        sizes, read = _grown(popularity, swing, factors), popularity.weights > 0
        missed = missing_shares(popularity, sizes.ravel()) @ (popularity.weights * popularity.blocks)[read]
        with np.errstate(divide="ignore"):
            ratios = 1 - 1 / ((1 / missed.reshape(sizes.shape)) @ NODE_SHARES)
    # For a very small cache, rounding can leave a sum of float64 below 0. A cache of size 0 has no times to solve for.
    return np.where(everything, 1.0, np.where(factors * swing.full_blocks > 0, np.maximum(0.0, ratios), 0.0))


def _grown(popularity: Popularity, swing: OccupancyRange, factors: Floats) -> Floats:
    """Return the sizes of the cache between two evictions at which misses are counted; shape (factors, nodes)."""
    nodes = swing.blocks_after_eviction + (swing.full_blocks - swing.blocks_after_eviction) * (NODES + 0.5)
    return np.asarray(np.minimum(factors[:, None] * nodes, popularity.total_blocks))


def missing_shares(popularity: Popularity, sizes: Floats) -> Floats:
    """Return the share of each class that LRU caches of so many blocks lack; shape (sizes, classes that are read).

    The characteristic time T solves blocks held = sum of 1 - e^-wT. That sum is concave in T, so its chord between two
    times of the grid reaches the size beyond T. From there, one step of Halley's method finds T: a cache of that time
    holds the right number of blocks to within 3e-8 of all blocks.
    """
    weights, blocks = popularity.weights[popularity.weights > 0], popularity.claims[popularity.weights > 0]
    grid, cached = _characteristic_times(popularity)
    above = np.clip(np.searchsorted(cached, sizes, side="right"), 1, GRID_POINTS)
    shortest, longest = grid[above - 1], grid[above]
    times = np.interp(sizes, cached, grid)
    unread = _unread(times, weights)
    rates, bends = unread @ (weights * blocks), unread @ (weights**2 * blocks)
    short = sizes - np.subtract(1, unread, out=unread) @ blocks
    times = np.clip(times + short * rates / (rates**2 - short * bends / 2), shortest, longest)
    return _unread(times, weights)


def _unread(times: Floats, weights: Floats) -> Floats:
    """Return the share of each class that is not read in so many reads, at least e^-100; shape (times, classes).

    The array takes about a megabyte. The time to allocate another one is as long as that of its computation.
    """
    exponents = -times[:, None] * weights
    np.maximum(LEAST_EXPONENT, exponents, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


@lru_cache(maxsize=POPULARITIES)
def _characteristic_times(popularity: Popularity) -> tuple[Floats, Floats]:
    """Return characteristic times, ascending from 0, and the blocks that a cache of each time holds."""
    weights, blocks = popularity.weights[popularity.weights > 0], popularity.claims[popularity.weights > 0]
    longest = LONGEST_TIME / weights.min()
    grid = np.concatenate(([0.0], np.geomspace(min(1.0, longest), longest, GRID_POINTS)))
    exponents = -grid[:, None] * weights
    return grid, -(np.expm1(exponents, out=exponents) @ blocks)
