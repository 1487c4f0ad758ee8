"""The extension of moto: `install()` applies the additions once in this process, for server and mock_aws alike.

A caller may choose the id of a new resource, so that the resource can stand in for one that exists elsewhere. A request
to the served local AWS states the id in a header, such as `x-local-aws-vpc`. AWS has no such header.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

from flask import has_request_context, request
from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack
from moto.cloudformation.parsing import ResourceMap
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core import responses
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.ec2.models import route_tables, security_groups, subnets, vpcs
from moto.ec2.models.amis import AmiBackend
from moto.emr.models import Cluster
from moto.kms import models as keys

from local_aws import buckets, notifications, schedules, slowness
from local_aws.cloudformation import stack_requests, stack_state, template
from local_aws.cloudformation.stack_lifecycle import wanted_outputs
from local_aws.cloudformation.stack_state import current_contents, state
from local_aws.emr import clusters, instance_groups, steps
from local_aws.moto_internals import Json, Untyped, replace, wrap
from local_aws.resources import iam
from local_aws.resources.emr import cluster_attribute
from local_aws.server import ID_HEADER


@cache
def install() -> None:
    """Extends moto in this process; calling it again does nothing."""
    for extend in (
        instance_groups.install,
        clusters.install,
        steps.install,
        iam.install,
        buckets.install,
        _install_chosen_ids,
        template.install,
        stack_requests.install,
        stack_state.install,
        notifications.install,
        schedules.install,
        slowness.install,
    ):
        extend()
    # moto's resolver keeps to resources that exist: a reference must never create a resource.
    replace(parsing, "parse_and_create_resource", _refuse_creation)
    replace(ResourceMap, "parse_ssm_parameter", template.parameter_store_value)
    replace(ResourceMap, "validate_outputs", lambda _: None)
    replace(Cluster, "get_cfn_attribute", cluster_attribute)
    Stack.outputs = property(outputs)
    Stack.stack_resources = property(lambda stack: (entry.resource for entry in state(stack).resources.values()))
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


GENERATORS: Final = {
    "vpc": (vpcs, "random_vpc_id"),
    "subnet": (subnets, "random_subnet_id"),
    "rtb": (route_tables, "random_route_table_id"),
    "sg": (security_groups, "random_security_group_id"),
    "key": (keys, "generate_key_id"),
}
"""moto's function that makes up the id of each kind of resource, by the prefix of the ids."""


def _install_chosen_ids() -> None:
    """Let each of these functions return the id in the header of the request."""

    def identity(kind: str, original: Callable[..., Untyped], *arguments: Untyped) -> Untyped:
        wanted = request.headers.get(ID_HEADER + kind) if has_request_context() else None
        return wanted or original(*arguments)

    for kind, (module, name) in GENERATORS.items():
        wrap(module, name, partial(identity, kind))
