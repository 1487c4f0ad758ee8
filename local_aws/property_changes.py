"""The changes between old and new properties, and whether each needs a new physical resource."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from stacks.resource_schemas import GROUP_IN_PLACE, INSTANCE_GROUPS, INSTANCES_IN_PLACE, create_only_pointers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_aws.moto_internals import Json

CLUSTER = "AWS::EMR::Cluster"


class Recreation(StrEnum):
    """How a change set describes the need for a new physical resource (RequiresRecreation)."""

    NEVER = "Never"
    CONDITIONALLY = "Conditionally"
    ALWAYS = "Always"


class PropertyChange(Struct, frozen=True, kw_only=True):
    """One property that differs: its top-level name, the path of the difference, and its recreation."""

    name: str
    path: str
    recreation: Recreation


def property_changes(resource_type: str, old: Json, new: Json) -> list[PropertyChange]:
    """Return every change between two resolved property sets, by name; empty when they are equal."""
    changes: list[PropertyChange] = []
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if resource_type == CLUSTER and name == "Instances":
            changes.extend(_instances_changes(old.get(name) or {}, new.get(name) or {}))
        else:
            recreation = _recreation(resource_type, name, old.get(name), new.get(name))
            changes.append(PropertyChange(name=name, path=f"/Properties/{name}", recreation=recreation))
    return changes


def replaces(changes: list[PropertyChange]) -> bool:
    """Return whether CloudFormation makes a new resource; what a change set calls conditional is done in place."""
    return any(change.recreation is Recreation.ALWAYS for change in changes)


def _recreation(resource_type: str, name: str, old: object, new: object) -> Recreation:
    pointers = create_only_pointers(resource_type)
    inner = [pointer.split("/")[1:] for pointer in pointers if pointer.startswith(f"{name}/")]
    replaced = name in pointers or any(_at(old, keys) != _at(new, keys) for keys in inner)
    return Recreation.ALWAYS if replaced else Recreation.NEVER


def _at(value: object, keys: list[str]) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _instances_changes(old: Json, new: Json) -> Iterator[PropertyChange]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if name in INSTANCES_IN_PLACE:
            recreation = Recreation.NEVER
        elif name in INSTANCE_GROUPS and _identity(old.get(name)) == _identity(new.get(name)):
            recreation = Recreation.CONDITIONALLY
        else:
            recreation = Recreation.ALWAYS
        yield PropertyChange(name="Instances", path=f"/Properties/Instances/{name}", recreation=recreation)


def _identity(group: object) -> object:
    """Return a group, or list of groups, without the properties that may change in place."""
    if isinstance(group, list):
        return [_identity(one) for one in group]
    if isinstance(group, dict):
        return {key: value for key, value in group.items() if key not in GROUP_IN_PLACE}
    return group
