"""Checks of an existing subnet and its VPC, which EMR and the nodes need in a certain form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from environments.environment import EMR_TAG
from operations.preflight.check import PreflightCheck, PreflightContext
from operations.preflight.network_ids import missing_resources


def _subnet(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing subnet: its VPC, its zone, its free addresses, and the tag that EMR's service role requires."""
    network = context.environment.network
    if network.subnet is None:
        return
    [subnet] = context.aws.ec2.describe_subnets(SubnetIds=[network.subnet])["Subnets"]
    tags = {tag["Key"]: tag["Value"] for tag in subnet.get("Tags", [])}
    detail = f"{network.subnet} in {subnet['AvailabilityZone']}, {subnet['AvailableIpAddressCount']} free addresses"
    nodes = sum(launch.plan.core.count + launch.plan.primary.count for launch in context.new.values())
    conditions = [
        (subnet["VpcId"] != network.vpc, f"the subnet is in {subnet['VpcId']}, not {network.vpc}", "name its own VPC"),
        (
            subnet["AvailabilityZone"] != network.availability_zone,
            f"the subnet is not in {network.availability_zone}",
            "set availability_zone to the subnet's zone",
        ),
        (
            tags.get(EMR_TAG) != "true",
            f"the subnet lacks the tag {EMR_TAG}=true, without which EMR cannot start nodes in it",
            f"aws ec2 create-tags --resources {network.subnet} --tags Key={EMR_TAG},Value=true",
        ),
        (
            subnet["AvailableIpAddressCount"] < nodes,
            f"{nodes} nodes need one free address each",
            "name a subnet with more free addresses",
        ),
    ]
    problems = [(problem, fix) for is_violated, problem, fix in conditions if is_violated]
    if not problems:
        yield PreflightCheck(name="subnet", detail=detail)
    for problem, fix in problems:
        yield PreflightCheck(name="subnet", detail=detail, problem=problem, fix=fix)


def _vpc(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check an existing VPC: its DNS, and its routes to S3 and to the services that nodes call."""
    network = context.environment.network
    if network.vpc is None:
        return
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        kind: Any = attribute
        response: Any = context.aws.ec2.describe_vpc_attribute(VpcId=network.vpc, Attribute=kind)
        name = attribute[0].upper() + attribute[1:]
        if not response[name]["Value"]:
            flag = "--enable-dns-support" if attribute == "enableDnsSupport" else "--enable-dns-hostnames"
            fix = f"aws ec2 modify-vpc-attribute --vpc-id {network.vpc} {flag}"
            yield PreflightCheck(
                name="VPC",
                detail=network.vpc,
                problem=f"{attribute} is off, but nodes find each other by name",
                fix=fix,
            )
    filters: Any = [{"Name": "vpc-id", "Values": [network.vpc]}]
    endpoints = context.aws.ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
    services = {endpoint["ServiceName"].rpartition(".")[2] for endpoint in endpoints}
    tables: Any = context.aws.ec2.describe_route_tables(Filters=filters)["RouteTables"]
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


def _network(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Check the network of clusters that are not launched yet: first that it exists, then what it offers."""
    if context.new:
        missing = list(missing_resources(context))
        yield from missing or (*_subnet(context), *_vpc(context))


NETWORK_CHECKS = (_network,)
"""Every check, in order."""
