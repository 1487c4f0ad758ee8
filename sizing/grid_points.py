"""The points of one grid of clusters, tried from the cheapest up, without those that a law rules out.

A smaller cache or a slower volume never serves more reads, and never serves them faster. A larger cache never takes
less memory, and never less time to warm up.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np

from sizing.bill import candidate_cost
from sizing.candidate import Candidate
from sizing.cost_grid import CostGrid, NodeChoice, cost_grid
from sizing.evaluation import Evaluation
from sizing.shortfalls import shortfalls

ROUNDING_USD: Final = 0.01  # two sums of the same prices in another order

HARDER_WITH_LESS: Final = frozenset({"hit_ratio", "reads", "p99", "writes", "carries_load_within"})
"""Targets that a cluster misses if another one with more nodes, a larger cache and faster volumes misses them."""
HARDER_WITH_MORE_CACHE: Final = frozenset({"warm_up"})
"""Targets that a cluster misses if another one with more nodes, a smaller cache and faster volumes misses them."""
WHATEVER_THE_SPEED: Final = frozenset({"memory", "offline_after_crash"})
"""Targets that a cluster misses, whatever its volumes, if one with more nodes and a smaller cache misses them."""


@dataclass(kw_only=True, eq=False)
class GridPoints:
    """The points of one grid that are still to be tried: those whose cost is finite.

    `common_usd` is the part of their cost that the grid leaves out.
    """

    grid: CostGrid
    common_usd: float
    evaluate: Callable[[Candidate], Evaluation]
    screened: bool = False

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
        candidate = self.grid.candidate(size, speed)
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
        if tried.misses(HARDER_WITH_LESS | HARDER_WITH_MORE_CACHE) and not self.screened:
            self.screened = True
            usd[:, : bisect.bisect_left(range(usd.shape[1]), 1, key=self.any_serves)] = math.inf
        if tried.misses(HARDER_WITH_LESS - {"writes"}):
            usd[: self._first_size(lambda row: not self._misses(HARDER_WITH_LESS, row, speed)), : speed + 1] = math.inf
        if tried.misses(WHATEVER_THE_SPEED):
            usd[self._first_size(lambda row: self._misses(WHATEVER_THE_SPEED, row, speed)) :] = math.inf
        if tried.misses(HARDER_WITH_MORE_CACHE):
            large = self._first_size(lambda row: self._misses(HARDER_WITH_MORE_CACHE, row, speed))
            usd[large:, : speed + 1] = math.inf
        if tried.misses({"writes"}):
            usd[:, : speed + 1] = math.inf

    def _misses(self, targets: AbstractSet[str], size: int, speed: int) -> bool:
        return _missed(self.grid.candidate(size, speed), targets)

    def any_serves(self, speed: int) -> bool:
        """Return whether some cache on volumes of this speed meets all targets but the budget.

        If any does, the smallest that is large enough for the reads does, because it warms up first.
        """
        if _missed(self.strongest(speed), HARDER_WITH_LESS | {"memory"}):
            return False
        targets = self.grid.nodes.question.requirements.targets
        if targets.warm_up_seconds is None and targets.offline_after_crash_seconds is None:
            return True
        smallest = self._first_size(lambda size: not self._misses(HARDER_WITH_LESS, size, speed))
        return not shortfalls(self.grid.candidate(smallest, speed))

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
        largest = len(self.grid.cache_mib) - 1
        if self._lacks_memory(largest):
            largest = max(0, self._first_size(self._lacks_memory) - 1)
        return self.grid.candidate(largest, speed)

    def _lacks_memory(self, size: int) -> bool:
        return not self.grid.candidate(size, 0).fits_memory

    def _first_size(self, holds: Callable[[int], bool]) -> int:
        """Return the smallest size that obeys a law, or the number of sizes; all larger sizes then obey it, too."""
        return bisect.bisect_left(range(len(self.grid.cache_mib)), 1, key=holds)


def _missed(candidate: Candidate, targets: AbstractSet[str]) -> bool:
    """Return whether a candidate misses one of these targets."""
    return any(shortfall.target in targets for shortfall in shortfalls(candidate, cold=targets))
