"""A stack as the local AWS keeps it: its template and parameters, its resources, its status and its events."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from moto.cloudformation.models import Event
from moto.cloudformation.parsing import OutputMap
from moto.core.utils import utcnow
from msgspec import Struct, field

from local_aws.moto_internals import Untyped, stack_event
from local_aws.template import check_parameters, check_resource_types, check_shape, parsed_template, resource_map

if TYPE_CHECKING:
    from datetime import datetime

    from local_aws.moto_internals import Json, Untyped
    from local_aws.resource_type import ResourceRequest


class StackContents(Struct, frozen=True, kw_only=True):
    """A template with its parameters, checked, with no resource made yet."""

    text: str
    template: Json
    parameters: dict[str, str]
    names: Untyped


def stack_contents(stack: Untyped, text: str, parameters: dict[str, str]) -> StackContents:
    """Return the contents for this stack; raises ValidationError for what CloudFormation refuses before it starts."""
    template = parsed_template(text)
    check_shape(template)
    check_resource_types(template)
    check_parameters(template, parameters)
    names = resource_map(stack, template, parameters)
    return StackContents(text=text, template=template, parameters=parameters, names=names)


def current_contents(stack: Untyped) -> StackContents:
    """Return the stack's current contents."""
    return StackContents(
        text=stack.template,
        template=stack.template_dict,
        parameters=stack.parameters,
        names=stack.resource_map,
    )


def place(stack: Untyped, contents: StackContents) -> None:
    """Replace the stack's template, parameters and outputs with the contents."""
    stack.template, stack.template_dict = contents.text, contents.template
    stack.description = contents.template.get("Description")
    stack.parameters = contents.parameters
    stack.resource_map = contents.names
    stack.output_map = OutputMap(contents.names, contents.template, stack.stack_id)


class StackResource(Struct, kw_only=True, eq=False):
    """A resource of a stack, with its request, its definition and its status."""

    request: ResourceRequest
    definition: Json
    resource: Untyped = None
    status: str = "CREATE_IN_PROGRESS"
    reason: str | None = None
    updated: datetime = field(default_factory=utcnow)

    @property
    def logical_id(self) -> str:
        """Return the name in the template."""
        return self.request.logical_id

    @property
    def physical_id(self) -> str:
        """Return the value of Ref; empty before the resource exists."""
        return "" if self.resource is None else str(self.resource.physical_resource_id)

    @property
    def is_retained_on_deletion(self) -> bool:
        """Return whether DeletionPolicy retains it when its stack is deleted."""
        return self.definition.get("DeletionPolicy") in {"Retain", "RetainExceptOnCreate"}

    @property
    def is_retained_on_rollback(self) -> bool:
        """Return whether it outlives the failed operation that created it."""
        return bool(self.definition.get("DeletionPolicy") == "Retain")

    @property
    def is_retained_on_replacement(self) -> bool:
        """Return whether UpdateReplacePolicy retains it when another resource replaces it."""
        return bool(self.definition.get("UpdateReplacePolicy") == "Retain")


class StackState(Struct):
    """The resources by logical id, in the order of their creation.

    `described`: how each was described when the last operation had ended, None for a type that nobody reads;
    `detection`: the id of the last drift detection; `drifts`: how it found each resource. `undone`: the steps that a
    failed rollback has not undone yet.
    """

    resources: dict[str, StackResource] = field(default_factory=dict)
    described: dict[str, Json | None] = field(default_factory=dict)
    detection: str = ""
    drifts: list[Json] = field(default_factory=list)
    undone: list[Untyped] = field(default_factory=list)


def state(stack: Untyped) -> StackState:
    """Return the record of this stack, which is created on first use and ends with moto's stack."""
    stack_state: StackState = stack.__dict__.setdefault("local_state", StackState())
    return stack_state


def set_status(stack: Untyped, status: str, reason: str | None = None) -> None:
    """Set the stack's status, as describe_stacks reports it."""
    stack.status = status
    stack.stack_status_reason = reason
    if not status.startswith(("CREATE", "REVIEW")):
        stack.last_updated_time = utcnow()


def stack_reaches(stack: Untyped, status: str, reason: str | None = None) -> None:
    """Set the stack's status and add an event."""
    set_status(stack, status, reason)
    stack_event(stack, status, reason)
    _put_in_order(stack)


def resource_reaches(stack: Untyped, resource: StackResource, status: str, reason: str | None = None) -> None:
    """Set a resource's status and add an event to its stack."""
    resource.status, resource.reason, resource.updated = status, reason, utcnow()
    event = Event(
        stack_id=stack.stack_id,
        stack_name=stack.name,
        logical_resource_id=resource.logical_id,
        physical_resource_id=resource.physical_id,
        resource_type=resource.request.resource_type,
        resource_status=status,
        resource_status_reason=reason,
        resource_properties=json.dumps(resource.request.properties, default=str),
    )
    event.sendToSns(stack.account_id, stack.region_name, stack.notification_arns)
    stack.events.append(event)
    _put_in_order(stack)


def _put_in_order(stack: Untyped) -> None:
    """Date the last event after the previous one: readers sort by time, and a step here takes no time."""
    if len(stack.events) > 1:
        earlier, last = stack.events[-2:]
        last.timestamp = max(last.timestamp, earlier.timestamp + timedelta(milliseconds=1))
