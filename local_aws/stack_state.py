"""What the local AWS remembers of a stack beyond what moto does: its resources, one record each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moto.core.utils import utcnow

if TYPE_CHECKING:
    from local_aws.moto_border import Json, Untyped
    from local_aws.stack_resource import StackResource


@dataclass(slots=True)
class StackState:
    """The resources by logical id, in the order they were made.

    `described`: how each was described when the last operation had ended, None for a type that nobody reads;
    `detection`: the id of the last drift detection.
    """

    resources: dict[str, StackResource] = field(default_factory=dict)
    described: dict[str, Json | None] = field(default_factory=dict)
    detection: str = ""


def state(stack: Untyped) -> StackState:
    """The record of this stack, made on first use; it lives and dies with moto's stack."""
    kept: StackState = stack.__dict__.setdefault("local_state", StackState())
    return kept


def set_status(stack: Untyped, status: str, reason: str | None = None) -> None:
    """Puts the stack in a status, as describe_stacks shows it."""
    stack.status = status
    stack.stack_status_reason = reason
    if not status.startswith(("CREATE", "REVIEW")):
        stack.last_updated_time = utcnow()
