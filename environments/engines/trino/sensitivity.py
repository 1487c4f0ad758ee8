"""The numbers in the workload of an analytics cluster that a tornado varies, and the figures that they move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from environments.engines.trino.planning import trino_plan_of
from environments.environment import Environment
from sizing.engines.trino.request import ScanWorkload, TrinoChoice
from sizing.popularity import Zipf
from sizing.units import SECONDS_PER_HOUR

INPUTS: Final[Mapping[tuple[str, ...], tuple[str, Callable[[ScanWorkload], float]]]] = {
    ("working_set",): ("B", lambda workload: workload.working_set_bytes),
    ("scanned",): ("B", lambda workload: workload.scanned_bytes),
    ("queries", "per_hour"): ("", lambda workload: workload.queries_per_second * SECONDS_PER_HOUR),
    ("queries", "peak_per_hour"): ("", lambda workload: workload.peak_queries_per_second * SECONDS_PER_HOUR),
    ("file",): ("B", lambda workload: workload.file_bytes),
    ("read",): ("B", lambda workload: workload.read_bytes),
    ("cpu_seconds_per_gib",): ("", lambda workload: workload.cpu_seconds_per_gib),
}


def query_numbers(choice: TrinoChoice) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield the path, the unit and the value of each number of the workload."""
    section = ("clusters", choice.name, "workload")
    for path, (unit, number) in INPUTS.items():
        yield (*section, *path), unit, number(choice.workload)
    if isinstance(choice.workload.popularity, Zipf):
        yield (*section, "popularity", "zipf"), "", choice.workload.popularity.theta


def query_figures(environment: Environment, choice: TrinoChoice) -> tuple[float, float] | tuple[None, None]:
    """Return the price, and the mean ms of a query in the busiest hour; None if no cluster meets the targets."""
    plan = trino_plan_of(environment, choice)
    seconds = plan.queries.peak_mean_seconds
    return (None, None) if plan.missed or seconds is None else (plan.cost.usd_per_month, 1000 * seconds)
