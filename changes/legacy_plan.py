"""The plan of a launch record that has no `plan` section, derived from the arguments of its bootstrap actions.

Records of version 0.1 have none. Nothing else reads those arguments to learn what a cluster is. `warmbase pin` and
`warmbase deploy` write the section into such a record, so this module can go with the first release that refuses a
record without it; `pin` must then refuse a cluster whose environment file has changed since the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from changes.recorded_launch import recorded_spec
from emr.cluster_spec import ClusterSpec, EbsVolume, InstanceGroup
from environments.launch_record import LaunchRecord, RecordedPlan
from facts.instance_types import instance_types
from sizing.cluster import Volume
from sizing.disks import nvme_volume
from sizing.plan import CoreGroup, PrimaryGroup

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
