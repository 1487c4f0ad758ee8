"""VPC resources with what moto's lack: their attributes, changes in place, and deletion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from moto.ec2.models import ec2_backends
from moto.ec2.models.flow_logs import FlowLogs
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC, VPCEndPoint

from local_aws import api
from local_aws.resource_type import ApiResource, ApiType, MotoType

if TYPE_CHECKING:
    from local_aws.moto_internals import Json, Untyped
    from local_aws.resource_type import ResourceRequest

VPC_ATTRIBUTES: Final = ("EnableDnsSupport", "EnableDnsHostnames")


class TaggedOnly(MotoType):
    """A type whose resources change only their tags in place; the stack itself writes the tags."""

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:  # noqa: ARG002 - tags are written by the stack
        """Return the same resource."""
        return resource


class VpcType(TaggedOnly):
    """A VPC with its DNS attributes."""

    def __init__(self) -> None:
        super().__init__(VPC)

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new VPC."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same VPC with the requested DNS attributes."""
        for name in VPC_ATTRIBUTES:
            if name in request.properties:
                parameters = {"VpcId": resource.id, name: {"Value": request.properties[name]}}
                api.call("ec2", request.region, "modify_vpc_attribute", **parameters)
        return resource


class SubnetType(TaggedOnly):
    """A subnet with its public-address attribute."""

    def __init__(self) -> None:
        super().__init__(Subnet)

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new subnet."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same subnet with the requested attribute."""
        mapped = {"Value": request.properties.get("MapPublicIpOnLaunch", False)}
        parameters = {"SubnetId": resource.id, "MapPublicIpOnLaunch": mapped}
        api.call("ec2", request.region, "modify_subnet_attribute", **parameters)
        return resource


class RouteTableType(TaggedOnly):
    """A route table that can be deleted."""

    def __init__(self) -> None:
        super().__init__(RouteTable)

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the route table; EC2 refuses while a subnet is associated with it."""
        api.call("ec2", request.region, "delete_route_table", RouteTableId=resource.id)


class SubnetRouteTableAssociation(ApiType):
    """The route table of a subnet; moto's own model forgets the association's id."""

    attributes = frozenset({"Id"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new association."""
        association = api.call("ec2", request.region, "associate_route_table", **request.properties)["AssociationId"]
        return ApiResource(physical_resource_id=association, attributes={"Id": association})

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """End the association."""
        association = resource.physical_resource_id
        api.call("ec2", request.region, "disassociate_route_table", AssociationId=association)


class FlowLogType(TaggedOnly):
    """A flow log that can be deleted."""

    def __init__(self) -> None:
        super().__init__(FlowLogs)

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Deletes the flow log."""
        api.call("ec2", request.region, "delete_flow_logs", FlowLogIds=[resource.id])


class VpcEndpointType(MotoType):
    """A VPC endpoint that can be changed and deleted."""

    def __init__(self) -> None:
        super().__init__(VPCEndPoint)

    def has_attribute(self, name: str) -> bool:
        """Return whether Fn::GetAtt knows the name."""
        return name in {"Id", "DnsEntries", "NetworkInterfaceIds"}

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new endpoint."""
        parameters = {name: value for name, value in request.properties.items() if name != "Tags"}
        parameters.update(_policy(request.properties))
        endpoint = api.call("ec2", request.region, "create_vpc_endpoint", **parameters)["VpcEndpoint"]
        return _endpoint(request, endpoint["VpcEndpointId"])

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same endpoint with the requested policy, route tables, subnets and groups."""
        parameters: Json = {"VpcEndpointId": resource.id, **_policy(request.properties)}
        for noun, before in {
            "RouteTableIds": resource.route_table_ids,
            "SubnetIds": resource.subnet_ids,
            "SecurityGroupIds": resource.security_group_ids,
        }.items():
            old, new = set(before or []), set(request.properties.get(noun, []))
            parameters[f"Add{noun}"], parameters[f"Remove{noun}"] = sorted(new - old), sorted(old - new)
        api.call("ec2", request.region, "modify_vpc_endpoint", **parameters)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the endpoint."""
        api.call("ec2", request.region, "delete_vpc_endpoints", VpcEndpointIds=[resource.id])


def _policy(properties: Json) -> Json:
    document = properties.get("PolicyDocument")
    if document is None:
        return {}
    return {"PolicyDocument": document if isinstance(document, str) else json.dumps(document)}


def _endpoint(request: ResourceRequest, endpoint_id: str) -> Untyped:
    return ec2_backends[request.account_id][request.region].vpc_end_points[endpoint_id]
