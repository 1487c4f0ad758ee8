"""moto's resolver, held to what is already made: it must never create a resource because somebody refers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack
from moto.cloudformation.parsing import ResourceMap
from moto.emr.models import Cluster

from local_aws.exports import wanted_outputs
from local_aws.moto_border import Json, Untyped, replace
from local_aws.parameters import parameter_store_value
from local_aws.resources.cluster import cluster_attribute
from local_aws.stack_contents import current_contents
from local_aws.stack_state import state

if TYPE_CHECKING:
    from collections.abc import Iterator


def install() -> None:
    """Replaces what moto resolves lazily or wrongly."""
    replace(parsing, "parse_and_create_resource", _is_pending)
    replace(ResourceMap, "parse_ssm_parameter", parameter_store_value)
    replace(ResourceMap, "validate_outputs", lambda _: None)
    replace(Cluster, "get_cfn_attribute", cluster_attribute)
    Stack.outputs = property(outputs)
    Stack.stack_resources = property(_models)


def _is_pending(logical_id: str, definition: Json, names: Untyped, **_: Untyped) -> None:
    condition = definition.get("Condition")
    if condition and not names.lazy_condition_map[condition]:
        return
    raise ValidationError(message=f"Unresolved resource dependencies [{logical_id}] in the template")


def outputs(stack: Untyped) -> list[Json] | None:
    """The stack's outputs as describe_stacks shows them, each with the name it is exported under."""
    if stack.status == "REVIEW_IN_PROGRESS" or stack.status.startswith(("ROLLBACK", "DELETE", "CREATE_F", "CREATE_I")):
        return None
    shown = [
        {
            "OutputKey": key,
            "OutputValue": str(body["Value"]),
            "Description": body.get("Description"),
            "ExportName": body.get("Export", {}).get("Name"),
        }
        for key, body in wanted_outputs(current_contents(stack))
    ]
    return shown or None


def _models(stack: Untyped) -> Iterator[Untyped]:
    return (one.resource for one in state(stack).resources.values())
