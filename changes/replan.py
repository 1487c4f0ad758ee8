"""The environment as a running cluster sees it: what its launch decided for good stays, and the rest is today's.

Whatever the environment file asks for by now, the nodes keep the type, the volumes and the release that they were
launched with: a plan for other nodes would set a cache that does not fit.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from changes.legacy_plan import legacy_plan
from environments.environment import Environment
from environments.launch_record import LaunchRecord, RecordedPlan, in_recorded_zones
from environments.planning import plan_of
from sizing.cluster import ClusterChoice, CoreChoice
from sizing.plan import Plan
from sizing.problem import Infeasible
from sizing.warning import MISSED_TARGET

__all__ = ["pinned_to_record", "recorded_plan"]


def recorded_plan(record: LaunchRecord) -> RecordedPlan:
    """The plan that the cluster was launched with, whatever version wrote the record."""
    return record.plan or legacy_plan(record)


def pinned_to_record(environment: Environment, record: LaunchRecord | None) -> Environment:
    """Return the environment with the zone, the release and the nodes of that cluster; unchanged without a record.

    The number of core nodes is the one that the file states. Where it states none, it is the number at launch if that
    meets the targets, else the smallest number that does. Where no number does, it is the number at launch, and the
    plan warns of each target that it misses.
    """
    if record is None:
        return environment
    cluster_name, plan = record.identity.cluster, recorded_plan(record)
    pinned = replace(in_recorded_zones(environment, [record]), release=plan.release)
    choice = _recorded_choice(pinned, pinned.clusters[cluster_name], plan)
    return replace(pinned, clusters={**pinned.clusters, cluster_name: choice})


def _recorded_choice(environment: Environment, choice: ClusterChoice, plan: RecordedPlan) -> ClusterChoice:
    pinned = replace(
        choice,
        primaries=plan.primary.count,
        primary_type=plan.primary.instance_type,
        core=CoreChoice(
            type=plan.core.instance_type,
            count=choice.core.count,
            volumes=plan.core.volumes,
            families=choice.core.families,
            cache_mib=plan.cache_mib,
        ),
    )
    if choice.core.count is not None:
        return pinned
    return replace(pinned, core=replace(pinned.core, count=_count(environment, pinned, plan.core.count)))


def _count(environment: Environment, choice: ClusterChoice, launched: int) -> int:
    """The number at launch, unless it misses a target that another number would meet."""
    with suppress(Infeasible):
        if not _misses(plan_of(environment, replace(choice, core=replace(choice.core, count=launched)))):
            return launched
    with suppress(Infeasible):
        plan = plan_of(environment, choice)
        if plan.feasible:
            return plan.core.count
    return launched


def _misses(plan: Plan) -> bool:
    """Return whether a cluster of a stated size misses a target: such a plan only warns of it."""
    return any(warning.id.startswith(MISSED_TARGET) for warning in plan.warnings)
