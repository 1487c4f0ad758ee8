"""A VPC that was there before: nothing of it is looked up, made or changed but security groups, and a way to S3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk.assertions import Template
from msgspec.structs import replace

from tests.stacks.template import of_type, only
from warmbase.configurations.launch import Launch
from warmbase.environments.environment import Access, Environment, Network
from warmbase.stacks.app import new_app
from warmbase.stacks.cluster import ClusterStack
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.storage import StorageStack

NETWORK = Network(availability_zone="us-east-1b", vpc="vpc-0123456789abcdef0", subnet="subnet-0123456789abcdef0")
ROUTE_TABLE = "rtb-0123456789abcdef0"
GROUP = "sg-0123456789abcdef0"

Launches = Callable[[str], Launch]


@pytest.fixture
def environment(launches: Launches) -> Environment:
    return replace(
        launches("prod").environment,
        network=replace(NETWORK, route_table=ROUTE_TABLE),
        access=Access(security_groups=(GROUP,), cidrs=()),
    )


def network_of(environment: Environment) -> Any:
    return Template.from_stack(NetworkStack(new_app(), environment)).to_json()


def test_only_security_groups_and_the_way_to_s3_are_made(environment: Environment) -> None:
    network = network_of(environment)
    assert {resource["Type"] for resource in network["Resources"].values()} == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::VPCEndpoint",
    }
    endpoint = only(network, "AWS::EC2::VPCEndpoint")
    assert "PolicyDocument" not in endpoint, "other programs may use the same route table"
    assert (endpoint["RouteTableIds"], endpoint["VpcId"]) == ([ROUTE_TABLE], NETWORK.vpc)
    assert {each["Properties"]["VpcId"] for each in of_type(network, "AWS::EC2::SecurityGroup").values()} == {
        NETWORK.vpc
    }


def test_without_a_route_table_the_way_to_s3_is_its_owners(environment: Environment) -> None:
    network = network_of(replace(environment, network=NETWORK))
    assert not of_type(network, "AWS::EC2::VPCEndpoint")


def test_the_groups_it_names_are_clients(environment: Environment) -> None:
    network = network_of(environment)
    let_in = [
        rule["FromPort"]
        for each in of_type(network, "AWS::EC2::SecurityGroup").values()
        for rule in each["Properties"].get("SecurityGroupIngress", ())
        if rule["SourceSecurityGroupId"] == GROUP
    ]
    assert sorted(let_in) == [2181, 2181, 16000, 16000, 16020, 16020]


def test_nodes_stand_in_its_subnet(launches: Launches, environment: Environment) -> None:
    app, launch = new_app(), replace(launches("prod"), environment=environment)
    cluster = ClusterStack(app, launch, NetworkStack(app, environment), StorageStack(app, environment))
    properties = only(Template.from_stack(cluster).to_json(), "AWS::EMR::Cluster")
    assert properties["Instances"]["Ec2SubnetId"] == NETWORK.subnet
