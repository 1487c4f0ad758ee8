"""From an environment to the plan of one of its analytics clusters, and how that plan varies.

It also lists the values that the plan assumes because nobody stated them, and the judgements of its model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from warmbase.engines.trino.calculator import TrinoQuestion, compared_cache, compared_caches, trino_plan
from warmbase.engines.trino.plan import CacheComparison, TrinoPlan
from warmbase.engines.trino.request import ScanWorkload, TrinoChoice
from warmbase.engines.trino.search import CacheKind, TrinoSearch, TrinoSituation
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.environments.uncertainty.growth import Growth
from warmbase.environments.uncertainty.judgements import UTILISATION, Judgement
from warmbase.environments.uncertainty.sensitivity import Figures
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.ground.units import SECONDS_PER_HOUR, exact_size, format_percent
from warmbase.sizing.ranges.growth import ASSUMED_GROWTH
from warmbase.sizing.requirements import World
from warmbase.sizing.workload.popularity import UNIFORM, Zipf


def trino_plan_of(environment: Environment, cluster: TrinoChoice) -> TrinoPlan:
    """Return the sizing plan of an analytics cluster. Raises InvalidInput if no type can be a worker."""
    offered = world(environment)
    return trino_plan(_question(environment, cluster, offered), offered)


def compared_caches_of(environment: Environment, cluster: TrinoChoice) -> dict[CacheKind, CacheComparison]:
    """Return the cheapest workers with each kind of cache, whatever the file pins. Raises as `trino_plan_of`."""
    offered = world(environment)
    return compared_caches(_question(environment, cluster, offered), offered)


def compared_cache_of(environment: Environment, cluster: TrinoChoice, kind: CacheKind) -> CacheComparison | None:
    """Return the cheapest workers with this kind of cache; None if no type has it. Raises as `trino_plan_of`."""
    offered = world(environment)
    return compared_cache(_question(environment, cluster, offered), offered, kind)


def _question(environment: Environment, cluster: TrinoChoice, offered: World) -> TrinoQuestion:
    """Return the question that the calculator answers. Raises InvalidInput if no type can be a worker."""
    if not TrinoSearch(choice=cluster, world=offered).instances:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{cluster.name}.workers.families",
            why=f"no instance type of {', '.join(cluster.workers.families)} can be a worker",
            fix="name a family with types of 32 GiB of memory, such as r8g",
        )
    return TrinoQuestion(
        environment=environment.name,
        choice=cluster,
        stored_bytes=environment.workload.stored_bytes,
        new_network=environment.network.vpc is None,
    )


def feasible_trino_plan_of(environment: Environment, cluster: TrinoChoice) -> TrinoPlan:
    """Return a plan that may be deployed. Raises Infeasible for one that misses its targets."""
    plan = trino_plan_of(environment, cluster)
    if not plan.feasible:
        raise trino_infeasible(environment.source, plan)
    return plan


def trino_infeasible(source: str, plan: TrinoPlan) -> Infeasible:
    """Return the error of a plan that misses its targets."""
    missed = "; ".join(f"{one.target} ({one.actual:,.4g} {one.unit}; limit {one.limit:,.4g})" for one in plan.missed)
    return Infeasible.of(
        where=source,
        what=f"clusters.{plan.cluster}: no cluster meets the targets",
        why=f"the nearest is {plan.workers.count} x {plan.workers.instance_type}, which misses {missed}",
        fix=f"relax clusters.{plan.cluster}.targets, or lower what its queries scan",
    )


def assumed(environment: Environment, cluster: TrinoChoice) -> Iterator[str]:
    """Yield each assumed value in words, those with the greatest effect on the plan first."""
    workload, targets = cluster.workload, cluster.targets
    values = {
        "workload.popularity": "all files equally popular" if workload.popularity == UNIFORM else "a skewed popularity",
        "workload.cpu_seconds_per_gib": f"{workload.cpu_seconds_per_gib:g} core-seconds per GiB",
        "workload.queries.peak_per_hour": "no hour busier than the mean",
        "workload.read": f"contiguous reads of {exact_size(workload.read_bytes)}",
        "workload.file": f"files of {exact_size(workload.file_bytes)}",
        "targets.hit_ratio": f"a hit ratio of {format_percent(targets.hit_ratio)}",
        "targets.lost_nodes": f"{targets.lost_nodes} lost worker{'s' * (targets.lost_nodes != 1)}",
        "preferred_hosts": f"{cluster.preferred_hosts} preferred host{'s' * (cluster.preferred_hosts != 1)} per file",
    }
    for key, value in values.items():
        if not environment.states(f"clusters.{cluster.name}.{key}"):
            yield value


def situation(environment: Environment, cluster: str, offered: World) -> TrinoSituation:
    """Return the load that the cluster must serve, and the instances and prices on offer. Raises as `trino_plan_of`."""
    question = _question(environment, environment.analytics[cluster], offered)
    search = TrinoSearch(choice=question.choice, world=offered, new_network=question.new_network)
    return TrinoSituation(environment=environment.name, search=search)


INPUTS: Final[Mapping[tuple[str, ...], tuple[str, Callable[[ScanWorkload], float]]]] = {
    ("working_set",): ("B", lambda workload: workload.working_set_bytes),
    ("scanned",): ("B", lambda workload: workload.scanned_bytes),
    ("queries", "per_hour"): ("", lambda workload: workload.queries_per_second * SECONDS_PER_HOUR),
    ("queries", "peak_per_hour"): ("", lambda workload: workload.peak_queries_per_second * SECONDS_PER_HOUR),
    ("file",): ("B", lambda workload: workload.file_bytes),
    ("read",): ("B", lambda workload: workload.read_bytes),
    ("cpu_seconds_per_gib",): ("", lambda workload: workload.cpu_seconds_per_gib),
}


def numbers(environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """Yield the path, the unit and the value of each number of the workload."""
    workload, section = environment.analytics[cluster].workload, ("clusters", cluster, "workload")
    for path, (unit, number) in INPUTS.items():
        yield (*section, *path), unit, number(workload)
    if isinstance(workload.popularity, Zipf):
        yield (*section, "popularity", "zipf"), "", workload.popularity.theta


def figures(environment: Environment, cluster: str) -> Figures:
    """Return the price, and the mean ms of a query in the busiest hour; None if no cluster meets the targets."""
    plan = trino_plan_of(environment, environment.analytics[cluster])
    seconds = plan.queries.peak_mean_seconds
    return (None, None) if plan.missed or seconds is None else (plan.cost.usd_per_month, 1000 * seconds)


def growth(environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:  # noqa: ARG001 - HBase's regions split in one of the months
    """Return the growth of the working set and of the queries; None is the rate of the file, or the assumed one."""
    today, of_file = situation(environment, cluster, world(environment)), environment.analytics[cluster].workload
    monthly = next((one for one in (rate, of_file.growth_per_month) if one is not None), ASSUMED_GROWTH)

    def figures_after(month: int) -> Mapping[str, float | None]:
        workload = today.after(month, monthly).search.choice.workload
        per_hour = workload.queries_per_second * SECONDS_PER_HOUR
        return {"working_set_bytes": workload.working_set_bytes, "queries_per_hour": per_hour}

    return Growth(
        rates={cluster: monthly}, tables={}, later=lambda month: today.after(month, monthly), figures=figures_after
    )


JUDGEMENTS: Final = (
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
