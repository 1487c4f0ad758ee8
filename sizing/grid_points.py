"""The points of one grid of clusters, tried from the cheapest up, without those that a law rules out.

Slower volumes never carry more, and a smaller cache never has more hits. A larger cache never takes less memory, and
never less time to warm up.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from sizing.bill import candidate_cost
from sizing.candidate import Candidate
from sizing.cost_grid import CostGrid, NodeChoice, cost_grid
from sizing.evaluation import Evaluation
from sizing.inputs import UTILISATION
from sizing.read import Hits
from sizing.resource import DISK_RESOURCES, resources
from sizing.shortfalls import COLD_TARGETS, Shortfall, shortfalls

ROUNDING_USD: Final = 0.01  # two sums of the same prices in another order

Cure = Literal["larger cache", "smaller cache", "another cache", "no cache"]
SMALLER_CACHE_TARGETS: Final = frozenset({"memory", "warm_up", "offline_after_crash"})
"""Targets that a cluster may meet with a smaller cache, but never with a larger one."""
CACHE_INDEPENDENT_TARGETS: Final = frozenset({"writes", "recovery"})
"""Targets that no other cache helps to meet, unless a disk binds."""
SPEED_INDEPENDENT_TARGETS: Final = frozenset({"memory", "offline_after_crash"})
"""Targets that do not depend on the speed of the volumes."""
CONTESTED_RESOURCES: Final = frozenset(
    [
        "handlers",
        "instance-ebs-throughput",
        "instance-ebs-iops",
        *(name for names in DISK_RESOURCES.values() for name in names),
    ]
)
"""A larger cache needs less of these resources for reads, but it also leaves less, because its index takes memory."""
WARM_UP: Final = frozenset({"warm_up"})
FINEST_FRACTION: Final = 0.1  # judgement: if any cache serves beside many writes, a tenth of all sizes do


@dataclass(kw_only=True, eq=False)
class GridPoints:
    """The points of one grid that are still to be tried: those whose cost is finite.

    `common_usd` is the part of their cost that the grid leaves out.
    """

    grid: CostGrid
    common_usd: float
    evaluate: Callable[[Candidate], Evaluation]
    screened: bool = False
    candidates: dict[tuple[int, int], Candidate] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: NodeChoice, fixed_usd: float, evaluate: Callable[[Candidate], Evaluation]) -> GridPoints | None:
        """Return all points of a grid; None where it is empty."""
        grid = cost_grid(nodes)
        return cls(grid=grid, common_usd=fixed_usd + nodes.instances_usd, evaluate=evaluate) if grid else None

    @property
    def instance_name(self) -> str:
        """Return the EC2 instance type."""
        return self.grid.nodes.instance.name

    def least_usd(self) -> float:
        """Return the least cost of the cheapest point."""
        return self.common_usd + float(self.grid.usd.min())

    def advance(self) -> Iterator[GridPoints]:
        """Try the cheapest point and leave out the points that miss the same targets; then yield the rest."""
        usd = self.grid.usd
        size, speed = (int(index) for index in np.unravel_index(usd.argmin(), usd.shape))
        least = self.least_usd() + ROUNDING_USD
        candidate = self._candidate(size, speed)
        exact = candidate_cost(candidate).usd_per_month
        # The part that the grid left out is added to the cost of all its points.
        self.common_usd = max(self.common_usd, exact - float(usd[size, speed]))
        if exact <= least:
            self._leave_out(self.evaluate(candidate), size, speed)
        if np.isfinite(usd.min()):
            yield self

    def _leave_out(self, tried: Evaluation, size: int, speed: int) -> None:
        usd = self.grid.usd
        usd[size, speed] = math.inf
        missed = [shortfall for shortfall in tried.shortfalls if shortfall.target != "budget"]
        cures = {cure(shortfall) for shortfall in missed}
        if missed and not self.screened:
            self.screened = True
            usd[:, : bisect.bisect_left(range(usd.shape[1]), 1, key=self.any_serves)] = math.inf
        if any(shortfall.target in SPEED_INDEPENDENT_TARGETS for shortfall in missed):
            usd[self._first_size(lambda row: self._misses(row, speed, SPEED_INDEPENDENT_TARGETS)) :] = math.inf
        if "smaller cache" in cures:
            usd[self._first_size(lambda row: "smaller cache" in self._cures(row, speed)) :, : speed + 1] = math.inf
        if "larger cache" in cures:
            served = self._first_size(lambda row: "larger cache" not in self._cures(row, speed, cold=frozenset()))
            usd[:served, : speed + 1] = math.inf
        usd[slice(None) if "no cache" in cures else size, : speed + 1] = math.inf

    def any_serves(self, speed: int) -> bool:
        """Return whether some cache on volumes of this speed meets all targets but the budget."""
        smallest, largest = self._candidate(0, speed), self.strongest(speed)
        cures = _cures(largest, COLD_TARGETS)
        if not cures:
            return True
        if cures & {"larger cache", "no cache"} or "smaller cache" in _cures(smallest):
            return False
        if not _serves_reads_alone(largest) or not _disk_serves_reads(smallest, largest):
            return False
        return self._any_serves(range(self._largest + 1), speed)

    def _any_serves(self, sizes: range, speed: int) -> bool:
        """Bisect the sizes; where both halves may serve, try the larger ones as far as a tenth of all sizes."""
        if not sizes:
            return False
        middle = len(sizes) // 2
        cures = self._cures(sizes[middle], speed, cold=COLD_TARGETS)
        if not cures:
            return True
        if "no cache" in cures or cures >= {"larger cache", "smaller cache"}:
            return False
        smaller, larger = sizes[:middle], sizes[middle + 1 :]
        if "smaller cache" in cures:
            return self._any_serves(smaller, speed)
        if "larger cache" in cures:
            return self._any_serves(larger, speed)
        if len(sizes) < FINEST_FRACTION * len(self.grid.cache_mib):
            larger = range(0)
        return any(self._any_serves(half, speed) for half in (smaller, larger) if self._disk_serves(half, speed))

    def _disk_serves(self, sizes: range, speed: int) -> bool:
        return bool(sizes) and _disk_serves_reads(self._candidate(sizes[0], speed), self._candidate(sizes[-1], speed))

    def _cures(self, size: int, speed: int, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
        return _cures(self._candidate(size, speed), cold)

    def _misses(self, size: int, speed: int, targets: AbstractSet[str]) -> bool:
        missed = shortfalls(self._candidate(size, speed), cold=frozenset())
        return any(shortfall.target in targets for shortfall in missed)

    def least_p99_seconds(self) -> float | None:
        """Return the p99 of the strongest cluster; None where it does not carry the load."""
        strongest = self.strongest(self.fastest)
        if not strongest.fits_memory:
            return None
        p99_seconds = strongest.peak_performance(strongest.survivors).p99_seconds
        return p99_seconds if math.isfinite(p99_seconds) else None

    @property
    def fastest(self) -> int:
        """Return the column of the fastest volumes."""
        return len(self.grid.usd[0]) - 1

    def strongest(self, speed: int) -> Candidate:
        """Return the largest cache that memory allows, on volumes of that speed."""
        return self._candidate(self._largest, speed)

    @cached_property
    def _largest(self) -> int:
        """Return the row of the largest cache that memory allows, or of the smallest cache if it allows none."""
        largest = len(self.grid.cache_mib) - 1
        if self._candidate(largest, 0).fits_memory:
            return largest
        return max(0, self._first_size(lambda size: not self._candidate(size, 0).fits_memory) - 1)

    def _candidate(self, size: int, speed: int) -> Candidate:
        """Return a cluster of the grid, always the same one, because it remembers what it has computed."""
        if (size, speed) not in self.candidates:
            self.candidates[size, speed] = self.grid.candidate(size, speed)
        return self.candidates[size, speed]

    def _first_size(self, holds: Callable[[int], bool]) -> int:
        """Return the smallest size that obeys a law, or the number of sizes; all larger sizes then obey it, too."""
        return bisect.bisect_left(range(len(self.grid.cache_mib)), 1, key=holds)


def cure(shortfall: Shortfall) -> Cure:
    """Return the change of the cache that may meet a target on these nodes; faster volumes always may.

    A larger cache answers more reads, but its index takes memory from the buffers of handlers, and from the memstore:
    smaller flushes then write more to the disks. So where handlers or disks bind, either may help.
    """
    if shortfall.target in SMALLER_CACHE_TARGETS:
        return "smaller cache"
    if shortfall.target in {"reads", "writes"} and shortfall.bottleneck in CONTESTED_RESOURCES:
        return "another cache"
    return "no cache" if shortfall.target in CACHE_INDEPENDENT_TARGETS else "larger cache"


def _cures(candidate: Candidate, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
    return {cure(shortfall) for shortfall in shortfalls(candidate, cold)}


def _serves_reads_alone(largest: Candidate) -> bool:
    """Return whether the largest cache would serve the reads if nothing were written, and handlers were free."""
    if not largest.question.requirements.workload.write_bytes_per_second:
        return True
    largest = replace(largest, question=largest.question.without_writes)
    return all(
        shortfall.bottleneck == "handlers" or shortfall.target not in {"memory", "hit_ratio", "reads", "p99"}
        for shortfall in shortfalls(largest, cold=frozenset())
    )


def _disk_serves_reads(smallest: Candidate, largest: Candidate) -> bool:
    """Return whether the disk would serve the reads beside the writes, with the best of both caches.

    The reads have the hits of the largest cache, and the writes what they leave of the disk with either cache.
    """
    question, offered = largest.question, largest.question.at_peak.offered_reads_per_second or 0.0
    if not question.requirements.workload.write_bytes_per_second or not (smallest.fits_memory and largest.fits_memory):
        return True
    hits, names = (
        Hits(ratio=largest.hit_ratio(largest.survivors)),
        {name for pair in DISK_RESOURCES.values() for name in pair},
    )
    return any(
        all(
            offered <= UTILISATION * limit.max_reads_per_second
            for limit in resources(candidate.cluster(candidate.survivors), question.read, hits, question.timings)
            if limit.name in names
        )
        for candidate in (smallest, largest)
    )
