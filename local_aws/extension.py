"""install() applies this package's additions to moto once in this process, for its server and for mock_aws alike."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack
from moto.cloudformation.parsing import ResourceMap
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core import responses
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.ec2.models.amis import AmiBackend
from moto.emr.models import Cluster

from local_aws import (
    buckets,
    change_set_requests,
    chosen_ids,
    clusters,
    core_nodes,
    instance_groups,
    lost_nodes,
    mute_rules,
    notifications,
    parameters,
    schedules,
    stack_drift,
    stack_requests,
    steps,
    template,
    volumes,
)
from local_aws.exports import wanted_outputs
from local_aws.moto_internals import Json, Untyped, replace, wrap
from local_aws.resources import iam
from local_aws.resources.emr import cluster_attribute
from local_aws.stack_state import current_contents, state

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def install() -> None:
    """Extends moto in this process; calling it again does nothing."""
    for part in (
        instance_groups,
        clusters,
        steps,
        core_nodes,
        lost_nodes,
        iam,
        buckets,
        chosen_ids,
        template,
        stack_requests,
        stack_drift,
        change_set_requests,
        mute_rules,
        parameters,
        notifications,
        volumes,
        schedules,
    ):
        part.install()
    _replace_resolver()
    # The operation that puts metric alarms reads an AlarmRule too.
    replace(CloudWatchResponse, "put_composite_alarm", CloudWatchResponse.put_metric_alarm)
    wrap(BaseResponse, "call_action", _refused_if_unknown)
    # moto inspects the class of the service at each call.
    replace(responses, "method_names_from_class", cache(responses.method_names_from_class))
    # No cluster names an image of Amazon. moto makes 1,300 of them for each region of each account.
    replace(AmiBackend, "_load_amis", lambda _: None)


def _refused_if_unknown(original: Callable[..., Untyped], response: Untyped) -> Untyped:
    """Refuse an operation that moto lacks: moto itself would fail, and a client would repeat the call for a minute."""
    try:
        return original(response)
    except NotImplementedError as error:
        # moto learns the service of an error from the module of its class.
        refusal = type("Unsupported", (ServiceException,), {"__module__": type(response).__module__})
        return response.serialized(ActionResult(refusal("UnsupportedOperation", str(error))))


def _replace_resolver() -> None:
    """Keep moto's resolver to resources that exist: a reference must never create a resource."""
    replace(parsing, "parse_and_create_resource", _refuse_creation)
    replace(ResourceMap, "parse_ssm_parameter", template.parameter_store_value)
    replace(ResourceMap, "validate_outputs", lambda _: None)
    replace(Cluster, "get_cfn_attribute", cluster_attribute)
    Stack.outputs = property(outputs)
    Stack.stack_resources = property(lambda stack: (entry.resource for entry in state(stack).resources.values()))


def _refuse_creation(logical_id: str, definition: Json, names: Untyped, **_: Untyped) -> None:
    condition = definition.get("Condition")
    if condition and not names.lazy_condition_map[condition]:
        return
    raise ValidationError(message=f"Unresolved resource dependencies [{logical_id}] in the template")


def outputs(stack: Untyped) -> list[Json] | None:
    """The stack's outputs as describe_stacks shows them, each with the name it is exported under."""
    if stack.status == "REVIEW_IN_PROGRESS" or stack.status.startswith(("ROLLBACK", "DELETE", "CREATE_F", "CREATE_I")):
        return None
    entries = [
        {
            "OutputKey": key,
            "OutputValue": str(body["Value"]),
            "Description": body.get("Description"),
            "ExportName": body.get("Export", {}).get("Name"),
        }
        for key, body in wanted_outputs(current_contents(stack))
    ]
    return entries or None
