"""Creation of a stack's resources from its template, and what becomes of them when one fails."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from local_aws.deployment import Deployment, DeploymentFailed
from local_aws.exports import check_exports, publish_exports
from local_aws.stack_contents import place
from local_aws.stack_deletion import delete_resources, logical_ids
from local_aws.stack_drift import remember
from local_aws.stack_events import resource_reaches, stack_reaches
from local_aws.stack_state import state
from local_aws.template import creation_order, is_wanted

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped
    from local_aws.stack_contents import StackContents


class OnFailure(StrEnum):
    """What becomes of a stack whose creation failed."""

    ROLLBACK = "ROLLBACK"
    DO_NOTHING = "DO_NOTHING"
    DELETE = "DELETE"


def create_resources(stack: Untyped, contents: StackContents, on_failure: OnFailure = OnFailure.ROLLBACK) -> None:
    """Makes the stack's resources; it ends CREATE_COMPLETE, or as on_failure says. Never raises for a resource."""
    place(stack, contents)
    stack_reaches(stack, "CREATE_IN_PROGRESS", "User Initiated")
    deployment = Deployment(stack=stack, template=contents.template, names=contents.names)
    made = state(stack).resources
    try:
        for logical_id in creation_order(contents.template):
            if is_wanted(contents.template["Resources"][logical_id], contents.names):
                made[logical_id] = deployment.create(deployment.request(logical_id))
        check_exports(stack, contents)
    except DeploymentFailed as failure:
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
    made = state(stack).resources
    kept = [one for one in made.values() if one.is_retained_on_rollback]
    for resource in kept:
        resource_reaches(stack, resource, "DELETE_SKIPPED")
    left = delete_resources(stack, [one for one in made.values() if one not in kept])
    state(stack).resources = {one.logical_id: one for one in left[::-1]}
    if left:
        failed = f"The following resource(s) failed to delete: [{logical_ids(left)}]. "
        stack_reaches(stack, f"{status}_FAILED", failed)
    else:
        stack_reaches(stack, f"{status}_COMPLETE")
