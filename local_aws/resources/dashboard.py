"""AWS::CloudWatch::Dashboard: put, and put again over the same name; moto would make up another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws import api
from local_aws.api_resource import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceRequest


class Dashboard(ApiType):
    """A dashboard; its body is kept, not drawn."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """The new dashboard."""
        return _put(str(request.properties.get("DashboardName") or request.generated_name), request)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same dashboard with the requested body."""
        return _put(resource.physical_resource_id, request)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Deletes the dashboard."""
        names = [resource.physical_resource_id]
        api.call("cloudwatch", request.region, "delete_dashboards", DashboardNames=names)


def _put(name: str, request: ResourceRequest) -> ApiResource:
    body = request.properties["DashboardBody"]
    api.call("cloudwatch", request.region, "put_dashboard", DashboardName=name, DashboardBody=body)
    return ApiResource(physical_resource_id=name)
