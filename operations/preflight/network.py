"""An existing subnet and its VPC: what EMR and the nodes need of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from environments.environment import EMR_TAG
from operations.preflight.check import PreflightCheck, PreflightContext

__all__ = ["OF_NETWORK"]


def _subnet(asked: PreflightContext) -> Iterator[PreflightCheck]:
    """An existing one: EMR's service role touches nothing without its tag."""
    network = asked.environment.network
    if network.subnet is None or not asked.new:
        return
    [found] = asked.aws.ec2.describe_subnets(SubnetIds=[network.subnet])["Subnets"]
    tags = {each["Key"]: each["Value"] for each in found.get("Tags", [])}
    said = f"{network.subnet} in {found['AvailabilityZone']}, {found['AvailableIpAddressCount']} free addresses"
    nodes = sum(launch.plan.core.count + launch.plan.primary.count for launch in asked.new.values())
    wrong = [
        (found["VpcId"] != network.vpc, f"the subnet is in {found['VpcId']}, not {network.vpc}", "name its own VPC"),
        (
            found["AvailabilityZone"] != network.availability_zone,
            f"the subnet is not in {network.availability_zone}",
            "set availability_zone to the subnet's zone",
        ),
        (
            tags.get(EMR_TAG) != "true",
            f"the subnet lacks the tag {EMR_TAG}=true, without which EMR cannot start nodes in it",
            f"aws ec2 create-tags --resources {network.subnet} --tags Key={EMR_TAG},Value=true",
        ),
        (
            found["AvailableIpAddressCount"] < nodes,
            f"{nodes} nodes need one free address each",
            "name a subnet with more free addresses",
        ),
    ]
    problems = [(problem, fix) for is_wrong, problem, fix in wrong if is_wrong]
    if not problems:
        yield PreflightCheck(name="subnet", detail=said)
    for problem, fix in problems:
        yield PreflightCheck(name="subnet", detail=said, problem=problem, fix=fix)


def _vpc(asked: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing VPC: its host names, and its routes to S3 and to the services that nodes call."""
    network = asked.environment.network
    if network.vpc is None or not asked.new:
        return
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        kind: Any = attribute
        said: Any = asked.aws.ec2.describe_vpc_attribute(VpcId=network.vpc, Attribute=kind)
        name = attribute[0].upper() + attribute[1:]
        if not said[name]["Value"]:
            flag = "--enable-dns-support" if attribute == "enableDnsSupport" else "--enable-dns-hostnames"
            fix = f"aws ec2 modify-vpc-attribute --vpc-id {network.vpc} {flag}"
            yield PreflightCheck(
                name="VPC",
                detail=network.vpc,
                problem=f"{attribute} is off, but nodes find each other by name",
                fix=fix,
            )
    filters: Any = [{"Name": "vpc-id", "Values": [network.vpc]}]
    endpoints = asked.aws.ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
    services = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
    tables: Any = asked.aws.ec2.describe_route_tables(Filters=filters)["RouteTables"]
    outward = any(_leads_out(route) for table in tables for route in table["Routes"])
    wanted = {"elasticmapreduce", "kms", "monitoring"} | ({"s3"} if network.route_table is None else set())
    missing = sorted(wanted - services)
    if missing and not outward:
        yield PreflightCheck(
            name="VPC",
            detail=f"endpoints: {', '.join(sorted(services)) or 'none'}; no NAT gateway",
            problem=f"nodes cannot reach {', '.join(missing)}",
            fix="create these endpoints in the VPC, or route the subnet through a NAT gateway",
        )
        return
    yield PreflightCheck(
        name="VPC", detail=f"endpoints: {', '.join(sorted(services)) or 'none'}{', a NAT gateway' if outward else ''}"
    )


def _leads_out(route: Mapping[str, Any]) -> bool:
    return route.get("DestinationCidrBlock") == "0.0.0.0/0" and "NatGatewayId" in route


OF_NETWORK = (_subnet, _vpc)
"""Every check, in order."""
