"""Resource types that moto's CloudFormation lacks or supports only in part.

Each creates, changes and deletes resources through a service's API or through moto's model. The modules here have one
service each; `simple` has the types that need a few calls only.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Protocol

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError
from msgspec import Struct, field

from local_aws.moto_internals import Json, Untyped, call


class ResourceRequest(Struct, frozen=True, kw_only=True):
    """A request to a resource type: resolved properties, and the name to use where AWS would generate one."""

    logical_id: str
    resource_type: str
    properties: Json
    generated_name: str
    stack_id: str
    account_id: str
    region: str

    def call(self, service: str, operation: str, **parameters: object) -> Json:
        """Make one API call in the region of the request, as `moto_internals.call` does."""
        return call(service, self.region, operation, **parameters)


class CreationFailed(Exception):
    """A creation that failed and left a physical resource, which a rollback deletes."""

    def __init__(self, resource: Untyped, reason: str) -> None:
        super().__init__(reason)
        self.resource = resource


class ResourceType(Protocol):
    """A resource type that creates, changes and deletes resources with a physical_resource_id and attributes."""

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new resource."""

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same physical resource, changed in place."""

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the physical resource."""


class ApiResource(Struct, kw_only=True, eq=False, dict=True):
    """The values of Ref and Fn::GetAtt for a resource, under the names that moto's resolver reads."""

    physical_resource_id: str
    attributes: dict[str, str] = field(default_factory=dict)

    def get_cfn_attribute(self, name: str) -> str:
        """Return one attribute; raises the exception that moto reports for an unknown attribute."""
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
            message=f"{request.resource_type} cannot change in place: {resource.physical_resource_id}"
        )

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Do nothing: a type whose resources can be deleted overrides this."""


class MotoType:
    """A resource type that creates, changes and deletes resources through the class methods of one moto model."""

    model: Untyped = None
    attributes: frozenset[str] = frozenset()
    """The names that Fn::GetAtt knows; empty where moto's model knows them."""

    def __init__(self, model: Untyped = None) -> None:
        self.model = model or self.model

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""
        return name in self.attributes if self.attributes else bool(self.model.has_cfn_attr(name))

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new resource."""
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
        """Return the same physical resource, changed in place; raises ValidationError where moto cannot change it."""
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
        """Delete the physical resource; raises ValidationError where moto cannot delete the type."""
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
        """Return the template's name for the resource, else the generated one."""
        key = self.model.cloudformation_name_type()
        return str(request.properties.get(key) or request.generated_name) if key else request.generated_name


def cloudformation_json(request: ResourceRequest) -> Json:
    """Return the request as moto's models read it; a copy, because some of them write into it."""
    return {"Type": request.resource_type, "Properties": deepcopy(request.properties)}


def _is_abstract(method: Untyped) -> bool:
    return hasattr(method, "__isabstractmethod__")
