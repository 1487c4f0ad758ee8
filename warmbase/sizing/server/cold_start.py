"""The course of a cluster with cold caches: the reads that it serves and how it warms up, step by step in time.

At each hit ratio the resources bound the reads: handlers that wait for S3, S3's own limit, disks, network and CPU.
Prefetch uses the same disks, network, CPU and requests. If they need more than there is, each gets at least half, so
reads slow down the warm-up and the warm-up slows down reads, but neither stops the other.
"""

from __future__ import annotations

import bisect
from functools import cached_property, partial
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.cache.warm_up import CPU_SECONDS_PER_BLOCK, CacheCapacity, Warming, Warmth
from warmbase.sizing.service.resource import (
    DISK_RESOURCES,
    EBS_IO_BYTES,
    Resource,
    ServingCluster,
    resources,
    seconds_alone,
)
from warmbase.sizing.workload.popularity import Popularity
from warmbase.sizing.workload.read import Hits, Read, Timings, missing_blocks
from warmbase.sizing.workload.workload import ClosedLoad, Load

Floats = NDArray[np.float64]

# judgement: the kernel and the volume queue reads and writes alike, and neither has priority.
LEAST_SHARE: Final = 0.5
SAMPLES: Final = 5  # the hit ratios at which capacities and demands are computed
BISECTIONS: Final = 30
RATIOS: Final = 17  # the hit ratios at which the rate of prefetch is bounded


class Prefetching(Struct, frozen=True, kw_only=True):
    """The prefetch of a whole cluster: its blocks, its rate without reads, and the bytes of a block."""

    blocks: float
    blocks_per_second: float
    s3_bytes: float
    slot_bytes: float
    get_bytes: float


class Contest(NamedTuple):
    """One resource that reads and prefetch share: its capacity, and how much a read and a prefetched block take."""

    name: str
    capacity: float
    per_read: float
    per_block: float


class Moment(NamedTuple):
    """The reads per second that are offered, possible and served, and the prefetched blocks per second.

    `bottleneck` limits the reads. `carries` is true if every read that is offered is served.
    """

    offered_per_second: float
    possible_per_second: float
    reads_per_second: float
    prefetched_per_second: float
    bottleneck: str
    carries: bool


class ColdRates(Struct, frozen=True, kw_only=True, dict=True):
    """A cluster whose caches warm up, its load, and the prefetch that fills the caches."""

    cluster: ServingCluster
    read: Read
    timings: Timings
    load: Load
    prefetching: Prefetching

    def served(self, hit_ratio: float, *, prefetches: bool = True) -> Moment:
        """Return the rates of reads and of prefetch at this hit ratio.

        Reads get what prefetch leaves, but at least half of each resource; prefetch gets what these reads leave.
        """
        wish = self.undisturbed_blocks_per_second if prefetches else 0.0
        contests, limit = self.contests(hit_ratio), (inf, "")
        for name, capacity, per_read, per_block in contests:
            if per_read > 0:
                limit = min(limit, (max(LEAST_SHARE * capacity, capacity - wish * per_block) / per_read, name))
        bound, bottleneck = limit
        if isinstance(self.load, ClosedLoad):
            # Each client waits for its answers.
            hits = Hits(ratio=hit_ratio)
            offered = self.load.concurrency / seconds_alone(self.cluster, self.read, hits, self.timings)
        else:
            offered = self.load.reads_per_second
        reads, prefetched = min(bound, offered), wish
        for _, capacity, per_read, per_block in contests:
            if prefetches and per_block > 0:
                prefetched = min(prefetched, (capacity - reads * per_read) / per_block)
        return Moment(
            offered_per_second=offered,
            possible_per_second=bound,
            reads_per_second=reads,
            prefetched_per_second=prefetched,
            bottleneck=bottleneck,
            carries=bound >= offered,
        )

    @cached_property
    def undisturbed_blocks_per_second(self) -> float:
        """Return the blocks a second that prefetch brings while no reads are served."""
        rate = self.prefetching.blocks_per_second
        for resource, per_block in self._demands(1.0):
            if per_block > 0:
                rate = min(rate, resource.capacity / per_block)
        return rate

    def contests(self, hit_ratio: float) -> list[Contest]:
        """Return every resource at this hit ratio; the network is full duplex, so prefetch competes with arriving data.

        Capacities and demands are interpolated linearly between samples. They are linear there, except at one kink,
        where another of a handler's waits becomes the longest.
        """
        ratios, cells = self._cells
        cell = min(bisect.bisect_right(ratios, hit_ratio), len(ratios) - 1)
        low, high = ratios[cell - 1], ratios[cell]
        part, contests = (hit_ratio - low) / (high - low), []
        for before, after in zip(*cells[cell - 1], strict=True):
            capacity = before.capacity + part * (after.capacity - before.capacity)
            per_read = before.per_read + part * (after.per_read - before.per_read)
            contests.append(Contest(before.name, capacity, per_read, before.per_block))
        return contests

    @cached_property
    def _cells(self) -> tuple[list[float], list[tuple[list[Contest], list[Contest]]]]:
        """Return hit ratios in ascending order from 0 to 1, and between two of them the contests at both ends."""
        disk, samples, kinks = self.cluster.disk, [], set(np.linspace(0.0, 1.0, SAMPLES).tolist())
        if disk is not None:
            # From these hit ratios on, more than one volume is busy, and all of them are.
            ones = disk.one_bytes_per_second / disk.bytes_per_second, disk.one_ios_per_second / disk.ios_per_second
            kinks |= {min(1.0, ones[0]) * disk.warm_hit_ratio, min(1.0, ones[1]) * disk.warm_hit_ratio}
            kinks.add(disk.warm_hit_ratio)
        ratios = sorted(kinks)
        for ratio in ratios:
            sample = []
            for resource, per_block in self._demands(ratio):
                per_read = resource.demand_per_read * resource.imbalance
                sample.append(Contest(resource.name, resource.capacity, per_read, per_block))
            samples.append(sample)
        return ratios, list(pairwise(samples))

    def _demands(self, hit_ratio: float) -> list[tuple[Resource, float]]:
        """Return the resources of reads, incoming data and answers apart, and what a prefetched block takes of each."""
        prefetching, hits, imbalance = self.prefetching, Hits(ratio=hit_ratio), self.cluster.imbalance
        uses = {"cpu": CPU_SECONDS_PER_BLOCK, "s3-requests": prefetching.s3_bytes / prefetching.get_bytes}
        for throughput, iops in DISK_RESOURCES.values():
            # Writes to a new cache file are merged into long IOs.
            uses |= {throughput: prefetching.slot_bytes, iops: prefetching.slot_bytes / EBS_IO_BYTES}
        demands = []
        for resource in resources(self.cluster, self.read, hits, self.timings):
            if resource.name == "network":
                missed = missing_blocks(self.read, hits) * self.read.on_disk_length_bytes
                arriving = replace(resource, demand_per_read=missed, imbalance=imbalance.blocks)
                answers = replace(resource, demand_per_read=self.read.answer_bytes, imbalance=imbalance.requests)
                demands += [(arriving, prefetching.s3_bytes), (answers, 0.0)]
            else:
                demands.append((resource, uses.get(resource.name, 0.0)))
        return demands

    @cached_property
    def prefetch_rates(self) -> tuple[Floats, Floats]:
        """Return the least and the most blocks a second that prefetch brings from each hit ratio on.

        Both have shape (RATIOS,), for hit ratios at equal distances from 0 to 1.
        """
        rates = np.array([self.served(ratio).prefetched_per_second for ratio in np.linspace(0.0, 1.0, RATIOS)])
        return np.minimum.accumulate(rates[::-1])[::-1], np.maximum.accumulate(rates[::-1])[::-1]

    @cached_property
    def least_hit_ratio(self) -> float | None:
        """Return the hit ratio from which every read is served after prefetch; None for a closed or too large load."""
        if isinstance(self.load, ClosedLoad) or not self.served(1.0, prefetches=False).carries:
            return None
        low, high = -1.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.served(max(0.0, middle), prefetches=False).carries else (middle, high)
        return max(0.0, high)


STEP_ERROR: Final = 0.02  # the relative error of a time that is counted in steps
# Steps grow with time, because reads warm a cache quickly at first and slowly later; a test compares them with steps a
# tenth as long.
FIRST_STEP_SECONDS: Final = 2.0
STEP_FRACTION: Final = 0.08
# judgement: the fraction of the final hit ratio that the course leaves out.
NEARLY_WARM: Final = 1e-4
LONGEST_HOURS: Final = 24.0  # judgement: nobody looks at a course of more than a day
CURVE_POINTS: Final = 48
ROUNDING: Final = 1e-9
LONGER: Final = 1.1


class ColdCourse(Struct, frozen=True, kw_only=True):
    """The course: `points` of (hours, hit ratio, reads a second), and its two milestones.

    After `prefetch_seconds`, everything that fits has been prefetched. After `carried_seconds`, every read of an open
    load is served; None if that never happens, and for a closed load, which never exceeds what is served.
    """

    points: tuple[tuple[float, float, float], ...]
    prefetch_seconds: float
    carried_seconds: float | None

    def hit_ratios(self, hours: float) -> tuple[tuple[float, float], ...]:
        """Return the hit ratio at equal intervals of time."""
        at = np.linspace(0.0, hours, CURVE_POINTS + 1)
        times, ratios, _ = zip(*self.points, strict=True)
        return tuple(zip(at.tolist(), np.interp(at, times, ratios).tolist(), strict=True))


class ColdStart(ColdRates, frozen=True, kw_only=True, dict=True):
    """A cluster with empty caches, and the order in which its load and its prefetch fill them."""

    popularity: Popularity
    room: CacheCapacity

    def prefetch_seconds_against(self, wanted_seconds: float) -> float:
        """Return the time of the prefetch, or the earliest or latest end of it where that decides."""
        alone = self.prefetching.blocks / self.undisturbed_blocks_per_second
        if alone > wanted_seconds or alone <= (1 - STEP_ERROR) * LEAST_SHARE * wanted_seconds:
            return alone
        stepper = _Stepper(self)
        while not stepper.prefetched:
            # The earliest and the latest time at which prefetch can end, whatever the hit ratio is until then.
            rest = self.prefetching.blocks - stepper.warmth.prefetched_blocks
            least, most = self.prefetch_rates
            at = int(stepper.warmth.hit_ratio * (RATIOS - 1))
            earliest, latest = stepper.seconds + rest / float(most[at]), stepper.seconds + rest / float(least[at])
            if earliest > (1 + STEP_ERROR) * wanted_seconds:
                return earliest
            if latest <= (1 - STEP_ERROR) * wanted_seconds:
                return latest
            stepper.advance()
        return stepper.prefetch_seconds

    def carried_seconds_against(self, wanted_seconds: float) -> float:
        """Return the time until every read is served, exact where that decides, and otherwise a bound that decides.

        No cache warms faster than one that receives every read and that prefetch fills undisturbed, and none slower
        than one that keeps the rates of the start.
        """
        if isinstance(self.load, ClosedLoad):
            return 0.0
        seconds, longest = wanted_seconds, max(LONGER * wanted_seconds, LONGEST_HOURS * SECONDS_PER_HOUR)
        if not self.served(1.0, prefetches=False).carries:
            return longest
        lookups = self.read.cacheable * self.read.blocks  # the blocks of a read that may be in the cache
        fastest = self.load.reads_per_second * lookups, self.prefetching.blocks_per_second
        while not self.served(self._hit_ratio_after(seconds, fastest), prefetches=False).carries:
            seconds *= LONGER
            if seconds >= longest:
                return longest
        if seconds > wanted_seconds:
            return seconds
        slowest = self.served(0.0).reads_per_second * lookups, float(self.prefetch_rates[0][0])
        latest = self._hit_ratio_after((1 - STEP_ERROR) * wanted_seconds, slowest)
        if self.served(latest).carries:
            return wanted_seconds
        stepper = _Stepper(self)
        while stepper.carried_seconds is None and stepper.seconds <= wanted_seconds:
            stepper.advance()
        return stepper.seconds if stepper.carried_seconds is None else stepper.carried_seconds

    def _hit_ratio_after(self, seconds: float, rates: tuple[float, float]) -> float:
        """Return the hit ratio after this time at constant rates of block accesses and of prefetch."""
        return Warming(popularity=self.popularity, room=self.room).after(Warmth(), seconds, lambda _: rates).hit_ratio

    @cached_property
    def course(self) -> ColdCourse:
        """Step through time until the caches are as warm as they get, or for a day."""
        stepper = _Stepper(self)
        while not stepper.prefetched:
            stepper.advance()
        while stepper.seconds < LONGEST_HOURS * SECONDS_PER_HOUR and stepper.warmth.hit_ratio < 1 - NEARLY_WARM:
            stepper.advance()
        return ColdCourse(
            points=tuple(stepper.points),
            prefetch_seconds=stepper.prefetch_seconds,
            carried_seconds=None if isinstance(self.load, ClosedLoad) else stepper.carried_seconds,
        )


class _Stepper:
    """One walk through time: the state of the caches, and the milestones that it has passed."""

    def __init__(self, start: ColdStart) -> None:
        """Start with empty caches and a prefetch."""
        self.start = start
        self.warming = Warming(popularity=start.popularity, room=start.room)
        self.warmth, self.seconds, self.prefetch_seconds = Warmth(), 0.0, 0.0
        self.now = start.served(0.0)
        self.points = [(0.0, 0.0, self.now.reads_per_second)]
        self.carried_seconds = 0.0 if self.now.carries else None

    @property
    def prefetched(self) -> bool:
        """Return whether prefetch has brought everything that fits."""
        return self.warmth.prefetched_blocks >= (1 - ROUNDING) * self.start.prefetching.blocks

    def advance(self) -> None:
        """Go one step further; a step ends at the latest when prefetch ends."""
        step, before, prefetches = max(FIRST_STEP_SECONDS, STEP_FRACTION * self.seconds), self.now, not self.prefetched
        if prefetches:
            rest = self.start.prefetching.blocks - self.warmth.prefetched_blocks
            step = min(step, rest / before.prefetched_per_second)
        self.warmth = self.warming.after(self.warmth, step, partial(self._rates, prefetches))
        self.now = self.start.served(self.warmth.hit_ratio, prefetches=prefetches)
        if self.carried_seconds is None and self.now.carries:
            rise = self.now.possible_per_second - before.possible_per_second
            self.carried_seconds = self.seconds + step * (before.offered_per_second - before.possible_per_second) / rise
        self.seconds += step
        if prefetches:
            self.prefetch_seconds = self.seconds
        if prefetches and self.prefetched:
            self.now = self.start.served(self.warmth.hit_ratio, prefetches=False)
            if self.carried_seconds is None and self.now.carries:
                self.carried_seconds = self.seconds
        self.points.append((self.seconds / SECONDS_PER_HOUR, self.warmth.hit_ratio, self.now.reads_per_second))

    def _rates(self, prefetches: bool, hit_ratio: float) -> tuple[float, float]:  # noqa: FBT001 - a partial's first
        is_now = hit_ratio == self.warmth.hit_ratio
        moment = self.now if is_now else self.start.served(hit_ratio, prefetches=prefetches)
        lookups = self.start.read.cacheable * self.start.read.blocks
        return moment.reads_per_second * lookups, moment.prefetched_per_second
