"""The cheapest cluster that meets the targets, over every instance type, count, cache size and volume speed.

Clusters are tried in the order of the least that they can cost. For a type, that is the cost of its nodes and of the
cheapest volumes that hold enough cache; for a count of nodes, it is that of its cheapest grid point; and for a grid
point, it is its bill. The first cluster that meets the targets is therefore the cheapest. Laws, each with a test, leave
out clusters that cannot win.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from sizing.bill import candidate_usd, fixed_usd
from sizing.candidate import FEWEST_SURVIVORS, Candidate
from sizing.cost_grid import CostGrid, NodeChoice, cost_grid, instances_usd, least_storage_usd
from sizing.disks import Storage, storages
from sizing.evaluation import Evaluation, SearchResult, Unevaluated, budget_missed
from sizing.grid_points import Bounds, GridPoints
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.shortfalls import shortfalls

MOST_NODES: Final = 200  # judgement: past this, split the cluster (one NameNode, one master)
# judgement: the runner-up only explains the winner, and is not worth more time than the winner itself.
RUNNER_UP_CANDIDATES: Final = 100


class Search(Struct, kw_only=True, dict=True):
    """The state of one search: the branches that are still to be tried, in the order of their least cost."""

    question: SizingInputs
    evaluated: int = 0
    nearest: dict[str, Evaluation] = field(default_factory=dict)
    serving: dict[str, Evaluation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with every type, at the least cost of its nodes and volumes."""
        self.fixed_usd = fixed_usd(self.question)
        self.budget_usd = self.question.requirements.targets.budget_usd_per_month or math.inf
        self.bounds = Bounds(self.budget_usd)
        self.order = itertools.count()
        self.queue: list[tuple[float, int, _Branch]] = []
        self.storage_usd: dict[Storage, float] = {}
        counts = node_counts(self.question)
        self.branches = [
            _Counts(search=self, instance=instance, storages=alike, counts=counts, screened=len(counts) == 1)
            for instance in _instances(self.question)
            for alike in storages(self.question, instance)
        ]
        for branch in self.branches:
            self._push(branch)

    def _push(self, branch: _Branch) -> None:
        """Try a branch after all cheaper ones."""
        heapq.heappush(self.queue, (branch.least_usd(), next(self.order), branch))

    def run(self) -> SearchResult:
        """Return the winner and the nearest of the others. Raises LookupError if no type has room for the data."""
        self.bounds.usd = math.inf  # the nearest cluster may cost more than the budget
        best = self.cheapest_serving()
        while self.queue and not (self.nearest or self.serving):
            self._advance(heapq.heappop(self.queue)[-1])
        limit = self.bounds.candidates + RUNNER_UP_CANDIDATES
        if best is not None and len(self.branches) > 1:
            winner = best.candidate.instance.name
            self.bounds.usd = min(
                (tried.usd_per_month for name, tried in self.serving.items() if name != winner), default=math.inf
            )
            self._cheapest(math.inf, of_types_beside=winner, most=limit)
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

    def any_serves(self) -> bool:
        """Return whether any cluster within the budget meets the targets. This is faster than finding the cheapest."""
        while self.bounds.best is None and self.queue and self.queue[0][0] <= self.budget_usd:
            self._advance(heapq.heappop(self.queue)[-1])
        return self.bounds.best is not None

    def cheapest_serving(self, candidates: float = math.inf) -> Evaluation | None:
        """Return the cheapest of so many candidates that meets the targets; None if none does within the budget."""
        best = self._cheapest(self.budget_usd, most=candidates)
        return self.evaluate(self.bounds.best) if best is None and self.bounds.best is not None else best

    def _cheapest(
        self, limit_usd: float, of_types_beside: str | None = None, most: float = math.inf
    ) -> Evaluation | None:
        """Advance the cheapest branch until the cheapest candidate that serves is known, or for `most` candidates."""
        while self.queue and self.queue[0][0] <= limit_usd and self.bounds.candidates < most:
            candidates = (tried for name, tried in self.serving.items() if name != of_types_beside)
            best = min(candidates, key=lambda tried: tried.rank, default=None)
            if best is not None and best.usd_per_month <= self.queue[0][0]:
                return best
            _, _, branch = heapq.heappop(self.queue)
            if branch.instance_name != of_types_beside:
                self._advance(branch)
        return min(self.serving.values(), key=lambda tried: tried.rank, default=None)

    def _advance(self, branch: _Branch) -> None:
        for following in branch.advance():
            self._push(following)

    def evaluate(self, candidate: Candidate) -> Evaluation:
        """Return a candidate with its bill and its shortfalls; it is remembered if it is the nearest of its type."""
        usd_per_month = candidate_usd(candidate)
        # The estimated hit ratio of a cache of nearly all data can be a little too high.
        missed = shortfalls(candidate) or shortfalls(replace(candidate, exact=True))
        missed = (*missed, *budget_missed(self.question, usd_per_month))
        tried = Evaluation(candidate=candidate, usd_per_month=usd_per_month, shortfalls=missed)
        self.evaluated += 1
        if tried.serves:
            self.bounds.offer(candidate)
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


class _Counts(Struct, kw_only=True, eq=False, dict=True):
    """One type with kinds of storage of one least cost: the counts of nodes still to be tried, fewest first."""

    search: Search
    instance: InstanceType
    storages: tuple[Storage, ...]
    counts: range
    screened: bool
    grids: dict[tuple[int, Storage], GridPoints | None] = field(default_factory=dict)

    @property
    def instance_name(self) -> str:
        return self.instance.name

    @property
    def nodes(self) -> NodeChoice | None:
        """The fewest nodes that are still to be tried; None where all are."""
        return self._nodes(self.counts[0], self.storages[0]) if self.counts else None

    @property
    def untried(self) -> int:
        return len(self.counts)

    def least_usd(self) -> float:
        """Return the least cost of the fewest nodes."""
        return self._least_usd(self.counts[0]) if self.counts else math.inf

    def _least_usd(self, count: int) -> float:
        search, storage = self.search, self.storages[0]
        if storage not in search.storage_usd:
            search.storage_usd[storage] = least_storage_usd(search.question, storage)
        nodes_usd = instances_usd(search.question, self.instance, count)
        return search.fixed_usd + search.storage_usd[storage] + nodes_usd

    def advance(self) -> Iterator[_Branch]:
        """Leave out the next counts if they are too small, or else yield the fewest nodes; then yield the rest."""
        if not self.screened:
            self._leave_out_too_few()
        elif self.nodes is not None:
            yield from self._points(self.counts[0])
            self.counts = self.counts[1:]
        if self.counts:
            yield self

    def _leave_out_too_few(self) -> None:
        """Look as far as twice the fewest nodes for a count whose largest cache and fastest volumes carry the load.

        If there is none, or none that could cost less than a cluster that is known to serve, larger counts wait for all
        cheaper branches.
        """
        nearest = self.counts[: self.counts[0] + 1]
        nearest = nearest[: bisect.bisect_right(nearest, self.search.bounds.usd, key=self._least_usd)] or nearest
        if self._is_strong_enough(nearest[0]):
            self.screened = True
        elif self._is_strong_enough(nearest[-1]):
            self.counts = self.counts[bisect.bisect_left(nearest, 1, lo=1, key=self._is_strong_enough) :]
            self.screened = True
        else:
            if nearest == self.counts:
                self._record_strongest()
            self.counts = self.counts[len(nearest) :]

    def _is_strong_enough(self, count: int) -> bool:
        """Return whether the fastest volumes serve; those of `gp3-throughput` are slower than those of `gp3`."""
        tried = (points for points in self._points(count, beside="gp3-throughput") if points.grid.has_own_fastest)
        return any(points.any_serves(points.fastest) for points in tried)

    def _record_strongest(self) -> None:
        """Remember the targets that even the most nodes miss."""
        if points := self.strongest():
            self.search.evaluate(points.strongest(points.fastest))

    def strongest(self) -> GridPoints | None:
        """Return the clusters of the most nodes."""
        return next(self._points(self.counts[-1]), None)

    def _points(self, count: int, beside: Storage | None = None) -> Iterator[GridPoints]:
        """Yield the clusters of this many nodes, always the same; none if no volume is large or fast enough."""
        for storage in self.storages:
            if storage == beside:
                continue
            if (count, storage) not in self.grids:
                grid = cost_grid(self._nodes(count, storage))
                self.grids[count, storage] = None if grid is None else self._points_of(grid)
            if points := self.grids[count, storage]:
                yield points

    def _points_of(self, grid: CostGrid) -> GridPoints:
        search, common_usd = self.search, self.search.fixed_usd + grid.nodes.instances_usd
        return GridPoints(grid=grid, common_usd=common_usd, evaluate=search.evaluate, bounds=search.bounds)

    def _nodes(self, count: int, storage: Storage) -> NodeChoice:
        return NodeChoice(question=self.search.question, instance=self.instance, storage=storage, count=count)


_Branch = _Counts | GridPoints


def search(question: SizingInputs) -> SearchResult:
    """The cheapest that serves; of equal cost the fewest nodes. Without one, the one that misses fewest targets.

    Raises LookupError where no type has room for the data.
    """
    return Search(question=question).run()


def cheapest_serving(question: SizingInputs, candidates: float = math.inf) -> Evaluation | None:
    """Return the cheapest of so many candidates that meets the targets; None if none does within the budget."""
    return Search(question=question).cheapest_serving(candidates)


def least_p99_seconds(question: SizingInputs) -> float | None:
    """Return the lowest p99 of any cluster, whatever its cost; None if none carries the load."""
    tried = Search(question=question)
    strongest = (points for branch in tried.branches if (points := branch.strongest()) is not None)
    return min((p99 for points in strongest if (p99 := points.least_p99_seconds()) is not None), default=None)


def _instances(question: SizingInputs) -> Sequence[InstanceType]:
    choice, world = question.requirements.cluster.core, question.world
    if choice.type is not None:
        return [world.instance_types[choice.type]]
    return world.offered_in(choice.families)


def fewest_nodes(question: SizingInputs) -> int:
    """Return the fewest core nodes that meet `lost_nodes` and the mode's own minimum."""
    return max(question.mode.min_core_nodes, question.requirements.targets.lost_nodes + FEWEST_SURVIVORS)


def node_counts(question: SizingInputs) -> range:
    """Return the counts that can lose this many nodes and still have a region for every survivor."""
    core, lost_nodes = question.requirements.cluster.core, question.requirements.targets.lost_nodes
    if core.count is not None:
        return range(core.count, core.count + 1)
    fewest = fewest_nodes(question)
    most = min(MOST_NODES, question.requirements.workload.regions + lost_nodes)
    return range(fewest, max(fewest, most) + 1)
