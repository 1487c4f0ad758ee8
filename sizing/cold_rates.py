"""The reads and the prefetch of a cluster at one hit ratio, while its caches warm up.

At each hit ratio the resources bound the reads: handlers that wait for S3, S3's own limit, disks, network and CPU.
Prefetch uses the same disks, network, CPU and requests. If they need more than there is, each gets at least half, so
reads slow down the warm-up and the warm-up slows down reads, but neither stops the other.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sizing.read import Hits, Read, Timings, missing_blocks
from sizing.resource import (
    DISK_RESOURCES,
    EBS_IO_BYTES,
    Resource,
    ServingCluster,
    concurrency,
    resources,
    seconds_alone,
)
from sizing.warm_up import CPU_SECONDS_PER_BLOCK
from sizing.workload import ClosedLoad, Load

__all__ = ["ColdRates", "Moment", "Prefetching"]

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

    def use(self, resource: str) -> float:
        """Return how much of a resource one block takes; writes to a new cache file are merged into long IOs."""
        throughputs, iops = zip(*DISK_RESOURCES.values(), strict=True)
        if resource in throughputs:
            return self.slot_bytes
        if resource in iops:
            return self.slot_bytes / EBS_IO_BYTES
        uses = {"cpu": CPU_SECONDS_PER_BLOCK, "s3-requests": self.s3_bytes / self.get_bytes}
        return uses.get(resource, 0.0)


class Contest(NamedTuple):
    """One resource that reads and prefetch share: its capacity, and how much a read and a prefetched block take."""

    name: str
    capacity: float
    per_read: float
    per_block: float


class Moment(NamedTuple):
    """The offered reads, the possible reads and the prefetched blocks per second; `bottleneck` limits the reads."""

    offered_per_second: float
    possible_per_second: float
    prefetched_per_second: float
    bottleneck: str

    @property
    def reads_per_second(self) -> float:
        """Reads that are served."""
        return min(self.offered_per_second, self.possible_per_second)

    @property
    def carries(self) -> bool:
        """Return whether every read that is offered is served."""
        return self.possible_per_second >= self.offered_per_second


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
        contests = self.contests(hit_ratio)
        bound, bottleneck = min(
            (max(LEAST_SHARE * one.capacity, one.capacity - wish * one.per_block) / one.per_read, one.name)
            for one in contests
            if one.per_read > 0
        )
        offered = self._offered(hit_ratio)
        reads = min(bound, offered)
        rest = ((one.capacity - reads * one.per_read) / one.per_block for one in contests if one.per_block > 0)
        return Moment(
            offered_per_second=offered,
            possible_per_second=bound,
            prefetched_per_second=min(wish, *rest) if prefetches else 0.0,
            bottleneck=bottleneck,
        )

    @cached_property
    def undisturbed_blocks_per_second(self) -> float:
        """Return the blocks a second that prefetch brings while no reads are served."""
        ends = (resource.capacity / per_block for resource, per_block in self._demands(1.0) if per_block > 0)
        return min(self.prefetching.blocks_per_second, *ends)

    def contests(self, hit_ratio: float) -> list[Contest]:
        """Return every resource at this hit ratio; the network is full duplex, so prefetch competes with arriving data.

        Capacities and demands are interpolated linearly between samples. They are linear there, except at one kink,
        where another of a handler's waits becomes the longest.
        """
        ratios, cells = self._cells
        cell = min(bisect.bisect_right(ratios, hit_ratio), len(ratios) - 1)
        low, high = ratios[cell - 1], ratios[cell]
        part = (hit_ratio - low) / (high - low)
        return [
            Contest(
                name,
                capacity + part * (later_capacity - capacity),
                per_read + part * (later_per_read - per_read),
                per_block,
            )
            for (name, capacity, per_read, per_block), (_, later_capacity, later_per_read, _) in cells[cell - 1]
        ]

    @cached_property
    def _cells(self) -> tuple[tuple[float, ...], tuple[tuple[tuple[Contest, Contest], ...], ...]]:
        """Return hit ratios in ascending order from 0 to 1, and between two of them the contests at both ends."""
        disk = self.cluster.disk
        ratios = tuple(sorted({*np.linspace(0.0, 1.0, SAMPLES).tolist(), *(disk.kinks if disk else ())}))
        samples = [tuple(self._sampled(ratio)) for ratio in ratios]
        return ratios, tuple(tuple(zip(before, after, strict=True)) for before, after in pairwise(samples))

    def _sampled(self, hit_ratio: float) -> Iterator[Contest]:
        for resource, per_block in self._demands(hit_ratio):
            per_read = resource.demand_per_read * resource.imbalance
            yield Contest(name=resource.name, capacity=resource.capacity, per_read=per_read, per_block=per_block)

    def _demands(self, hit_ratio: float) -> Iterator[tuple[Resource, float]]:
        """Yield the resources of reads, incoming data and answers apart, and what a prefetched block takes of each."""
        for resource in resources(self.cluster, self.read, Hits(ratio=hit_ratio), self.timings):
            if resource.name != "network":
                yield resource, self.prefetching.use(resource.name)
                continue
            missed = missing_blocks(self.read, Hits(ratio=hit_ratio)) * self.read.on_disk_length_bytes
            imbalance = self.cluster.imbalance
            yield replace(resource, demand_per_read=missed, imbalance=imbalance.blocks), self.prefetching.s3_bytes
            yield replace(resource, demand_per_read=self.read.answer_bytes, imbalance=imbalance.requests), 0.0

    def _offered(self, hit_ratio: float) -> float:
        """Return the reads a second that clients send; in a closed load, each client waits for its answers."""
        if isinstance(self.load, ClosedLoad):
            seconds = seconds_alone(self.cluster, self.read, Hits(ratio=hit_ratio), self.timings)
            return concurrency(self.load.concurrency, seconds).max_reads_per_second
        return self.load.reads_per_second

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
        if isinstance(self.load, ClosedLoad) or not self.carries(1.0, prefetches=False):
            return None
        low, high = -1.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.carries(max(0.0, middle), prefetches=False) else (middle, high)
        return max(0.0, high)

    def carries(self, hit_ratio: float, *, prefetches: bool) -> bool:
        """Return whether every read is served at this hit ratio, beside prefetch or after it."""
        return self.served(hit_ratio, prefetches=prefetches).carries
