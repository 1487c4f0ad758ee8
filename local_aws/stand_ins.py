"""Stand-ins for resources that exist in your account: made in a local AWS under the same ids, for a demo.

An environment can name a VPC, a subnet, a route table, security groups, the bucket of the root and its KMS key. The
local AWS starts empty, so the demo creates each of them as docs/deploy.md asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore.client import BaseClient
from botocore.exceptions import ClientError

from local_aws.server import ACCOUNT, ACCOUNT_HEADER, ID_HEADER
from warmbase.environments.environment import EMR_TAG, Environment, Wal
from warmbase.operations.aws.clients import Aws, bucket_name

VPC_CIDR: Final = "10.0.0.0/16"
SUBNET_CIDR: Final = "10.0.0.0/20"
SERVICES: Final = ("elasticmapreduce", "kms", "monitoring", "ssm", "ssmmessages")


def create_stand_ins(aws: Aws, environment: Environment) -> tuple[str, ...]:
    """Create a stand-in for each resource that the environment names and this local AWS lacks; return their names."""
    return (*_network(aws, environment), *_root(aws, environment))


def _network(aws: Aws, environment: Environment) -> Iterator[str]:
    """Create the VPC with its subnet, its routes, and the endpoints and security groups that nodes need."""
    network = environment.network
    if network.vpc is None or network.subnet is None or _exists(aws.ec2.describe_vpcs, VpcIds=[network.vpc]):
        return
    vpc, subnet = network.vpc, network.subnet
    with _headers(aws.ec2, _id(vpc)):
        aws.ec2.create_vpc(CidrBlock=VPC_CIDR, TagSpecifications=_name("vpc", vpc))
    aws.ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    yield vpc
    with _headers(aws.ec2, _id(subnet)):
        zone = network.availability_zone
        aws.ec2.create_subnet(
            VpcId=vpc, CidrBlock=SUBNET_CIDR, AvailabilityZone=zone, TagSpecifications=_name("subnet", subnet)
        )
    aws.ec2.create_tags(Resources=[subnet], Tags=[{"Key": EMR_TAG, "Value": "true"}])
    yield subnet
    if network.route_table:
        with _headers(aws.ec2, _id(network.route_table)):
            aws.ec2.create_route_table(VpcId=vpc, TagSpecifications=_name("route-table", network.route_table))
        aws.ec2.associate_route_table(RouteTableId=network.route_table, SubnetId=subnet)
        yield network.route_table
    else:
        aws.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=f"com.amazonaws.{environment.region}.s3")
    for service in SERVICES + (("emrwal.prod",) if environment.wal is Wal.EMR_WAL else ()):
        name = f"com.amazonaws.{environment.region}.{service}"
        aws.ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=name, VpcEndpointType="Interface", SubnetIds=[subnet])
    for group in environment.access.security_groups:
        with _headers(aws.ec2, _id(group)):
            aws.ec2.create_security_group(GroupName=_text(group), Description=_text(group), VpcId=vpc)
        yield group


def _root(aws: Aws, environment: Environment) -> Iterator[str]:
    """Create the existing bucket of the root, in its owner's account, and the key that encrypts it."""
    root = environment.root
    if not environment.mode.keeps_data_in_s3 or not root.existing:
        return
    bucket = root.bucket_in(ACCOUNT)
    if not bucket_name(aws.s3, bucket).exists:
        with _headers(aws.s3, {ACCOUNT_HEADER: root.owner_in(ACCOUNT)}):
            place: Any = {"LocationConstraint": environment.region}
            aws.s3.create_bucket(
                Bucket=bucket, **({} if environment.region == "us-east-1" else {"CreateBucketConfiguration": place})
            )
        yield bucket
    if root.key:
        # The key is in the account that its ARN names.
        account, identity = root.key.split(":")[4], root.key.rpartition("/")[2]
        with _headers(aws.keys, {ACCOUNT_HEADER: account, f"{ID_HEADER}key": identity}):
            if not _exists(aws.keys.describe_key, KeyId=root.key):
                aws.keys.create_key(Description=_text(root.key))
                yield root.key


def _exists(describe: Any, **identity: Any) -> bool:  # noqa: ANN401 - the operations have no type in common
    try:
        describe(**identity)
    except ClientError:
        return False
    return True


def _id(identity: str) -> dict[str, str]:
    """Return the header that gives a new resource this id."""
    return {f"{ID_HEADER}{identity.partition('-')[0]}": identity}


def _text(identity: str) -> str:
    return f"stand-in for {identity}"


def _name(kind: Any, identity: str) -> Any:  # noqa: ANN401 - the kinds are literals of the stubs
    return [{"ResourceType": kind, "Tags": [{"Key": "Name", "Value": _text(identity)}]}]


@contextmanager
def _headers(client: BaseClient, headers: Mapping[str, str]) -> Iterator[None]:
    """Send these headers with each request of a client within the block."""

    def add(request: Any, **_: object) -> None:  # noqa: ANN401 - botocore's events have no types
        for name, value in headers.items():
            request.headers[name] = value

    client.meta.events.register("before-sign.*", add)
    try:
        yield
    finally:
        client.meta.events.unregister("before-sign.*", add)
