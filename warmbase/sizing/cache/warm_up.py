"""The time that a cold cache takes to become useful: by prefetch, by the reads themselves, and by both together.

Prefetch on S3 is bound by its streams, not by bandwidth: one thread reads one store file block after block, and pays
the first byte of S3 for every request it makes. How many bytes one request brings decides everything: a block, with the
`random` read policy of S3A; megabytes, with `sequential`.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from math import inf
from operator import itemgetter
from typing import Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.workload.popularity import Popularity
from warmbase.sizing.workload.read import S3_FIRST_BYTE_SECONDS, S3_STREAM_BYTES_PER_SECOND

Floats = NDArray[np.float64]
Limit = Literal["s3-streams", "network", "s3-requests", "fill", "cpu"]

# HBase 2.6 default of `hbase.hfile.thread.prefetch`.
PREFETCH_THREADS: Final = 4
# HBase 2.6 source: prefetch gives up a file when the cache is this full (the accept factor).
PREFETCH_STOPS_FRACTION: Final = 0.95
# judgement: decompressing and checking 64 KiB takes 60-200 µs and inserting it 3-5 µs; near the upper end.
CPU_SECONDS_PER_BLOCK: Final = 150e-6
# judgement: fsync of a cache file on gp3 is one or two journal writes of 1 ms each, with others queued
# before.
FSYNC_SECONDS: Final = 5e-3
# judgement: with 48 points, 192 steps: within a thousandth of the closed form where there is one.
STEPS_PER_POINT: Final = 4
# Halves an interval of accesses to the last bit of a double.
BISECTIONS: Final = 60
# Less than any count of blocks, and not zero.
SMALLEST: Final = 1e-12


class Streams(Struct, frozen=True, kw_only=True):
    """How a prefetch reads S3: `threads` at a time, each with GETs of `get_bytes` one after the other."""

    threads: int = PREFETCH_THREADS
    get_bytes: float
    first_byte_seconds: float = S3_FIRST_BYTE_SECONDS
    stream_bytes_per_second: float = S3_STREAM_BYTES_PER_SECOND

    @property
    def bytes_per_second(self) -> float:
        """Return the rate of all threads together; a request waits for its first byte, then transfers its bytes."""
        return self.threads * self.get_bytes / (self.first_byte_seconds + self.get_bytes / self.stream_bytes_per_second)


class Fill(Struct, frozen=True, kw_only=True):
    """The content that one RegionServer prefetches: its blocks, their bytes in S3, and in the slots they fill."""

    blocks: int
    s3_bytes: int
    slot_bytes: int


class Rates(Struct, frozen=True, kw_only=True):
    """The rates of one RegionServer: its GETs are its share of those that S3 allows the prefixes."""

    network_bytes_per_second: float
    fill_bytes_per_second: float
    vcpus: float
    s3_gets_per_second: float


class Prefetch(Struct, frozen=True, kw_only=True):
    """Time to prefetch: the longest of the five `terms` in seconds, which is `limit`."""

    seconds: float
    limit: Limit
    terms: tuple[tuple[Limit, float], ...]


class CacheCapacity(Struct, frozen=True, kw_only=True):
    """Blocks the cache keeps under eviction, and at which prefetch stops (0.95 of all slots)."""

    blocks_after_eviction: float
    prefetch_stops_blocks: float

    @classmethod
    def of(cls, *, slots: float, blocks_after_eviction: float) -> "CacheCapacity":
        """Return the room of a cache with this many slots; eviction leaves `blocks_after_eviction` of them in use."""
        return cls(blocks_after_eviction=blocks_after_eviction, prefetch_stops_blocks=PREFETCH_STOPS_FRACTION * slots)


class WarmUpLoad(Struct, frozen=True, kw_only=True):
    """The course of a warm-up: block accesses a second at a hit ratio, prefetched blocks a second, how long."""

    accesses_per_second: Callable[[float], float]
    prefetched_blocks_per_second: float
    hours: float
    points: int = 48


class Warmth(NamedTuple):
    """Block accesses and prefetched blocks since caches were empty, and the hit ratio that follows.

    `prefetched` is the share of the blocks not read yet that prefetch brought and that are still cached.
    """

    accesses: float = 0.0
    prefetched_blocks: float = 0.0
    prefetched: float = 0.0
    hit_ratio: float = 0.0


class Warming(Struct, frozen=True, kw_only=True, dict=True):
    """Caches that warm up by reads and by prefetch, in steps of time. The hit ratio never falls."""

    popularity: Popularity
    room: CacheCapacity

    @cached_property
    def most_accesses(self) -> float:
        """Return the accesses after which reads alone have filled the caches: Che's characteristic time.

        It is infinite if the caches hold all blocks that are ever read.
        """
        if self.room.blocks_after_eviction >= self.popularity.total_blocks:
            return inf
        claims, weights = self.popularity.claims, self.popularity.weights
        uncached = float(claims.sum()) - self.room.blocks_after_eviction
        low, high = 0.0, 1 / float(weights.max())
        while (claims * np.exp(-weights * high)).sum() > uncached:
            low, high = high, 2 * high
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if (claims * np.exp(-weights * middle)).sum() > uncached else (low, middle)
        return low

    def after(self, warmth: Warmth, seconds: float, rates: Callable[[float], tuple[float, float]]) -> Warmth:
        """Return the state this many seconds later, at the rates of accesses and prefetch in the middle of the step."""
        middle = self._moved(warmth, seconds / 2, rates(warmth.hit_ratio))
        return self._moved(warmth, seconds, rates(middle.hit_ratio))

    def _moved(self, warmth: Warmth, seconds: float, rates: tuple[float, float]) -> Warmth:
        accesses, brought = min(self.most_accesses, warmth.accesses + rates[0] * seconds), rates[1] * seconds
        # The unread blocks of each class, in blocks of mean length. A share p of them is cached when N - (1 - p) x
        # unread blocks are in all: prefetch raises it to its own stop, or to the share that it brought, and eviction
        # lowers it to what the cache keeps.
        popularity, all_blocks = self.popularity, float(self.popularity.claims.sum())
        unread = popularity.claims * np.exp(-popularity.weights * accesses)
        not_read = max(float(unread.sum()), SMALLEST)
        stop = 1 - (all_blocks - self.room.prefetch_stops_blocks) / not_read
        fits = 1 - (all_blocks - min(self.room.blocks_after_eviction, all_blocks)) / not_read
        wished = min(warmth.prefetched + brought / all_blocks, stop)
        share = max(0.0, min(max(warmth.prefetched, wished), fits, 1.0))
        blocks = unread if popularity.room is None else unread / popularity.room
        ratio = 1 - (1 - share) * float((popularity.weights * blocks).sum())
        return Warmth(
            accesses=accesses,
            prefetched_blocks=warmth.prefetched_blocks + brought,
            prefetched=share,
            hit_ratio=max(warmth.hit_ratio, ratio),
        )


def prefetch(fill: Fill, streams: Streams, rates: Rates) -> Prefetch:
    """Time of one RegionServer's prefetch; all servers work at the same time.

    T = max(S3 bytes / what the streams or the network bring, GETs / S3's limit, slot bytes / fill rate, CPU).
    Only one file of a `files:` list fills at a time, so the fill rate is one volume's.
    """
    terms: tuple[tuple[Limit, float], ...] = (
        ("s3-streams", fill.s3_bytes / streams.bytes_per_second),
        ("network", fill.s3_bytes / rates.network_bytes_per_second),
        ("s3-requests", fill.s3_bytes / streams.get_bytes / rates.s3_gets_per_second),
        ("fill", fill.slot_bytes / rates.fill_bytes_per_second),
        ("cpu", fill.blocks * CPU_SECONDS_PER_BLOCK / min(streams.threads, rates.vcpus)),
    )
    limit, seconds = max(terms, key=itemgetter(1))
    return Prefetch(seconds=seconds, limit=limit, terms=terms)


def writer_bytes_per_second(
    batch_blocks: int, slot_bytes: float, disk_bytes_per_second: float, files: int = 1
) -> float:
    """Return what one writer thread writes: it syncs every cache file after each batch that it drained."""
    batch = batch_blocks * slot_bytes
    return batch / (batch / disk_bytes_per_second + FSYNC_SECONDS * files)


def rate_between(cold_per_second: float, warm_per_second: float) -> Callable[[float], float]:
    """Accesses a second by hit ratio for a closed load: mean latency is a straight line from cold to warm."""

    def at(hit_ratio: float) -> float:
        return 1 / ((1 - hit_ratio) / cold_per_second + hit_ratio / warm_per_second)

    return at


def curve(popularity: Popularity, room: CacheCapacity, course: WarmUpLoad) -> tuple[tuple[float, float], ...]:
    """Return the hit ratio over time from an empty cache, as (hours, ratio) pairs, never falling.

    After A accesses a block of weight w has been read with chance 1 - e^(-wA); prefetch takes blocks whatever their
    weight. When the cache is full, reads push out what was only prefetched, and the curve ends where Che's
    approximation of LRU puts that many blocks.
    """
    warming, warmth = Warming(popularity=popularity, room=room), Warmth()
    step_seconds = course.hours * SECONDS_PER_HOUR / (course.points * STEPS_PER_POINT)
    drawn = [(0.0, 0.0)]
    for step in range(1, course.points * STEPS_PER_POINT + 1):
        warmth = warming.after(
            warmth, step_seconds, lambda ratio: (course.accesses_per_second(ratio), course.prefetched_blocks_per_second)
        )
        if step % STEPS_PER_POINT == 0:
            drawn.append((step * step_seconds / SECONDS_PER_HOUR, warmth.hit_ratio))
    return tuple(drawn)


def hours_to(ratio: float, drawn: tuple[tuple[float, float], ...]) -> float | None:
    """First hour at which the curve is at `ratio`, straight between its points; None if it never is."""
    for (before, low), (after, high) in pairwise(drawn):
        if high >= ratio:
            return before + (after - before) * max(0.0, ratio - low) / (high - low) if high > low else before
    return None
