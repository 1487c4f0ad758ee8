"""The best attainable value of each target that a question misses, with its cluster and its price.

Each target is relaxed alone while the others stay as they are. A question with the value that is named is feasible, and
one with a value stricter by a `STEP` is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from sizing.candidate import Candidate
from sizing.evaluation import Evaluation, SearchResult
from sizing.inputs import UTILISATION, SizingInputs
from sizing.resource import bottleneck
from sizing.search import MOST_NODES, least_p99_seconds, search
from sizing.units import format_duration, format_percent, format_usd
from sizing.workload import OpenLoad

__all__ = ["STEP", "Relaxation", "nearest_changes", "relaxations"]

STEP: Final = 1.02  # judgement: nobody states a target to better than 2 %
EVERYTHING: Final = frozenset({"hit_ratio", "reads"})
"""The targets that are missed where no type has room for a cache that meets the hit ratio."""
LONGER: Final = 1.1  # judgement: nobody states how long a cluster may warm up to better than a tenth
LEAST_READS_PER_SECOND: Final = 1.0  # judgement: nobody wants a cluster that serves less
LEAST_HIT_RATIO: Final = 0.01  # judgement: nobody wants a cache with fewer hits


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """One changed input with which the question becomes feasible, and the result of the search with it.

    `value` is the changed value of the target, in its own unit, or the reads per second.
    """

    text: str
    value: float
    result: SearchResult

    @property
    def served(self) -> Evaluation:
        """Return the cheapest cluster for the changed question."""
        return self.result.best

    def __str__(self) -> str:
        """Return the change with its cluster and price."""
        candidate = self.served.candidate
        cluster = f"{candidate.count} x {candidate.instance.name}"
        return f"{self.text} ({cluster}, {format_usd(self.served.usd_per_month)} a month)"


def nearest_changes(result: SearchResult, changes: tuple[Relaxation, ...]) -> tuple[str, ...]:
    """Return the single changes that would be enough; if none is, return the targets that the best cluster misses."""
    if changes:
        return tuple(str(change) for change in changes)
    return (*_ceiling(result.best), *(shortfall.reason for shortfall in result.best.shortfalls))


def relaxations(question: SizingInputs, missed: AbstractSet[str] = EVERYTHING) -> tuple[Relaxation, ...]:
    """Return the single changes with which the search succeeds, each as small as possible; `missed` are targets."""
    return tuple(change for change in _changes(question, missed) if change is not None)


def _ceiling(best: Evaluation) -> tuple[str, ...]:
    """Return the most reads of any number of nodes, if the load is a target that is missed."""
    if all(shortfall.target != "reads" for shortfall in best.shortfalls):
        return ()
    limit = bottleneck(replace(best.candidate, count=MOST_NODES).resources(MOST_NODES))
    reads = f"{UTILISATION * limit.max_reads_per_second:,.0f} reads/s"
    return (f"at most {reads} on {MOST_NODES} nodes, limited by {limit.name}",)


def _changes(question: SizingInputs, missed: AbstractSet[str]) -> Iterator[Relaxation | None]:
    targets = question.requirements.targets
    yield _pinned_count(question)
    if targets.p99_seconds is not None:
        yield _p99(question)
    if targets.budget_usd_per_month is not None:
        yield _budget(question)
    if targets.warm_up_seconds is not None:
        yield _duration(question, "warm_up_seconds", "a warm-up of {}", _warm_up_seconds)
    if targets.carries_load_within_seconds is not None:
        text = "a cold cluster that carries its load within {}"
        yield _duration(question, "carries_load_within_seconds", text, _carried_seconds)
    if targets.offline_after_crash_seconds is not None:
        yield _offline_after_crash(question)
    if targets.lost_nodes:
        yield _relaxation("no spare node: lost_nodes 0", 0, _served(_with(question, lost_nodes=0)))
    if missed & {"hit_ratio", "budget"}:
        yield _hit_ratio(question)
    if "reads" in missed:
        yield _fewer_reads(question)


def _with(question: SizingInputs, **targets: float | None) -> SizingInputs:
    requirements = question.requirements
    return replace(
        question,
        requirements=replace(requirements, targets=replace(requirements.targets, **targets)),  # type: ignore[arg-type]
    )


def _served(question: SizingInputs) -> SearchResult | None:
    try:
        result = search(question)
    except LookupError:
        return None
    return result if result.best.serves else None


def _relaxation(text: str, value: float, result: SearchResult | None) -> Relaxation | None:
    return Relaxation(text=text, value=value, result=result) if result else None


def _tightest(
    served_at: Callable[[float], SearchResult | None], infeasible: float, feasible: float, step: float = STEP
) -> tuple[float, SearchResult] | None:
    """Return the strictest feasible value, to within a step; None where not even the loosest value is feasible."""
    value, served = feasible, served_at(feasible)
    if served is None:
        return None
    while max(value, infeasible) / min(value, infeasible) > step:
        middle = math.sqrt(value * infeasible)
        tried = served_at(middle)
        if tried is None:
            infeasible = middle
        else:
            value, served = middle, tried
    return value, served


def _pinned_count(question: SizingInputs) -> Relaxation | None:
    cluster = question.requirements.cluster
    if cluster.core.count is None:
        return None
    freed = replace(cluster, core=replace(cluster.core, count=None))
    served = _served(replace(question, requirements=replace(question.requirements, cluster=freed)))
    count = served.best.candidate.count if served else 0
    return _relaxation(f"{count} nodes instead of {cluster.core.count}", count, served)


def _budget(question: SizingInputs) -> Relaxation | None:
    served = _served(_with(question, budget_usd_per_month=None))
    usd_per_month = math.ceil(served.best.usd_per_month) if served else 0
    return _relaxation(f"a budget of {format_usd(usd_per_month)}", usd_per_month, served)


def _p99(question: SizingInputs) -> Relaxation | None:
    """Return the lowest p99 of any cluster, or the lowest that the budget buys."""
    targets = question.requirements.targets
    without = _served(_with(question, p99_seconds=None))
    if without is None or targets.p99_seconds is None:
        return None
    candidate = without.best.candidate
    slowest = _rounded_up(candidate.performance(candidate.survivors).p99_seconds)
    fastest = _rounded_up(least_p99_seconds(question) or slowest)

    def served_at(p99_seconds: float) -> SearchResult | None:
        return _served(_with(question, p99_seconds=p99_seconds))

    if served := served_at(fastest):
        return _relaxation(f"a p99 of {format_duration(fastest)}", fastest, served)
    got = _tightest(served_at, max(targets.p99_seconds, fastest), slowest)
    if got is None:
        return None
    p99_seconds = _rounded_up(got[0])
    return _relaxation(f"a p99 of {format_duration(p99_seconds)}", p99_seconds, got[1])


def _rounded_up(seconds: float) -> float:
    """Return the next duration that can be written with three digits."""
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 2)
    return unit * math.ceil(seconds / unit)


def _warm_up_seconds(candidate: Candidate) -> float | None:
    return candidate.warm_up_seconds(candidate.survivors)


def _carried_seconds(candidate: Candidate) -> float | None:
    cold = candidate.cold_start(candidate.survivors)
    return cold.course.carried_seconds if cold else None


def _duration(
    question: SizingInputs, target: str, text: str, seconds: Callable[[Candidate], float | None]
) -> Relaxation | None:
    """Return the shortest attainable duration of a target that is a duration."""
    wanted, without = getattr(question.requirements.targets, target), _served(_with(question, **{target: None}))
    longest = seconds(without.best.candidate) if without else None
    if longest is None or longest <= wanted:
        return None
    got = _tightest(lambda value: _served(_with(question, **{target: value})), wanted, longest, LONGER)
    return _relaxation(text.format(format_duration(got[0])), *got) if got else None


def _offline_after_crash(question: SizingInputs) -> Relaxation | None:
    served = _served(_with(question, offline_after_crash_seconds=None))
    seconds = served.best.candidate.offline.seconds if served else 0.0
    return _relaxation(f"rows offline for {format_duration(seconds)} after a crash", seconds, served)


def _hit_ratio(question: SizingInputs) -> Relaxation | None:
    wanted = question.requirements.targets.hit_ratio
    got = _tightest(lambda ratio: _served(_with(question, hit_ratio=ratio)), wanted, min(wanted, LEAST_HIT_RATIO))
    return _relaxation(f"a hit ratio of {format_percent(got[0])}", *got) if got else None


def _fewer_reads(question: SizingInputs) -> Relaxation | None:
    offered, workload = question.offered_reads_per_second, question.requirements.workload
    if offered is None:
        return None

    def served_at(reads_per_second: float) -> SearchResult | None:
        reads = replace(workload.reads, load=OpenLoad(reads_per_second=reads_per_second))
        lower = replace(question.requirements, workload=replace(workload, reads=reads))
        return _served(replace(question, requirements=lower))

    got = _tightest(served_at, offered, min(offered, LEAST_READS_PER_SECOND))
    return _relaxation(f"{got[0]:,.0f} reads/s", *got) if got else None
