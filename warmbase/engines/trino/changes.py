"""The analytics clusters of an environment, each with its launch record and today's plan, and changes between plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.change import Change, changes
from warmbase.changes.cost import ImpactCost
from warmbase.changes.plan_comparison import lasting_changes
from warmbase.changes.recorded_launch import EVERY_ROLE, changes_since_launch, recorded_spec
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import trino_infeasible, trino_plan_of
from warmbase.engines.trino.rendering import TrinoLaunch, actions, trino_classifications, trino_launch_of, trino_spec
from warmbase.engines.trino.request import TrinoChoice
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, RecordedPlan, in_recorded_zones, launch_records
from warmbase.facts.releases import releases
from warmbase.ground.errors import Infeasible, InvalidInput, Problem
from warmbase.ground.units import GIB, MIB
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.sizing.requirements import CoreChoice


class PlannedTrino(Struct, frozen=True, kw_only=True):
    """An analytics cluster with its launch record, None before its first launch, and with today's plan for it."""

    record: LaunchRecord | None
    launch: TrinoLaunch


def deployable_trino_clusters(environment: Environment) -> Mapping[str, PlannedTrino]:
    """Return every analytics cluster by name, checked as far as that is possible without AWS.

    Raises InvalidInput for a cluster without data to read, for a launch record that was edited and for a setting that
    lint refuses; Infeasible for a cluster that misses its targets.
    """
    records = launch_records(environment) if environment.analytics else {}
    in_zone = in_recorded_zones(environment, records.values())
    return {name: _planned(in_zone, choice, records.get(name)) for name, choice in environment.analytics.items()}


def deployable_trino_cluster(environment: Environment, choice: TrinoChoice) -> PlannedTrino:
    """Return one analytics cluster. Raises as `deployable_trino_clusters`."""
    return _planned(environment, choice, launch_records(environment).get(choice.name))


def _planned(environment: Environment, choice: TrinoChoice, record: LaunchRecord | None) -> PlannedTrino:
    launch = trino_launch_of(environment, choice) if record is None else replanned_trino(environment, choice, record)
    if not choice.data:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{choice.name}.data",
            why="the nodes may read only what it names, and it names nothing",
            fix="name the prefixes of the tables, such as data: [s3://our-lake/tables/]",
        )
    errors = lint(trino_spec(launch)).of(Severity.ERROR)
    if errors:
        raise InvalidInput(
            Problem(
                where=environment.source,
                what=f"{finding.id} {finding.classification} {finding.property}".strip(),
                why=f"{finding.message}: {finding.because}",
                fix=finding.fix,
            )
            for finding in errors
        )
    return PlannedTrino(record=record, launch=launch)


def replanned_trino(environment: Environment, choice: TrinoChoice, record: LaunchRecord) -> TrinoLaunch:
    """Return today's launch of a recorded cluster: with its release, its nodes and the number that the file states.

    It may miss its targets: the cluster runs, and a deployment does not replace it.
    """
    at_launch = record.plan
    if at_launch is None:
        raise InvalidInput.of(
            where=str(record.directory),
            what="launch record",
            why="it has no plan, which every record of an analytics cluster has",
            fix="write it again: warmbase pin",
        )
    catalogs = {path for path, key in recorded_spec(record).effective("core") if key == "fs.cache.enabled"}
    if catalogs and f"trino-connector-{choice.catalog}" not in catalogs:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{choice.name}.catalog",
            why=f"the cluster was launched with {', '.join(sorted(catalogs))}, whose cache its nodes watch",
            fix="write the catalog of the launch again; to change it, tear the cluster down and deploy it again",
        )
    workers = CoreChoice(
        type=at_launch.core.instance_type,
        count=choice.workers.count or at_launch.core.count,
        volumes=at_launch.core.volumes,
        families=choice.workers.families,
        cache_mib=at_launch.cache_mib,
    )
    pinned = replace(choice, workers=workers, coordinator_type=at_launch.primary.instance_type)
    released = replace(environment, release=at_launch.release)
    plan = trino_plan_of(released, pinned)
    return TrinoLaunch(environment=released, plan=plan, settings=trino_classifications(plan))


def trino_plan_at_launch(environment: Environment, record: LaunchRecord, before: LaunchRecord | None) -> RecordedPlan:
    """Return today's plan of an analytics cluster if it is what runs, or else that of its earlier record.

    Raises InvalidInput where there is neither: the file has changed since the launch.
    """
    choice = environment.analytics[record.identity.cluster]
    with suppress(Infeasible):
        launch = trino_launch_of(environment, choice)
        release = releases()[launch.plan.release]
        if not changes(recorded_spec(record), trino_spec(launch), ("primary", "core"), release):
            return trino_recorded_plan(launch.plan)
    if before is not None and before.cluster_id == record.cluster_id and before.plan is not None:
        return before.plan
    raise InvalidInput.of(
        where=environment.source,
        what=f"clusters.{choice.name}",
        why="its plan has changed since the cluster was launched, and no record says what it was launched with",
        fix="write the values of the launch into the file again, then run warmbase pin",
    )


def trino_recorded_plan(plan: TrinoPlan) -> RecordedPlan:
    """Return the figures of a plan that its launch record keeps."""
    return RecordedPlan(
        release=plan.release,
        cache_mib=plan.cache.size_gib * GIB // MIB,
        primary=plan.coordinator,
        core=plan.workers,
    )


def usd_with_workers(cluster: PlannedTrino, count: int) -> float:
    """Return the monthly cost of a recorded cluster with so many workers."""
    environment, record = cluster.launch.environment, cluster.record
    choice = environment.analytics[cluster.launch.plan.cluster]
    running = replace(choice, workers=replace(choice.workers, count=count))
    launch = cluster.launch if record is None else replanned_trino(environment, running, record)
    return launch.plan.cost.usd_per_month


RESIZED: Final = (
    "a new worker starts with an empty cache and takes over a share of the files of the others; removed workers lose"
    " their caches, and queries that run on them fail"
)


class TrinoSide(Struct, frozen=True, kw_only=True):
    """One of two plans. If it is the plan of a launched cluster, `record` is the record of its launch."""

    launch: TrinoLaunch
    record: LaunchRecord | None = None

    @classmethod
    def of(cls, environment: Environment, choice: TrinoChoice) -> TrinoSide:
        """Return the plan of a cluster, whether or not it meets its targets."""
        plan = trino_plan_of(environment, choice)
        return cls(launch=TrinoLaunch(environment=environment, plan=plan, settings=trino_classifications(plan)))

    @classmethod
    def at_launch(cls, environment: Environment, choice: TrinoChoice, record: LaunchRecord) -> TrinoSide:
        """Return the plan for the nodes of a launch, with the workload and the targets of today's file."""
        return cls(launch=replanned_trino(environment, choice, record), record=record)

    @property
    def plan(self) -> TrinoPlan:
        """Return the plan."""
        return self.launch.plan

    @property
    def exists(self) -> bool:
        """Return whether there is such a cluster: one that meets its targets, or one that somebody has chosen."""
        choice = self.launch.environment.analytics[self.plan.cluster]
        return self.plan.feasible or self.record is not None or choice.workers.pinned

    @property
    def error(self) -> Infeasible | None:
        """Return the error of a plan that misses its targets."""
        return None if self.plan.feasible else trino_infeasible(self.launch.environment.source, self.plan)


class TrinoComparison(Struct, frozen=True, kw_only=True):
    """Two plans; a side is None where the environment has no such cluster.

    `changes` lead a running cluster from the one plan to the other. They are None if there is nothing to change: the
    sides are of different environments, one of them has no such cluster, or no cluster meets its targets.
    """

    before: TrinoSide | None
    after: TrinoSide | None
    changes: tuple[Change, ...] | None
    cost: ImpactCost | None


def trino_comparison(before: TrinoSide | None, after: TrinoSide | None) -> TrinoComparison:
    """Return the comparison of two plans for a cluster of that name."""
    if before is None or after is None or not (before.exists and after.exists):
        return TrinoComparison(before=before, after=after, changes=None, cost=None)
    was, will = before.launch.environment, after.launch.environment
    if was.name != will.name:
        return TrinoComparison(before=before, after=after, changes=None, cost=None)
    if before.record:
        spec = recorded_spec(before.record)
        further = [*changes_since_launch(before.record, will, actions(after.launch))]
    else:
        spec, further = trino_spec(before.launch), [*lasting_changes(was, will, after.plan.cluster)]
    pending = trino_changes(spec, after.launch, EVERY_ROLE, further)
    return TrinoComparison(before=before, after=after, changes=pending, cost=trino_impact(pending, spec, after.launch))


def trino_changes(
    before: ClusterSpec, launch: TrinoLaunch, roles: Sequence[str], further: Sequence[Change]
) -> tuple[Change, ...]:
    """Return every difference from today's plan for nodes of those roles; no setting shows the `further` ones."""
    release = releases()[launch.plan.release]
    differences = changes(before, trino_spec(launch), roles, release, further)
    return tuple(
        replace(one, why=RESIZED) if one.key == "InstanceCount" and "core" in one.groups else one for one in differences
    )


def trino_impact(pending: Sequence[Change], before: ClusterSpec, launch: TrinoLaunch) -> ImpactCost:
    """Return the cost. The pages of removed workers are lost. Nobody has measured how long a restart takes.

    The caches of a new cluster are empty. `cache_lost_bytes` is None where the number of workers is not known.
    """
    applied = max((change.applied for change in pending), key=list(Applied).index, default=None)
    plan, core = launch.plan, before.group("core")
    count = None if core is None else core.count
    removed = None if count is None else max(0, count - plan.workers.count)
    if applied is Applied.NEW_CLUSTER:
        removed = count
    return ImpactCost(
        applied=applied,
        region_servers=plan.workers.count,
        restart_seconds=0.0,
        cache_lost_bytes=None if removed is None else removed * plan.cache.size_gib * GIB,
        warm_up_seconds=plan.warmth.hours * 3600 if applied is Applied.NEW_CLUSTER else 0.0,
        get_usd=0.0,
        node_usd=0.0,
    )
