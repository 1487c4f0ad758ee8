"""CloudFormation's operations on stacks and change sets: each reads parameters, acts, and answers as the API does.

Before it touches a resource, an operation makes CloudFormation's checks. Change sets are named by ARN, or by name and
stack.
"""

from __future__ import annotations

from collections.abc import Collection
from threading import RLock

from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import ChangeSet, CloudFormationBackend, Stack
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_changeset_id, generate_stack_id, validate_create_change_set
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, EmptyResult

from local_aws.cloudformation.stack_lifecycle import (
    OnFailure,
    create_resources,
    delete_stack_resources,
    importing_stacks,
    withdraw_exports,
)
from local_aws.cloudformation.stack_state import StackContents, StackResource, stack_contents, stack_reaches, state
from local_aws.cloudformation.stack_update import (
    check_types_stay,
    parsed_policy,
    planned_changes,
    roll_back,
    update_resources,
)
from local_aws.cloudformation.template import raw_parameters
from local_aws.moto_internals import Json, Untyped, replace, request_flag, request_parameter, template_at

# Operations run one at a time: a server has several clients, and moto's models are not thread-safe.
LOCK = RLock()
UPDATABLE = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"})
NO_UPDATES = "No updates are to be performed."


def new_stack(backend: Untyped, name: str, **options: Untyped) -> Untyped:
    """Add an empty stack to the backend and return it; raises AlreadyExistsException."""
    if any(stack.name == name for stack in backend.stacks.values()):
        raise AlreadyExistsException(f"Stack [{name}] already exists")
    stack_id = generate_stack_id(name, backend.region_name, backend.account_id)
    place = {"account_id": backend.account_id, "region_name": backend.region_name}
    stack = Stack(stack_id=stack_id, name=name, template={}, parameters={}, **place, **options)
    stack.cross_stack_resources = backend.exports
    backend.stacks[stack_id] = stack
    return stack


def launch_stack(
    backend: Untyped,
    name: str,
    template: str,
    parameters: dict[str, str],
    **options: Untyped,
) -> Untyped:
    """Return the new stack with the final status of its creation; raises ValidationError when it cannot begin."""
    on_failure = options.pop("on_failure", OnFailure.ROLLBACK)
    with LOCK:
        stack = new_stack(backend, name, **options)
        try:
            contents = stack_contents(stack, template, parameters)
        except Exception:
            del backend.stacks[stack.stack_id]
            raise
        create_resources(stack, contents, on_failure)
        if stack.status == "DELETE_COMPLETE":
            backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)
    return stack


def has_changes(stack: Untyped, contents: StackContents) -> bool:
    """Return whether an update to the contents would change anything; the contents cannot be used afterwards."""
    check_types_stay(stack, contents)
    outputs = contents.template.get("Outputs") or {}
    return outputs != (stack.template_dict.get("Outputs") or {}) or bool(planned_changes(stack, contents))


def change_stack(stack: Untyped, contents: StackContents, policy: str | None = None) -> None:
    """Make the stack follow the contents; raises ValidationError when its status does not allow an update."""
    with LOCK:
        check_updatable(stack)
        update_resources(stack, contents, policy or stack.policy)


def check_updatable(stack: Untyped) -> None:
    """Raise ValidationError for a stack whose status does not allow an update."""
    if stack.status not in UPDATABLE:
        raise ValidationError(
            message=f"Stack:{stack.stack_id} is in {stack.status} state and can not be updated.",
        )


def remove_stack(backend: Untyped, name_or_id: str, retained: Collection[str] = ()) -> None:
    """Delete a stack and its resources, an unknown one without error; raises ValidationError for a protected one."""
    stacks = [stack for stack in backend.stacks.values() if name_or_id in {stack.name, stack.stack_id}]
    for stack in stacks:
        with LOCK:
            if stack.enable_termination_protection:
                raise ValidationError(
                    message=f"Stack [{stack.name}] cannot be deleted while TerminationProtection is enabled",
                )
            for name, value in stack.cross_stack_resources.items():
                users = importing_stacks(stack, name) if value.exporting_stack_id == stack.stack_id else []
                if users:
                    raise ValidationError(
                        message=f"Export {name} cannot be deleted as it is in use by {', '.join(users)}",
                    )
            if delete_stack_resources(stack, retained):
                withdraw_exports(stack)
                backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)
                forget_change_sets(backend, stack)


def forget_change_sets(backend: Untyped, stack: Untyped, *, but: str | None = None) -> None:
    """Drop the stack's change sets except one: they are void once the stack has changed."""
    for change_set_id in [key for key, one in backend.change_sets.items() if one.stack_id == stack.stack_id]:
        if change_set_id != but:
            del backend.change_sets[change_set_id]


def install() -> None:
    """Replace moto's operations with ours."""
    for operation in (
        *(create_stack, update_stack, delete_stack, set_stack_policy, update_termination_protection),
        *(describe_stack_resource, describe_stack_resources, list_stack_resources),
        *(create_change_set, describe_change_set, execute_change_set, delete_change_set, list_change_sets),
    ):
        replace(CloudFormationResponse, operation.__name__, operation)
    # moto does not have it.
    CloudFormationResponse.continue_update_rollback = continue_update_rollback
    replace(CloudFormationBackend, "create_stack", launch_stack)
    replace(CloudFormationBackend, "delete_stack", remove_stack)
    # Ours reads the text itself. For the comparison that we replace, moto parses it as YAML, which takes 0.1 s.
    replace(ChangeSet, "_parse_template", lambda _: None)
    replace(ChangeSet, "diff", lambda _: [])


def create_stack(response: Untyped) -> Untyped:
    """Answer CreateStack."""
    stack = launch_stack(
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
    stack = _stack(response)
    check_updatable(stack)
    text = template_text(response, stack)
    parameters = raw_parameters(request_parameter(response, "Parameters", []), stack.parameters, stack.template_dict)
    new_tags = tags(response) or stack.tags
    new_policy, temporary = policy(response, "StackPolicy"), policy(response, "StackPolicyDuringUpdate")
    unchanged = new_tags == stack.tags and not new_policy
    if unchanged and not has_changes(stack, stack_contents(stack, text, parameters)):
        raise ValidationError(message=NO_UPDATES)
    stack.tags = new_tags
    change_stack(stack, stack_contents(stack, text, parameters), temporary)
    stack.policy = new_policy or stack.policy
    return ActionResult({"StackId": stack.stack_id})


def delete_stack(response: Untyped) -> Untyped:
    """Answer DeleteStack."""
    retained = request_parameter(response, "RetainResources", [])
    remove_stack(response.cloudformation_backend, request_parameter(response, "StackName"), retained)
    return EmptyResult()


def continue_update_rollback(response: Untyped) -> Untyped:
    """Answer ContinueUpdateRollback; it skips no resource."""
    stack = _stack(response)
    if stack.status != "UPDATE_ROLLBACK_FAILED":
        raise ValidationError(message=f"Stack:{stack.stack_id} is in {stack.status} state and can not be rolled back.")
    with LOCK:
        roll_back(stack, state(stack).undone, "User Initiated")
    return ActionResult({})


def set_stack_policy(response: Untyped) -> Untyped:
    """Answer SetStackPolicy."""
    stack = _stack(response)
    stack.policy = policy(response, "StackPolicy") or ""
    return EmptyResult()


def update_termination_protection(response: Untyped) -> Untyped:
    """Answer UpdateTerminationProtection."""
    stack = _stack(response)
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


NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


class UnknownChangeSet(ServiceException):  # type: ignore[misc]
    """The error for a change set that does not exist."""

    code = "ChangeSetNotFound"


class InvalidChangeSetStatus(ServiceException):  # type: ignore[misc]
    """The error for a change set that cannot be executed."""

    code = "InvalidChangeSetStatus"


def create_change_set(response: Untyped) -> Untyped:
    """Answer CreateChangeSet, with status FAILED when there is nothing to change."""
    backend, name = response.cloudformation_backend, request_parameter(response, "ChangeSetName")
    validate_create_change_set(name)
    kind = request_parameter(response, "ChangeSetType", "UPDATE")
    stack = _stack_to_change(response, kind)
    text = template_text(response, stack)
    parameters = raw_parameters(request_parameter(response, "Parameters", []), stack.parameters, stack.template_dict)
    try:
        contents = stack_contents(stack, text, parameters)
        unchanged = kind == "UPDATE" and not has_changes(stack, stack_contents(stack, text, parameters))
    except ValidationError:
        used = any(one.stack_id == stack.stack_id for one in backend.change_sets.values())
        if stack.status == "REVIEW_IN_PROGRESS" and not used:
            backend.stacks.pop(stack.stack_id, None)
        raise
    unchanged = unchanged and tags(response) in ({}, stack.tags)
    change_set = ChangeSet(
        change_set_type=kind,
        change_set_id=generate_changeset_id(name, backend.region_name, backend.account_id),
        change_set_name=name,
        stack=stack,
        template=text,
        parameters=parameters,
        description=request_parameter(response, "Description"),
        notification_arns=request_parameter(response, "NotificationARNs", []),
        tags=tags(response),
        role_arn=request_parameter(response, "RoleARN"),
    )
    change_set.on_failure = on_failure(response)
    change_set.changes = planned_changes(stack, contents)
    change_set.status = "FAILED" if unchanged else "CREATE_COMPLETE"
    change_set.execution_status = "UNAVAILABLE" if unchanged else "AVAILABLE"
    change_set.status_reason = NO_CHANGES if unchanged else None
    backend.change_sets[change_set.change_set_id] = change_set
    return ActionResult({"Id": change_set.change_set_id, "StackId": stack.stack_id})


def describe_change_set(response: Untyped) -> Untyped:
    """Answer DescribeChangeSet."""
    return ActionResult(_find_change_set(response))


def execute_change_set(response: Untyped) -> Untyped:
    """Answer ExecuteChangeSet."""
    change_set = _find_change_set(response)
    if change_set.execution_status != "AVAILABLE":
        raise InvalidChangeSetStatus(
            f"ChangeSet [{change_set.change_set_id}] cannot be executed in its current execution status of"
            f" [{change_set.execution_status}]",
        )
    stack = change_set.stack
    with LOCK:
        creating = stack.status == "REVIEW_IN_PROGRESS"
        if not creating:
            check_updatable(stack)
        stack.tags = change_set.tags or stack.tags
        contents = stack_contents(stack, change_set.template, change_set.parameters)
        if creating:
            disabled = request_flag(response, "DisableRollback")
            create_resources(stack, contents, OnFailure.DO_NOTHING if disabled else change_set.on_failure)
        else:
            change_stack(stack, contents)
    change_set.execution_status = "EXECUTE_COMPLETE"
    forget_change_sets(response.cloudformation_backend, stack, but=change_set.change_set_id)
    return EmptyResult()


def delete_change_set(response: Untyped) -> Untyped:
    """Answer DeleteChangeSet; deleting a missing change set is not an error."""
    try:
        change_set = _find_change_set(response)
    except UnknownChangeSet:
        return EmptyResult()
    del response.cloudformation_backend.change_sets[change_set.change_set_id]
    return EmptyResult()


def list_change_sets(response: Untyped) -> Untyped:
    """Answer ListChangeSets for one stack."""
    stack = _stack(response)
    every = response.cloudformation_backend.change_sets.values()
    return ActionResult({"Summaries": [one for one in every if one.stack_id == stack.stack_id]})


def _stack_to_change(response: Untyped, kind: str) -> Untyped:
    backend, name = response.cloudformation_backend, request_parameter(response, "StackName")
    stack = next((one for one in backend.stacks.values() if name in {one.name, one.stack_id}), None)
    if kind == "UPDATE":
        if stack is None:
            raise ValidationError(message=f"Stack [{name}] does not exist")
        check_updatable(stack)
        return stack
    if kind != "CREATE":
        raise ValidationError(message=f"the local AWS creates change sets of type CREATE and UPDATE, not {kind}")
    if stack is None:
        stack = new_stack(backend, name, tags=tags(response), role_arn=request_parameter(response, "RoleARN"))
        stack.notification_arns = request_parameter(response, "NotificationARNs", [])
        stack_reaches(stack, "REVIEW_IN_PROGRESS", "User Initiated")
    elif stack.status != "REVIEW_IN_PROGRESS":
        raise ValidationError(message=f"Stack [{name}] already exists and cannot be created again with the changeSet.")
    return stack


def _find_change_set(response: Untyped) -> Untyped:
    wanted, stack_name = request_parameter(response, "ChangeSetName"), request_parameter(response, "StackName")
    change_sets: Json = response.cloudformation_backend.change_sets
    for change_set_id, one in change_sets.items():
        named = one.change_set_name == wanted and stack_name in {one.stack_name, one.stack_id}
        if wanted == change_set_id or named:
            return one
    raise UnknownChangeSet(f"ChangeSet [{wanted}] does not exist")
