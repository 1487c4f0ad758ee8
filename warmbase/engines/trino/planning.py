"""From an environment to the plan of one of its analytics clusters.

The values that the plan assumes because nobody stated them are here, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from warmbase.engines.trino.calculator import TrinoQuestion, compared_cache, compared_caches, trino_plan
from warmbase.engines.trino.plan import CacheComparison, TrinoPlan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import CacheKind, TrinoSearch, TrinoSituation
from warmbase.environments.environment import Environment
from warmbase.environments.planning import world
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.ground.units import exact_size, format_percent
from warmbase.sizing.requirements import World
from warmbase.sizing.workload.popularity import UNIFORM


def trino_plan_of(environment: Environment, cluster: TrinoChoice) -> TrinoPlan:
    """Return the sizing plan of an analytics cluster. Raises InvalidInput if no type can be a worker."""
    offered = world(environment)
    _check_families(environment, cluster, offered)
    return trino_plan(_question(environment, cluster), offered)


def compared_caches_of(environment: Environment, cluster: TrinoChoice) -> dict[CacheKind, CacheComparison]:
    """Return the cheapest workers with each kind of cache, whatever the file pins. Raises as `trino_plan_of`."""
    offered = world(environment)
    _check_families(environment, cluster, offered)
    return compared_caches(_question(environment, cluster), offered)


def compared_cache_of(environment: Environment, cluster: TrinoChoice, kind: CacheKind) -> CacheComparison | None:
    """Return the cheapest workers with this kind of cache; None if no type has it. Raises as `trino_plan_of`."""
    offered = world(environment)
    _check_families(environment, cluster, offered)
    return compared_cache(_question(environment, cluster), offered, kind)


def _question(environment: Environment, cluster: TrinoChoice) -> TrinoQuestion:
    return TrinoQuestion(
        environment=environment.name,
        choice=cluster,
        stored_bytes=environment.workload.stored_bytes,
        new_network=environment.network.vpc is None,
    )


def trino_situation(environment: Environment, cluster: TrinoChoice, offered: World) -> TrinoSituation:
    """Return what an analytics cluster must serve, and what there is to buy. Raises as `trino_plan_of`."""
    _check_families(environment, cluster, offered)
    return TrinoSituation(
        environment=environment.name,
        search=TrinoSearch(choice=cluster, world=offered, new_network=environment.network.vpc is None),
    )


def _check_families(environment: Environment, cluster: TrinoChoice, offered: World) -> None:
    if not TrinoSearch(choice=cluster, world=offered).instances:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{cluster.name}.workers.families",
            why=f"no instance type of {', '.join(cluster.workers.families)} can be a worker",
            fix="name a family with types of 32 GiB of memory, such as r8g",
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
