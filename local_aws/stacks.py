"""Launch, update and deletion of whole stacks, with CloudFormation's checks before it touches a resource."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import AlreadyExistsException, ValidationError
from moto.cloudformation.models import Stack
from moto.cloudformation.utils import generate_stack_id

from local_aws.change_sets import planned_changes
from local_aws.exports import importing_stacks, withdraw_exports
from local_aws.stack_lifecycle import OnFailure, create_resources, delete_stack_resources
from local_aws.stack_state import stack_contents
from local_aws.stack_update import check_types_stay, update_resources

if TYPE_CHECKING:
    from collections.abc import Collection

    from local_aws.moto_internals import Untyped
    from local_aws.stack_state import StackContents

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


def create_stack(
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


def update_stack(stack: Untyped, contents: StackContents, policy: str | None = None) -> None:
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


def delete_stack(backend: Untyped, name_or_id: str, retained: Collection[str] = ()) -> None:
    """Delete a stack and its resources, an unknown one without error; raises ValidationError for a protected one."""
    stacks = [stack for stack in backend.stacks.values() if name_or_id in {stack.name, stack.stack_id}]
    for stack in stacks:
        with LOCK:
            _check_deletable(stack)
            if delete_stack_resources(stack, retained):
                withdraw_exports(stack)
                backend.deleted_stacks[stack.stack_id] = backend.stacks.pop(stack.stack_id)
                forget_change_sets(backend, stack)


def _check_deletable(stack: Untyped) -> None:
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


def forget_change_sets(backend: Untyped, stack: Untyped, *, but: str | None = None) -> None:
    """Drop the stack's change sets except one: they are void once the stack has changed."""
    for change_set_id in [key for key, one in backend.change_sets.items() if one.stack_id == stack.stack_id]:
        if change_set_id != but:
            del backend.change_sets[change_set_id]
