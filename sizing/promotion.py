"""Hit ratio from HBase 2.6.5 on, where a block enters the SINGLE group and its second read moves it to MULTI.

Either group is an LRU list: a block leaves SINGLE after a time T1 without a read, MULTI after T2. Between reads
of one block its group is a two-state chain, which gives sizes and outflows of both groups for any T1 and T2 (Che's
approximation for each). HBase's freeSpace() shares an eviction between the groups by how far each exceeds
its share; the times sought are those that fill the cache and whose outflows have that proportion. They are found
by bracketing T1 and, for each T1, T2. Source: HBASE-29667, BucketCache.freeSpace; checked against `replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from sizing.allocator import MIN_FACTOR
from sizing.popularity import Floats, Popularity

SINGLE_FACTOR: Final = 0.25  # hbase.bucketcache.single.factor
MULTI_FACTOR: Final = 0.50  # hbase.bucketcache.multi.factor
PARTS: Final = 4  # into which each step of a search divides the remaining range of log time
DIVISIONS: Final = 8  # steps of a search; each of 4^8 = 65,536 parts of a range of about 30 is 0.05 % of a time
CLASSES: Final = 32  # judgement: popularity classes; finer ones change hit ratios by less than 0.3 points
SHORTEST_TIME: Final = 1e-3  # in reads for each block held, if all are of the largest; SINGLE is then nearly empty
LONGEST_TIME: Final = 8.0  # in reads of the rarest block; 0.03 % of the blocks are then unread


class Eviction(Struct, frozen=True, kw_only=True):
    """Evictions of caches of several sizes, all in blocks, shape (sizes,).

    `mean` is held on average, `freed` by an eviction; `room` is all slots' bytes in blocks.
    """

    mean: Floats
    freed: Floats
    room: Floats

    def multi_fraction(self, single: Floats, multi: Floats) -> Floats:
        """Share of an eviction that MULTI bears, given the mean sizes of the groups; shape (sizes,).

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
    classes = _Classes.of(popularity)
    in_single, in_multi = _times(classes, eviction)
    return np.asarray(_hits(_read_within(in_single, classes.weights), in_multi, classes.weights) @ classes.reads)


def promoted_block_hits(popularity: Popularity, eviction: Eviction) -> Floats:
    """Return the hit ratio of a block of each class in such caches; shape (sizes, classes)."""
    in_single, in_multi = _times(_Classes.of(popularity), eviction)
    return _hits(_read_within(in_single, popularity.weights), in_multi, popularity.weights)


class _Classes(Struct, frozen=True, kw_only=True):
    """At most CLASSES classes of blocks: the probability of a read of one block, and the reads and the space of all."""

    weights: Floats
    reads: Floats
    claims: Floats

    @classmethod
    def of(cls, popularity: Popularity) -> _Classes:
        """Merge the classes of a popularity by equal steps of log weight, and leave out those that are never read."""
        read = popularity.weights > 0
        weights, blocks, claims = popularity.weights[read], popularity.blocks[read], popularity.claims[read]
        logs = np.log(weights)
        width = max((logs.max() - logs.min()) / CLASSES, 1e-9)
        _, member = np.unique(np.floor((logs.max() - logs) / width), return_inverse=True)
        reads = np.bincount(member, weights=weights * blocks).astype(np.float64)
        return cls(
            weights=reads / np.bincount(member, weights=blocks),
            reads=reads,
            claims=np.bincount(member, weights=claims).astype(np.float64),
        )


def _times(classes: _Classes, eviction: Eviction) -> tuple[Floats, Floats]:
    """Return for how many reads an unread block stays in SINGLE and in MULTI; shapes (sizes,)."""
    longest = LONGEST_TIME / classes.weights.min()
    roomiest = float((classes.claims * classes.weights / classes.reads).max())
    least = np.minimum(np.maximum(SHORTEST_TIME * eviction.mean / roomiest, SHORTEST_TIME), longest / 2)

    def in_multi(promoted: Floats) -> Floats:
        def has_room(time: Floats) -> NDArray[np.bool_]:
            return np.asarray(_hits(promoted, time, classes.weights) @ classes.claims < eviction.mean)

        return _last(has_room, np.broadcast_to(least, promoted.shape[:-1]), longest)

    def evicts_too_much_of_multi(in_single: Floats) -> NDArray[np.bool_]:
        """A longer time in SINGLE leaves less room for MULTI, so this holds only up to some time in SINGLE."""
        promoted = _read_within(in_single, classes.weights)
        stays = _read_within(later := in_multi(promoted), classes.weights)
        hits = _hits(promoted, later, classes.weights)
        single, multi = ((1 - hits) * promoted) @ classes.claims, (hits * stays) @ classes.claims
        outflow = ((hits * (1 - stays)) @ classes.reads) / np.maximum(1 - hits @ classes.reads, 1e-300)
        alone = _hits(promoted, np.zeros(1), classes.weights) @ classes.claims
        return np.asarray((alone < eviction.mean) & (eviction.multi_fraction(single, multi) > outflow))

    in_single = _last(evicts_too_much_of_multi, least, longest)
    return in_single, in_multi(_read_within(in_single, classes.weights))


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
