"""A resource type that moto has a model of, offered as a ResourceType."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError

if TYPE_CHECKING:
    from local_aws.moto_border import Json, Untyped
    from local_aws.stack_resource import ResourceRequest


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
