"""Resource types, which create, change and delete resources through a service's API or through moto's model."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError

if TYPE_CHECKING:
    from local_aws.moto_internals import Json, Untyped


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


@dataclass(kw_only=True, eq=False)
class ApiResource:
    """What Ref and Fn::GetAtt give for a resource; moto's resolver reads these names."""

    physical_resource_id: str
    attributes: dict[str, str] = field(default_factory=dict)

    def get_cfn_attribute(self, name: str) -> str:
        """One attribute; raises what moto turns into CloudFormation's error for an unknown one."""
        if name not in self.attributes:
            raise UnformattedGetAttTemplateException
        return self.attributes[name]


class ApiType:
    """A resource type whose resources have no attribute but those named in `attributes`."""

    attributes: frozenset[str] = frozenset()

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""
        return name in self.attributes

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Raise ValidationError: most such types have create-only properties. A type that changes overrides this."""
        raise ValidationError(
            message=f"{request.resource_type} has nothing to change in place: {resource.physical_resource_id}"
        )

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Do nothing: a type whose resources can be deleted overrides this."""


class MotoType:
    """Makes, changes and deletes resources through the class methods of one moto model."""

    def __init__(self, model: Untyped) -> None:
        self.model = model

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""
        return bool(self.model.has_cfn_attr(name))

    def create(self, request: ResourceRequest) -> Untyped:
        """The new resource."""
        return self.model.create_from_cloudformation_json(
            self.name(request),
            cloudformation_json(request),
            request.account_id,
            request.region,
            LogicalId=request.logical_id,
            StackId=request.stack_id,
            ResourceType=request.resource_type,
        )

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """The same physical resource, changed in place; raises ValidationError where moto cannot change the type."""
        if _is_abstract(self.model.update_from_cloudformation_json):
            raise ValidationError(
                message=f"the local AWS cannot change a resource of type {request.resource_type} in place"
            )
        return self.model.update_from_cloudformation_json(
            original_resource=resource,
            new_resource_name=self.name(request),
            cloudformation_json=cloudformation_json(request),
            account_id=request.account_id,
            region_name=request.region,
        )

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Deletes the physical resource; raises ValidationError where moto cannot delete the type."""
        if callable(getattr(resource, "delete", None)):
            resource.delete(request.account_id, request.region)
        elif _is_abstract(self.model.delete_from_cloudformation_json):
            raise ValidationError(message=f"the local AWS cannot delete a resource of type {request.resource_type}")
        else:
            self.model.delete_from_cloudformation_json(
                resource.physical_resource_id,
                cloudformation_json(request),
                request.account_id,
                request.region,
            )

    def name(self, request: ResourceRequest) -> str:
        """The name the template gives, else the one made up for it."""
        key = self.model.cloudformation_name_type()
        return str(request.properties.get(key) or request.generated_name) if key else request.generated_name


def cloudformation_json(request: ResourceRequest) -> Json:
    """Return the request as moto's models read it; a copy, because some of them write into it."""
    return {"Type": request.resource_type, "Properties": deepcopy(request.properties)}


def _is_abstract(method: Untyped) -> bool:
    return hasattr(method, "__isabstractmethod__")
