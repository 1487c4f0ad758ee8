"""A resource that moto has no model of, kept by calling its service's own API."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import UnformattedGetAttTemplateException, ValidationError

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import ResourceRequest


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
        """Refused, for most such types have create-only properties alone; one that can change overrides this.

        Raises ValidationError.
        """
        raise ValidationError(
            message=f"{request.resource_type} has nothing to change in place: {resource.physical_resource_id}"
        )
