"""Creation and deletion of a stack's resources, with the retries and rollbacks that CloudFormation makes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from local_aws import resource_types
from local_aws.deployment import Deployment, DeploymentFailed, ResourceFailed, failure_reason
from local_aws.exports import check_exports, publish_exports
from local_aws.stack_drift import remember
from local_aws.stack_state import place, resource_reaches, stack_reaches, state
from local_aws.template import creation_order, is_wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from local_aws.moto_internals import Untyped
    from local_aws.stack_state import StackContents, StackResource


class OnFailure(StrEnum):
    """The fate of a stack whose creation failed, as CreateStack's OnFailure names it."""

    ROLLBACK = "ROLLBACK"
    DO_NOTHING = "DO_NOTHING"
    DELETE = "DELETE"


def create_resources(stack: Untyped, contents: StackContents, on_failure: OnFailure = OnFailure.ROLLBACK) -> None:
    """Create the stack's resources; it ends CREATE_COMPLETE, or as on_failure says. Never raises for a resource."""
    place(stack, contents)
    stack_reaches(stack, "CREATE_IN_PROGRESS", "User Initiated")
    deployment = Deployment(stack=stack, template=contents.template, names=contents.names)
    resources = state(stack).resources
    try:
        for logical_id in creation_order(contents.template):
            if is_wanted(contents.template["Resources"][logical_id], contents.names):
                resources[logical_id] = deployment.create(deployment.request(logical_id))
        check_exports(stack, contents)
    except DeploymentFailed as failure:
        if isinstance(failure, ResourceFailed) and failure.remainder:
            resources[failure.remainder.logical_id] = failure.remainder
        _undo(stack, str(failure), on_failure)
        return
    publish_exports(stack, contents)
    remember(stack)
    stack_reaches(stack, "CREATE_COMPLETE")


def _undo(stack: Untyped, reason: str, on_failure: OnFailure) -> None:
    if on_failure is OnFailure.DO_NOTHING:
        stack_reaches(stack, "CREATE_FAILED", reason)
        return
    status = "DELETE" if on_failure is OnFailure.DELETE else "ROLLBACK"
    stack_reaches(stack, f"{status}_IN_PROGRESS", f"{reason}{status.capitalize()} requested by user.")
    resources = state(stack).resources
    retained = [one for one in resources.values() if one.is_retained_on_rollback]
    for resource in retained:
        resource_reaches(stack, resource, "DELETE_SKIPPED")
    remaining = delete_resources(stack, [one for one in resources.values() if one not in retained])
    state(stack).resources = {one.logical_id: one for one in remaining[::-1]}
    if remaining:
        failed = f"The following resource(s) failed to delete: [{logical_ids(remaining)}]. "
        stack_reaches(stack, f"{status}_FAILED", failed)
    else:
        stack_reaches(stack, f"{status}_COMPLETE")


# Source: AWS re:Post, "cloudformation-stack-cleanup-stuck": three tries, then the resource is skipped.
ATTEMPTS = 3


def delete_resources(stack: Untyped, doomed: Iterable[StackResource]) -> list[StackResource]:
    """Delete the resources, last created first; return those that still exist after three tries."""
    remaining = list(doomed)[::-1]
    for _ in range(ATTEMPTS):
        remaining = [resource for resource in remaining if not _is_deleted(stack, resource)]
        if not remaining:
            break
    return remaining


def delete_stack_resources(stack: Untyped, retained: Collection[str] = ()) -> bool:
    """Delete the stack's resources, except retained ones; return whether every deletion succeeded."""
    stack_reaches(stack, "DELETE_IN_PROGRESS", "User Initiated")
    resources = state(stack).resources
    skipped = [one for one in resources.values() if one.is_retained_on_deletion or one.logical_id in retained]
    for resource in skipped:
        resource_reaches(stack, resource, "DELETE_SKIPPED")
    remaining = delete_resources(stack, [one for one in resources.values() if one not in skipped])
    state(stack).resources = {one.logical_id: one for one in remaining[::-1]}
    if remaining:
        stack_reaches(
            stack, "DELETE_FAILED", f"The following resource(s) failed to delete: [{logical_ids(remaining)}]. "
        )
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
