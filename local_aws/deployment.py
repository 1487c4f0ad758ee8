"""Creates and changes a stack's single resources from a template, each step with its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from moto.cloudformation.parsing import generate_resource_name
from moto.ec2.models import ec2_backends
from moto.ec2.models.core import TaggedEC2Resource
from msgspec import Struct
from msgspec.structs import replace

from local_aws import resource_types
from local_aws.moto_internals import Json, Untyped, resolvable_names
from local_aws.resource_type import CreationFailed, ResourceRequest
from local_aws.stack_state import StackResource, resource_reaches
from local_aws.template import resolved_properties

if TYPE_CHECKING:
    from collections.abc import Callable

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
        bare = self._bare_request(logical_id, current)
        try:
            properties = resolved_properties(definition, self.names, self.stack.region_name)
        except Exception as error:  # noqa: BLE001 - whatever a reference says, the stack's events report it
            verb = "UPDATE" if current else "CREATE"
            failed = StackResource(request=bare, definition=definition, resource=current and current.resource)
            self._fail(failed, verb, error)
        return replace(bare, properties=properties)

    def create(self, request: ResourceRequest, *, replacing: bool = False) -> StackResource:
        """Create a resource and make it known to the resolver; raises ResourceFailed."""
        resource = StackResource(request=request, definition=self.template["Resources"][request.logical_id])
        verb = "UPDATE" if replacing else "CREATE"
        resource_reaches(self.stack, resource, f"{verb}_IN_PROGRESS", REPLACING if replacing else None)

        def make() -> None:
            resource.resource = resource_types.find(request.resource_type).create(request)
            self.tag(resource)

        self._attempt(resource, verb, make)
        return resource

    def update(self, current: StackResource, request: ResourceRequest) -> StackResource:
        """Change a physical resource to the requested properties and return it; raises ResourceFailed."""
        definition = self.template["Resources"].get(request.logical_id, current.definition)
        changed = StackResource(request=request, definition=definition, resource=current.resource)
        resource_reaches(self.stack, changed, "UPDATE_IN_PROGRESS")

        def change() -> None:
            changed.resource = resource_types.find(request.resource_type).update(current.resource, request)
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

    def _bare_request(self, logical_id: str, current: StackResource | None) -> ResourceRequest:
        resource_type = self.template["Resources"][logical_id]["Type"]
        name = current.request.generated_name if current else ""
        return ResourceRequest(
            logical_id=logical_id,
            resource_type=resource_type,
            properties={},
            generated_name=name or self.fresh_name(resource_type, logical_id),
            stack_id=self.stack.stack_id,
            account_id=self.stack.account_id,
            region=self.stack.region_name,
        )

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
