"""Updates of stacks: new resources are created before old ones are deleted, and a failed update is undone.

Each change of a property says whether it needs a new physical resource. A change set lists the changes that an update
would make, resource by resource, in the API's own form. When the clean-up cannot delete an old resource, the update has
succeeded all the same: the old resource stays behind, no longer part of the stack. Source: CloudFormation User Guide,
"Update behaviors of stack resources"; AWS re:Post, "cloudformation-stack-cleanup-stuck".

A stack policy allows or denies updates of resources. With a policy, what no statement allows is denied, and a Deny
beats every Allow; without one, everything is allowed. A policy never concerns new resources, nor the deletion of the
stack itself. Source: CloudFormation User Guide, "Prevent updates to stack resources".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError
from msgspec import Struct, field
from msgspec.structs import replace

from local_aws.cloudformation.stack_lifecycle import (
    Deployment,
    DeploymentFailed,
    ResourceFailed,
    check_exports,
    delete_resources,
    publish_exports,
)
from local_aws.cloudformation.stack_state import (
    StackContents,
    StackResource,
    current_contents,
    place,
    remember,
    resource_reaches,
    stack_reaches,
    state,
)
from local_aws.cloudformation.template import creation_order, is_wanted, resolved_properties
from local_aws.moto_internals import Json, Untyped, resolvable_names
from local_aws.resources import ResourceRequest
from warmbase.stacks.references import (
    GROUP_IN_PLACE,
    INSTANCE_GROUPS,
    INSTANCES_IN_PLACE,
    create_only_pointers,
    primary_identifier,
)

CLUSTER = "AWS::EMR::Cluster"


class Recreation(StrEnum):
    """How a change set describes the need for a new physical resource (RequiresRecreation)."""

    NEVER = "Never"
    CONDITIONALLY = "Conditionally"
    ALWAYS = "Always"


class PropertyChange(Struct, frozen=True, kw_only=True):
    """One property that differs: its top-level name, the path of the difference, and its recreation."""

    name: str
    path: str
    recreation: Recreation


def property_changes(resource_type: str, old: Json, new: Json) -> list[PropertyChange]:
    """Return every change between two resolved property sets, by name; empty when they are equal."""
    changes: list[PropertyChange] = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if resource_type == CLUSTER and name == "Instances":
            changes.extend(_instances_changes(before or {}, after or {}))
            continue
        pointers = create_only_pointers(resource_type)
        inner = [pointer.split("/")[1:] for pointer in pointers if pointer.startswith(f"{name}/")]
        is_replaced = name in pointers or any(_at(before, keys) != _at(after, keys) for keys in inner)
        recreation = Recreation.ALWAYS if is_replaced else Recreation.NEVER
        changes.append(PropertyChange(name=name, path=f"/Properties/{name}", recreation=recreation))
    return changes


def _at(value: object, keys: list[str]) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _instances_changes(old: Json, new: Json) -> Iterator[PropertyChange]:
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if name in INSTANCES_IN_PLACE:
            recreation = Recreation.NEVER
        elif name in INSTANCE_GROUPS and _identity(old.get(name)) == _identity(new.get(name)):
            recreation = Recreation.CONDITIONALLY
        else:
            recreation = Recreation.ALWAYS
        yield PropertyChange(name="Instances", path=f"/Properties/Instances/{name}", recreation=recreation)


def _identity(group: object) -> object:
    """Return a group, or list of groups, without the properties that may change in place."""
    if isinstance(group, list):
        return [_identity(one) for one in group]
    if isinstance(group, dict):
        return {key: value for key, value in group.items() if key not in GROUP_IN_PLACE}
    return group


def replaces(changes: list[PropertyChange]) -> bool:
    """Return whether CloudFormation makes a new resource; what a change set calls conditional is done in place."""
    return any(change.recreation is Recreation.ALWAYS for change in changes)


STATEMENT_KEYS = frozenset(
    {"Sid", "Effect", "Action", "NotAction", "Principal", "Resource", "NotResource", "Condition"}
)


class UpdateAction(StrEnum):
    """An update's action on a resource, as a stack policy names it."""

    MODIFY = "Update:Modify"
    REPLACE = "Update:Replace"
    DELETE = "Update:Delete"


class PolicyQuestion(Struct, frozen=True, kw_only=True):
    """A question to the stack policy, whether an update may do this to that resource."""

    action: UpdateAction
    logical_id: str
    resource_type: str


def parsed_policy(body: str) -> Json:
    """Return the policy's JSON; raises ValidationError, as CloudFormation does, for an invalid stack policy."""
    try:
        policy: Json = json.loads(body)
        statements = _listed(policy["Statement"])
        invalid = [
            item for item in statements if item.get("Effect") not in {"Allow", "Deny"} or item.keys() - STATEMENT_KEYS
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValidationError(message=f"Error validating stack policy: Invalid stack policy: {error}") from error
    if invalid:
        raise ValidationError(message=f"Error validating stack policy: Invalid statement {json.dumps(invalid[0])}")
    return policy


def denial(body: str | None, question: PolicyQuestion) -> str | None:
    """Return why the policy forbids it, in CloudFormation's words; None when it does not."""
    if not body:
        return None
    resource, verdict = f"LogicalResourceId/{question.logical_id}", "no statement allows"
    for number, statement in enumerate(_listed(parsed_policy(body)["Statement"]), start=1):
        matches = (
            _selects(statement, "Action", question.action)
            and _selects(statement, "Resource", resource)
            and all(
                _condition_holds(operator, keys, question.resource_type)
                for operator, keys in (statement.get("Condition") or {}).items()
            )
        )
        if matches and statement["Effect"] == "Deny":
            verdict = f"Statement [#{number}] does not allow"
            break
        if matches:
            verdict = ""
    if not verdict:
        return None
    return f"Action denied by stack policy: {verdict} [{question.action}] for resource [{resource}]"


def _selects(statement: Json, element: str, value: str) -> bool:
    if f"Not{element}" in statement:
        return not any(fnmatchcase(value, pattern) for pattern in _listed(statement[f"Not{element}"]))
    return any(fnmatchcase(value, pattern) for pattern in _listed(statement.get(element, [])))


def _condition_holds(operator: str, keys: Json, resource_type: str) -> bool:
    patterns = _listed(keys.get("ResourceType", []))
    if operator == "StringEquals":
        return resource_type in patterns
    if operator == "StringLike":
        return any(fnmatchcase(resource_type, pattern) for pattern in patterns)
    raise ValidationError(message=f"Error validating stack policy: Unknown condition operator {operator}")


def _listed(value: Untyped) -> list[Untyped]:
    return value if isinstance(value, list) else [value]


NOT_ALL_DELETED = "Update successful. One or more resources could not be deleted."


def update_resources(stack: Untyped, contents: StackContents, policy: str | None) -> None:
    """Make the stack follow the contents, as the policy allows; it ends UPDATE_COMPLETE or UPDATE_ROLLBACK_COMPLETE."""
    check_types_stay(stack, contents)
    stack_reaches(stack, "UPDATE_IN_PROGRESS", "User Initiated")
    deployment = Deployment(stack=stack, template=contents.template, names=contents.names)
    update = _Update(stack, contents, policy, deployment)
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
    deployment: Deployment
    steps: list[ResourceStep] = field(default_factory=list)
    after: dict[str, StackResource] = field(default_factory=dict)

    def walk(self) -> None:
        """Create, change or replace every resource of the new template; delete nothing. Raises DeploymentFailed."""
        definitions = self.contents.template["Resources"]
        for logical_id in creation_order(self.contents.template):
            if is_wanted(definitions[logical_id], self.contents.names):
                current = state(self.stack).resources.get(logical_id)
                self.after[logical_id] = (
                    self._followed(current) if current else self._created(None, self.deployment.request(logical_id))
                )
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

    def _created(self, before: StackResource | None, request: ResourceRequest) -> StackResource:
        try:
            resource = self.deployment.create(request, replacing=before is not None)
        except ResourceFailed as failure:
            if failure.remainder:
                self.steps.append(ResourceStep(before=before, after=failure.remainder))
            raise
        self.steps.append(ResourceStep(before=before, after=resource))
        return resource

    def _followed(self, current: StackResource) -> StackResource:
        """Return the resource as the new template has it: unchanged, changed in place, or replaced."""
        deployment = self.deployment
        request = deployment.request(current.logical_id, current)
        old, new = current.request.properties, request.properties
        changes = property_changes(request.resource_type, old, new)
        if not changes:
            deployment.learn(current)
            return replace(current, definition=deployment.template["Resources"][current.logical_id])
        if not replaces(changes):
            self._ask(UpdateAction.MODIFY, current)
            step = ResourceStep(before=current, after=None)
            self.steps.append(step)
            step.after = deployment.update(current, request)
            return step.after
        self._ask(UpdateAction.REPLACE, current)
        names = primary_identifier(request.resource_type)
        if names and all(name in new and new[name] == old.get(name) for name in names):
            named = ", ".join(str(new[name]) for name in sorted(names))
            reason = "CloudFormation cannot update a stack when a custom-named resource requires replacing."
            deployment.deny(current, f"{reason} Rename {named} and update the stack again.")
        name = deployment.fresh_name(request.resource_type, request.logical_id)
        return self._created(current, replace(request, generated_name=name))

    def _ask(self, action: UpdateAction, resource: StackResource) -> None:
        """Raise ResourceFailed where the stack policy forbids the action on the resource."""
        question = PolicyQuestion(
            action=action, logical_id=resource.logical_id, resource_type=resource.request.resource_type
        )
        if reason := denial(self.policy, question):
            self.deployment.deny(resource, reason)


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
    created = [step.physical_resource for step in steps if step.physical_resource]
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
    for resource in created:
        if resource.is_retained_on_rollback:
            resource_reaches(stack, resource, "DELETE_SKIPPED")
    delete_resources(stack, [one for one in created if not one.is_retained_on_rollback])
    stack_reaches(stack, "UPDATE_ROLLBACK_COMPLETE")


UNRESOLVED = "{{changeSet:KNOWN_AFTER_APPLY}}"


class PlannedResource(Struct, kw_only=True, eq=False, dict=True):
    """A resource that the update would create, whose id and attributes are not known yet."""

    logical_id: str

    @property
    def physical_resource_id(self) -> str:
        """Return a text that no current value equals."""
        return f"{UNRESOLVED}/{self.logical_id}"

    def get_cfn_attribute(self, name: str) -> str:
        """Return a text that no current value equals."""
        if not name:
            raise UnformattedGetAttTemplateException
        return f"{UNRESOLVED}/{self.logical_id}.{name}"


def planned_changes(stack: Untyped, contents: StackContents) -> list[Json]:
    """Return each resource that the update would add, modify or remove, as describe_change_set lists it."""
    definitions, resources = contents.template["Resources"], state(stack).resources
    changes: list[Json] = []
    current_ids: set[str] = set()
    for logical_id in creation_order(contents.template):
        if not is_wanted(definitions[logical_id], contents.names):
            continue
        current_ids.add(logical_id)
        if logical_id in resources:
            changes.extend(_modification(stack, contents, resources[logical_id]))
        else:
            resolvable_names(contents.names)[logical_id] = PlannedResource(logical_id=logical_id)
            changes.append(_entry("Add", logical_id, definitions[logical_id]["Type"]))
    for name, current in resources.items():
        if name not in current_ids:
            entry = _entry("Remove", name, current.request.resource_type)
            entry["PhysicalResourceId"] = current.physical_id
            entry["PolicyAction"] = "Retain" if current.is_retained_on_deletion else "Delete"
            changes.append(entry)
    return changes


def _entry(action: str, logical_id: str, resource_type: str) -> Json:
    return {
        "Action": action,
        "LogicalResourceId": logical_id,
        "ResourceType": resource_type,
        "Scope": [],
        "Details": [],
    }


def _modification(stack: Untyped, contents: StackContents, current: StackResource) -> list[Json]:
    """Return the entry of a resource that changes, or None for an unchanged resource.

    A replacing change is conditional while its value is unknown.
    """
    definition = contents.template["Resources"][current.logical_id]
    resolvable_names(contents.names)[current.logical_id] = current.resource
    new = resolved_properties(definition, contents.names, stack.region_name)
    changes = property_changes(current.request.resource_type, current.request.properties, new)
    weights, details = set[Recreation](), list[Json]()
    for change in changes:
        depends = UNRESOLVED in str(new.get(change.name))
        always = change.recreation is Recreation.ALWAYS
        weights.add(Recreation.CONDITIONALLY if always and depends else change.recreation)
        target = {
            "Attribute": "Properties",
            "Name": change.name,
            "Path": change.path,
            "RequiresRecreation": change.recreation.value,
        }
        source = "ResourceReference" if depends else "DirectModification"
        details.append({"Target": target, "Evaluation": "Dynamic" if depends else "Static", "ChangeSource": source})
    if Recreation.ALWAYS in weights:
        resolvable_names(contents.names)[current.logical_id] = PlannedResource(logical_id=current.logical_id)
    attributes = ("DeletionPolicy", "Metadata", "UpdateReplacePolicy")
    scope = ["Properties"] if changes else []
    scope += [name for name in attributes if current.definition.get(name) != definition.get(name)]
    if not scope:
        return []
    conditional = "Conditional" if Recreation.CONDITIONALLY in weights else "False"
    entry = _entry("Modify", current.logical_id, current.request.resource_type)
    entry["PhysicalResourceId"] = current.physical_id
    entry["Replacement"] = "True" if Recreation.ALWAYS in weights else conditional
    entry["Scope"] = scope
    entry["Details"] = details
    return [entry]
