"""A launch of ours as lint sees a stranger's: the same rules for both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from configurations.launch import APPLICATIONS, Launch
from configurations.overrides import groups_of
from configurations.properties import PropertyScope
from emr.classification import Classification, flattened
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup, Setting, Settings
from environments.override import Override
from sizing.cluster import Volume
from sizing.plan import CoreGroup, PrimaryGroup

__all__ = ["planned_subject"]


def planned_subject(launch: Launch) -> ClusterSpec:
    """Settings, instance groups and applications; an override has its line in the environment file."""
    plan, overrides = launch.plan, launch.environment.overrides
    primary = _settings(launch.settings.primary, overrides, PropertyScope.PRIMARY)
    core = _settings(launch.settings.core, overrides, PropertyScope.CORE)
    return ClusterSpec(
        source=launch.environment.source,
        release_label=plan.release,
        settings=_settings(launch.settings.cluster, (), PropertyScope.CLUSTER),
        groups=(_group("primary", plan.primary, primary), _group("core", plan.core, core)),
        applications=APPLICATIONS,
        classifications={path: None for level in launch.settings for path in _paths(level)},
    )


def _settings(level: Iterable[Classification], overrides: Iterable[Override], group: PropertyScope) -> Settings:
    overridden = {
        (override.classification, override.key): override for override in overrides if group in groups_of(override)
    }
    return {
        (path, key): Setting(
            classification=path,
            key=key,
            value=value,
            line=_line(overridden.get((path, key))),
            overridden=(path, key) in overridden,
        )
        for path, key, value in flattened(level)
    }


def _line(override: Override | None) -> int | None:
    return int(override.where.rpartition(":")[2]) if override else None


def _group(role: str, group: CoreGroup | PrimaryGroup, settings: Settings) -> InstanceGroup:
    return InstanceGroup(
        role=role,
        instance_type=group.instance_type,
        count=group.count,
        volumes=tuple(_volume(volume) for volume in group.volumes if volume.type != "nvme"),
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
    for each in level:
        path = f"{inside}/{each.name}".removeprefix("/")
        yield path
        yield from _paths(each.nested, path)
