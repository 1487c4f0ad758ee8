"""The resource types of a VPC, with what moto's lack: their attributes, changes in place, and deletion.

The rules of a security group are resources of their own, in both directions.
"""

from __future__ import annotations

import json
from typing import Final

from moto.ec2.models import ec2_backends
from moto.ec2.models.flow_logs import FlowLogs
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.security_groups import SecurityGroup
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC, VPCEndPoint

from local_aws.moto_internals import Json, Untyped
from local_aws.resources import ApiResource, ApiType, MotoType, ResourceRequest

VPC_ATTRIBUTES: Final = ("EnableDnsSupport", "EnableDnsHostnames")


class TaggedOnly(MotoType):
    """A type whose resources change only their tags in place; the stack itself writes the tags."""

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:  # noqa: ARG002 - tags are written by the stack
        """Return the same resource."""
        return resource


class VpcType(TaggedOnly):
    """A VPC with its DNS attributes."""

    model = VPC

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new VPC."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same VPC with the requested DNS attributes."""
        for name in VPC_ATTRIBUTES:
            if name in request.properties:
                parameters = {"VpcId": resource.id, name: {"Value": request.properties[name]}}
                request.call("ec2", "modify_vpc_attribute", **parameters)
        return resource


class SubnetType(TaggedOnly):
    """A subnet with its public-address attribute."""

    model = Subnet

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new subnet."""
        return self.update(super().create(request), request)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same subnet with the requested attribute."""
        mapped = {"Value": request.properties.get("MapPublicIpOnLaunch", False)}
        parameters = {"SubnetId": resource.id, "MapPublicIpOnLaunch": mapped}
        request.call("ec2", "modify_subnet_attribute", **parameters)
        return resource


class RouteTableType(TaggedOnly):
    """A route table that can be deleted."""

    model = RouteTable

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the route table; EC2 refuses while a subnet is associated with it."""
        request.call("ec2", "delete_route_table", RouteTableId=resource.id)


class SubnetRouteTableAssociation(ApiType):
    """The route table of a subnet; moto's own model forgets the association's id."""

    attributes = frozenset({"Id"})

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new association."""
        association = request.call("ec2", "associate_route_table", **request.properties)["AssociationId"]
        return ApiResource(physical_resource_id=association, attributes={"Id": association})

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:
        """End the association."""
        association = resource.physical_resource_id
        request.call("ec2", "disassociate_route_table", AssociationId=association)


class FlowLogType(TaggedOnly):
    """A flow log that can be deleted."""

    model = FlowLogs

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Deletes the flow log."""
        request.call("ec2", "delete_flow_logs", FlowLogIds=[resource.id])


class VpcEndpointType(MotoType):
    """A VPC endpoint that can be changed and deleted."""

    model = VPCEndPoint
    attributes = frozenset({"Id", "DnsEntries", "NetworkInterfaceIds"})

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new endpoint."""
        parameters = {name: value for name, value in request.properties.items() if name != "Tags"}
        parameters.update(_policy(request.properties))
        endpoint = request.call("ec2", "create_vpc_endpoint", **parameters)["VpcEndpoint"]
        return ec2_backends[request.account_id][request.region].vpc_end_points[endpoint["VpcEndpointId"]]

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
        request.call("ec2", "modify_vpc_endpoint", **parameters)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the endpoint."""
        request.call("ec2", "delete_vpc_endpoints", VpcEndpointIds=[resource.id])


def _policy(properties: Json) -> Json:
    document = properties.get("PolicyDocument")
    if document is None:
        return {}
    return {"PolicyDocument": document if isinstance(document, str) else json.dumps(document)}


OPEN: Final = {"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
PEERS: Final = {
    "CidrIp": ("IpRanges", "CidrIp"),
    "CidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
    "SourceSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    "DestinationSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    "SourcePrefixListId": ("PrefixListIds", "PrefixListId"),
    "DestinationPrefixListId": ("PrefixListIds", "PrefixListId"),
}


class SecurityGroupType(MotoType):
    """A group with the rules written inside it; without egress rules it keeps AWS's "everything out"."""

    model = SecurityGroup

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new group with its rules."""
        properties = request.properties
        parameters = {"GroupName": self.name(request), "Description": properties["GroupDescription"]}
        if "VpcId" in properties:
            parameters["VpcId"] = properties["VpcId"]
        group = request.call("ec2", "create_security_group", **parameters)["GroupId"]
        _write_rules(group, request)
        return ec2_backends[request.account_id][request.region].get_security_group_from_id(group)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same group with exactly the requested rules of its own, beside those of rule resources."""
        for direction, rules in resource.template_rules.items():
            for rule in rules:
                _change("revoke", direction, resource.id, request, rule)
        _write_rules(resource.id, request)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the group, and first every rule of other groups that names it (EMR adds such rules by itself)."""
        groups = request.call("ec2", "describe_security_groups")["SecurityGroups"]
        for other in groups:
            for direction, member in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
                permissions = [
                    {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
                    | {"UserIdGroupPairs": [{"GroupId": resource.id}]}
                    for rule in other[member]
                    if resource.id in {pair.get("GroupId") for pair in rule["UserIdGroupPairs"]}
                ]
                if permissions:
                    parameters = {"GroupId": other["GroupId"], "IpPermissions": permissions}
                    request.call("ec2", f"revoke_security_group_{direction}", **parameters)
        request.call("ec2", "delete_security_group", GroupId=resource.id)


class SecurityGroupRule(ApiType):
    """One rule of a group, which applies to one direction."""

    def __init__(self, direction: str) -> None:
        self.direction = direction

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new rule."""
        group = request.properties["GroupId"]
        _change("authorize", self.direction, group, request, permission(request.properties))
        return ApiResource(physical_resource_id=request.generated_name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:  # noqa: ARG002 - the rule is its properties
        """Remove the rule from the group."""
        group = request.properties["GroupId"]
        _change("revoke", self.direction, group, request, permission(request.properties))


def permission(rule: Json) -> Json:
    """Return one rule as the EC2 API spells it."""
    parameters: Json = {"IpProtocol": str(rule["IpProtocol"])}
    for name in ("FromPort", "ToPort"):
        if name in rule:
            parameters[name] = rule[name]
    described = {"Description": rule["Description"]} if "Description" in rule else {}
    for name, (member, key) in PEERS.items():
        if name in rule:
            parameters.setdefault(member, []).append({key: rule[name], **described})
    return parameters


def _change(verb: str, direction: str, group: str, request: ResourceRequest, rule: Json) -> None:
    request.call("ec2", f"{verb}_security_group_{direction}", GroupId=group, IpPermissions=[rule])


def _write_rules(group: str, request: ResourceRequest) -> None:
    [described] = request.call("ec2", "describe_security_groups", GroupIds=[group])["SecurityGroups"]
    rules = {
        "ingress": [permission(rule) for rule in request.properties.get("SecurityGroupIngress", [])],
        "egress": [permission(rule) for rule in request.properties.get("SecurityGroupEgress", [OPEN])],
    }
    if permission(OPEN) not in rules["egress"]:
        for rule in described["IpPermissionsEgress"]:
            if rule["IpProtocol"] == "-1" and [one["CidrIp"] for one in rule["IpRanges"]] == [OPEN["CidrIp"]]:
                _change("revoke", "egress", group, request, permission(OPEN))
    for direction, wanted in rules.items():
        for rule in wanted:
            if rule != permission(OPEN) or direction == "ingress":
                _change("authorize", direction, group, request, rule)
    ec2_backends[request.account_id][request.region].get_security_group_from_id(group).template_rules = rules
