"""One resource of one stack: what it was asked to be, and moto's object for it; and what a resource type must offer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from moto.core.utils import utcnow

if TYPE_CHECKING:
    from datetime import datetime

    from local_aws.moto_border import Json, Untyped


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """What a resource type is asked to make: resolved properties, and the name to use where AWS would make one up."""

    logical_id: str
    resource_type: str
    properties: Json
    generated_name: str
    stack_id: str
    account_id: str
    region: str


class ResourceType(Protocol):
    """Makes, changes and deletes resources of one type; its objects have a physical_resource_id and attributes."""

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""

    def create(self, request: ResourceRequest) -> Untyped:
        """The new resource."""

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same physical resource, changed in place."""

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Deletes the physical resource."""


@dataclass(slots=True, kw_only=True, eq=False)
class StackResource:
    """A resource as its stack knows it."""

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
        """Return what Ref gives; empty before the resource exists."""
        return "" if self.resource is None else str(self.resource.physical_resource_id)

    @property
    def is_retained_on_deletion(self) -> bool:
        """Return whether DeletionPolicy says to leave it when its stack goes."""
        return self.definition.get("DeletionPolicy") in {"Retain", "RetainExceptOnCreate"}

    @property
    def is_retained_on_rollback(self) -> bool:
        """Return whether it outlives the failed operation that made it."""
        return bool(self.definition.get("DeletionPolicy") == "Retain")

    @property
    def is_retained_on_replacement(self) -> bool:
        """Return whether UpdateReplacePolicy says to leave it when another takes its place."""
        return bool(self.definition.get("UpdateReplacePolicy") == "Retain")
