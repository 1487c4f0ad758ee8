"""Updates of stacks: new resources are created before old ones are deleted, and a failed update is undone.

Source: CloudFormation User Guide, "Update behaviors of stack resources"; AWS re:Post, "cloudformation-stack-cleanup-
stuck". When the clean-up cannot delete an old resource, the update has succeeded all the same: the old resource stays
behind, no longer part of the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from msgspec import Struct, field
from msgspec.structs import replace

from local_aws.deployment import Deployment, DeploymentFailed, ResourceFailed
from local_aws.exports import check_exports, publish_exports
from local_aws.property_changes import property_changes, replaces
from local_aws.stack_drift import remember
from local_aws.stack_lifecycle import delete_resources
from local_aws.stack_policy import PolicyQuestion, UpdateAction, denial
from local_aws.stack_state import StackContents, current_contents, place, resource_reaches, stack_reaches, state
from local_aws.template import creation_order, is_wanted
from stacks.resource_schemas import primary_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from local_aws.moto_internals import Untyped
    from local_aws.resource_type import ResourceRequest
from local_aws.stack_state import StackResource

NOT_ALL_DELETED = "Update successful. One or more resources could not be deleted."


def update_resources(stack: Untyped, contents: StackContents, policy: str | None) -> None:
    """Make the stack follow the contents, as the policy allows; it ends UPDATE_COMPLETE or UPDATE_ROLLBACK_COMPLETE."""
    check_types_stay(stack, contents)
    stack_reaches(stack, "UPDATE_IN_PROGRESS", "User Initiated")
    update = _Update(stack, contents, policy)
    try:
        update.walk()
        check_exports(stack, contents)
    except DeploymentFailed as failure:
        roll_back(stack, update.steps, str(failure))
        return
    removed = update.removed()
    state(stack).resources = update.after
    place(stack, contents)
    publish_exports(stack, contents)
    update.clean_up(removed)
    remember(stack)


def check_types_stay(stack: Untyped, contents: StackContents) -> None:
    """Raise ValidationError when a logical id would change its type."""
    definitions = contents.template["Resources"]
    changed = [
        name
        for name, resource in state(stack).resources.items()
        if definitions.get(name, resource.definition)["Type"] != resource.request.resource_type
    ]
    if changed:
        raise ValidationError(
            message="Update of resource type is not permitted. The new template modifies resource type of the following"
            f" resources: [{', '.join(changed)}]",
        )


class _Update(Struct):
    stack: Untyped
    contents: StackContents
    policy: str | None
    steps: list[ResourceStep] = field(default_factory=list)
    after: dict[str, StackResource] = field(default_factory=dict)

    def walk(self) -> None:
        """Create, change or replace every resource of the new template; delete nothing. Raises DeploymentFailed."""
        definitions = self.contents.template["Resources"]
        for logical_id in creation_order(self.contents.template):
            if is_wanted(definitions[logical_id], self.contents.names):
                current = state(self.stack).resources.get(logical_id)
                self.after[logical_id] = self._followed(current) if current else self._added(logical_id)
        for resource in self.removed():
            self._ask(UpdateAction.DELETE, resource)

    def clean_up(self, removed: list[StackResource]) -> None:
        """Delete what the update replaced or removed; the update completes even if a deletion fails."""
        replaced = [step.superseded for step in self.steps if step.superseded]
        retained = [one for one in removed if one.is_retained_on_deletion] + [
            one for one in replaced if one.is_retained_on_replacement
        ]
        stack_reaches(self.stack, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
        for resource in retained:
            resource_reaches(self.stack, resource, "DELETE_SKIPPED")
        remaining = delete_resources(self.stack, [one for one in [*replaced, *removed] if one not in retained])
        stack_reaches(self.stack, "UPDATE_COMPLETE", NOT_ALL_DELETED if remaining else None)

    def removed(self) -> list[StackResource]:
        """Return the stack's resources that are not in the new template."""
        return [one for name, one in state(self.stack).resources.items() if name not in self.after]

    @property
    def _deployment(self) -> Deployment:
        return Deployment(stack=self.stack, template=self.contents.template, names=self.contents.names)

    def _added(self, logical_id: str) -> StackResource:
        return self._created(None, self._deployment.request(logical_id))

    def _created(self, before: StackResource | None, request: ResourceRequest) -> StackResource:
        try:
            resource = self._deployment.create(request, replacing=before is not None)
        except ResourceFailed as failure:
            if failure.remainder:
                self.steps.append(ResourceStep(before=before, after=failure.remainder))
            raise
        self.steps.append(ResourceStep(before=before, after=resource))
        return resource

    def _followed(self, current: StackResource) -> StackResource:
        deployment = self._deployment
        request = deployment.request(current.logical_id, current)
        changes = property_changes(request.resource_type, current.request.properties, request.properties)
        if not changes:
            deployment.learn(current)
            return replace(current, definition=deployment.template["Resources"][current.logical_id])
        if replaces(changes):
            return self._replaced(current, request)
        self._ask(UpdateAction.MODIFY, current)
        step = ResourceStep(before=current, after=None)
        self.steps.append(step)
        step.after = deployment.update(current, request)
        return step.after

    def _replaced(self, current: StackResource, request: ResourceRequest) -> StackResource:
        self._ask(UpdateAction.REPLACE, current)
        self._check_name_changes(current, request)
        fresh = replace(request, generated_name=self._deployment.fresh_name(request.resource_type, request.logical_id))
        return self._created(current, fresh)

    def _check_name_changes(self, current: StackResource, request: ResourceRequest) -> None:
        names = primary_identifier(request.resource_type)
        old, new = current.request.properties, request.properties
        if names and all(name in new and new[name] == old.get(name) for name in names):
            named = ", ".join(str(new[name]) for name in sorted(names))
            reason = "CloudFormation cannot update a stack when a custom-named resource requires replacing."
            self._deployment.deny(current, f"{reason} Rename {named} and update the stack again.")

    def _ask(self, action: UpdateAction, resource: StackResource) -> None:
        question = PolicyQuestion(
            action=action,
            logical_id=resource.logical_id,
            resource_type=resource.request.resource_type,
        )
        reason = denial(self.policy, question)
        if reason:
            self._deployment.deny(resource, reason)


class ResourceStep(Struct, kw_only=True, eq=False):
    """One resource that an update touched; before is None for a new one, after during a change in place."""

    before: StackResource | None
    after: StackResource | None

    @property
    def physical_resource(self) -> StackResource | None:
        """Return the physical resource that this step created, if any."""
        in_place = self.before and self.after and self.before.physical_id == self.after.physical_id
        return None if in_place else self.after

    @property
    def superseded(self) -> StackResource | None:
        """Return the physical resource that was replaced, if any."""
        return self.before if self.physical_resource else None


def roll_back(stack: Untyped, steps: Sequence[ResourceStep], reason: str) -> None:
    """Undo the steps, last first; the stack ends UPDATE_ROLLBACK_COMPLETE, or _FAILED when that fails too."""
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
        state(stack).undone = list(steps)
        stack_reaches(stack, "UPDATE_ROLLBACK_FAILED", str(failure))
        return
    _delete_created(stack, [step.physical_resource for step in steps if step.physical_resource])
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE")


def _delete_created(stack: Untyped, resources: Sequence[StackResource]) -> None:
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
    for resource in resources:
        if resource.is_retained_on_rollback:
            resource_reaches(stack, resource, "DELETE_SKIPPED")
    delete_resources(stack, [one for one in resources if not one.is_retained_on_rollback])
