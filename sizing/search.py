"""Every instance type, node count and layout of volumes that could serve, and the cheapest that does.

The search equals trying every one of them. It leaves out only what cannot win: volumes too slow for the offered
reads; a dearer provision of a cache of the same size once one serves; nodes and disks that alone cost more than the
best found; and more nodes of a type whose cheapest layout already does, for a node costs more than its volume includes.
What is left out is counted as pruned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sizing.bill import candidate_cost, fixed_usd
from sizing.candidate import FEWEST_SURVIVORS, Candidate, Shortfall
from sizing.disks import layouts, layouts_in_all
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.memory import NotEnoughMemory
from sizing.units import HOURS_PER_MONTH, format_usd

__all__ = ["Evaluation", "SearchResult", "candidates", "fewest_nodes", "search"]

MOST_NODES: Final = 200  # judgement: past this, split the cluster (one NameNode, one master)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A candidate with what its cluster costs in a month, and the targets it misses."""

    candidate: Candidate
    usd_per_month: float
    shortfalls: Sequence[Shortfall]

    @property
    def serves(self) -> bool:
        """Return whether it misses nothing."""
        return not self.shortfalls

    @property
    def lacks_memory(self) -> bool:
        """Return whether it cannot run at all."""
        return any(shortfall.target == "memory" for shortfall in self.shortfalls)

    @property
    def rank(self) -> tuple[bool, int, float, int]:
        """Return what runs first, then fewest shortfalls, then the cheapest, then the fewest nodes."""
        return (self.lacks_memory, len(self.shortfalls), self.usd_per_month, self.candidate.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The cheapest candidate that serves, or else the nearest, and the nearest of every other type.

    `evaluated` candidates had cost, hit ratio and bottleneck computed, `pruned` ones were left out.
    """

    best: Evaluation
    others: tuple[Evaluation, ...]
    evaluated: int
    pruned: int


class Search:
    """The state of one search: the best so far of each type, and the counts."""

    def __init__(self, question: SizingInputs) -> None:
        """Nothing is tried yet."""
        self.question = question
        self.evaluated = 0
        self.pruned = 0
        self.fixed_usd = fixed_usd(question)
        self.limit_usd = question.requirements.targets.budget_usd_per_month or math.inf
        self.nearest: dict[str, Evaluation] = {}
        self.only_slow: dict[str, Candidate] = {}
        self.carried: dict[str, bool] = {}

    def run(self) -> SearchResult:
        """Tries types from the cheapest node on, so that the limit falls early."""
        for instance in _instances(self.question):
            self._counts_of(instance)
        if not self.nearest:
            raise LookupError("no instance type has room for this")
        best, *others = sorted(self.nearest.values(), key=lambda tried: tried.rank)
        return SearchResult(best=best, others=tuple(others), evaluated=self.evaluated, pruned=self.pruned)

    def _counts_of(self, instance: InstanceType) -> None:
        counts, ways = list(_counts(self.question)), layouts_in_all(self.question, instance)
        for position, count in enumerate(counts):
            tried, dear = self._layouts_of(instance, count)
            self.pruned += ways - tried
            if dear or self._hopeless(instance, counts[-1]) or self._no_count_helps(instance):
                self.pruned += ways * (len(counts) - position - 1)
                return

    def _hopeless(self, instance: InstanceType, most: int) -> bool:
        """Return whether a type that has been seen to run, and not yet to serve, never will."""
        nearest = self.nearest.get(instance.name)
        if nearest is None or nearest.lacks_memory or nearest.serves:
            return False
        if instance.name not in self.carried:
            self.carried[instance.name] = self._carried_by(instance, most)
        return not self.carried[instance.name]

    def _carried_by(self, instance: InstanceType, most: int) -> bool:
        """Return whether the most nodes of a type could carry the load and warm up in time; fewer can do no more."""
        able = (list(shelf)[-1:] for shelf in candidates(self.question, instance, most))
        return any(not candidate.shortfalls(percentiles=False) for shelf in able for candidate in shelf)

    def _layouts_of(self, instance: InstanceType, count: int) -> tuple[int, bool]:
        """How many layouts were tried; whether already the cheapest of all was too dear."""
        before = self.evaluated
        for position, shelf in enumerate(candidates(self.question, instance, count)):
            if self._first_that_serves(shelf) and not position:
                return 0, True
        return self.evaluated - before, False

    def _first_that_serves(self, shelf: Iterator[Candidate]) -> bool:
        """Tries the layouts of one size of cache until one serves; true when not even the first was worth it.

        They differ in speed alone and the last is the fastest: where that one misses a target, all do.
        """
        first = next(shelf, None)
        if first is None:
            return False
        if first.instance.name in self.nearest and self._too_dear(first):
            return True
        tried = self._try(first)
        if tried.serves or tried.lacks_memory:
            return False
        others = list(shelf)
        if others and not _fastest_misses_too(tried, others[-1]):
            for candidate in others:
                if self._too_dear(candidate) or self._try(candidate).serves:
                    break
        return False

    def _too_dear(self, candidate: Candidate) -> bool:
        return self.fixed_usd + core_usd(candidate) >= self.limit_usd

    def _try(self, candidate: Candidate) -> Evaluation:
        """Evaluates a candidate; the p99, which takes longest, only of one that could win."""
        usd_per_month = candidate_cost(candidate).usd_per_month
        could_win = usd_per_month < self.limit_usd or candidate.question.requirements.cluster.core.pinned
        shortfalls = (
            *candidate.shortfalls(percentiles=could_win),
            *_budget_missed(self.question, usd_per_month),
        )
        tried = Evaluation(candidate=candidate, usd_per_month=usd_per_month, shortfalls=shortfalls)
        self.evaluated += 1
        if tried.serves:
            self.limit_usd = min(self.limit_usd, usd_per_month)
        name = candidate.instance.name
        if {shortfall.target for shortfall in shortfalls} == {"p99"}:
            self.only_slow.setdefault(name, candidate)
        if name not in self.nearest or tried.rank < self.nearest[name].rank:
            self.nearest[name] = tried
        return tried

    def _no_count_helps(self, instance: InstanceType) -> bool:
        """A p99 that warm reads miss without waiting is missed at any count: disks and S3 get no faster."""
        candidate = self.only_slow.get(instance.name)
        return candidate is not None and _never_fast_enough(candidate, everything_cached=True)


def _fastest_misses_too(first: Evaluation, fastest: Candidate) -> bool:
    if any(shortfall.target == "p99" for shortfall in first.shortfalls):
        return _never_fast_enough(first.candidate) or bool(fastest.shortfalls())
    return bool(fastest.shortfalls(percentiles=False))


def _never_fast_enough(candidate: Candidate, *, everything_cached: bool = False) -> bool:
    """Return whether reads that neither wait nor move bytes clearly miss the p99, at this hit ratio or the highest."""
    wanted = candidate.question.requirements.targets.p99_seconds
    if wanted is None:
        return False
    try:
        reads = candidate.performance(candidate.survivors)
    except NotEnoughMemory:
        return False
    best = 1.0 if everything_cached and candidate.cache_mib else reads.path.hit_ratio
    path = replace(reads.path, hit_ratio=best, fixed_seconds=0.0, waiting=replace(reads.path.waiting, mean_seconds=0.0))
    return replace(reads, path=path, overloaded=False).p99_clearly_beyond(wanted) is not None


def search(question: SizingInputs) -> SearchResult:
    """The cheapest that serves; of equal cost the fewest nodes. Without one, the one that misses fewest targets.

    Raises LookupError where no type has room for the data.
    """
    return Search(question).run()


def candidates(question: SizingInputs, instance: InstanceType, count: int) -> Iterator[Iterator[Candidate]]:
    """Every layout of so many nodes of a type that is not too slow: by size of cache, the cheapest first."""
    survivors = max(FEWEST_SURVIVORS, count - question.requirements.targets.lost_nodes)
    for shelf in layouts(question, instance, survivors):
        yield (Candidate(question=question, instance=instance, count=count, layout=layout) for layout in shelf)


def core_usd(candidate: Candidate) -> float:
    """Return what the core nodes and their data volumes cost a month: less than the whole bill, and quick."""
    question = candidate.question
    node = question.world.prices.compute[candidate.instance.name].usd_per_hour * HOURS_PER_MONTH
    return candidate.count * (node + question.disk_usd(candidate.layout))


def _instances(question: SizingInputs) -> Sequence[InstanceType]:
    choice, world = question.requirements.cluster.core, question.world
    if choice.type is not None:
        return [world.instance_types[choice.type]]
    allowed = [instance for instance in world.offered if instance.family in choice.families]
    return sorted(allowed, key=lambda instance: world.prices.compute[instance.name].usd_per_hour)


def fewest_nodes(question: SizingInputs) -> int:
    """The fewest core nodes of which as many may be lost as the targets say."""
    return max(question.mode.min_core_nodes, question.requirements.targets.lost_nodes + FEWEST_SURVIVORS)


def _counts(question: SizingInputs) -> Iterator[int]:
    """Counts from which so many nodes may be lost, and at which every survivor has a region to serve."""
    core, lost_nodes = question.requirements.cluster.core, question.requirements.targets.lost_nodes
    if core.count is not None:
        yield core.count
        return
    fewest = fewest_nodes(question)
    most = min(MOST_NODES, question.requirements.workload.regions + lost_nodes)
    yield from range(fewest, max(fewest, most) + 1)


def _budget_missed(question: SizingInputs, usd_per_month: float) -> list[Shortfall]:
    budget = question.requirements.targets.budget_usd_per_month
    if budget is None or usd_per_month <= budget:
        return []
    reason = f"it costs {format_usd(usd_per_month)} a month, the budget is {format_usd(budget)}"
    return [
        Shortfall(
            target="budget",
            reason=reason,
            bottleneck=None,
            actual=usd_per_month,
            limit=budget,
            unit="USD/month",
        )
    ]
