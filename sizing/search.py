"""The cheapest cluster that meets the targets, over every instance type, count, cache size and volume speed.

Clusters are tried in the order of the least that they can cost. For a type, that is the cost of its nodes and of the
cheapest volumes that hold enough cache; for a count of nodes, it is that of its cheapest grid point; and for a grid
point, it is its bill. The first cluster that meets the targets is therefore the cheapest. Laws, each with a test, leave
out clusters that cannot win: fewer nodes, a smaller cache or a slower volume never serve more reads, or serve them
faster; a larger cache never takes less memory, nor less time to warm up.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from sizing.bill import candidate_cost, fixed_usd
from sizing.candidate import FEWEST_SURVIVORS, Candidate
from sizing.cost_grid import CostGrid, NodeChoice, cost_grid, least_storage_usd
from sizing.disks import Storage, storages
from sizing.evaluation import Evaluation, SearchResult, Unevaluated, budget_missed
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.shortfalls import shortfalls

__all__ = ["fewest_nodes", "least_p99_seconds", "search"]

MOST_NODES: Final = 200  # judgement: past this, split the cluster (one NameNode, one master)
# judgement: the runner-up only explains the winner, and is not worth more time than the winner itself.
RUNNER_UP_EVALUATIONS: Final = 300
ROUNDING_USD: Final = 0.01  # two sums of the same prices in another order

HARDER_WITH_LESS: Final = frozenset({"hit_ratio", "reads", "p99", "writes", "carries_load_within"})
"""Targets that a cluster misses if another one with more nodes, a larger cache and faster volumes misses them."""
HARDER_WITH_MORE_CACHE: Final = frozenset({"warm_up", "offline_after_crash"})
"""Targets that a cluster misses if another one with more nodes, a smaller cache and faster volumes misses them."""


@dataclass(kw_only=True)
class Search:
    """The state of one search: the branches that are still to be tried, in the order of their least cost."""

    question: SizingInputs
    evaluated: int = 0
    nearest: dict[str, Evaluation] = field(default_factory=dict)
    serving: dict[str, Evaluation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with every type, at the least cost of its nodes and volumes."""
        self.fixed_usd = fixed_usd(self.question)
        self.budget_usd = self.question.requirements.targets.budget_usd_per_month or math.inf
        self.order = itertools.count()
        self.queue: list[tuple[float, int, _Branch]] = []
        self.storage_usd: dict[Storage, float] = {}
        self.branches = [
            _Counts(search=self, instance=instance, storage=storage, counts=node_counts(self.question))
            for instance in _instances(self.question)
            for storage in storages(self.question, instance)
        ]
        for branch in self.branches:
            self.push(branch.least_usd(), branch)

    def push(self, usd: float, branch: _Branch) -> None:
        """Try a branch after all cheaper ones."""
        heapq.heappush(self.queue, (usd, next(self.order), branch))

    def run(self) -> SearchResult:
        """Return the winner and the nearest of the others. Raises LookupError if no type has room for the data."""
        best = self._cheapest(self.budget_usd)
        while self.queue and not (self.nearest or self.serving):
            heapq.heappop(self.queue)[-1].advance()
        limit = self.evaluated + RUNNER_UP_EVALUATIONS
        if best is not None and len(self.branches) > 1:
            self._cheapest(math.inf, of_types_beside=best.candidate.instance.name, evaluations=limit)
        nearest = {**self.nearest, **self.serving}
        if not nearest:
            raise LookupError("no instance type has room for this")
        first, *others = sorted(nearest.values(), key=lambda tried: tried.rank)
        return SearchResult(
            best=first,
            others=tuple(others),
            dearer=tuple(self._unevaluated(set(nearest))),
            evaluated=self.evaluated,
            pruned=sum(branch.untried for branch in self.branches),
        )

    def _cheapest(
        self, limit_usd: float, of_types_beside: str | None = None, evaluations: float = math.inf
    ) -> Evaluation | None:
        """Advance the cheapest branch until the cheapest candidate that serves is known."""
        while self.queue and self.queue[0][0] <= limit_usd and self.evaluated < evaluations:
            candidates = (tried for name, tried in self.serving.items() if name != of_types_beside)
            best = min(candidates, key=lambda tried: tried.rank, default=None)
            if best is not None and best.usd_per_month <= self.queue[0][0]:
                return best
            _, _, branch = heapq.heappop(self.queue)
            if branch.instance_name != of_types_beside:
                branch.advance()
        return min(self.serving.values(), key=lambda tried: tried.rank, default=None)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Return a candidate with its bill and its shortfalls; it is remembered if it is the nearest of its type."""
        usd_per_month = candidate_cost(candidate).usd_per_month
        missed = (*shortfalls(candidate), *budget_missed(self.question, usd_per_month))
        tried = Evaluation(candidate=candidate, usd_per_month=usd_per_month, shortfalls=missed)
        self.evaluated += 1
        ranking = self.serving if tried.serves else self.nearest
        name = candidate.instance.name
        if name not in ranking or tried.rank < ranking[name].rank:
            ranking[name] = tried
        return tried

    def _unevaluated(self, evaluated: set[str]) -> Iterator[Unevaluated]:
        for branch in self.branches:
            if branch.instance.name not in evaluated and branch.nodes is not None:
                evaluated.add(branch.instance.name)
                yield Unevaluated(
                    instance=branch.instance,
                    count=branch.nodes.count,
                    least_usd_per_month=branch.least_usd(),
                )


@dataclass(kw_only=True, eq=False)
class _Counts:
    """One type with one kind of storage: the counts of nodes that are still to be tried, fewest first."""

    search: Search
    instance: InstanceType
    storage: Storage
    counts: range
    screened: bool = False

    @property
    def instance_name(self) -> str:
        return self.instance.name

    @property
    def nodes(self) -> NodeChoice | None:
        """The fewest nodes that are still to be tried; None where all are."""
        return self._nodes(self.counts[0]) if self.counts else None

    @property
    def untried(self) -> int:
        return len(self.counts)

    def least_usd(self) -> float:
        """Return the least cost of the fewest nodes."""
        search, nodes = self.search, self.nodes
        if self.storage not in search.storage_usd:
            search.storage_usd[self.storage] = least_storage_usd(search.question, self.storage)
        return search.fixed_usd + search.storage_usd[self.storage] + (nodes.instances_usd if nodes else math.inf)

    def advance(self) -> None:
        """Leave out counts that are too small, or else try the fewest nodes."""
        if not self.screened:
            self.screened = True
            if len(self.counts) > 1:
                self._leave_out_too_few()
        elif self.nodes is not None:
            branch = _Points.of(self.search, self.nodes)
            if branch is not None:
                self.search.push(branch.least_usd(), branch)
            self.counts = self.counts[1:]
        if self.counts:
            self.search.push(self.least_usd(), self)

    def _leave_out_too_few(self) -> None:
        """Keep the counts from the smallest whose largest cache and fastest volumes carry the load, if any do.

        Counts are tried in strides that double, and then between the last two.
        """
        too_few, enough = 0, 0
        while not self._is_strong_enough(self.counts[enough]):
            too_few = enough + 1
            if too_few == len(self.counts):
                self._record_strongest()
                self.counts = self.counts[too_few:]
                return
            enough = min(2 * too_few, len(self.counts) - 1)
        while too_few < enough:
            middle = (too_few + enough) // 2
            too_few, enough = (too_few, middle) if self._is_strong_enough(self.counts[middle]) else (middle + 1, enough)
        self.counts = self.counts[enough:]

    def _is_strong_enough(self, count: int) -> bool:
        points = _Points.of(self.search, self._nodes(count))
        return points is not None and points.strongest_serves()

    def _record_strongest(self) -> None:
        """Remember the targets that even the most nodes miss."""
        if points := self.strongest():
            self.search.evaluate(points.strongest())

    def strongest(self) -> _Points | None:
        """Return the grid of the most nodes."""
        return _Points.of(self.search, self._nodes(self.counts[-1]))

    def _nodes(self, count: int) -> NodeChoice:
        return NodeChoice(question=self.search.question, instance=self.instance, storage=self.storage, count=count)


@dataclass(kw_only=True, eq=False)
class _Points:
    """The points of one grid that are still to be tried: those whose cost is finite."""

    search: Search
    grid: CostGrid
    common_usd: float

    @classmethod
    def of(cls, search: Search, nodes: NodeChoice) -> _Points | None:
        """Return all points of a grid; None where it is empty."""
        grid = cost_grid(nodes)
        if grid is None:
            return None
        return cls(search=search, grid=grid, common_usd=search.fixed_usd + nodes.instances_usd)

    @property
    def instance_name(self) -> str:
        return self.grid.nodes.instance.name

    def least_usd(self) -> float:
        """Return the least cost of the cheapest point."""
        return self.common_usd + float(self.grid.usd.min())

    def advance(self) -> None:
        """Try the cheapest point, and leave out the points that miss the same targets."""
        usd = self.grid.usd
        size, speed = (int(index) for index in np.unravel_index(usd.argmin(), usd.shape))
        least = self.least_usd() + ROUNDING_USD
        if self._exact_usd(size, speed) <= least:
            tried = self.search.evaluate(self.grid.candidate(size, speed))
            self._leave_out(tried, size, speed)
        if np.isfinite(usd.min()):
            self.search.push(self.least_usd(), self)

    def _exact_usd(self, size: int, speed: int) -> float:
        """Return the cost of a point; the part that its grid left out is added to the cost of all points."""
        exact = candidate_cost(self.grid.candidate(size, speed)).usd_per_month
        self.common_usd = max(self.common_usd, exact - float(self.grid.usd[size, speed]))
        return exact

    def _leave_out(self, tried: Evaluation, size: int, speed: int) -> None:
        usd = self.grid.usd
        usd[size, speed] = math.inf
        if tried.misses({"memory", "offline_after_crash"}):
            usd[size:] = math.inf
        if tried.misses(HARDER_WITH_MORE_CACHE):
            usd[size:, : speed + 1] = math.inf
        if tried.misses({"writes"}):
            usd[:, : speed + 1] = math.inf
        elif tried.misses(HARDER_WITH_LESS):
            usd[: self._first_size(lambda row: not self._is_too_weak(row, speed), size + 1), : speed + 1] = math.inf

    def _is_too_weak(self, size: int, speed: int) -> bool:
        return bool(_missed(self.grid.candidate(size, speed)) & HARDER_WITH_LESS)

    def strongest_serves(self) -> bool:
        """Return whether the largest cache in memory carries the load, and the smallest one warms up in time."""
        targets = self.search.question.requirements.targets
        return not _missed(self.strongest()) & (HARDER_WITH_LESS | {"memory"}) and not (
            (targets.warm_up_seconds is not None or targets.offline_after_crash_seconds is not None)
            and _missed(self.grid.candidate(0, self.grid.usd.shape[1] - 1)) & HARDER_WITH_MORE_CACHE
        )

    def least_p99_seconds(self) -> float | None:
        """Return the p99 of that cluster; None where it does not carry the load."""
        strongest = self.strongest()
        if not strongest.fits_memory:
            return None
        p99_seconds = strongest.performance(strongest.survivors).p99_seconds
        return p99_seconds if math.isfinite(p99_seconds) else None

    def strongest(self) -> Candidate:
        """Return the largest cache that memory allows, on the fastest volumes."""
        sizes, speeds = self.grid.usd.shape
        largest = sizes - 1
        if self._lacks_memory(largest):
            largest = max(0, self._first_size(self._lacks_memory, 0) - 1)
        return self.grid.candidate(largest, speeds - 1)

    def _lacks_memory(self, size: int) -> bool:
        return not self.grid.candidate(size, 0).fits_memory

    def _first_size(self, holds: Callable[[int], bool], low: int) -> int:
        """Return the smallest size from `low` on that obeys a law; all larger sizes then obey it, too."""
        high = len(self.grid.cache_mib)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return low


_Branch = _Counts | _Points


def _missed(candidate: Candidate) -> set[str]:
    return {shortfall.target for shortfall in shortfalls(candidate)}


def search(question: SizingInputs) -> SearchResult:
    """The cheapest that serves; of equal cost the fewest nodes. Without one, the one that misses fewest targets.

    Raises LookupError where no type has room for the data.
    """
    return Search(question=question).run()


def least_p99_seconds(question: SizingInputs) -> float | None:
    """Return the lowest p99 of any cluster, whatever its cost; None if none carries the load."""
    tried = Search(question=question)
    strongest = (points for branch in tried.branches if (points := branch.strongest()) is not None)
    return min((p99 for points in strongest if (p99 := points.least_p99_seconds()) is not None), default=None)


def _instances(question: SizingInputs) -> Sequence[InstanceType]:
    choice, world = question.requirements.cluster.core, question.world
    if choice.type is not None:
        return [world.instance_types[choice.type]]
    return [instance for instance in world.offered if instance.family in choice.families]


def fewest_nodes(question: SizingInputs) -> int:
    """The fewest core nodes of which as many may be lost as the targets say."""
    return max(question.mode.min_core_nodes, question.requirements.targets.lost_nodes + FEWEST_SURVIVORS)


def node_counts(question: SizingInputs) -> range:
    """Counts from which so many nodes may be lost, and at which every survivor has a region to serve."""
    core, lost_nodes = question.requirements.cluster.core, question.requirements.targets.lost_nodes
    if core.count is not None:
        return range(core.count, core.count + 1)
    fewest = fewest_nodes(question)
    most = min(MOST_NODES, question.requirements.workload.regions + lost_nodes)
    return range(fewest, max(fewest, most) + 1)
