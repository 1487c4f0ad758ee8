"""Terraform's `aws_emr_cluster`, in a file or in the JSON of a plan, as the object that RunJobFlow takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from lint.reader.json_node import json_node
from lint.reader.letter_case import with_capitals
from lint.reader.node import Array, Member, Node, Object, Scalar, is_gap
from lint.reader.source_text import SourceSpan, SourceText, refusal

RESOURCE: Final = re.compile(r'^[ \t]*resource[ \t]+"aws_emr_(?:cluster|instance_group)"', re.MULTILINE)
CLUSTER, GROUP, SCALING = "aws_emr_cluster", "aws_emr_instance_group", "aws_emr_managed_scaling_policy"
PLAN_KEYS: Final = ("planned_values", "resource_changes", "values")
TOP: Final = {
    "release_label": "ReleaseLabel",
    "kerberos_attributes": "KerberosAttributes",
    "auto_termination_policy": "AutoTerminationPolicy",
    "security_configuration": "SecurityConfiguration",
}
ATTRIBUTES: Final = {"key_name": "Ec2KeyName", "subnet_id": "Ec2SubnetId", "subnet_ids": "Ec2SubnetIds"}
GROUPS: Final = {"master_instance_group": "MASTER", "core_instance_group": "CORE"}
FLEETS: Final = {"master_instance_fleet": "MasterInstanceFleet", "core_instance_fleet": "CoreInstanceFleet"}
VOLUME: Final = {"type": "VolumeType", "size": "SizeInGB", "iops": "Iops", "throughput": "Throughput"}
ONE: Final = "1"
"""Terraform's default for the number of nodes of a group, and of volumes."""


def is_terraform(text: str) -> bool:
    """Return whether a text is a file of Terraform with a cluster or an instance group."""
    return RESOURCE.search(text) is not None


def is_plan(node: Object) -> bool:
    """Return whether the object is the JSON of a plan or a state, as `terraform show -json` prints it."""
    return any(node.get(key) for key in PLAN_KEYS) and node.get("format_version") is not None


def plan_object(plan: Object) -> Object:
    """Return the cluster of a plan. Raises InvalidInput unless there is exactly one."""
    modules = (member.value for key in ("planned_values", "values") if (member := plan.get(key)))
    resources = [entry for values in modules for entry in _of_module(values, "root_module")]
    resources = resources or list(_changed(plan))
    return _cluster_object(resources, plan.place)


def file_object(file: Object) -> Object:
    """Return the cluster of a file of Terraform. Raises InvalidInput unless there is exactly one."""
    blocks = file.get("resource")
    items = blocks.value.items if blocks and isinstance(blocks.value, Array) else ()
    resources = [(_text(item, "0"), item) for item in items if isinstance(item, Object)]
    return _cluster_object(resources, file.place)


def _of_module(values: Node, key: str) -> Iterator[tuple[str, Object]]:
    """Yield the resources of a module and of those inside it, each with its type."""
    module = values.get(key) if isinstance(values, Object) else None
    modules = module.value.items if module and isinstance(module.value, Array) else (module.value,) if module else ()
    for node in modules:
        for resource in _items(node, "resources"):
            planned = resource.get("values")
            if planned and isinstance(planned.value, Object):
                yield _text(resource, "type"), planned.value
        yield from _of_module(node, "child_modules")


def _changed(plan: Object) -> Iterator[tuple[str, Object]]:
    for change in _items(plan, "resource_changes"):
        details = change.get("change")
        after = details.value.get("after") if details and isinstance(details.value, Object) else None
        if after and isinstance(after.value, Object):
            yield _text(change, "type"), after.value


def _cluster_object(resources: list[tuple[str, Object]], place: SourceSpan) -> Object:
    clusters = [resource for kind, resource in resources if kind == CLUSTER]
    groups = [resource for kind, resource in resources if kind == GROUP]
    policies = [resource for kind, resource in resources if kind == SCALING]
    if len(clusters) > 1 or not (clusters or groups):
        why = f"it has {len(clusters)} resources of type {CLUSTER}"
        raise refusal(place, what="is not one cluster", why=why, fix="pass a file or a plan with one cluster")
    cluster = clusters[0] if clusters else Object(members=(), place=place)
    top = list(_top(cluster))
    top += [Member(key="ManagedScalingPolicy", value=one, place=one.place) for one in policies[:1]]
    return Object(members=(*top, _instances(cluster, groups)), place=cluster.place)


def _top(cluster: Object) -> Iterator[Member]:
    for member in _set(cluster):
        if member.key in TOP:
            yield _as(member, TOP[member.key], member.value)
        elif member.key == "applications" and isinstance(member.value, Array):
            names = tuple(_object(name.place, {"Name": name}) for name in member.value.items)
            yield _as(member, "Applications", Array(items=names, place=member.place))
    yield from _configurations(cluster)


def _configurations(resource: Object) -> Iterator[Member]:
    """Yield the classifications, which `configurations_json` and `configurations` hold as a text of JSON."""
    for key in ("configurations_json", "configurations"):
        member = resource.get(key)
        if member and (document := _document(member.value)):
            yield _as(member, "Configurations", with_capitals(document))
            return


def _document(node: Node) -> Node | None:
    """Return the JSON of a text; None for a reference, an address and an empty list of blocks."""
    if not isinstance(node, Scalar):
        return node if isinstance(node, Array) and node.items else None
    text = node.text.strip()
    if node.is_null or not text.startswith(("[", "{")):
        return None
    passage = node.written.passage if node.written and _is_own(node) else None
    return json_node(passage or SourceText(text=text, source=node.place.source, breaks=(), first_line=node.place.line))


def _is_own(node: Scalar) -> bool:
    """Return whether the text is a passage of its own: a heredoc, or a file."""
    return node.written is not None and node.text == node.written.passage.text


def _instances(cluster: Object, groups: list[Object]) -> Member:
    listed = [_group(block, role) for key, role in GROUPS.items() for block in _items(cluster, key)]
    listed += [_group(group, "TASK") for group in groups]
    place = listed[0].place if listed else cluster.place
    members = (
        [Member(key="InstanceGroups", value=Array(items=tuple(listed), place=place), place=place)] if listed else []
    )
    members += [_as(member, FLEETS[member.key], member.value) for member in _set(cluster) if member.key in FLEETS]
    for attributes in _items(cluster, "ec2_attributes"):
        members += [
            _as(member, ATTRIBUTES[member.key], member.value) for member in _set(attributes) if member.key in ATTRIBUTES
        ]
    return Member(key="Instances", value=Object(members=tuple(members), place=place), place=place)


def _group(group: Object, role: str) -> Object:
    count = group.get("instance_count")
    values: dict[str, Node] = {
        "InstanceRole": Scalar(text=role, place=group.place),
        "InstanceCount": count.value if count and not _is_null(count) else Scalar(text=ONE, place=group.place),
    }
    kind = group.get("instance_type")
    if kind:
        values["InstanceType"] = kind.value
    volumes = tuple(map(_volume, _items(group, "ebs_config")))
    if volumes:
        devices = Array(items=volumes, place=volumes[0].place)
        values["EbsConfiguration"] = _object(group.place, {"EbsBlockDeviceConfigs": devices})
    return Object(
        members=(*_object(group.place, values).members, *_configurations(group)),
        place=group.place,
    )


def _volume(block: Object) -> Object:
    fields = {VOLUME[member.key]: member.value for member in _set(block) if member.key in VOLUME}
    count = block.get("volumes_per_instance")
    volumes = count.value if count and not _is_null(count) else Scalar(text=ONE, place=block.place)
    specification = _object(block.place, fields)
    return _object(block.place, {"VolumeSpecification": specification, "VolumesPerInstance": volumes})


def _object(place: SourceSpan, values: Mapping[str, Node]) -> Object:
    return Object(
        members=tuple(Member(key=key, value=value, place=place) for key, value in values.items()), place=place
    )


def _as(member: Member, key: str, value: Node) -> Member:
    return Member(key=key, value=value, place=member.place)


def _set(resource: Object) -> Iterator[Member]:
    """Yield the members that are set: a plan has null, or an empty list, for others."""
    for member in resource.members:
        empty = isinstance(member.value, Array) and not member.value.items
        if not empty and not _is_null(member):
            yield member


def _is_null(member: Member) -> bool:
    return isinstance(member.value, Scalar) and member.value.is_null


def _items(node: Node, key: str) -> Iterator[Object]:
    """Yield the objects of a list of blocks."""
    member = node.get(key) if isinstance(node, Object) else None
    items = member.value.items if member and isinstance(member.value, Array) else ()
    return (item for item in items if isinstance(item, Object))


def _text(node: Object, key: str) -> str:
    member = node.get(key)
    return member.value.text if member and isinstance(member.value, Scalar) and not is_gap(member.value) else ""
