"""The growth of an analytics cluster, the inputs of its tornado, and the judgements of its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from warmbase.engines.trino.planning import trino_plan_of, trino_situation
from warmbase.engines.trino.request import ScanWorkload, TrinoChoice
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.environments.uncertainty.growth import Growth
from warmbase.environments.uncertainty.judgements import UTILISATION, Judgement
from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.ranges.growth import ASSUMED_GROWTH
from warmbase.sizing.workload.popularity import Zipf

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


def growth_of_queries(environment: Environment, choice: TrinoChoice, option: float | None) -> Growth:
    """Return the growth of the working set and of the queries, at the rate of an option if it is stated."""
    today, of_file = trino_situation(environment, choice, world(environment)), choice.workload.growth_per_month
    rate = next((rate for rate in (option, of_file) if rate is not None), ASSUMED_GROWTH)

    def figures(month: int) -> Mapping[str, float | None]:
        workload = today.after(month, rate).search.choice.workload
        per_hour = workload.queries_per_second * SECONDS_PER_HOUR
        return {"working_set_bytes": workload.working_set_bytes, "queries_per_hour": per_hour}

    return Growth(rates={choice.name: rate}, tables={}, later=lambda month: today.after(month, rate), figures=figures)


TRINO_JUDGEMENTS: Final = (
    UTILISATION,
    Judgement(
        name="time to plan and start a query",
        low=0.5,
        high=2.0,
        unit="s",
        constants={"warmbase.engines.trino.workers.COORDINATION_SECONDS": 1.0},
    ),
    Judgement(
        name="S3 prefixes that a query reads",
        low=1,
        high=16,
        unit="",
        constants={"warmbase.engines.trino.workers.S3_PREFIXES": 1.0},
    ),
    Judgement(
        name="heap for a cached page",
        low=250,
        high=1000,
        unit="B",
        constants={"warmbase.engines.trino.workers.PAGE_METADATA_BYTES": 1.0},
    ),
    Judgement(
        name="heap of a worker",
        low=60,
        high=80,
        unit="%",
        constants={"warmbase.engines.trino.workers.HEAP_FRACTION": 0.01},
    ),
)
