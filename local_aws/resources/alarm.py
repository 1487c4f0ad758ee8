"""AWS::CloudWatch::Alarm and AWS::CloudWatch::CompositeAlarm: every property goes as it is to the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws import api
from local_aws.api_resource import ApiResource, ApiType

if TYPE_CHECKING:
    from local_aws.stack_resource import ResourceRequest


class AlarmType(ApiType):
    """One of the two kinds of alarm; the operation that puts it is all that differs."""

    attributes = frozenset({"Arn"})

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def create(self, request: ResourceRequest) -> ApiResource:
        """The new alarm."""
        name = str(request.properties.get("AlarmName") or request.generated_name)
        return self._put(name, request)

    def update(self, resource: ApiResource, request: ResourceRequest) -> ApiResource:
        """Return the same alarm with the requested properties."""
        return self._put(resource.physical_resource_id, request)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Deletes the alarm."""
        api.call("cloudwatch", request.region, "delete_alarms", AlarmNames=[resource.physical_resource_id])

    def _put(self, name: str, request: ResourceRequest) -> ApiResource:
        parameters = {**request.properties, "AlarmName": name}
        api.call("cloudwatch", request.region, self.operation, **parameters)
        arn = f"arn:aws:cloudwatch:{request.region}:{request.account_id}:alarm:{name}"
        return ApiResource(physical_resource_id=name, attributes={"Arn": arn})
