"""CloudFormation's operations on stacks: each reads the API's parameters, acts, and answers as the API does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import CloudFormationBackend
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult, EmptyResult

from local_aws import stacks
from local_aws.moto_internals import Json, Untyped, replace, request_flag, request_parameter, template_at
from local_aws.stack_lifecycle import OnFailure
from local_aws.stack_policy import parsed_policy
from local_aws.stack_state import stack_contents, state
from local_aws.stack_update import roll_back
from local_aws.template import raw_parameters

if TYPE_CHECKING:
    from local_aws.stack_state import StackResource


def install() -> None:
    """Replace moto's operations with ours."""
    for operation in (create_stack, update_stack, delete_stack, set_stack_policy, update_termination_protection):
        replace(CloudFormationResponse, operation.__name__, operation)
    # moto does not have it.
    CloudFormationResponse.continue_update_rollback = continue_update_rollback
    for listing in (describe_stack_resource, describe_stack_resources, list_stack_resources):
        replace(CloudFormationResponse, listing.__name__, listing)
    replace(CloudFormationBackend, "create_stack", stacks.create_stack)
    replace(CloudFormationBackend, "delete_stack", stacks.delete_stack)


def create_stack(response: Untyped) -> Untyped:
    """Answer CreateStack."""
    stack = stacks.create_stack(
        response.cloudformation_backend,
        request_parameter(response, "StackName"),
        template_text(response),
        raw_parameters(request_parameter(response, "Parameters", []), {}, {}),
        tags=tags(response),
        role_arn=request_parameter(response, "RoleARN"),
        notification_arns=request_parameter(response, "NotificationARNs", []),
        enable_termination_protection=request_flag(response, "EnableTerminationProtection"),
        timeout_in_mins=request_parameter(response, "TimeoutInMinutes"),
        stack_policy_body=policy(response, "StackPolicy"),
        on_failure=on_failure(response),
    )
    return ActionResult({"StackId": stack.stack_id})


def update_stack(response: Untyped) -> Untyped:
    """Answer UpdateStack; raises ValidationError when there is nothing to update."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    stacks.check_updatable(stack)
    text = template_text(response, stack)
    parameters = raw_parameters(request_parameter(response, "Parameters", []), stack.parameters, stack.template_dict)
    new_tags = tags(response) or stack.tags
    new_policy, temporary = policy(response, "StackPolicy"), policy(response, "StackPolicyDuringUpdate")
    unchanged = new_tags == stack.tags and not new_policy
    if unchanged and not stacks.has_changes(stack, stack_contents(stack, text, parameters)):
        raise ValidationError(message=stacks.NO_UPDATES)
    stack.tags = new_tags
    stacks.update_stack(stack, stack_contents(stack, text, parameters), temporary)
    stack.policy = new_policy or stack.policy
    return ActionResult({"StackId": stack.stack_id})


def delete_stack(response: Untyped) -> Untyped:
    """Answer DeleteStack."""
    retained = request_parameter(response, "RetainResources", [])
    stacks.delete_stack(response.cloudformation_backend, request_parameter(response, "StackName"), retained)
    return EmptyResult()


def continue_update_rollback(response: Untyped) -> Untyped:
    """Answer ContinueUpdateRollback; it skips no resource."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    if stack.status != "UPDATE_ROLLBACK_FAILED":
        raise ValidationError(message=f"Stack:{stack.stack_id} is in {stack.status} state and can not be rolled back.")
    with stacks.LOCK:
        roll_back(stack, state(stack).undone, "User Initiated")
    return ActionResult({})


def set_stack_policy(response: Untyped) -> Untyped:
    """Answer SetStackPolicy."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    stack.policy = policy(response, "StackPolicy") or ""
    return EmptyResult()


def update_termination_protection(response: Untyped) -> Untyped:
    """Answer UpdateTerminationProtection."""
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    stack.enable_termination_protection = request_flag(response, "EnableTerminationProtection")
    return ActionResult({"StackId": stack.stack_id})


def describe_stack_resource(response: Untyped) -> Untyped:
    """Answer DescribeStackResource."""
    stack, name = _stack(response), request_parameter(response, "LogicalResourceId")
    if name not in state(stack).resources:
        raise ValidationError(message=f"Resource {name} does not exist for stack {stack.name}")
    return ActionResult({"StackResourceDetail": _stack_summary(stack, state(stack).resources[name])})


def describe_stack_resources(response: Untyped) -> Untyped:
    """Answer DescribeStackResources."""
    stack, name = _stack(response), request_parameter(response, "LogicalResourceId")
    resources = state(stack).resources.values()
    summaries = [_stack_summary(stack, one) for one in resources if name in {None, one.logical_id}]
    return ActionResult({"StackResources": summaries})


def list_stack_resources(response: Untyped) -> Untyped:
    """Answer ListStackResources."""
    stack = _stack(response)
    return ActionResult(
        {"StackResourceSummaries": [_stack_summary(stack, one) for one in state(stack).resources.values()]},
    )


def _stack(response: Untyped) -> Untyped:
    return response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))


def _stack_summary(stack: Untyped, resource: StackResource) -> Json:
    return {
        "StackName": stack.name,
        "StackId": stack.stack_id,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.request.resource_type,
        "Timestamp": resource.updated,
        "LastUpdatedTimestamp": resource.updated,
        "ResourceStatus": resource.status,
        "ResourceStatusReason": resource.reason,
    }


def template_text(response: Untyped, stack: Untyped = None) -> str:
    """Return the template that the call contains, points to, or keeps."""
    if stack is not None and request_flag(response, "UsePreviousTemplate"):
        return str(stack.template)
    body, url = request_parameter(response, "TemplateBody"), request_parameter(response, "TemplateURL")
    if not body and not url:
        raise ValidationError(message="Either Template URL or Template Body must be specified.")
    return str(body or template_at(response, url))


def tags(response: Untyped) -> dict[str, str]:
    """Return the stack tags of the call."""
    return {tag["Key"]: tag["Value"] for tag in request_parameter(response, "Tags", [])}


def policy(response: Untyped, name: str) -> str | None:
    """Return the checked stack policy that the call has as NameBody or NameURL, None without one."""
    body, url = request_parameter(response, f"{name}Body"), request_parameter(response, f"{name}URL")
    if body and url:
        raise ValidationError(message=f"You cannot specify both {name}URL and {name}Body")
    text = body or (template_at(response, url) if url else None)
    if text:
        parsed_policy(text)
    return text


def on_failure(response: Untyped) -> OnFailure:
    """Return the call's choice for a failed creation."""
    if request_flag(response, "DisableRollback"):
        return OnFailure.DO_NOTHING
    named = request_parameter(response, "OnFailure") or request_parameter(response, "OnStackFailure")
    return OnFailure(named or "ROLLBACK")
