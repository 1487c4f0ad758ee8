"""The arrow from file to plan: from an environment to the question that the calculator answers."""

from __future__ import annotations

from msgspec.structs import replace

from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment, Wal, pins
from warmbase.facts import today
from warmbase.facts.ec2 import instance_types
from warmbase.facts.prices import price_table
from warmbase.facts.releases import improvements_since, releases
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.sizing.calculator import PlanSearch, plan
from warmbase.sizing.modes import MODES, Mode
from warmbase.sizing.plan import MISSED_TARGET, Plan
from warmbase.sizing.requirements import ClusterChoice, Requirements, World
from warmbase.sizing.search.alternatives import alternatives, tables_with_cost


def chosen_cluster(environment: Environment, cluster_name: str | None) -> ClusterChoice:
    """Return HBase's cluster of that name, or the active one.

    Raises InvalidInput for a name that the file does not have, and for that of an analytics cluster.
    """
    if cluster_name is None:
        return environment.active
    if cluster_name in environment.analytics:
        engine = engine_of(environment, cluster_name)
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{cluster_name}",
            why=f"this is a {engine.title} cluster, and the command is for HBase clusters",
            fix=f"for a {engine.title} cluster, use {engine.commands}",
        )
    if cluster_name not in environment.clusters:
        raise InvalidInput.of(
            where=environment.source,
            what="clusters",
            why=f"there is no cluster {cluster_name!r}",
            fix=f"one of: {', '.join((*environment.clusters, *environment.analytics))}",
        )
    return environment.clusters[cluster_name]


def requirements(environment: Environment, cluster: ClusterChoice) -> Requirements:
    """Return what one cluster of the environment must serve."""
    return Requirements(
        environment=environment.name,
        root=environment.root.url,
        mode=environment.mode,
        workload=replace(environment.workload, reads=cluster.reads or environment.workload.reads),
        targets=cluster.targets or environment.targets,
        cluster=cluster,
        new_network=environment.network.vpc is None,
        wal_service=environment.wal is Wal.EMR_WAL,
        encrypts_hdfs=environment.encrypt_local_disks,
        pins=pins(environment.overrides),
        snapshot_mappers=environment.snapshot_mappers,
    )


def world(environment: Environment) -> World:
    """Return what there is to buy in the environment's region, and its release."""
    release = releases()[environment.release]
    return World(
        instance_types=instance_types(),
        prices=price_table(environment.region).discounted(environment.discount),
        release=release,
        improvements=improvements_since(release),
        today=today(),
    )


def plan_search_of(environment: Environment, cluster: ClusterChoice) -> PlanSearch:
    """Return the search for the sizing plan of one cluster."""
    return PlanSearch(requirements=requirements(environment, cluster), world=world(environment))


def plan_of(environment: Environment, cluster: ClusterChoice) -> Plan:
    """Return the sizing plan of one cluster."""
    return plan_search_of(environment, cluster).plan


def advised_plan_of(environment: Environment, cluster: ClusterChoice) -> Plan:
    """Return the plan together with what other block sizes and codecs would save, and what each table costs."""
    needs, offered = requirements(environment, cluster), world(environment)
    sized = PlanSearch(requirements=needs, world=offered).plan
    tables = tables_with_cost(needs, offered, sized)
    return replace(sized, alternatives=alternatives(needs, offered, sized), tables=tables)


def feasible_plan_of(environment: Environment, cluster: ClusterChoice) -> Plan:
    """A plan that may be deployed. Raises Infeasible for one that misses its targets."""
    chosen = plan_of(environment, cluster)
    if not chosen.feasible:
        raise infeasible(environment.source, chosen)
    return chosen


def infeasible(source: str, plan: Plan) -> Infeasible:
    """Return the error of a plan that misses its targets; its fix names the nearest changes that would meet them."""
    if plan.feasible:
        missed = [warning for warning in plan.warnings if warning.id.startswith(MISSED_TARGET)]
        return Infeasible.of(
            where=source,
            what="the pinned cluster misses its targets",
            why="; ".join(warning.message for warning in missed),
            fix="leave its type, count or volumes to the calculator, or relax the targets",
        )
    nearest = f"the nearest is {plan.core.count} x {plan.core.instance_type}"
    return Infeasible.of(
        where=source,
        what="no cluster meets the targets",
        why=nearest,
        fix=f"relax the requirements: {'; or '.join(plan.nearest)}",
    )


def plans_by_mode(environment: Environment, cluster: ClusterChoice) -> dict[Mode, Plan]:
    """Return the cheapest cluster of each mode for the same workload and targets, nothing pinned.

    A mode with a BucketCache is left out if no table would use it.
    """
    needs = requirements(environment, cluster)
    core = replace(cluster.core, type=None, count=None, volumes=None)
    freed = replace(needs, cluster=replace(cluster, core=core))
    modes = [mode for mode in MODES.values() if needs.workload.cached or not mode.has_bucket_cache]
    return {mode: plan(replace(freed, mode=mode), world(environment)) for mode in modes}
