"""The launch of a cluster: its plan rendered as classifications, and what EMR is asked to start with them.

Classifications are the properties of the catalogue, each with its value for this cluster.

`planned_spec` is the cluster that a plan launches, in EMR's nouns: lint checks it, CloudFormation creates it, and
changes are found by comparison with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from warmbase.configurations.overrides import groups_of, overridden
from warmbase.configurations.properties import RENDERED, PropertyScope, RenderingContext
from warmbase.configurations.properties.property import classifications_of_group
from warmbase.emr.cluster_spec import (
    Classification,
    Classifications,
    ClusterSpec,
    EbsVolume,
    InstanceGroup,
    Setting,
    Settings,
    TableCoprocessor,
    settings_of,
)
from warmbase.environments.environment import Environment, HBaseSecurity, Wal
from warmbase.environments.names import emr_cluster_name
from warmbase.environments.override import Override
from warmbase.environments.planning import feasible_plan_of
from warmbase.facts.releases import releases
from warmbase.ground.block import Inspection
from warmbase.sizing.plan import CoreGroup, Plan, PrimaryGroup
from warmbase.sizing.requirements import ClusterChoice, Volume

NEW_CLUSTER: Final = HBaseSecurity()


def classifications(environment: Environment, plan: Plan, security: HBaseSecurity = NEW_CLUSTER) -> Classifications:
    """Return the classifications of a launch: storage identity for all nodes, all other settings by instance group.

    The environment's overrides replace planned values. Raises InvalidInput for an override of a property that is not
    tuning, and RenderingError for a planned value that its property does not allow.
    """
    release, role = releases()[plan.release], environment.clusters[plan.cluster].role
    writes_to_emr_wal = environment.wal is Wal.EMR_WAL and role == "active"
    context = RenderingContext(
        plan=plan,
        release=release,
        role=role,
        region=environment.region,
        security=security,
        wal_workspace=environment.wal_workspace if writes_to_emr_wal else "",
    )
    groups = (classifications_of_group(RENDERED, context, group, release) for group in PropertyScope)
    return overridden(Classifications(*groups), environment.overrides)


APPLICATIONS: Final = ("AmazonCloudWatchAgent", "HBase", "ZooKeeper")
"""The applications that EMR installs; the agent publishes the metrics."""


class Launch(Struct, frozen=True, kw_only=True):
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications
    security: HBaseSecurity = NEW_CLUSTER
    """The security settings of HBase. A running cluster has those of its launch."""


def launch_of(environment: Environment, cluster: ClusterChoice, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of a cluster, with the security settings of the environment file unless others are stated.

    Raises Infeasible for a cluster that misses its targets, and InvalidInput for an override that cannot be applied.
    """
    return launch_with(environment, feasible_plan_of(environment, cluster), security)


def launch_with(environment: Environment, plan: Plan, security: HBaseSecurity | None = None) -> Launch:
    """Return the launch of an existing plan."""
    security = security or HBaseSecurity(kerberos=environment.kerberos)
    settings = classifications(environment, plan, security)
    return Launch(environment=environment, plan=plan, settings=settings, security=security)


def planned_spec(launch: Launch) -> ClusterSpec:
    """The planned cluster; a setting that the environment file overrides has its line in that file."""
    plan, overrides = launch.plan, launch.environment.overrides
    primary = _with_lines(settings_of(launch.settings.primary), overrides, PropertyScope.PRIMARY)
    core = _with_lines(settings_of(launch.settings.core), overrides, PropertyScope.CORE)
    return ClusterSpec(
        source=launch.environment.source,
        name=emr_cluster_name(plan.environment, plan.cluster),
        release_label=plan.release,
        os_release=launch.environment.os_release,
        settings=settings_of(launch.settings.cluster),
        groups=(planned_group("primary", plan.primary, primary), planned_group("core", plan.core, core)),
        applications=APPLICATIONS,
        has_kerberos=launch.security.kerberos is not None,
        open_networks=launch.environment.access.cidrs,
        coprocessors=tuple(_coprocessors(launch.environment.workload.inspections)),
        classifications={path: None for level in launch.settings for path in _paths(level)},
    )


def _coprocessors(inspections: Iterable[Inspection]) -> Iterator[TableCoprocessor]:
    for inspection in inspections:
        for table, classes in inspection.coprocessors.items():
            yield from (TableCoprocessor(table=table, class_name=class_name) for class_name in classes)


def _with_lines(settings: Settings, overrides: Iterable[Override], group: PropertyScope) -> Settings:
    """The settings of a group with the line of each that an override sets."""
    lines = {
        (override.classification, override.key): override.line for override in overrides if group in groups_of(override)
    }
    return {
        at: Setting(
            classification=setting.classification,
            key=setting.key,
            value=setting.value,
            line=lines.get(at),
            overridden=at in lines,
        )
        for at, setting in settings.items()
    }


def planned_group(role: str, group: CoreGroup | PrimaryGroup, settings: Settings) -> InstanceGroup:
    """Return the group as EMR's noun. A drive of the instance comes with it and is no volume to attach.

    EMR mostly mounts the first volume at /mnt and logs there, so the cache's is the last. Nothing relies on the order:
    a node tells its volumes apart by their sizes.
    """
    attached = (volume for volume in group.volumes if volume.type != "nvme")
    return InstanceGroup(
        role=role,
        instance_type=group.instance_type,
        count=group.count,
        volumes=tuple(_volume(volume) for volume in sorted(attached, key=lambda volume: volume.purpose == "cache")),
        settings=settings,
    )


def _volume(volume: Volume) -> EbsVolume:
    return EbsVolume(
        type=volume.type,
        size_gib=volume.size_gib,
        iops=volume.iops,
        throughput_mib_s=volume.throughput_mib_s,
        count=volume.count,
    )


def _paths(level: Iterable[Classification], inside: str = "") -> Iterator[str]:
    for classification in level:
        path = f"{inside}/{classification.name}".removeprefix("/")
        yield path
        yield from _paths(classification.nested, path)
