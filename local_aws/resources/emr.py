"""AWS::EMR::InstanceGroupConfig, AWS::EMR::Step, AWS::EMR::SecurityConfiguration and AWS::EMR::WALWorkspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from moto.emr.models import emr_backends

from local_aws import api
from local_aws.api_resource import ApiResource, ApiType
from local_aws.instance_groups import settle
from local_aws.resources.cluster import instance_group, step

if TYPE_CHECKING:
    from local_aws.moto_border import Untyped
    from local_aws.stack_resource import ResourceRequest


class InstanceGroupConfig(ApiType):
    """A task group added to a cluster; EMR cannot remove one, so its deletion sets it to no instances."""

    def create(self, request: ResourceRequest) -> Untyped:
        """The new group."""
        asked = {name: value for name, value in request.properties.items() if name not in {"JobFlowId", "InstanceRole"}}
        group = instance_group(request.properties["InstanceRole"], asked)
        parameters = {"JobFlowId": request.properties["JobFlowId"], "InstanceGroups": [group]}
        made = api.call("emr", request.region, "add_instance_groups", **parameters)
        return emr_backends[request.account_id][request.region].instance_groups[made["InstanceGroupIds"][0]]

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same group with the requested count."""
        self._resize(resource, request, int(request.properties["InstanceCount"]))
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Empties the group, unless its cluster is gone."""
        if resource.state != "TERMINATED":
            self._resize(resource, request, 0)

    def _resize(self, group: Untyped, request: ResourceRequest, count: int) -> None:
        change = {"InstanceGroupId": group.id, "InstanceCount": count}
        api.call("emr", request.region, "modify_instance_groups", ClusterId=group.cluster_id, InstanceGroups=[change])
        settle(emr_backends[request.account_id][request.region].clusters[group.cluster_id], group)


class EmrStep(ApiType):
    """A step added to a cluster; nothing runs it, and its deletion leaves it in the list, as in AWS."""

    attributes = frozenset({"Id"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """The new step."""
        asked = {"JobFlowId": request.properties["JobFlowId"], "Steps": [step(request.properties)]}
        made = api.call("emr", request.region, "add_job_flow_steps", **asked)["StepIds"][0]
        return ApiResource(physical_resource_id=made, attributes={"Id": made})

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Nothing: a step cannot be taken back."""


class SecurityConfiguration(ApiType):
    """A security configuration; every property is create-only."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new security configuration."""
        name = str(request.properties.get("Name") or request.generated_name)
        document = request.properties["SecurityConfiguration"]
        text = document if isinstance(document, str) else json.dumps(document)
        api.call("emr", request.region, "create_security_configuration", Name=name, SecurityConfiguration=text)
        return ApiResource(physical_resource_id=name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Deletes the security configuration."""
        api.call("emr", request.region, "delete_security_configuration", Name=resource.physical_resource_id)


class WalWorkspace(ApiType):
    """A workspace of EMR's write-ahead logs: no API of it is public, so it is a name and nothing more."""

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return its name, as asked for."""
        return ApiResource(physical_resource_id=str(request.properties["WALWorkspaceName"]))

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """Nothing to delete."""
