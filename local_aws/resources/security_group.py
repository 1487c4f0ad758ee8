"""AWS::EC2::SecurityGroup and its rules as resources of their own, in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moto.ec2.models import ec2_backends
from moto.ec2.models.security_groups import SecurityGroup

from local_aws import api
from local_aws.resource_type import ApiResource, ApiType, MotoType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_aws.moto_internals import Json, Untyped
    from local_aws.resource_type import ResourceRequest

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

    def __init__(self) -> None:
        super().__init__(SecurityGroup)

    def create(self, request: ResourceRequest) -> Untyped:
        """Return the new group with its rules."""
        properties = request.properties
        parameters = {"GroupName": self.name(request), "Description": properties["GroupDescription"]}
        if "VpcId" in properties:
            parameters["VpcId"] = properties["VpcId"]
        group = api.call("ec2", request.region, "create_security_group", **parameters)["GroupId"]
        _write_rules(group, request)
        return ec2_backends[request.account_id][request.region].get_security_group_from_id(group)

    def update(self, resource: Untyped, request: ResourceRequest) -> Untyped:
        """Return the same group with exactly the requested rules of its own, beside those of rule resources."""
        _erase_rules(resource.id, request.region, resource.template_rules)
        _write_rules(resource.id, request)
        return resource

    def delete(self, resource: Untyped, request: ResourceRequest) -> None:
        """Delete the group, and first every rule of other groups that names it (EMR adds such rules by itself)."""
        groups = api.call("ec2", request.region, "describe_security_groups")["SecurityGroups"]
        for other in groups:
            for direction, permissions in _naming(other, resource.id):
                parameters = {"GroupId": other["GroupId"], "IpPermissions": permissions}
                api.call("ec2", request.region, f"revoke_security_group_{direction}", **parameters)
        api.call("ec2", request.region, "delete_security_group", GroupId=resource.id)


class SecurityGroupRule(ApiType):
    """One rule of a group, which applies to one direction."""

    def __init__(self, direction: str) -> None:
        self.direction = direction

    def create(self, request: ResourceRequest) -> ApiResource:
        """Return the new rule."""
        group = request.properties["GroupId"]
        _change("authorize", self.direction, group, request.region, permission(request.properties))
        return ApiResource(physical_resource_id=request.generated_name)

    def delete(self, resource: ApiResource, request: ResourceRequest) -> None:  # noqa: ARG002 - the rule is its properties
        """Remove the rule from the group."""
        group = request.properties["GroupId"]
        _change("revoke", self.direction, group, request.region, permission(request.properties))


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


def _change(verb: str, direction: str, group: str, region: str, rule: Json) -> None:
    api.call("ec2", region, f"{verb}_security_group_{direction}", GroupId=group, IpPermissions=[rule])


def _rules(properties: Json) -> dict[str, list[Json]]:
    return {
        "ingress": [permission(rule) for rule in properties.get("SecurityGroupIngress", [])],
        "egress": [permission(rule) for rule in properties.get("SecurityGroupEgress", [OPEN])],
    }


def _write_rules(group: str, request: ResourceRequest) -> None:
    described = api.call("ec2", request.region, "describe_security_groups", GroupIds=[group])["SecurityGroups"][0]
    rules = _rules(request.properties)
    if permission(OPEN) not in rules["egress"]:
        for rule in described["IpPermissionsEgress"]:
            if rule["IpProtocol"] == "-1" and [one["CidrIp"] for one in rule["IpRanges"]] == [OPEN["CidrIp"]]:
                _change("revoke", "egress", group, request.region, permission(OPEN))
    for direction, wanted in rules.items():
        for rule in wanted:
            if rule != permission(OPEN) or direction == "ingress":
                _change("authorize", direction, group, request.region, rule)
    ec2_backends[request.account_id][request.region].get_security_group_from_id(group).template_rules = rules


def _erase_rules(group: str, region: str, rules: dict[str, list[Json]]) -> None:
    for direction, written in rules.items():
        for rule in written:
            _change("revoke", direction, group, region, rule)


def _naming(other: Json, group: str) -> Iterator[tuple[str, list[Json]]]:
    for direction, member in (("ingress", "IpPermissions"), ("egress", "IpPermissionsEgress")):
        permissions = [
            {**_ports(rule), "UserIdGroupPairs": [{"GroupId": group}]}
            for rule in other[member]
            if group in {pair.get("GroupId") for pair in rule["UserIdGroupPairs"]}
        ]
        if permissions:
            yield direction, permissions


def _ports(rule: Json) -> Json:
    return {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
