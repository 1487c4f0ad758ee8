"""Deletion of resources: when a stack goes, when a create is undone, and when an update cleans up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws import resource_types
from local_aws.deployment import failure_reason
from local_aws.stack_events import resource_reaches, stack_reaches
from local_aws.stack_state import state

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import StackResource

# Source: AWS re:Post, "cloudformation-stack-cleanup-stuck": three tries, then the resource is skipped.
ATTEMPTS = 3


def delete_resources(stack: Untyped, doomed: Iterable[StackResource]) -> list[StackResource]:
    """The resources that are still there after three tries, last made first; each try has its events."""
    left = list(doomed)[::-1]
    for _ in range(ATTEMPTS):
        left = [resource for resource in left if not _is_deleted(stack, resource)]
        if not left:
            break
    return left


def delete_stack_resources(stack: Untyped, retained: Collection[str] = ()) -> bool:
    """Whether the stack is gone: its resources are deleted, but those that a DeletionPolicy or the caller keeps."""
    stack_reaches(stack, "DELETE_IN_PROGRESS", "User Initiated")
    resources = state(stack).resources
    kept = [one for one in resources.values() if one.is_retained_on_deletion or one.logical_id in retained]
    for resource in kept:
        resource_reaches(stack, resource, "DELETE_SKIPPED")
    left = delete_resources(stack, [one for one in resources.values() if one not in kept])
    state(stack).resources = {one.logical_id: one for one in left[::-1]}
    if left:
        stack_reaches(stack, "DELETE_FAILED", f"The following resource(s) failed to delete: [{logical_ids(left)}]. ")
        return False
    stack_reaches(stack, "DELETE_COMPLETE")
    return True


def logical_ids(resources: Iterable[StackResource]) -> str:
    """Return the logical ids, as CloudFormation lists them in a reason."""
    return ", ".join(resource.logical_id for resource in resources)


def _is_deleted(stack: Untyped, resource: StackResource) -> bool:
    resource_reaches(stack, resource, "DELETE_IN_PROGRESS")
    try:
        resource_types.find(resource.request.resource_type).delete(resource.resource, resource.request)
    except Exception as error:  # noqa: BLE001 - whatever a service says, the stack's events report it
        resource_reaches(stack, resource, "DELETE_FAILED", failure_reason(error))
        return False
    resource_reaches(stack, resource, "DELETE_COMPLETE")
    return True
