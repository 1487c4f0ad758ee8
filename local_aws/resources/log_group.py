"""AWS::Logs::LogGroup: moto makes it, and here its retention follows the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moto.logs.models import LogGroup

from local_aws import api
from local_aws.moto_type import MotoType

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import ResourceRequest


class LogGroupType(MotoType):
    """A log group."""

    def __init__(self) -> None:
        super().__init__(LogGroup)

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new log group."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same log group with the requested retention."""
        days = request.properties.get("RetentionInDays")
        if days:
            asked = {"logGroupName": resource.name, "retentionInDays": days}
            api.call("logs", request.region, "put_retention_policy", **asked)
        else:
            api.call("logs", request.region, "delete_retention_policy", logGroupName=resource.name)
        return resource
