"""Change sets: the changes that an update would make, resource by resource, in the API's own form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException
from msgspec import Struct

from local_aws.moto_internals import resolvable_names
from local_aws.property_changes import PropertyChange, Recreation, property_changes, replaces
from local_aws.stack_state import state
from local_aws.template import creation_order, is_wanted, resolved_properties

if TYPE_CHECKING:
    from local_aws.moto_internals import Json, Untyped
    from local_aws.stack_state import StackContents, StackResource

UNRESOLVED = "{{changeSet:KNOWN_AFTER_APPLY}}"


class PlannedResource(Struct, kw_only=True, eq=False, dict=True):
    """A resource that the update would create, whose id and attributes are not known yet."""

    logical_id: str

    @property
    def physical_resource_id(self) -> str:
        """Return a text that no current value equals."""
        return f"{UNRESOLVED}/{self.logical_id}"

    def get_cfn_attribute(self, name: str) -> str:
        """Return a text that no current value equals."""
        if not name:
            raise UnformattedGetAttTemplateException
        return f"{UNRESOLVED}/{self.logical_id}.{name}"


def planned_changes(stack: Untyped, contents: StackContents) -> list[Json]:
    """Return each resource that the update would add, modify or remove, as describe_change_set lists it."""
    definitions = contents.template["Resources"]
    changes: list[Json] = []
    current_ids: set[str] = set()
    for logical_id in creation_order(contents.template):
        if not is_wanted(definitions[logical_id], contents.names):
            continue
        current_ids.add(logical_id)
        current = state(stack).resources.get(logical_id)
        if current is None:
            resolvable_names(contents.names)[logical_id] = PlannedResource(logical_id=logical_id)
            changes.append(_entry("Add", logical_id, definitions[logical_id]["Type"]))
        else:
            changes.extend(_modification(stack, contents, current))
    removed = [one for name, one in state(stack).resources.items() if name not in current_ids]
    return changes + [_removal(one) for one in removed]


def _modification(stack: Untyped, contents: StackContents, current: StackResource) -> list[Json]:
    definition = contents.template["Resources"][current.logical_id]
    resolvable_names(contents.names)[current.logical_id] = current.resource
    new = resolved_properties(definition, contents.names, stack.region_name)
    old = current.request.properties
    changes = property_changes(current.request.resource_type, old, new)
    if any(replaces([one]) and not _depends(new.get(one.name)) for one in changes):
        resolvable_names(contents.names)[current.logical_id] = PlannedResource(logical_id=current.logical_id)
    scope = ["Properties"] if changes else []
    scope += [
        name for name in ("DeletionPolicy", "Metadata", "UpdateReplacePolicy") if _differs(name, current, definition)
    ]
    if not scope:
        return []
    entry = _entry("Modify", current.logical_id, current.request.resource_type)
    entry["PhysicalResourceId"] = current.physical_id
    entry["Replacement"] = replacement(changes, new)
    entry["Scope"] = scope
    entry["Details"] = [_detail(one, new) for one in changes]
    return [entry]


def replacement(changes: list[PropertyChange], new: Json) -> str:
    """Return True, False or Conditional: a replacing change is conditional while its value is unknown."""
    weights = [
        Recreation.CONDITIONALLY
        if one.recreation is Recreation.ALWAYS and _depends(new.get(one.name))
        else one.recreation
        for one in changes
    ]
    if Recreation.ALWAYS in weights:
        return "True"
    return "Conditional" if Recreation.CONDITIONALLY in weights else "False"


def _depends(value: object) -> bool:
    return UNRESOLVED in str(value)


def _differs(attribute: str, current: StackResource, definition: Json) -> bool:
    return bool(current.definition.get(attribute) != definition.get(attribute))


def _detail(change: PropertyChange, new: Json) -> Json:
    depends = _depends(new.get(change.name))
    return {
        "Target": {
            "Attribute": "Properties",
            "Name": change.name,
            "Path": change.path,
            "RequiresRecreation": change.recreation.value,
        },
        "Evaluation": "Dynamic" if depends else "Static",
        "ChangeSource": "ResourceReference" if depends else "DirectModification",
    }


def _entry(action: str, logical_id: str, resource_type: str) -> Json:
    return {
        "Action": action,
        "LogicalResourceId": logical_id,
        "ResourceType": resource_type,
        "Scope": [],
        "Details": [],
    }


def _removal(current: StackResource) -> Json:
    entry = _entry("Remove", current.logical_id, current.request.resource_type)
    return {
        **entry,
        "PhysicalResourceId": current.physical_id,
        "PolicyAction": "Retain" if current.is_retained_on_deletion else "Delete",
    }
