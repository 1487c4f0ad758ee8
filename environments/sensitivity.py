"""The price and the p99 for the lowest and the highest value of each input, with all others as they are.

An input that the file states as a range goes from end to end, any other one from a fifth below its value to a fifth
above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from environments.environment import Environment
from environments.input_range import InputRange
from environments.planning import plan_of
from environments.reader.assignment import Assignment, assigned
from environments.reader.document import Document, path_text
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from sizing.popularity import Zipf
from sizing.problem import Infeasible, InvalidInput
from sizing.workload import OpenLoad, Workload

__all__ = ["Sensitivity", "sensitivities"]

REACH: Final = 0.2  # judgement: a fifth is what a careful estimate of a workload may be wrong by


def _zipf(workload: Workload) -> float | None:
    return workload.popularity.theta if isinstance(workload.popularity, Zipf) else None


def _ratio(workload: Workload) -> float | None:
    return workload.compression_ratio if workload.compressed else None


def _reads(workload: Workload) -> float | None:
    return workload.load.reads_per_second if isinstance(workload.load, OpenLoad) else None


def _peak(workload: Workload) -> float | None:
    return workload.load.peak_reads_per_second if isinstance(workload.load, OpenLoad) else None


INPUTS: Final[Mapping[tuple[str, ...], tuple[str, Callable[[Workload], float | None]]]] = {
    ("workload", "stored"): ("B", lambda workload: None if workload.inspection else workload.stored_bytes),
    ("workload", "cell"): ("B", lambda workload: workload.cell_bytes),
    ("workload", "row"): ("B", lambda workload: workload.row_bytes),
    ("workload", "compression", "ratio"): (
        "",
        lambda workload: workload.compression_ratio if workload.compressed else None,
    ),
    ("workload", "reads", "per_second"): ("", _reads),
    ("workload", "reads", "peak_per_second"): ("", _peak),
    ("workload", "writes", "bytes_per_second"): ("B", lambda workload: workload.write_bytes_per_second or None),
    ("workload", "popularity", "zipf"): ("", _zipf),
    ("workload", "regions"): ("", lambda workload: None if workload.inspection else workload.regions),
}
"""The inputs that are varied, each with its unit and its value; None where the environment has no such number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """One input at both ends; the figures are None where no cluster meets the targets, or none may have the value."""

    one: InputRange
    usd_per_month: tuple[float | None, float | None]
    p99_ms: tuple[float | None, float | None]

    @property
    def span_usd(self) -> float:
        """Return how far the price moves; an end that no cluster serves counts as infinitely far."""
        low, high = self.usd_per_month
        return float("inf") if low is None or high is None else abs(high - low)


def sensitivities(ranged: RangedDocument, cluster: str) -> list[Sensitivity]:
    """Return the inputs of a cluster's plan, the one that moves the price most first."""
    middle = ranged.middle
    results = [_sensitivity(middle, one, cluster) for one in _inputs(ranged, environment_of(middle))]
    return sorted(results, key=lambda result: -result.span_usd)


def _inputs(ranged: RangedDocument, environment: Environment) -> Iterator[InputRange]:
    yield from ranged.ranges.values()
    for path, (unit, number) in INPUTS.items():
        value = number(environment.workload)
        if value is None or path in ranged.ranges or not environment.states(path_text(path)):
            continue
        low, high = (1 - REACH) * value, (1 + REACH) * value
        yield InputRange(key=path_text(path), where=environment.source, low=low, high=high, unit=unit)


def _sensitivity(middle: Document, one: InputRange, cluster: str) -> Sensitivity:
    ends = [_figures(middle, one, value, cluster) for value in (one.low, one.high)]
    return Sensitivity(one=one, usd_per_month=(ends[0][0], ends[1][0]), p99_ms=(ends[0][1], ends[1][1]))


def _figures(middle: Document, one: InputRange, value: float, cluster: str) -> tuple[float, float] | tuple[None, None]:
    path = tuple(one.key.split("."))
    try:
        environment = environment_of(assigned(middle, [Assignment.at(path, one.text(value), one.where)]))
        plan = plan_of(environment, environment.clusters[cluster])
    except (Infeasible, InvalidInput):
        return None, None
    return (plan.cost.usd_per_month, plan.throughput.p99_latency_ms) if plan.meets_targets else (None, None)
