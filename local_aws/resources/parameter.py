"""AWS::SSM::Parameter: put, and put again over the same name; moto would delete it in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws import api
from local_aws.api_resource import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.moto_border import Json
    from local_aws.stack_resource import ResourceRequest


class Parameter(ApiType):
    """A parameter; its tags are a map in templates and a list in the API."""

    attributes = frozenset({"Type", "Value"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """The new parameter; the Parameter Store refuses a name that is taken."""
        name = str(request.properties.get("Name") or request.generated_name)
        tags = [{"Key": key, "Value": value} for key, value in request.properties.get("Tags", {}).items()]
        return _put(name, request, Tags=tags)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same parameter with the requested value, as its next version."""
        return _put(resource.physical_resource_id, request, Overwrite=True)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Deletes the parameter."""
        api.call("ssm", request.region, "delete_parameter", Name=resource.physical_resource_id)


def _put(name: str, request: ResourceRequest, **how: object) -> ApiResource:
    asked: Json = {key: value for key, value in request.properties.items() if key not in {"Name", "Tags"}}
    api.call("ssm", request.region, "put_parameter", **{**asked, "Name": name, **how})
    attributes = {"Type": str(asked["Type"]), "Value": str(asked["Value"])}
    return ApiResource(physical_resource_id=name, attributes=attributes)
