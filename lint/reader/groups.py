"""The instance groups of a cluster, in the spellings of RunJobFlow, of the AWS CLI and of CloudFormation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emr.cluster_spec import GROUPS, EbsVolume, InstanceGroup, Settings
from lint.reader.fields import Fields
from lint.reader.settings import level_settings
from lint.reader.source_text import quoted

ROLES: Final[Mapping[str, str]] = {names.api: role for role, names in GROUPS.items()}


def node_groups(instances: Fields) -> Iterator[InstanceGroup]:
    """Yield all groups; where none is listed, those that the instance type and count for all nodes make."""
    listed = [*_listed(instances), *_named(instances)]
    yield from listed or _uniform(instances)


def _listed(instances: Fields) -> Iterator[InstanceGroup]:
    for entry in instances.entries("InstanceGroups"):
        role = _role(entry)
        if role:
            yield _group(entry, role)


def _role(entry: Fields) -> str | None:
    """Return the role of a group; None for a placeholder, and where it adds a problem."""
    key = "InstanceRole" if entry.object.get("InstanceRole") else "InstanceGroupType"
    written = entry.object.get(key)
    text = entry.text(key)
    if text is not None and text.upper() in ROLES:
        return ROLES[text.upper()]
    if text is not None or written is None:
        why = f"{quoted(text)} is not a role" if text else "the group has no role"
        place = written.place if written else entry.place
        entry.problems.add(place, key, why, "write MASTER, CORE or TASK")
    return None


def _named(instances: Fields) -> Iterator[InstanceGroup]:
    """Yield the groups of CloudFormation, which has a key for each role."""
    for role in ("primary", "core"):
        group = instances.fields(GROUPS[role].cloudformation)
        if group:
            yield _group(group, role)
    for group in instances.entries(GROUPS["task"].cloudformation):
        yield _group(group, "task")


def _group(entry: Fields, role: str) -> InstanceGroup:
    return InstanceGroup(
        role=role,
        instance_type=entry.text("InstanceType"),
        count=entry.whole("InstanceCount"),
        volumes=tuple(_volumes(entry)),
        settings=_settings(entry),
        line=entry.place.linted_line,
    )


def _settings(entry: Fields) -> Settings:
    member = entry.member("Configurations")
    return level_settings(member.value, entry.problems) if member else {}


def _volumes(entry: Fields) -> Iterator[EbsVolume]:
    ebs = entry.fields("EbsConfiguration")
    for device in ebs.entries("EbsBlockDeviceConfigs") if ebs else ():
        specification = device.fields("VolumeSpecification")
        if specification is None:
            if device.object.get("VolumeSpecification") is None:
                why = "the volumes have no VolumeSpecification"
                device.problems.add(device.place, "EbsBlockDeviceConfigs", why, "add it, with VolumeType and SizeInGB")
            continue
        count = device.whole("VolumesPerInstance")
        yield EbsVolume(
            type=specification.text("VolumeType"),
            size_gib=specification.whole("SizeInGB"),
            iops=specification.whole("Iops"),
            throughput_mib_s=specification.whole("Throughput"),
            count=1 if count is None else count,
            line=device.line("VolumeSpecification"),
        )


def _uniform(instances: Fields) -> Iterator[InstanceGroup]:
    """Yield one primary node, and core nodes for the rest of the count."""
    nodes = instances.whole("InstanceCount")
    counted = instances.object.get("InstanceCount") is not None
    if instances.object.get("MasterInstanceType"):
        line = instances.line("MasterInstanceType")
        yield InstanceGroup(role="primary", instance_type=instances.text("MasterInstanceType"), count=1, line=line)
    if instances.object.get("SlaveInstanceType") and counted and nodes != 1:
        yield InstanceGroup(
            role="core",
            instance_type=instances.text("SlaveInstanceType"),
            count=None if nodes is None else max(nodes - 1, 0),
            line=instances.line("SlaveInstanceType"),
        )
