"""The events of a stack and of each of its resources: what describe_stack_events lists and the CDK CLI prints."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from moto.cloudformation.models import Event
from moto.core.utils import utcnow

from local_aws.moto_border import Untyped, stack_event
from local_aws.stack_state import set_status

if TYPE_CHECKING:
    from local_aws.stack_resource import StackResource


def stack_reaches(stack: Untyped, status: str, reason: str | None = None) -> None:
    """Puts the stack in a status and says so in an event."""
    set_status(stack, status, reason)
    stack_event(stack, status, reason)
    _put_in_order(stack)


def resource_reaches(stack: Untyped, resource: StackResource, status: str, reason: str | None = None) -> None:
    """Puts a resource in a status and says so in an event of its stack."""
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
    """Dates the last event after the one before: readers sort by time, and a step here takes no time."""
    if len(stack.events) > 1:
        earlier, last = stack.events[-2:]
        last.timestamp = max(last.timestamp, earlier.timestamp + timedelta(milliseconds=1))
