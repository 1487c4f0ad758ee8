"""From an environment to the plan of one of its analytics clusters."""

from __future__ import annotations

from environments.environment import Environment
from environments.planning import world
from sizing.engines.trino.calculator import TrinoQuestion, compared_cache, compared_caches, trino_plan
from sizing.engines.trino.plan import CacheComparison, TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.engines.trino.search import CacheKind, TrinoSearch
from sizing.engines.trino.situation import TrinoSituation
from sizing.problem import Infeasible, InvalidInput
from sizing.requirements import World


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
