"""CloudFormation's operations on change sets, which are named by ARN, or by name and stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import ChangeSet
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_changeset_id, validate_create_change_set
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, EmptyResult

from local_aws import stacks
from local_aws.change_sets import planned_changes
from local_aws.moto_internals import Untyped, replace, request_flag, request_parameter
from local_aws.stack_lifecycle import OnFailure, create_resources
from local_aws.stack_requests import on_failure, tags, template_text
from local_aws.stack_state import stack_contents, stack_reaches
from local_aws.template import raw_parameters

if TYPE_CHECKING:
    from local_aws.moto_internals import Json

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


class UnknownChangeSet(ServiceException):  # type: ignore[misc]
    """The error for a change set that does not exist."""

    code = "ChangeSetNotFound"


class InvalidChangeSetStatus(ServiceException):  # type: ignore[misc]
    """The error for a change set that cannot be executed."""

    code = "InvalidChangeSetStatus"


def install() -> None:
    """Replace moto's operations with ours."""
    # Ours reads the text itself. For the comparison that we replace, moto parses it as YAML, which takes 0.1 s.
    replace(ChangeSet, "_parse_template", lambda _: None)
    replace(ChangeSet, "diff", lambda _: [])
    for operation in (create_change_set, describe_change_set, execute_change_set, delete_change_set, list_change_sets):
        replace(CloudFormationResponse, operation.__name__, operation)


def create_change_set(response: Untyped) -> Untyped:
    """Answer CreateChangeSet, with status FAILED when there is nothing to change."""
    name = request_parameter(response, "ChangeSetName")
    validate_create_change_set(name)
    kind = request_parameter(response, "ChangeSetType", "UPDATE")
    stack = _stack_to_change(response, kind)
    text = template_text(response, stack)
    parameters = raw_parameters(request_parameter(response, "Parameters", []), stack.parameters, stack.template_dict)
    try:
        contents = stack_contents(stack, text, parameters)
        unchanged = kind == "UPDATE" and not stacks.has_changes(stack, stack_contents(stack, text, parameters))
    except ValidationError:
        _forget_if_new(response, stack)
        raise
    unchanged = unchanged and tags(response) in ({}, stack.tags)
    change_set = _change_set(response, stack, text, parameters)
    change_set.changes = planned_changes(stack, contents)
    change_set.status = "FAILED" if unchanged else "CREATE_COMPLETE"
    change_set.execution_status = "UNAVAILABLE" if unchanged else "AVAILABLE"
    change_set.status_reason = NO_CHANGES if unchanged else None
    response.cloudformation_backend.change_sets[change_set.change_set_id] = change_set
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
    with stacks.LOCK:
        _execute(response, change_set)
    change_set.execution_status = "EXECUTE_COMPLETE"
    stacks.forget_change_sets(response.cloudformation_backend, change_set.stack, but=change_set.change_set_id)
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
    stack = response.cloudformation_backend.get_stack(request_parameter(response, "StackName"))
    every = response.cloudformation_backend.change_sets.values()
    return ActionResult({"Summaries": [one for one in every if one.stack_id == stack.stack_id]})


def _execute(response: Untyped, change_set: Untyped) -> None:
    stack = change_set.stack
    creating = stack.status == "REVIEW_IN_PROGRESS"
    if not creating:
        stacks.check_updatable(stack)
    stack.tags = change_set.tags or stack.tags
    contents = stack_contents(stack, change_set.template, change_set.parameters)
    if creating:
        disabled = request_flag(response, "DisableRollback")
        create_resources(stack, contents, OnFailure.DO_NOTHING if disabled else change_set.on_failure)
    else:
        stacks.update_stack(stack, contents)


def _stack_to_change(response: Untyped, kind: str) -> Untyped:
    backend, name = response.cloudformation_backend, request_parameter(response, "StackName")
    stack = next((one for one in backend.stacks.values() if name in {one.name, one.stack_id}), None)
    if kind == "UPDATE":
        if stack is None:
            raise ValidationError(message=f"Stack [{name}] does not exist")
        stacks.check_updatable(stack)
        return stack
    if kind != "CREATE":
        raise ValidationError(message=f"the local AWS creates change sets of type CREATE and UPDATE, not {kind}")
    if stack is None:
        stack = stacks.new_stack(backend, name, tags=tags(response), role_arn=request_parameter(response, "RoleARN"))
        stack.notification_arns = request_parameter(response, "NotificationARNs", [])
        stack_reaches(stack, "REVIEW_IN_PROGRESS", "User Initiated")
    elif stack.status != "REVIEW_IN_PROGRESS":
        raise ValidationError(message=f"Stack [{name}] already exists and cannot be created again with the changeSet.")
    return stack


def _forget_if_new(response: Untyped, stack: Untyped) -> None:
    backend = response.cloudformation_backend
    if stack.status == "REVIEW_IN_PROGRESS" and not any(
        one.stack_id == stack.stack_id for one in backend.change_sets.values()
    ):
        backend.stacks.pop(stack.stack_id, None)


def _change_set(response: Untyped, stack: Untyped, text: str, parameters: dict[str, str]) -> Untyped:
    name = request_parameter(response, "ChangeSetName")
    backend = response.cloudformation_backend
    change_set = ChangeSet(
        change_set_type=request_parameter(response, "ChangeSetType", "UPDATE"),
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
    return change_set


def _find_change_set(response: Untyped) -> Untyped:
    wanted, stack_name = request_parameter(response, "ChangeSetName"), request_parameter(response, "StackName")
    change_sets: Json = response.cloudformation_backend.change_sets
    for change_set_id, one in change_sets.items():
        named = one.change_set_name == wanted and stack_name in {one.stack_name, one.stack_id}
        if wanted == change_set_id or named:
            return one
    raise UnknownChangeSet(f"ChangeSet [{wanted}] does not exist")
