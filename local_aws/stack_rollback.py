"""The steps of an update, and taking them back: changes are changed back, what was made is deleted, the old stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_aws.deployment import Deployment, DeploymentFailed
from local_aws.stack_contents import current_contents
from local_aws.stack_deletion import delete_resources
from local_aws.stack_events import resource_reaches, stack_reaches
from local_aws.stack_state import state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import StackResource


@dataclass(slots=True, kw_only=True, eq=False)
class ResourceStep:
    """One resource that an update touched; before is None for a new one, after while a change in place is under way."""

    before: StackResource | None
    after: StackResource | None

    @property
    def physical_resource(self) -> StackResource | None:
        """Return the physical resource that this step made, if it made one."""
        in_place = self.before and self.after and self.before.physical_id == self.after.physical_id
        return None if in_place else self.after

    @property
    def superseded(self) -> StackResource | None:
        """Return the physical resource that another took the place of."""
        return self.before if self.physical_resource else None


def roll_back(stack: Untyped, steps: Sequence[ResourceStep], reason: str) -> None:
    """Takes the steps back, last first; the stack ends UPDATE_ROLLBACK_COMPLETE, or _FAILED when that fails too."""
    stack_reaches(stack, "UPDATE_ROLLBACK_IN_PROGRESS", reason)
    contents = current_contents(stack)
    old = Deployment(stack=stack, template=contents.template, names=contents.names)
    try:
        for step in reversed(steps):
            if step.before and not step.physical_resource:
                reverted = old.update(step.after or step.before, step.before.request)
                state(stack).resources[step.before.logical_id] = reverted
            elif step.before:
                resource_reaches(stack, step.before, "UPDATE_COMPLETE")
    except DeploymentFailed as failure:
        stack_reaches(stack, "UPDATE_ROLLBACK_FAILED", str(failure))
        return
    _delete_created(stack, [step.physical_resource for step in steps if step.physical_resource])
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE")


def _delete_created(stack: Untyped, made: Sequence[StackResource]) -> None:
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
    for resource in made:
        if resource.is_retained_on_rollback:
            resource_reaches(stack, resource, "DELETE_SKIPPED")
    delete_resources(stack, [one for one in made if not one.is_retained_on_rollback])
