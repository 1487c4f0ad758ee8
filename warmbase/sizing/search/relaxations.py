"""The best attainable value of each target that no cluster meets, with its cluster and its price.

Each target is relaxed alone while the others stay as they are. The inputs with the value that is named are feasible,
and those with a value stricter by a `STEP` are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.units import format_duration, format_percent, format_usd
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.evaluation import Evaluation, SearchResult
from warmbase.sizing.search.search import MOST_NODES, Search, least_p99_seconds
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.resource import bottleneck
from warmbase.sizing.workload.workload import OpenLoad

STEP: Final = 1.02  # judgement: nobody states a target to better than 2 %
EVERYTHING: Final = frozenset({"hit_ratio", "reads"})
"""The targets that are missed where no type has room for a cache that meets the hit ratio."""
FIRST_FACTOR: Final = 2.0  # judgement: most missed targets are missed by less than a factor of 2
LONGER: Final = 1.1  # judgement: nobody states how long a cluster may warm up to better than a tenth
LEAST_READS_PER_SECOND: Final = 1.0  # judgement: nobody wants a cluster that serves less
LEAST_HIT_RATIO: Final = 0.01  # judgement: nobody wants a cache with fewer hits


class Relaxation(Struct, frozen=True, kw_only=True):
    """One changed input with which the inputs become feasible, with the search for it and the cheapest cluster.

    `value` is the changed value of the target, in its own unit, or the reads per second.
    """

    text: str
    value: float
    search: Search
    served: Evaluation

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


def relaxations(inputs: SizingInputs, missed: AbstractSet[str] = EVERYTHING) -> tuple[Relaxation, ...]:
    """Return the single changes with which the search succeeds, each as small as possible; `missed` are targets."""
    return tuple(change for change in _changes(inputs, missed) if change is not None)


def _ceiling(best: Evaluation) -> tuple[str, ...]:
    """Return the most reads of any number of nodes, if the load is a target that is missed."""
    if all(shortfall.target != "reads" for shortfall in best.shortfalls):
        return ()
    limit = bottleneck(replace(best.candidate, count=MOST_NODES).resources(MOST_NODES))
    reads = f"{UTILISATION * limit.max_reads_per_second:,.0f} reads/s"
    return (f"at most {reads} on {MOST_NODES} nodes, limited by {limit.name}",)


def _changes(inputs: SizingInputs, missed: AbstractSet[str]) -> Iterator[Relaxation | None]:
    wanted = inputs.requirements.targets
    yield _pinned_count(inputs)
    least = 0.0
    if wanted.p99_seconds is not None and (
        without := Search(inputs=_with(inputs, p99_seconds=None)).cheapest_serving()
    ):
        slowest = without.candidate.performance(without.candidate.survivors, at_peak=True).p99_seconds
        least = least_p99_seconds(inputs) or slowest
        yield _p99(inputs, max(wanted.p99_seconds, least), slowest)
    # If even the largest cache on the fastest volumes misses the p99, other targets do not help.
    is_fast_enough = wanted.p99_seconds is None or least <= wanted.p99_seconds
    if is_fast_enough:
        yield from _of_budget_and_durations(inputs)
    if wanted.lost_nodes:
        yield _relaxed(_with(inputs, lost_nodes=0), lambda _: ("no spare node: lost_nodes 0", 0))
    if is_fast_enough and missed & {"hit_ratio", "budget"}:
        yield _hit_ratio(inputs)
    if "reads" in missed:
        yield _fewer_reads(inputs)


def _of_budget_and_durations(inputs: SizingInputs) -> Iterator[Relaxation | None]:
    wanted = inputs.requirements.targets
    if wanted.budget_usd_per_month is not None:
        yield _relaxed(
            _with(inputs, budget_usd_per_month=None),
            lambda served: (
                f"a budget of {format_usd(math.ceil(served.usd_per_month))}",
                math.ceil(served.usd_per_month),
            ),
        )
    if wanted.warm_up_seconds is not None:
        yield _duration(inputs, "warm_up_seconds", "a warm-up of {}", _prefetch_seconds)
    if wanted.carries_load_within_seconds is not None:
        text = "a cold cluster that carries its load within {}"
        yield _duration(inputs, "carries_load_within_seconds", text, _carried_seconds)
    if wanted.offline_after_crash_seconds is not None:
        yield _offline_after_crash(inputs)


def _with(inputs: SizingInputs, **targets: float | None) -> SizingInputs:
    requirements = inputs.requirements
    return replace(
        inputs,
        requirements=replace(requirements, targets=replace(requirements.targets, **targets)),
    )


def _relaxed(inputs: SizingInputs, described: Callable[[Evaluation], tuple[str, float]]) -> Relaxation | None:
    """Return the inputs without one of their targets, described by its answer as a text and a value."""
    return _cheapest(Search(inputs=inputs), described)


def _cheapest(search: Search, described: Callable[[Evaluation], tuple[str, float]]) -> Relaxation | None:
    served = search.cheapest_serving()
    if served is None:
        return None
    text, value = described(served)
    return Relaxation(text=text, value=value, search=search, served=served)


def _tightest(
    inputs_at: Callable[[float], SizingInputs],
    text: Callable[[float], str],
    between: tuple[float, float],
    step: float = STEP,
) -> Relaxation | None:
    """Return the strictest feasible value, to within a step; None where not even the loosest value is feasible.

    It lies `between` an infeasible value and the loosest one. The search starts near the infeasible value.
    """

    def search_at(value: float) -> Search | None:
        tried = Search(inputs=inputs_at(value))
        return tried if tried.any_serves() else None

    infeasible, loosest = between
    factor = FIRST_FACTOR
    value = _towards(loosest, infeasible, factor)
    search = search_at(value)
    if search is None and (value == loosest or search_at(loosest) is None):
        return None
    while search is None:
        infeasible, factor = value, factor**2
        value = _towards(loosest, value, factor)
        search = search_at(value)
    while max(value, infeasible) / min(value, infeasible) > step:
        middle = math.sqrt(value * infeasible)
        if closer := search_at(middle):
            value, search = middle, closer
        else:
            infeasible = middle
    return _cheapest(search, lambda _: (text(value), value))


def _towards(loosest: float, value: float, factor: float) -> float:
    """Return a value that is looser by a factor, but no looser than the loosest."""
    return min(value * factor, loosest) if loosest > value else max(value / factor, loosest)


def _pinned_count(inputs: SizingInputs) -> Relaxation | None:
    cluster = inputs.requirements.cluster
    pinned_count = cluster.core.count
    if pinned_count is None:
        return None
    freed = replace(cluster, core=replace(cluster.core, count=None))

    def described(served: Evaluation) -> tuple[str, float]:
        return f"{served.candidate.count} nodes instead of {pinned_count}", served.candidate.count

    return _relaxed(replace(inputs, requirements=replace(inputs.requirements, cluster=freed)), described)


def _offline_after_crash(inputs: SizingInputs) -> Relaxation | None:
    def described(served: Evaluation) -> tuple[str, float]:
        seconds = served.candidate.offline.seconds
        return f"rows offline for {format_duration(seconds)} after a crash", seconds

    return _relaxed(_with(inputs, offline_after_crash_seconds=None), described)


def _p99(inputs: SizingInputs, least: float, slowest: float) -> Relaxation | None:
    """Return the lowest p99 within the budget. It lies between `least` and `slowest`, in seconds."""

    def inputs_at(p99_seconds: float) -> SizingInputs:
        return _with(inputs, p99_seconds=_rounded_up(p99_seconds))

    def text(p99_seconds: float) -> str:
        return f"a p99 of {format_duration(_rounded_up(p99_seconds))}"

    tightest = _relaxed(inputs_at(least), lambda _: (text(least), least)) or _tightest(
        inputs_at, text, (least, slowest)
    )
    return replace(tightest, value=_rounded_up(tightest.value)) if tightest else None


def _rounded_up(seconds: float) -> float:
    """Return the next duration that can be written with three digits."""
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 2)
    return unit * math.ceil(seconds / unit)


def _prefetch_seconds(candidate: Candidate) -> float:
    cold = candidate.cold_start(candidate.survivors)
    return cold.course.prefetch_seconds if cold else 0.0


def _carried_seconds(candidate: Candidate) -> float | None:
    cold = candidate.cold_start(candidate.survivors)
    return cold.course.carried_seconds if cold else None


def _duration(
    inputs: SizingInputs, target: str, text: str, seconds: Callable[[Candidate], float | None]
) -> Relaxation | None:
    """Return the shortest attainable duration of a target that is a duration."""
    wanted = getattr(inputs.requirements.targets, target)
    without = Search(inputs=_with(inputs, **{target: None})).cheapest_serving()
    longest = seconds(without.candidate) if without else None
    if longest is None or longest <= wanted:
        return None
    return _tightest(
        lambda value: _with(inputs, **{target: value}),
        lambda value: text.format(format_duration(value)),
        (wanted, longest),
        LONGER,
    )


def _hit_ratio(inputs: SizingInputs) -> Relaxation | None:
    wanted = inputs.requirements.targets.hit_ratio
    return _tightest(
        lambda ratio: _with(inputs, hit_ratio=ratio),
        lambda ratio: f"a hit ratio of {format_percent(ratio)}",
        (wanted, min(wanted, LEAST_HIT_RATIO)),
    )


def _fewer_reads(inputs: SizingInputs) -> Relaxation | None:
    offered, workload = inputs.at_peak.offered_reads_per_second, inputs.requirements.workload
    load = workload.load
    if offered is None or not isinstance(load, OpenLoad):
        return None
    mean = load.reads_per_second
    text = "reads/s" if mean == offered else "reads/s in the peak hour"

    def inputs_at(reads_per_second: float) -> SizingInputs:
        peak = None if mean == offered else reads_per_second
        lower = replace(load, reads_per_second=min(mean, reads_per_second), peak_reads_per_second=peak)
        requirements = replace(inputs.requirements, workload=workload.with_load(lower))
        return replace(inputs, requirements=requirements)

    least = min(offered, LEAST_READS_PER_SECOND)
    return _tightest(
        inputs_at,
        lambda reads: f"{inputs_at(reads).at_peak.offered_reads_per_second:,.0f} {text}",
        (offered, least),
    )
