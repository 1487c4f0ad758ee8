"""The cheapest cluster that meets the targets, over every instance type, count, cache size and volume speed.

Clusters are tried in the order of the least that they can cost. For a type, that is the cost of its nodes and of the
cheapest volumes that hold enough cache; for a count of nodes, it is that of its cheapest grid point; and for a grid
point, it is its bill. The first cluster that meets the targets is therefore the cheapest. This is a branch and bound.

Laws, each with a test, drop clusters that cannot win. In one grid: slower volumes never carry more, a smaller cache
never has more hits, and a larger cache never takes less memory, and never less time to warm up.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.ground.instance import InstanceType
from warmbase.sizing.search.candidate import COLD_TARGETS, FEWEST_SURVIVORS, Candidate, Shortfall, shortfalls
from warmbase.sizing.search.cost_grid import (
    SPEED_INDEPENDENT_TARGETS,
    CostGrid,
    NodeChoice,
    cache_fits_memory,
    cost_grid,
    cures,
    cures_of,
    instances_usd,
    least_storage_usd,
    may_serve_reads,
    may_serve_writes,
    serves_reads_alone,
)
from warmbase.sizing.search.disks import Storage, storages
from warmbase.sizing.search.evaluation import (
    Evaluation,
    SearchResult,
    Unevaluated,
    budget_missed,
    candidate_usd,
    fixed_usd,
)
from warmbase.sizing.service.inputs import SizingInputs

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

    instance: InstanceType
    grid: CostGrid
    common_usd: float
    evaluate: Callable[[Candidate], Evaluation]
    bounds: Bounds
    screened_usd: float = math.nan
    counted: set[tuple[int, int]] = field(default_factory=set)

    def least_usd(self) -> float:
        """Return the least cost of the cheapest point."""
        return self.common_usd + float(self.grid.usd.min())

    def advance(self) -> list[GridPoints]:
        """Try the cheapest point and drop the points that miss the same targets; then return the rest, if any."""
        usd = self.grid.usd
        size, speed = (int(index) for index in np.unravel_index(usd.argmin(), usd.shape))
        least = self.least_usd() + ROUNDING_USD
        candidate = self._candidate(size, speed)
        exact = candidate_usd(candidate)
        # The part that the grid left out is added to the cost of all its points.
        self.common_usd = max(self.common_usd, exact - float(usd[size, speed]))
        if exact <= least:
            missed = [shortfall for shortfall in self.evaluate(candidate).shortfalls if shortfall.target != "budget"]
            usd[size, speed] = math.inf
            if missed:
                self._drop_slow_volumes()
                self._drop_alike(missed, size, speed)
        return [self] if np.isfinite(usd.min()) else []

    def _drop_alike(self, missed: list[Shortfall], size: int, speed: int) -> None:
        """Drop the points that must miss the same targets, because they lack what the shortfalls of this one need.

        Slower volumes never carry more. Of the caches, the first that breaks a law is found by bisection.
        """
        helpful = cures(self._candidate(size, speed), missed)

        def misses(row: int) -> bool:
            return any(
                shortfall.target in SPEED_INDEPENDENT_TARGETS
                for shortfall in shortfalls(self._candidate(row, speed), cold=frozenset())
            )

        def is_too_large(row: int) -> bool:
            return "smaller cache" in cures_of(self._candidate(row, speed))

        def is_enough(row: int) -> bool:
            return "larger cache" not in cures_of(self._candidate(row, speed), frozenset())

        slower = slice(speed + 1)
        if "no cache" in helpful:
            self.grid.usd[:, slower] = math.inf
        affordable = np.flatnonzero((self._affordable & np.isfinite(self.grid.usd))[:, slower].any(axis=1))
        if not len(affordable):
            return
        smaller, larger = range(int(affordable[0]), size), range(size + 1, int(affordable[-1]) + 1)
        if any(shortfall.target in SPEED_INDEPENDENT_TARGETS for shortfall in missed):
            self.grid.usd[_first(smaller, misses) :] = math.inf
        if "smaller cache" in helpful:
            self.grid.usd[_first(smaller, is_too_large) :, slower] = math.inf
        if "larger cache" in helpful:
            self.grid.usd[: _first(larger, is_enough), slower] = math.inf
        if "another cache" in helpful:
            self._drop_overloaded(size, speed)
        self.grid.usd[size, slower] = math.inf

    def _drop_overloaded(self, size: int, speed: int) -> None:
        """Drop the range of caches around this one that leave too little for the writes.

        No cache between two rows serves if neither end leaves enough for the writes, unless volumes between them are
        faster.
        """
        first = last = size
        rates = [self.grid.volumes * speeds[:, speed] for speeds in (self.grid.throughput_mib_s, self.grid.iops)]
        for step in (-1, 1):
            end, distance = size, 1
            while 0 <= (edge := size + step * distance) < len(self.grid.cache_mib):
                low, high = sorted((edge, end))
                if any(rate[low : high + 1].max() > max(rate[low], rate[high]) for rate in rates):
                    break
                if may_serve_writes(self._candidate(low, speed), self._candidate(high, speed)):
                    break
                end, distance = edge, 2 * distance
            first, last = min(first, end), max(last, end)
        self.grid.usd[first : last + 1, : speed + 1] = math.inf

    def _drop_slow_volumes(self) -> None:
        """Drop the affordable points on volumes so slow that no affordable cache serves on them."""
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

    @property
    def _affordable(self) -> NDArray[np.bool_]:
        """Return the points that cost no more than a cluster that is known to serve."""
        affordable: NDArray[np.bool_] = self.common_usd + self.grid.usd <= self.bounds.usd + ROUNDING_USD
        return affordable

    def any_serves(self, speed: int = -1, most: int | None = None) -> bool:
        """Return whether some cache, up to row `most`, on volumes of this speed meets all targets but the budget.

        The speed is the fastest if none is given.
        """
        speed %= len(self.grid.usd[0])
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
        # Bisect the sizes; where both halves may serve, try the larger ones as far as a tenth of all sizes.
        untried = [(range(last + 1), False)]
        while untried:
            sizes, is_contested = untried.pop()
            if not sizes:
                continue
            if is_contested and not may_serve_writes(*(self._candidate(end, speed) for end in (sizes[0], sizes[-1]))):
                continue
            middle = len(sizes) // 2
            candidate = self._candidate(sizes[middle], speed)
            helpful = cures_of(candidate, COLD_TARGETS)
            if not helpful:
                self.bounds.offer(candidate)
                return True
            smaller, larger = sizes[:middle], sizes[middle + 1 :]
            if "no cache" in helpful or helpful >= {"larger cache", "smaller cache"}:
                continue
            if "smaller cache" in helpful:
                untried.append((smaller, False))
            elif "larger cache" in helpful:
                untried.append((larger, False))
            elif len(sizes) < FINEST_FRACTION * len(self.grid.cache_mib):
                untried.append((smaller, True))
            else:
                untried += [(larger, True), (smaller, True)]
        return False

    @property
    def strongest(self) -> Candidate:
        """Return the largest cache that memory allows, on the fastest volumes."""
        return self._candidate(self._largest, len(self.grid.usd[0]) - 1)

    @cached_property
    def _largest(self) -> int:
        """Return the row of the largest cache that memory allows, or of the smallest cache if it allows none."""

        def is_too_large(size: int) -> bool:
            self._count(size, 0)
            nodes, cache_mib = self.grid.nodes, int(self.grid.cache_mib[size])
            return not cache_fits_memory(nodes.inputs, nodes.instance, nodes.survivors, cache_mib)

        largest = len(self.grid.cache_mib) - 1
        return max(0, _first(range(largest), is_too_large) - 1) if is_too_large(largest) else largest

    def _candidate(self, size: int, speed: int) -> Candidate:
        """Return a cluster of the grid, the same object on every call, and count it."""
        self._count(size, speed)
        return self.grid.candidate(size, speed)

    def _count(self, size: int, speed: int) -> None:
        """Count a cluster of the grid, once."""
        if (size, speed) not in self.counted:
            self.counted.add((size, speed))
            self.bounds.candidates += 1


def _first(sizes: range, holds: Callable[[int], bool]) -> int:
    """Return the smallest size that obeys a law, or the end of the range; all larger sizes then obey it, too."""
    return sizes.start + bisect.bisect_left(sizes, 1, key=holds)


MOST_NODES: Final = 200  # judgement: past this, split the cluster (one NameNode, one master)
# judgement: the runner-up only explains the winner, and is not worth more time than the winner itself.
RUNNER_UP_CANDIDATES: Final = 100


class Search(Struct, kw_only=True, dict=True):
    """The state of one search: the branches that are still to be tried, in the order of their least cost."""

    inputs: SizingInputs
    evaluated: int = 0
    nearest: dict[str, Evaluation] = field(default_factory=dict)
    serving: dict[str, Evaluation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with every type, at the least cost of its nodes and volumes."""
        self.fixed_usd = fixed_usd(self.inputs)
        self.budget_usd = self.inputs.requirements.targets.budget_usd_per_month or math.inf
        self.bounds = Bounds(self.budget_usd)
        self.order = itertools.count()
        self.queue: list[tuple[float, int, _Branch]] = []
        core, world, counts = self.inputs.requirements.cluster.core, self.inputs.world, node_counts(self.inputs)
        instances = world.offered_in(core.families) if core.type is None else [world.instance_types[core.type]]
        self.branches = [
            _Counts(search=self, instance=instance, storages=alike, counts=counts, screened=len(counts) == 1)
            for instance in instances
            for alike in storages(self.inputs, instance)
        ]
        self._push(self.branches)

    def _push(self, branches: Iterable[_Branch]) -> None:
        """Try these branches after all cheaper ones."""
        for branch in branches:
            heapq.heappush(self.queue, (branch.least_usd(), next(self.order), branch))

    def run(self) -> SearchResult:
        """Return the winner and the nearest of the others. Raises LookupError if no type has room for the data."""
        self.bounds.usd = math.inf  # the nearest cluster may cost more than the budget
        best = self.cheapest_serving()
        while self.queue and not (self.nearest or self.serving):
            self._push(heapq.heappop(self.queue)[-1].advance())
        limit = self.bounds.candidates + RUNNER_UP_CANDIDATES
        if best is not None and len(self.branches) > 1:
            winner = best.candidate.instance.name
            self.bounds.usd = min(
                (tried.usd_per_month for name, tried in self.serving.items() if name != winner), default=math.inf
            )
            self.cheapest_serving(limit, of_types_beside=winner)
        nearest = {**self.nearest, **self.serving}
        if not nearest:
            raise LookupError("no instance type has room for this")
        first, *others = sorted(nearest.values(), key=lambda tried: tried.rank)
        dearer: dict[str, Unevaluated] = {}
        for branch in self.branches:
            if (name := branch.instance.name) not in nearest and name not in dearer and branch.counts:
                dearer[name] = Unevaluated(
                    instance=branch.instance, count=branch.counts[0], least_usd_per_month=branch.least_usd()
                )
        return SearchResult(
            best=first,
            others=tuple(others),
            dearer=tuple(dearer.values()),
            evaluated=self.evaluated,
            pruned=sum(len(branch.counts) for branch in self.branches),
        )

    def any_serves(self) -> bool:
        """Return whether any cluster within the budget meets the targets. This is faster than finding the cheapest."""
        while self.bounds.best is None and self.queue and self.queue[0][0] <= self.budget_usd:
            self._push(heapq.heappop(self.queue)[-1].advance())
        return self.bounds.best is not None

    def cheapest_serving(
        self, candidates: float = math.inf, *, of_types_beside: str | None = None
    ) -> Evaluation | None:
        """Return the cheapest of so many candidates that meets the targets; None if none does within the budget.

        The cheapest branch advances until that candidate is known. A runner-up `of_types_beside` the winner's may
        exceed the budget.
        """
        limit_usd = self.budget_usd if of_types_beside is None else math.inf
        while self.queue and self.queue[0][0] <= limit_usd and self.bounds.candidates < candidates:
            serving = (tried for name, tried in self.serving.items() if name != of_types_beside)
            best = min(serving, key=lambda tried: tried.rank, default=None)
            if best is not None and best.usd_per_month <= self.queue[0][0]:
                return best
            _, _, branch = heapq.heappop(self.queue)
            if branch.instance.name != of_types_beside:
                self._push(branch.advance())
        if self.serving:
            return min(self.serving.values(), key=lambda tried: tried.rank)
        return None if self.bounds.best is None else self.evaluate(self.bounds.best)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Return a candidate with its bill and its shortfalls; it is remembered if it is the nearest of its type."""
        usd_per_month = candidate_usd(candidate)
        # The estimated hit ratio of a cache of nearly all data can be a little too high.
        missed = shortfalls(candidate) or shortfalls(replace(candidate, exact=True))
        missed = (*missed, *budget_missed(self.inputs, usd_per_month))
        tried = Evaluation(candidate=candidate, usd_per_month=usd_per_month, shortfalls=missed)
        self.evaluated += 1
        if tried.serves:
            self.bounds.offer(candidate)
        ranking = self.serving if tried.serves else self.nearest
        name = candidate.instance.name
        if name not in ranking or tried.rank < ranking[name].rank:
            ranking[name] = tried
        return tried


class _Counts(Struct, kw_only=True, eq=False, dict=True):
    """One type with kinds of storage of one least cost: the counts of nodes still to be tried, fewest first."""

    search: Search
    instance: InstanceType
    storages: tuple[Storage, ...]
    counts: range
    screened: bool
    grids: dict[tuple[int, Storage], GridPoints | None] = field(default_factory=dict)

    def least_usd(self, count: int | None = None) -> float:
        """Return the least cost of so many nodes, or of the fewest that are still to be tried."""
        if count is None:
            if not self.counts:
                return math.inf
            count = self.counts[0]
        inputs = self.search.inputs
        storage_usd = least_storage_usd(inputs, self.storages[0])
        return self.search.fixed_usd + storage_usd + instances_usd(inputs, self.instance, count)

    def advance(self) -> list[_Branch]:
        """Leave out the next counts if they are too small, or else return the fewest nodes; then return the rest.

        To leave out counts, look as far as twice the fewest nodes for a count whose largest cache and fastest volumes
        carry the load. If there is none, or none that could cost less than a cluster that is known to serve, larger
        counts wait for all cheaper branches. If there is no larger count, the search remembers which
        targets even the largest count misses.
        """
        if self.screened:
            branches: list[_Branch] = [*self.points(self.counts[0])] if self.counts else []
            self.counts = self.counts[1:]
            return [*branches, self] if self.counts else branches
        nearest = self.counts[: self.counts[0] + 1]
        nearest = nearest[: bisect.bisect_right(nearest, self.search.bounds.usd, key=self.least_usd)] or nearest
        if self._is_strong_enough(nearest[0]):
            self.screened = True
        elif self._is_strong_enough(nearest[-1]):
            self.counts = self.counts[bisect.bisect_left(nearest, 1, lo=1, key=self._is_strong_enough) :]
            self.screened = True
        else:
            if nearest == self.counts and (points := next(self.points(self.counts[-1]), None)):
                self.search.evaluate(points.strongest)
            self.counts = self.counts[len(nearest) :]
        return [self] if self.counts else []

    def _is_strong_enough(self, count: int) -> bool:
        """Return whether the fastest volumes serve; those of `gp3-throughput` are slower than those of `gp3`."""
        for points in self.points(count, beside="gp3-throughput"):
            if points.grid.has_own_fastest and points.any_serves():
                return True
        return False

    def points(self, count: int, beside: Storage | None = None) -> Iterator[GridPoints]:
        """Yield the same grids of this many nodes on every call; none if no volume is large or fast enough."""
        search = self.search
        for storage in self.storages:
            if storage == beside:
                continue
            if (count, storage) not in self.grids:
                nodes = NodeChoice(inputs=search.inputs, instance=self.instance, storage=storage, count=count)
                grid = cost_grid(nodes)
                self.grids[count, storage] = (
                    None
                    if grid is None
                    else GridPoints(
                        instance=self.instance,
                        grid=grid,
                        common_usd=search.fixed_usd + instances_usd(search.inputs, self.instance, count),
                        evaluate=search.evaluate,
                        bounds=search.bounds,
                    )
                )
            if points := self.grids[count, storage]:
                yield points


_Branch = _Counts | GridPoints


def search(inputs: SizingInputs) -> SearchResult:
    """Return the cheapest cluster that serves, or else the one that misses the fewest targets. Fewer nodes break ties.

    Raises LookupError where no type has room for the data.
    """
    return Search(inputs=inputs).run()


def least_p99_seconds(inputs: SizingInputs) -> float | None:
    """Return the lowest p99 of any cluster, whatever its cost; None if none carries the load."""
    least = math.inf
    for branch in Search(inputs=inputs).branches:
        points = next(branch.points(branch.counts[-1]), None)
        if points is not None and (strongest := points.strongest).fits_memory:
            least = min(least, strongest.performance(strongest.survivors, at_peak=True).p99_seconds)
    return least if math.isfinite(least) else None


def fewest_nodes(inputs: SizingInputs) -> int:
    """Return the fewest core nodes that meet `lost_nodes` and the mode's own minimum."""
    return max(inputs.mode.min_core_nodes, inputs.requirements.targets.lost_nodes + FEWEST_SURVIVORS)


def node_counts(inputs: SizingInputs) -> range:
    """Return the counts that can lose this many nodes and still have a region for every survivor."""
    core, lost_nodes = inputs.requirements.cluster.core, inputs.requirements.targets.lost_nodes
    if core.count is not None:
        return range(core.count, core.count + 1)
    fewest = fewest_nodes(inputs)
    most = min(MOST_NODES, inputs.requirements.workload.regions + lost_nodes)
    return range(fewest, max(fewest, most) + 1)
