"""The cluster that a plan launches, as EMR's nouns: what lint checks, CloudFormation makes and changes compare with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from configurations.launch import APPLICATIONS, Launch
from configurations.overrides import groups_of
from configurations.properties import PropertyScope
from emr.classification import Classification
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings, settings_of
from emr.table_coprocessor import TableCoprocessor
from environments.names import emr_cluster_name
from environments.override import Override
from sizing.cluster import Volume
from sizing.inspection import Inspection
from sizing.plan import CoreGroup, PrimaryGroup


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
