"""The analytics clusters of an environment, each with its launch record and today's plan, and changes between plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.change import EVERY_ROLE, Change, changes
from warmbase.changes.cost import ImpactCost
from warmbase.changes.recorded_launch import recorded_spec
from warmbase.configurations.properties.property import Applied
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import trino_plan_of
from warmbase.engines.trino.properties import trino_properties
from warmbase.engines.trino.rendering import TrinoLaunch, actions, trino_classifications, trino_launch_of
from warmbase.engines.trino.rendering import trino_spec as spec
from warmbase.engines.trino.request import CATALOGS, TrinoChoice
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, RecordedPlan, in_recorded_zones, launch_records
from warmbase.facts.releases import releases
from warmbase.ground.errors import Infeasible, InvalidInput, Problem
from warmbase.ground.units import GIB, MIB, format_duration, format_size
from warmbase.linter.finding import Severity
from warmbase.linter.lint import lint
from warmbase.sizing.requirements import CoreChoice

__all__ = [
    "actions",
    "current_usd",
    "deployable_cluster",
    "deployable_clusters",
    "differences",
    "impact",
    "impact_rows",
    "launch",
    "launch_of_file",
    "plan_at_launch",
    "reason",
    "restarts",
    "spec",
]


class PlannedTrino(Struct, frozen=True, kw_only=True):
    """An analytics cluster with its launch record, None before its first launch, and with today's plan for it."""

    record: LaunchRecord | None
    launch: TrinoLaunch


def launch(environment: Environment, cluster: str, record: LaunchRecord | None = None) -> TrinoLaunch:
    """Return the launch of today's plan; that of a recorded cluster keeps its release and its nodes.

    Raises Infeasible for a cluster without a record that misses its targets.
    """
    choice = environment.analytics[cluster]
    return trino_launch_of(environment, choice) if record is None else replanned_trino(environment, choice, record)


def launch_of_file(environment: Environment, cluster: str) -> TrinoLaunch:
    """Return the launch that the file asks for, whatever nodes were launched. Raises as `launch`."""
    return launch(environment, cluster)


def deployable_clusters(environment: Environment) -> Mapping[str, PlannedTrino]:
    """Return every analytics cluster by name, checked as far as that is possible without AWS.

    Raises InvalidInput for a cluster without data to read, for a launch record that was edited and for a setting that
    lint refuses; Infeasible for a cluster that misses its targets.
    """
    records = launch_records(environment) if environment.analytics else {}
    in_zone = in_recorded_zones(environment, records.values())
    return {name: _planned(in_zone, choice, records.get(name)) for name, choice in environment.analytics.items()}


def deployable_cluster(environment: Environment, cluster: str) -> PlannedTrino:
    """Return one analytics cluster. Raises as `deployable_clusters`."""
    return _planned(environment, environment.analytics[cluster], launch_records(environment).get(cluster))


def _planned(environment: Environment, choice: TrinoChoice, record: LaunchRecord | None) -> PlannedTrino:
    planned = launch(environment, choice.name, record)
    if not choice.data:
        raise InvalidInput.of(
            where=environment.source,
            what=f"clusters.{choice.name}.data",
            why="the nodes may read only what it names, and it names nothing",
            fix="name the prefixes of the tables, such as data: [s3://our-lake/tables/]",
        )
    errors = lint(spec(planned)).of(Severity.ERROR)
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
    return PlannedTrino(record=record, launch=planned)


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


def plan_at_launch(environment: Environment, record: LaunchRecord, before: LaunchRecord | None) -> RecordedPlan:
    """Return today's plan of an analytics cluster if it is what runs, or else that of its earlier record.

    Raises InvalidInput where there is neither: the file has changed since the launch.
    """
    choice = environment.analytics[record.identity.cluster]
    with suppress(Infeasible):
        today = trino_launch_of(environment, choice)
        if not changes(recorded_spec(record), spec(today), EVERY_ROLE, releases()[today.plan.release]):
            return trino_recorded_plan(today.plan)
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


def current_usd(cluster: PlannedTrino, count: int) -> float:
    """Return the monthly cost of a recorded cluster with so many workers."""
    environment, record = cluster.launch.environment, cluster.record
    choice = environment.analytics[cluster.launch.plan.cluster]
    running = replace(choice, workers=replace(choice.workers, count=count))
    planned = cluster.launch if record is None else replanned_trino(environment, running, record)
    return planned.plan.cost.usd_per_month


RESIZED: Final = (
    "a new worker starts with an empty cache and takes over a share of the files of the others; removed workers lose"
    " their caches, and queries that run on them fail"
)


def differences(
    before: ClusterSpec, launch: TrinoLaunch, roles: Sequence[str], further: Sequence[Change]
) -> tuple[Change, ...]:
    """Return every difference from today's plan for nodes of those roles; no setting shows the `further` ones."""
    release = releases()[launch.plan.release]
    return tuple(
        replace(one, why=RESIZED) if one.key == "InstanceCount" and "core" in one.groups else one
        for one in changes(before, spec(launch), roles, release, further)
    )


def impact(pending: Sequence[Change], before: ClusterSpec, launch: TrinoLaunch) -> ImpactCost:
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


def impact_rows(cost: ImpactCost, plan: TrinoPlan) -> Iterator[tuple[str, str]]:  # noqa: ARG001 - the cost says all
    """Yield the cost that `impact` returns in words."""
    if cost.applied is Applied.NEW_CLUSTER:
        warm = format_duration(cost.warm_up_seconds)
        yield "time", f"the caches of the new cluster are warm after {warm} of queries (estimate)"
        yield "cache", "all of it lost with the old cluster"
        return
    is_restarted = cost.applied is Applied.ROLLING_RESTART
    yield "time", "EMR restarts Trino on each node, which ends running queries" if is_restarted else "nothing restarts"
    lost_bytes = cost.cache_lost_bytes
    if lost_bytes is None:
        yield "cache", "removed workers lose theirs"
    else:
        yield "cache", f"{format_size(lost_bytes)} lost with the removed workers" if lost_bytes else "kept"


def restarts(classification: str) -> str:
    """Return the daemons that EMR restarts for a classification of Trino; empty for any other."""
    connectors = (f"trino-connector-{name}" for name in (*CATALOGS, "jmx"))
    return "Trino" if classification in {"trino-config", *connectors} else ""


def reason(classification: str, key: str) -> str:
    """Return why a property of an analytics cluster is set; empty for one that is not in the catalogue."""
    entries = (entry for catalog in CATALOGS for entry in trino_properties(catalog))
    return next((entry.reason for entry in entries if (entry.classification, entry.key) == (classification, key)), "")
