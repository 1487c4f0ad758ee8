"""Hit ratio from HBase 2.6.5 on, where a block enters the SINGLE group and its second read moves it to MULTI.

Either group is an LRU list: a block leaves SINGLE after a time T1 without a read, MULTI after T2. Between reads
of one block its group is a two-state chain, which gives sizes and outflows of both groups for any T1 and T2 (Che's
approximation for each). HBase's freeSpace() shares an eviction between the groups by how far each exceeds
its share; the times sought are those that fill the cache and whose outflows have that proportion. They are found
on a grid of times, by interpolation. Source: HBASE-29667, BucketCache.freeSpace; checked against `replay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from sizing.allocator import MIN_FACTOR
from sizing.popularity import Floats, Popularity

SINGLE_FACTOR: Final = 0.25  # hbase.bucketcache.single.factor
MULTI_FACTOR: Final = 0.50  # hbase.bucketcache.multi.factor
TIMES: Final = 64  # judgement: values of each time; finer ones change hit ratios by less than 0.3 points
CLASSES: Final = 32  # judgement: popularity classes on the grid; with TIMES 130,000 terms, about a millisecond
SHORTEST_TIME: Final = 0.1  # in reads for each block held; SINGLE never keeps blocks for less on the grid of tests
LONGEST_TIME: Final = 8.0  # in reads of the rarest block; 0.03 % of the blocks are then unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """Evictions of caches of several sizes, all in blocks, shape (sizes,).

    `mean` is held on average, `freed` by an eviction; `room` is all slots' bytes in blocks.
    """

    mean: Floats
    freed: Floats
    room: Floats

    def multi_fraction(self, single: Floats, multi: Floats) -> Floats:
        """Share of an eviction that MULTI bears, given the mean sizes of the groups; shape (times, sizes).

        The group less over its share gives up to half, the other the rest; a second pass halves what is left. A
        group that is cut to its share each time swings above it by what it loses: twice its mean excess.
        """
        over_single = 2 * np.maximum(single - SINGLE_FACTOR * MIN_FACTOR * self.room, 0)
        over_multi = 2 * np.maximum(multi - MULTI_FACTOR * MIN_FACTOR * self.room, 0)
        less = np.minimum(np.minimum(over_single, over_multi), self.freed / 2)
        more = np.minimum(np.maximum(over_single, over_multi), self.freed - less)
        from_multi = np.where(over_multi < over_single, less, more)
        return np.asarray((from_multi + (self.freed - less - more) / 2) / np.maximum(self.freed, 1e-300))


def promoted_hit_ratios(popularity: Popularity, eviction: Eviction) -> Floats:
    """Hit ratios of warm caches that promote, of sizes below what holds everything; shape (sizes,)."""
    return _solved(popularity, eviction)[2]


def promoted_block_hits(popularity: Popularity, eviction: Eviction) -> Floats:
    """Return the hit ratio of a block of each class in such caches; shape (sizes, classes)."""
    in_single, in_multi, _ = _solved(popularity, eviction)
    promoted = -np.expm1(-in_single[:, None] * popularity.weights)
    outflow = np.exp(-in_multi[:, None] * popularity.weights)
    return np.asarray(promoted / np.maximum(outflow + promoted, 1e-300))


def _solved(popularity: Popularity, eviction: Eviction) -> tuple[Floats, Floats, Floats]:
    """Return for how many reads an unread block stays in SINGLE and in MULTI, and the hit ratios; shapes (sizes,)."""
    grid = _Grid.of(_coarse(popularity), SHORTEST_TIME * float(eviction.mean[eviction.mean > 0].min(initial=np.inf)))
    single, multi, outflow, hits, in_multi = grid.at_sizes(eviction.mean)
    surplus = eviction.multi_fraction(single, multi) - outflow
    # Longer in SINGLE means less in MULTI: the surplus falls with T1. Beyond the size of the cache it is -1.
    falling = np.minimum.accumulate(np.where(np.isnan(surplus), -1.0, surplus), axis=0)
    below = np.clip(np.sum(falling > 0, axis=0), 1, TIMES - 1)
    sizes = np.arange(len(eviction.mean))
    above, under = falling[below - 1, sizes], falling[below, sizes]
    share = np.clip(np.divide(above, above - under, out=np.zeros_like(above), where=above > under), 0, 1)

    def between(values: Floats) -> Floats:
        later = np.where(np.isnan(values[below, sizes]), values[below - 1, sizes], values[below, sizes])
        return np.asarray(values[below - 1, sizes] * (1 - share) + later * share)

    logs = np.log(grid.times)
    in_single = np.where(np.isnan(hits), np.nan, logs[:, None])
    return np.exp(between(in_single)), np.exp(between(in_multi)), between(hits)


def _coarse(popularity: Popularity) -> tuple[Floats, Floats, Floats]:
    """Return weights, blocks and their space in at most CLASSES classes, merged by equal steps of log weight."""
    read = popularity.weights > 0
    weights, blocks, claims = popularity.weights[read], popularity.blocks[read], popularity.claims[read]
    logs = np.log(weights)
    width = max((logs.max() - logs.min()) / CLASSES, 1e-9)
    _, member = np.unique(np.floor((logs.max() - logs) / width), return_inverse=True)
    counts = np.bincount(member, weights=blocks).astype(np.float64)
    room = np.bincount(member, weights=claims).astype(np.float64)
    return np.bincount(member, weights=weights * blocks) / counts, counts, room


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """For each T1 (rows) and T2 (columns): sizes of the groups, share of misses that left MULTI, hit ratio.

    `times` are the values of T1 and of T2.
    """

    times: Floats
    single: Floats
    multi: Floats
    outflow: Floats
    hits: Floats

    @classmethod
    def of(cls, classes: tuple[Floats, Floats, Floats], shortest: float) -> _Grid:
        weights, blocks, claims = classes
        longest = LONGEST_TIME / weights.min()
        times = np.geomspace(min(max(shortest, 1e-3), longest / 2), longest, TIMES)
        stays = -np.expm1(-times[:, None] * weights)
        promoted, stays_in_multi = stays[:, None, :], stays[None, :, :]
        in_multi = promoted / (1 - stays_in_multi + promoted)
        reads = weights * blocks
        hits = in_multi @ reads
        leaving = (in_multi * (1 - stays_in_multi)) @ reads
        single = ((1 - in_multi) * promoted) @ claims
        multi = (in_multi * stays_in_multi) @ claims
        outflow = leaving / np.maximum(1 - hits, 1e-300)
        return cls(times=times, single=single, multi=multi, outflow=outflow, hits=hits)

    def at_sizes(self, sizes: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Group sizes, outflow, hits and log T2 where both groups together have these sizes; shapes (T1, sizes).

        Not a number where SINGLE alone is already larger.
        """
        rows, logs = self.single + self.multi, np.broadcast_to(np.log(self.times), self.hits.shape)
        interpolated = np.array(
            [
                [np.interp(sizes, row, values[at], left=np.nan) for at, row in enumerate(rows)]
                for values in (self.single, self.multi, self.outflow, self.hits, logs)
            ]
        )
        return interpolated[0], interpolated[1], interpolated[2], interpolated[3], interpolated[4]
