"""A resource that exists in its stack only, such as AWS::CDK::Metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws.api_resource import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceRequest


class Blank(ApiType):
    """Makes nothing."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return a name without a thing."""
        return ApiResource(physical_resource_id=request.generated_name)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:  # noqa: ARG002 - nothing to change
        """The same name."""
        return resource

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Nothing to delete."""
