"""Exports of stacks: a name is exported once, and not changed or dropped while another stack imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.parsing import Export, clean_json

from local_aws.deployment import DeploymentFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_aws.moto_internals import Json, Untyped
    from local_aws.stack_state import StackContents


def wanted_outputs(contents: StackContents) -> Iterator[tuple[str, Json]]:
    """Yield the outputs whose condition holds, resolved."""
    for key, body in (contents.template.get("Outputs") or {}).items():
        condition = body.get("Condition")
        if condition is None or contents.names.lazy_condition_map[condition]:
            yield key, clean_json(body, contents.names)


def check_exports(stack: Untyped, contents: StackContents) -> None:
    """Raise DeploymentFailed when the contents export another stack's name, or change or drop an imported one."""
    others = {name: export for name, export in _exports(stack).items() if export.exporting_stack_id != stack.stack_id}
    new = exported_values(contents)
    for name in new.keys() & others.keys():
        raise DeploymentFailed(
            f"Export with name {name} is already exported by stack {others[name].exporting_stack_id}."
        )
    for name, value in _own_exports(stack).items():
        users = importing_stacks(stack, name)
        if users and new.get(name) != value:
            verb = "updated" if name in new else "deleted"
            raise DeploymentFailed(f"Export {name} cannot be {verb} as it is in use by {', '.join(users)}.")


def publish_exports(stack: Untyped, contents: StackContents) -> None:
    """Replace this stack's exports with those of the contents."""
    withdraw_exports(stack)
    for name, value in exported_values(contents).items():
        _exports(stack)[name] = Export(stack.stack_id, name, value)


def withdraw_exports(stack: Untyped) -> None:
    """Remove every export of this stack."""
    for name in _own_exports(stack):
        del _exports(stack)[name]


def exported_values(contents: StackContents) -> dict[str, str]:
    """Return the exported names and their values."""
    return {
        str(output["Export"]["Name"]): str(output["Value"])
        for _, output in wanted_outputs(contents)
        if "Export" in output
    }


def importing_stacks(stack: Untyped, name: str) -> list[str]:
    """Return the names of the other stacks whose template imports the name."""
    stacks = cloudformation_backends[stack.account_id][stack.region_name].stacks.values()
    return [
        other.name
        for other in stacks
        if other is not stack
        and name in {clean_json(text, other.resource_map) for text in _imports(other.template_dict)}
    ]


def _imports(node: object) -> Iterator[object]:
    if isinstance(node, dict):
        if "Fn::ImportValue" in node:
            yield node["Fn::ImportValue"]
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _imports(inner)


def _exports(stack: Untyped) -> Untyped:
    return cloudformation_backends[stack.account_id][stack.region_name].exports


def _own_exports(stack: Untyped) -> dict[str, str]:
    return {
        name: export.value for name, export in _exports(stack).items() if export.exporting_stack_id == stack.stack_id
    }
