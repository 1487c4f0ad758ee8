"""Single changes that would give an infeasible question an answer, each tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sizing.inputs import UTILISATION, SizingInputs
from sizing.resource import bottleneck
from sizing.search import MOST_NODES, Evaluation, SearchResult, search
from sizing.targets import Targets
from sizing.units import format_duration, format_percent, format_usd
from sizing.workload import OpenLoad

__all__ = ["nearest_changes"]

LOWER_LOADS = (0.75, 0.5, 0.25, 0.1, 0.02)
LOWER_HIT_RATIOS = (0.95, 0.9, 0.8, 0.5)


def nearest_changes(result: SearchResult) -> tuple[str, ...]:
    """The single changes with which the search succeeds, or, where none does alone, what is missed as it stands."""
    question = result.best.candidate.question
    changes = tuple(text for text in _changes(question, result.best) if text)
    return changes or (*_ceiling(result.best), *(shortfall.reason for shortfall in result.best.shortfalls))


def _ceiling(best: Evaluation) -> tuple[str, ...]:
    """Return what ends the load however many nodes there are, where the load is what is missed."""
    if all(shortfall.target != "reads" for shortfall in best.shortfalls):
        return ()
    limit = bottleneck(replace(best.candidate, count=MOST_NODES).resources(MOST_NODES))
    return (f"at most {UTILISATION * limit.max_reads_per_second:,.0f} reads/s on {MOST_NODES} nodes, by {limit.name}",)


def _changes(question: SizingInputs, best: Evaluation) -> Iterator[str]:
    targets = question.requirements.targets
    missed = {shortfall.target for shortfall in best.shortfalls}
    yield _pinned_count(question)
    if targets.budget_usd_per_month is not None:
        yield _with(question, replace(targets, budget_usd_per_month=None), _budget)
    if targets.p99_seconds is not None:
        yield _with(question, replace(targets, p99_seconds=None), _p99)
    if targets.warm_up_seconds is not None:
        yield _with(question, replace(targets, warm_up_seconds=None), _warm_up)
    if targets.carries_load_within_seconds is not None:
        yield _with(question, replace(targets, carries_load_within_seconds=None), _carries_load_within)
    if targets.lost_nodes:
        yield _with(question, replace(targets, lost_nodes=0), lambda _: "no spare node: lost_nodes 0")
    if missed & {"hit_ratio", "budget"}:
        yield _lower_hit_ratio(question)
    if "reads" in missed:
        yield _fewer_reads(question)


def _with(question: SizingInputs, targets: Targets, text: object) -> str:
    served = _served(replace(question, requirements=replace(question.requirements, targets=targets)))
    return text(served) if served and callable(text) else ""


def _served(question: SizingInputs) -> Evaluation | None:
    try:
        result = search(question)
    except LookupError:
        return None
    return result.best if result.best.serves else None


def _pinned_count(question: SizingInputs) -> str:
    cluster = question.requirements.cluster
    if cluster.core.count is None:
        return ""
    freed = replace(cluster, core=replace(cluster.core, count=None))
    served = _served(replace(question, requirements=replace(question.requirements, cluster=freed)))
    return f"{served.candidate.count} nodes instead of {cluster.core.count}" if served else ""


def _budget(served: Evaluation) -> str:
    return f"a budget of {format_usd(served.usd_per_month)}"


def _p99(served: Evaluation) -> str:
    return f"a p99 of {format_duration(served.candidate.performance(served.candidate.survivors).p99_seconds)}"


def _warm_up(served: Evaluation) -> str:
    return f"a warm-up of {format_duration(served.candidate.warm_up_seconds(served.candidate.survivors))}"


def _carries_load_within(served: Evaluation) -> str:
    cold = served.candidate.cold_start(served.candidate.survivors)
    carried = cold.course.carried_seconds if cold else None
    return "" if carried is None else f"a cold cluster that carries its load within {format_duration(carried)}"


def _lower_hit_ratio(question: SizingInputs) -> str:
    targets = question.requirements.targets
    for ratio in LOWER_HIT_RATIOS:
        if ratio < targets.hit_ratio:
            lower = replace(targets, hit_ratio=ratio)
            if _served(replace(question, requirements=replace(question.requirements, targets=lower))):
                return f"a hit ratio of {format_percent(ratio)}"
    return ""


def _fewer_reads(question: SizingInputs) -> str:
    offered = question.offered_reads_per_second or 0.0
    workload = question.requirements.workload
    for share in LOWER_LOADS:
        reads = replace(workload.reads, load=OpenLoad(reads_per_second=offered * share))
        lower = replace(question.requirements, workload=replace(workload, reads=reads))
        served = _served(SizingInputs.new(lower, question.world))
        if served:
            return f"{offered * share:,.0f} reads/s, on {served.candidate.count} nodes"
    return ""
