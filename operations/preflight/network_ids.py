"""Checks that the VPC, the subnet, the route table and the security groups that a file names exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import ClientError

from environments.reader.document import YamlPath, load_document, path_text
from operations.aws import Aws
from operations.aws_errors import error_code
from operations.preflight.check import PreflightCheck, PreflightContext

UNKNOWN_ID: Final = ".NotFound"
"""EC2's codes for an unknown id end so: InvalidSubnetID.NotFound."""
DESCRIBE: Final[Mapping[str, Callable[[Aws, str], Any]]] = {
    "VPC": lambda aws, identity: aws.ec2.describe_vpc_attribute(VpcId=identity, Attribute="enableDnsSupport"),
    "subnet": lambda aws, identity: aws.ec2.describe_subnets(SubnetIds=[identity]),
    "route table": lambda aws, identity: aws.ec2.describe_route_tables(RouteTableIds=[identity]),
    "security group": lambda aws, identity: aws.ec2.describe_security_groups(GroupIds=[identity]),
}
"""The call that fails for an id that EC2 does not know, by the kind of the resource."""


def missing_resources(context: PreflightContext) -> Iterator[PreflightCheck]:
    """Yield a check for each resource of an existing network that is not in this account and region."""
    environment = context.environment
    for kind, path, identity in _named(context):
        try:
            DESCRIBE[kind](context.aws, identity)
        except ClientError as error:
            if not error_code(error).endswith(UNKNOWN_ID):
                raise
            place = f"{environment.region} of account {context.aws.account}"
            source = Path(environment.source)
            line = load_document(source, environment.source).where(path).rpartition(":")[2]
            yield PreflightCheck(
                name=kind,
                detail=identity,
                problem=f"there is no {kind} {identity} in {place}",
                fix=f"correct {path_text(path)} (line {line} of {source.name})",
            )


def _named(context: PreflightContext) -> Iterator[tuple[str, YamlPath, str]]:
    """Yield the kind of each resource that the file names, its place in the file, and its id."""
    network, access = context.environment.network, context.environment.access
    ids = {"VPC": ("vpc", network.vpc), "subnet": ("subnet", network.subnet)}
    ids["route table"] = ("route_table", network.route_table)
    for kind, (key, identity) in ids.items():
        if identity is not None:
            yield kind, ("network", key), identity
    for number, group in enumerate(access.security_groups):
        yield "security group", ("access", "security_groups", number), group
