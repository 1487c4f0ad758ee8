"""Creation and deletion of a stack's resources, with the retries and rollbacks that CloudFormation makes.

Each step has its events. A stack's exports have names that no other stack has, and an export is not changed or dropped
while another stack imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from enum import StrEnum
from typing import NoReturn

from moto.cloudformation.models import cloudformation_backends
from moto.cloudformation.parsing import Export, clean_json, generate_resource_name
from moto.ec2.models import ec2_backends
from moto.ec2.models.core import TaggedEC2Resource
from msgspec import Struct
from msgspec.structs import replace

from local_aws.cloudformation.stack_state import (
    StackContents,
    StackResource,
    place,
    remember,
    resource_reaches,
    stack_reaches,
    state,
)
from local_aws.cloudformation.template import creation_order, find_resource_type, is_wanted, resolved_properties
from local_aws.moto_internals import Json, Untyped, resolvable_names
from local_aws.resources import CreationFailed, ResourceRequest

REPLACING = "Requested update requires the creation of a new physical resource; hence creating one."


class DeploymentFailed(Exception):
    """An operation on a stack that cannot continue; its text is the reason in the stack's own event."""


class ResourceFailed(DeploymentFailed):
    """One resource that could not be created or changed; its own event already has the reason.

    `remainder` is a physical resource that the failed creation left.
    """

    def __init__(self, verb: str, logical_id: str, remainder: StackResource | None = None) -> None:
        super().__init__(f"The following resource(s) failed to {verb.lower()}: [{logical_id}]. ")
        self.remainder = remainder


class Deployment(Struct, frozen=True, kw_only=True):
    """A stack, the template that it follows, and moto's resolver, which learns each created resource."""

    stack: Untyped
    template: Json
    names: Untyped

    def request(self, logical_id: str, current: StackResource | None = None) -> ResourceRequest:
        """Return the template's request for a resource, references resolved; raises ResourceFailed for a bad one."""
        definition = self.template["Resources"][logical_id]
        name = current.request.generated_name if current else ""
        bare = ResourceRequest(
            logical_id=logical_id,
            resource_type=definition["Type"],
            properties={},
            generated_name=name or self.fresh_name(definition["Type"], logical_id),
            stack_id=self.stack.stack_id,
            account_id=self.stack.account_id,
            region=self.stack.region_name,
        )
        try:
            properties = resolved_properties(definition, self.names, self.stack.region_name)
        except Exception as error:  # noqa: BLE001 - whatever a reference says, the stack's events report it
            failed = StackResource(request=bare, definition=definition, resource=current and current.resource)
            self._fail(failed, "UPDATE" if current else "CREATE", error)
        return replace(bare, properties=properties)

    def create(self, request: ResourceRequest, *, replacing: bool = False) -> StackResource:
        """Create a resource and make it known to the resolver; raises ResourceFailed."""
        resource = StackResource(request=request, definition=self.template["Resources"][request.logical_id])
        verb = "UPDATE" if replacing else "CREATE"
        resource_reaches(self.stack, resource, f"{verb}_IN_PROGRESS", REPLACING if replacing else None)

        def make() -> None:
            resource.resource = find_resource_type(request.resource_type).create(request)
            self.tag(resource)

        self._attempt(resource, verb, make)
        return resource

    def update(self, current: StackResource, request: ResourceRequest) -> StackResource:
        """Change a physical resource to the requested properties and return it; raises ResourceFailed."""
        definition = self.template["Resources"].get(request.logical_id, current.definition)
        changed = StackResource(request=request, definition=definition, resource=current.resource)
        resource_reaches(self.stack, changed, "UPDATE_IN_PROGRESS")

        def change() -> None:
            changed.resource = find_resource_type(request.resource_type).update(current.resource, request)
            self.tag(changed)

        self._attempt(changed, "UPDATE", change)
        return changed

    def fresh_name(self, resource_type: str, logical_id: str) -> str:
        """Return an unused name: stack, logical id and a random suffix, within the type's length."""
        return str(generate_resource_name(resource_type, self.stack.name, logical_id))

    def deny(self, current: StackResource, reason: str) -> NoReturn:
        """Record that a policy forbids touching the resource; always raises ResourceFailed."""
        resource_reaches(self.stack, current, "UPDATE_FAILED", reason)
        raise ResourceFailed("UPDATE", current.logical_id)

    def learn(self, resource: StackResource) -> None:
        """Make the resource known to Ref and Fn::GetAtt."""
        resource.resource.logical_resource_id = resource.logical_id
        resource.resource.cf_resource_type = resource.request.resource_type
        resolvable_names(self.names)[resource.logical_id] = resource.resource

    def tag(self, resource: StackResource) -> None:
        """Give an EC2 resource the stack's tags and its own."""
        if not isinstance(resource.resource, TaggedEC2Resource):
            return
        tags = dict(self.stack.tags)
        tags.update({tag["Key"]: tag["Value"] for tag in resource.request.properties.get("Tags", [])})
        tags["aws:cloudformation:stack-name"] = self.stack.name
        tags["aws:cloudformation:stack-id"] = self.stack.stack_id
        tags["aws:cloudformation:logical-id"] = resource.logical_id
        ec2_backends[self.stack.account_id][self.stack.region_name].create_tags([resource.physical_id], tags)

    def _attempt(self, resource: StackResource, verb: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever a service says, the stack's events report it
            self._fail(resource, verb, error)
        self.learn(resource)
        resource_reaches(self.stack, resource, f"{verb}_COMPLETE")

    def _fail(self, resource: StackResource, verb: str, error: Exception) -> NoReturn:
        remainder = None
        if isinstance(error, CreationFailed):
            resource.resource, remainder = error.resource, resource
        resource_reaches(self.stack, resource, f"{verb}_FAILED", failure_reason(error))
        raise ResourceFailed(verb, resource.logical_id, remainder) from error


def failure_reason(error: Exception) -> str:
    """Return the reason that a resource's event gives for an error."""
    return str(getattr(error, "message", "") or error) or type(error).__name__


def wanted_outputs(contents: StackContents) -> Iterator[tuple[str, Json]]:
    """Yield the outputs whose condition holds, resolved."""
    for key, body in (contents.template.get("Outputs") or {}).items():
        condition = body.get("Condition")
        if condition is None or contents.names.lazy_condition_map[condition]:
            yield key, clean_json(body, contents.names)


def check_exports(stack: Untyped, contents: StackContents) -> None:
    """Raise DeploymentFailed when the contents export another stack's name, or change or drop an imported one."""
    others = {name: export for name, export in _exports(stack).items() if export.exporting_stack_id != stack.stack_id}
    new = exported_values(contents)
    for name in new.keys() & others.keys():
        raise DeploymentFailed(
            f"Export with name {name} is already exported by stack {others[name].exporting_stack_id}."
        )
    for name, value in _own_exports(stack).items():
        users = importing_stacks(stack, name)
        if users and new.get(name) != value:
            verb = "updated" if name in new else "deleted"
            raise DeploymentFailed(f"Export {name} cannot be {verb} as it is in use by {', '.join(users)}.")


def publish_exports(stack: Untyped, contents: StackContents) -> None:
    """Replace this stack's exports with those of the contents."""
    withdraw_exports(stack)
    for name, value in exported_values(contents).items():
        _exports(stack)[name] = Export(stack.stack_id, name, value)


def withdraw_exports(stack: Untyped) -> None:
    """Remove every export of this stack."""
    for name in _own_exports(stack):
        del _exports(stack)[name]


def exported_values(contents: StackContents) -> dict[str, str]:
    """Return the exported names and their values."""
    return {
        str(output["Export"]["Name"]): str(output["Value"])
        for _, output in wanted_outputs(contents)
        if "Export" in output
    }


def importing_stacks(stack: Untyped, name: str) -> list[str]:
    """Return the names of the other stacks whose template imports the name."""
    stacks = cloudformation_backends[stack.account_id][stack.region_name].stacks.values()
    return [
        other.name
        for other in stacks
        if other is not stack
        and name in {clean_json(text, other.resource_map) for text in _imports(other.template_dict)}
    ]


def _imports(node: object) -> Iterator[object]:
    if isinstance(node, dict):
        if "Fn::ImportValue" in node:
            yield node["Fn::ImportValue"]
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _imports(inner)


def _exports(stack: Untyped) -> Untyped:
    return cloudformation_backends[stack.account_id][stack.region_name].exports


def _own_exports(stack: Untyped) -> dict[str, str]:
    return {
        name: export.value for name, export in _exports(stack).items() if export.exporting_stack_id == stack.stack_id
    }


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
        reason = str(failure)
        if on_failure is OnFailure.DO_NOTHING:
            stack_reaches(stack, "CREATE_FAILED", reason)
            return
        status = "DELETE" if on_failure is OnFailure.DELETE else "ROLLBACK"
        stack_reaches(stack, f"{status}_IN_PROGRESS", f"{reason}{status.capitalize()} requested by user.")
        _delete_all(stack, status, [one for one in resources.values() if one.is_retained_on_rollback])
        return
    publish_exports(stack, contents)
    remember(stack)
    stack_reaches(stack, "CREATE_COMPLETE")


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
    resources = state(stack).resources.values()
    skipped = [one for one in resources if one.is_retained_on_deletion or one.logical_id in retained]
    return _delete_all(stack, "DELETE", skipped)


def _delete_all(stack: Untyped, status: str, retained: Collection[StackResource]) -> bool:
    """Delete the resources that are not retained; the status ends in _COMPLETE, or in _FAILED where some remain."""
    for resource in retained:
        resource_reaches(stack, resource, "DELETE_SKIPPED")
    remaining = delete_resources(stack, [one for one in state(stack).resources.values() if one not in retained])
    state(stack).resources = {one.logical_id: one for one in remaining[::-1]}
    if remaining:
        names = ", ".join(resource.logical_id for resource in remaining)
        stack_reaches(stack, f"{status}_FAILED", f"The following resource(s) failed to delete: [{names}]. ")
    else:
        stack_reaches(stack, f"{status}_COMPLETE")
    return not remaining


def _is_deleted(stack: Untyped, resource: StackResource) -> bool:
    resource_reaches(stack, resource, "DELETE_IN_PROGRESS")
    try:
        find_resource_type(resource.request.resource_type).delete(resource.resource, resource.request)
    except Exception as error:  # noqa: BLE001 - whatever a service says, the stack's events report it
        resource_reaches(stack, resource, "DELETE_FAILED", failure_reason(error))
        return False
    resource_reaches(stack, resource, "DELETE_COMPLETE")
    return True
