"""Today's plan of a running cluster: what its launch decided for good stays, and the rest is today's.

Whatever the environment file asks for by now, the nodes keep the type, the volumes and the release that they were
launched with: a plan for other nodes would set a cache that does not fit.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from changes.legacy_plan import legacy_plan
from changes.recorded_security import recorded_security
from configurations.launch import Launch, launch_of, launch_with
from environments.environment import Environment
from environments.kerberos import HBaseSecurity
from environments.launch_record import LaunchRecord, RecordedPlan, in_recorded_zones
from environments.planning import plan_of
from sizing.cluster import ClusterChoice, CoreChoice
from sizing.plan import Plan
from sizing.problem import Infeasible
from sizing.warning import MISSED_TARGET


def recorded_plan(record: LaunchRecord) -> RecordedPlan:
    """The plan that the cluster was launched with, whatever version wrote the record."""
    return record.plan or legacy_plan(record)


def replanned(environment: Environment, record: LaunchRecord) -> Launch:
    """Return today's launch of a recorded cluster: with its zone, its release and its nodes.

    The number of core nodes is the one that the file states. Where it states none, it is the number at launch if that
    meets the targets, else the smallest number that does. Where no number does, it is the number at launch, and the
    plan warns of each target that it misses. Raises Infeasible and InvalidInput as `launch_of`.
    """
    security = recorded_security(record)
    pinned, at_launch = launch_choice(environment, record)
    count = pinned.clusters[record.identity.cluster].core.count
    choice = _with_count(at_launch, count)
    if count is not None:
        return _launch(pinned, choice, security)
    with suppress(Infeasible):
        today = plan_of(pinned, at_launch)
        if today.feasible and not _misses(today):
            return launch_with(_with_choice(pinned, at_launch), today, security)
    with suppress(Infeasible):
        resized = plan_of(pinned, choice)
        if resized.feasible:
            return _launch(pinned, _with_count(choice, resized.core.count), security)
    return _launch(pinned, at_launch, security)


def launch_choice(environment: Environment, record: LaunchRecord) -> tuple[Environment, ClusterChoice]:
    """Return the environment in the zone and with the release of the launch, and the nodes of the launch."""
    plan = recorded_plan(record)
    pinned = replace(in_recorded_zones(environment, [record]), release=plan.release)
    choice = choice_of_nodes(pinned.clusters[record.identity.cluster], plan)
    return pinned, _with_count(choice, plan.core.count)


def choice_of_nodes(choice: ClusterChoice, plan: RecordedPlan) -> ClusterChoice:
    """Return the choice of the plan's nodes, in the number that the environment file states, if it states one."""
    return replace(
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


def _with_count(choice: ClusterChoice, count: int | None) -> ClusterChoice:
    return replace(choice, core=replace(choice.core, count=count))


def _with_choice(environment: Environment, choice: ClusterChoice) -> Environment:
    return replace(environment, clusters={**environment.clusters, choice.name: choice})


def _launch(environment: Environment, choice: ClusterChoice, security: HBaseSecurity) -> Launch:
    return launch_of(_with_choice(environment, choice), choice, security)


def _misses(plan: Plan) -> bool:
    """Return whether a cluster of a stated size misses a target: such a plan only warns of it."""
    return any(warning.id.startswith(MISSED_TARGET) for warning in plan.warnings)
