"""A cluster of an environment as a command works on it: its plan and its launch record, loaded once, as one value.

The plan of a running cluster is today's, but for what its launch decided for good. Whatever the environment file asks
for by now, the nodes keep the type, the volumes and the release that they were launched with: a plan for other nodes
would set a cache that does not fit.

Launch records of versions before 0.1.0 have no `plan` section; `legacy_plan` derives it from the arguments of their
bootstrap actions. Nothing else reads those arguments to learn what a cluster is. `warmbase pin` and `warmbase deploy`
write the section into such a record, so `legacy_plan` can go with the first release that refuses a record without it;
`pin` must then refuse a cluster whose environment file has changed since the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.recorded_launch import (
    check_kerberos_applies,
    is_recorded_launch,
    recorded_security,
    recorded_spec,
    security_of_file,
)
from warmbase.configurations.launch import Launch, launch_of, launch_with
from warmbase.emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup
from warmbase.environments.environment import Environment, HBaseSecurity
from warmbase.environments.launch_record import LaunchRecord, RecordedPlan, in_recorded_zones, launch_records
from warmbase.environments.planning import plan_of
from warmbase.facts.ec2 import instance_types
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.linter.lint import check_deployable
from warmbase.sizing.gp3 import nvme_volume
from warmbase.sizing.plan import MISSED_TARGET, CoreGroup, Plan, PrimaryGroup
from warmbase.sizing.requirements import ClusterChoice, CoreChoice, Volume


class PlannedCluster(Struct, frozen=True, kw_only=True):
    """A cluster with its launch record, None before its first launch, and with today's plan for it.

    The plan of a recorded cluster keeps what the launch decided for good: `launch.environment` has its zone, its
    release and its nodes, whatever the environment file asks for by now.
    """

    record: LaunchRecord | None
    launch: Launch

    @property
    def name(self) -> str:
        """Return the cluster's name."""
        return self.launch.plan.cluster


def planned_cluster(environment: Environment, cluster_name: str, record: LaunchRecord | None) -> PlannedCluster:
    """The cluster with today's plan. Raises Infeasible where it misses its targets, InvalidInput for an override."""
    if record is None:
        launch = launch_of(environment, environment.clusters[cluster_name])
    else:
        launch = replanned(environment, record)
    return PlannedCluster(record=record, launch=launch)


def deployable_cluster(environment: Environment, cluster_name: str) -> PlannedCluster:
    """The cluster of that name. Raises as `deployable_clusters`."""
    records = launch_records(environment)
    check_kerberos_applies(environment, records)
    cluster = planned_cluster(environment, cluster_name, records.get(cluster_name))
    check_deployable(cluster.launch)
    return cluster


def deployable_clusters(environment: Environment) -> Mapping[str, PlannedCluster]:
    """Every cluster of the environment by name, checked as far as that is possible without AWS.

    Raises InvalidInput for a launch record that was edited, for a realm that no cluster is in, for a setting that lint
    refuses and for a root that another environment has too; Infeasible for a cluster that misses its targets.
    """
    records = launch_records(environment)
    in_zone = in_recorded_zones(environment, records.values())
    return {name: deployable_cluster(in_zone, name) for name in environment.clusters}


def recorded_plan(record: LaunchRecord) -> RecordedPlan:
    """The plan that the cluster was launched with, whatever version wrote the record."""
    return record.plan or legacy_plan(record)


def plan_at_launch(environment: Environment, record: LaunchRecord, before: LaunchRecord | None) -> RecordedPlan:
    """The plan that the cluster of a new record was launched with: today's, unless the file has changed since."""
    with suppress(Infeasible, InvalidInput):
        choice = environment.clusters[record.identity.cluster]
        launch = launch_of(environment, choice, security_of_file(environment, record))
        if is_recorded_launch(record, launch):
            return RecordedPlan.of(launch.plan)
    same = before is not None and before.cluster_id == record.cluster_id
    return recorded_plan(before if before is not None and same else record)


def usd_with_nodes(launch: Launch, count: int) -> float:
    """Return the monthly cost with so many core nodes."""
    choice = launch.environment.clusters[launch.plan.cluster]
    return plan_of(launch.environment, _with_count(choice, count)).cost.usd_per_month


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


MOUNTS: Final = "mount-volumes"
GUARD: Final = "guard-regionserver"


def legacy_plan(record: LaunchRecord) -> RecordedPlan:
    """The figures that the plan of that launch had, as its nodes were told them. Raises LookupError without a group."""
    spec = recorded_spec(record)
    primary, core, arguments = _group(spec, "primary"), _group(spec, "core"), dict(_arguments(spec))
    cache_mib = arguments[GUARD].get("cache-mib")
    return RecordedPlan(
        release=str(spec.release_label),
        cache_mib=int(cache_mib) if cache_mib else None,
        primary=PrimaryGroup(
            instance_type=str(primary.instance_type),
            count=primary.count or 1,
            volumes=tuple(_volume("system", volume) for volume in primary.volumes),
        ),
        core=CoreGroup(
            instance_type=str(core.instance_type),
            count=core.count or 1,
            volumes=tuple(_volumes(core, arguments[MOUNTS])),
        ),
    )


def _group(spec: ClusterSpec, role: str) -> InstanceGroup:
    group = spec.group(role)
    if group is None:
        raise LookupError(f"{spec.source} has no {role} group")
    return group


def _arguments(spec: ClusterSpec) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the options of each bootstrap action by its name."""
    for action in spec.bootstrap_actions:
        options = (argument.removeprefix("--").partition("=") for argument in action.arguments)
        yield action.name, {name: value for name, _, value in options}


def _volumes(core: InstanceGroup, mounted: Mapping[str, str]) -> Iterator[Volume]:
    """A node tells its volumes apart by size; one that is no EBS volume is the drive of the instance."""
    for purpose in ("cache", "data", "system"):
        size = mounted.get(f"{purpose}-volume-gib")
        if size is None:
            continue
        attached = next((volume for volume in core.volumes if volume.size_gib == int(size)), None)
        yield _volume(purpose, attached) if attached else nvme_volume(instance_types()[str(core.instance_type)])


def _volume(purpose: str, attached: EbsVolume) -> Volume:
    return Volume(
        purpose=purpose,
        type=str(attached.type),
        count=attached.count,
        size_gib=attached.size_gib or 0,
        iops=attached.iops or 0,
        throughput_mib_s=attached.throughput_mib_s or 0,
    )
