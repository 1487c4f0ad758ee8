"""The analytics clusters of an environment, each with its launch record and with today's plan."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from changes.recorded_launch import recorded_spec
from configurations.engines.trino.rendering import TrinoLaunch, trino_classifications, trino_launch_of, trino_spec
from environments.engines.trino.planning import trino_plan_of
from environments.environment import Environment
from environments.launch_record import LaunchRecord, in_recorded_zones
from environments.record_files import launch_records
from lint.finding import Severity
from lint.lint import lint
from sizing.cluster import CoreChoice
from sizing.engines.trino.request import TrinoChoice
from sizing.problem import InvalidInput, Problem


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
