"""The points of one grid of clusters, tried from the cheapest up, without those that a law rules out.

Slower volumes never carry more, and a smaller cache never has more hits. A larger cache never takes less memory, and
never less time to warm up.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from sizing.bill import candidate_usd
from sizing.candidate import Candidate
from sizing.cost_grid import CostGrid
from sizing.cures import (
    SPEED_INDEPENDENT_TARGETS,
    WARM_UP,
    Cure,
    cures,
    cures_of,
    may_serve_reads,
    may_serve_writes,
    serves_reads_alone,
)
from sizing.evaluation import Evaluation
from sizing.shortfalls import COLD_TARGETS, shortfalls

ROUNDING_USD: Final = 0.01  # two sums of the same prices in another order
FINEST_FRACTION: Final = 0.1  # judgement: if any cache serves beside many writes, a tenth of all sizes do


class Bounds(Struct, dict=True):
    """The least monthly cost of a cluster that is known to serve, or the budget: nothing more expensive can win.

    `best` is that cluster. `candidates` counts the clusters that were looked at, as a measure of time.
    """

    usd: float
    best: Candidate | None = None
    candidates: int = 0

    def offer(self, candidate: Candidate) -> None:
        """Remember a cluster that serves, if it is the cheapest so far."""
        usd = candidate_usd(candidate)
        if usd < self.usd:
            self.usd, self.best = usd, candidate


class GridPoints(Struct, kw_only=True, eq=False, dict=True):
    """The points of one grid that are still to be tried: those whose cost is finite.

    `common_usd` is the part of their cost that the grid leaves out.
    """

    grid: CostGrid
    common_usd: float
    evaluate: Callable[[Candidate], Evaluation]
    bounds: Bounds
    screened_usd: float = math.nan
    candidates: dict[tuple[int, int], Candidate] = field(default_factory=dict)
    counted: set[tuple[int, int]] = field(default_factory=set)

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
        exact = candidate_usd(candidate)
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
        if not missed:
            return
        self._screen()
        helpful = cures(tried.candidate, missed)
        if "no cache" in helpful:
            usd[:, : speed + 1] = math.inf
        slower = np.flatnonzero((self._affordable & np.isfinite(usd))[:, : speed + 1].any(axis=1))
        if not len(slower):
            return
        first, last = int(slower[0]), int(slower[-1])
        if any(shortfall.target in SPEED_INDEPENDENT_TARGETS for shortfall in missed):
            smaller = range(first, size)
            usd[_first(smaller, lambda row: self._misses(row, speed, SPEED_INDEPENDENT_TARGETS)) :] = math.inf
        if "smaller cache" in helpful:
            smaller = range(first, size)
            usd[_first(smaller, lambda row: "smaller cache" in self._cures(row, speed)) :, : speed + 1] = math.inf
        if "larger cache" in helpful:
            larger = range(size + 1, last + 1)
            served = _first(larger, lambda row: "larger cache" not in self._cures(row, speed, cold=frozenset()))
            usd[:served, : speed + 1] = math.inf
        if "another cache" in helpful:
            usd[self._overloaded_rows(size, speed), : speed + 1] = math.inf
        usd[size, : speed + 1] = math.inf

    @property
    def _affordable(self) -> NDArray[np.bool_]:
        """Return the points that cost no more than a cluster that is known to serve."""
        affordable: NDArray[np.bool_] = self.common_usd + self.grid.usd <= self.bounds.usd + ROUNDING_USD
        return affordable

    def _screen(self) -> None:
        """Leave out the affordable points on volumes so slow that no affordable cache serves on them."""
        if self.bounds.usd >= self.screened_usd:  # never at first
            return
        self.screened_usd = self.bounds.usd
        affordable = self._affordable & np.isfinite(self.grid.usd)
        if not affordable.any():
            return
        most, fastest = (int(np.flatnonzero(affordable.any(axis=axis))[-1]) for axis in (1, 0))
        speeds = range(fastest + 1)
        slow = fastest + 1
        if self.any_serves(fastest, most):
            slow = bisect.bisect_left(speeds, 1, key=lambda speed: self.any_serves(speed, most))
        self.grid.usd[:, :slow][affordable[:, :slow]] = math.inf

    def _overloaded_rows(self, size: int, speed: int) -> slice:
        """Return the range of caches around this one beside which the writes do not fit."""
        first = last = size
        for step in (-1, 1):
            end, distance = size, 1
            while 0 <= (edge := size + step * distance) < len(self.grid.cache_mib):
                low, high = sorted((edge, end))
                if not self._overloads(low, high, speed):
                    break
                end, distance = edge, 2 * distance
            first, last = min(first, end), max(last, end)
        return slice(first, last + 1)

    def _overloads(self, low: int, high: int, speed: int) -> bool:
        """Return whether no cache between two rows serves, because neither end leaves enough for the writes."""
        for one in (self.grid.throughput_mib_s, self.grid.iops):
            rates = self.grid.volumes[low : high + 1] * one[low : high + 1, speed]
            if rates.max() > max(rates[0], rates[-1]):
                return False
        return not may_serve_writes(self._candidate(low, speed), self._candidate(high, speed))

    def any_serves(self, speed: int, most: int | None = None) -> bool:
        """Return whether some cache, up to row `most`, on volumes of this speed meets all targets but the budget."""
        last = self._largest if most is None else min(most, self._largest)
        smallest, largest = self._candidate(0, speed), self._candidate(last, speed)
        if not may_serve_reads(smallest, largest):
            return False
        helpful = cures_of(largest, COLD_TARGETS)
        if not helpful:
            self.bounds.offer(largest)
            return True
        if helpful & {"larger cache", "no cache"} or "smaller cache" in cures_of(smallest):
            return False
        if not serves_reads_alone(largest) or not may_serve_writes(smallest, largest):
            return False
        return self._any_serves(range(last + 1), speed)

    def _any_serves(self, sizes: range, speed: int) -> bool:
        """Bisect the sizes; where both halves may serve, try the larger ones as far as a tenth of all sizes."""
        if not sizes:
            return False
        middle = len(sizes) // 2
        helpful = self._cures(sizes[middle], speed, cold=COLD_TARGETS)
        if not helpful:
            self.bounds.offer(self._candidate(sizes[middle], speed))
            return True
        if "no cache" in helpful or helpful >= {"larger cache", "smaller cache"}:
            return False
        smaller, larger = sizes[:middle], sizes[middle + 1 :]
        if "smaller cache" in helpful:
            return self._any_serves(smaller, speed)
        if "larger cache" in helpful:
            return self._any_serves(larger, speed)
        if len(sizes) < FINEST_FRACTION * len(self.grid.cache_mib):
            larger = range(0)
        return any(self._any_serves(half, speed) for half in (smaller, larger) if self._may_serve(half, speed))

    def _may_serve(self, sizes: range, speed: int) -> bool:
        return bool(sizes) and may_serve_writes(self._candidate(sizes[0], speed), self._candidate(sizes[-1], speed))

    def _cures(self, size: int, speed: int, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
        return cures_of(self._candidate(size, speed), cold)

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
        if self._fits_memory(largest):
            return largest
        return max(0, _first(range(largest), lambda size: not self._fits_memory(size)) - 1)

    def _fits_memory(self, size: int) -> bool:
        self._count(size, 0)
        return self.grid.fits_memory(size)

    def _candidate(self, size: int, speed: int) -> Candidate:
        """Return a cluster of the grid, always the same one, because it remembers what it has computed."""
        if (size, speed) not in self.candidates:
            self.candidates[size, speed] = self.grid.candidate(size, speed)
            self._count(size, speed)
        return self.candidates[size, speed]

    def _count(self, size: int, speed: int) -> None:
        """Count a cluster of the grid, once."""
        if (size, speed) not in self.counted:
            self.counted.add((size, speed))
            self.bounds.candidates += 1


def _first(sizes: range, holds: Callable[[int], bool]) -> int:
    """Return the smallest size that obeys a law, or the end of the range; all larger sizes then obey it, too."""
    return sizes.start + bisect.bisect_left(sizes, 1, key=holds)
