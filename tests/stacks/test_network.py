"""The network stack: no internet gateway, and no way in but those that EMR and the clients need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aws_cdk.assertions import Template
from msgspec.structs import replace

from tests.stacks.template import Templates, all_of_type, of_type, only
from warmbase.configurations.launch import Launch
from warmbase.stacks.app import new_app
from warmbase.stacks.network import NetworkStack

CLIENTS = "10.1.0.0/16"


def test_nodes_have_no_gateway_to_the_internet(templates: Callable[[str], Templates]) -> None:
    network = templates("prod")["warmbase-prod-network"]
    for resource_type in ("AWS::EC2::InternetGateway", "AWS::EC2::NatGateway"):
        assert not of_type(network, resource_type)
    for subnet in of_type(network, "AWS::EC2::Subnet").values():
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False
        assert subnet["Properties"]["AvailabilityZone"] == "us-east-1a"


def test_nothing_is_open_to_the_world(templates: Callable[[str], Templates]) -> None:
    for rule in ingress_rules(templates("prod")):
        assert rule.get("CidrIp") != "0.0.0.0/0"
        assert rule.get("CidrIpv6") != "::/0"


def test_a_cluster_has_only_security_groups_that_the_network_creates(templates: Callable[[str], Templates]) -> None:
    """EMR's block public access judges the groups of a cluster, and nobody else's rules are in these."""
    stacks = templates("prod")
    outputs = stacks["warmbase-prod-network"]["Outputs"]
    clusters = list(all_of_type(stacks, "AWS::EMR::Cluster"))
    assert clusters
    for cluster in clusters:
        groups = {key: value for key, value in cluster["Properties"]["Instances"].items() if "SecurityGroup" in key}
        assert set(groups) == {
            "EmrManagedMasterSecurityGroup",
            "EmrManagedSlaveSecurityGroup",
            "ServiceAccessSecurityGroup",
        }
        exports = {output["Export"]["Name"]: output["Value"] for output in outputs.values() if "Export" in output}
        for group in groups.values():
            created, _ = exports[group["Fn::ImportValue"]]["Fn::GetAtt"]
            assert stacks["warmbase-prod-network"]["Resources"][created]["Type"] == "AWS::EC2::SecurityGroup"


def ingress_rules(templates: Templates) -> Iterator[Mapping[str, Any]]:
    for group in all_of_type(templates, "AWS::EC2::SecurityGroup"):
        yield from group["Properties"].get("SecurityGroupIngress", [])
    for rule in all_of_type(templates, "AWS::EC2::SecurityGroupIngress"):
        yield rule["Properties"]


def named(network: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Return a security group by the last word of its description: nodes, access, endpoints."""
    [group, _] = reference["Fn::GetAtt"]
    return str(network["Resources"][group]["Properties"]["GroupDescription"]).removeprefix("warmbase ")


def rules_between_groups(network: Mapping[str, Any], direction: str, peer: str) -> set[tuple[str, str, str, int, int]]:
    return {
        (
            named(network, rule["GroupId"]),
            named(network, rule[peer]),
            rule["IpProtocol"],
            rule["FromPort"],
            rule["ToPort"],
        )
        for rule in (each["Properties"] for each in of_type(network, f"AWS::EC2::SecurityGroup{direction}").values())
    }


def test_groups_let_in_what_emr_needs_and_no_more(templates: Callable[[str], Templates]) -> None:
    network, nodes = templates("prod")["warmbase-prod-network"], ("primary nodes", "core nodes")
    everything = (("tcp", 0, 65535), ("udp", 0, 65535), ("icmp", -1, -1))
    assert rules_between_groups(network, "Ingress", "SourceSecurityGroupId") == {
        *((group, peer, *ports) for group in nodes for peer in nodes for ports in everything),
        *((group, "EMR service access", "tcp", 8443, 8443) for group in nodes),
        ("EMR service access", "primary nodes", "tcp", 9443, 9443),
        *((group, "clients of HBase", "tcp", port, port) for group in nodes for port in (2181, 16000, 16020)),
    }


def test_emr_service_reaches_the_nodes_and_nothing_else(templates: Callable[[str], Templates]) -> None:
    network = templates("prod")["warmbase-prod-network"]
    assert rules_between_groups(network, "Egress", "DestinationSecurityGroupId") == {
        ("EMR service access", "primary nodes", "tcp", 8443, 8443),
        ("EMR service access", "core nodes", "tcp", 8443, 8443),
    }
    assert "SecurityGroupEgress" not in only(network, "AWS::EC2::SecurityGroup", "SecurityGroupsService")


def test_clients_reach_zookeeper_master_and_region_servers_on_every_node(launches: Callable[[str], Launch]) -> None:
    environment = launches("prod").environment
    asked = replace(environment, access=replace(environment.access, cidrs=(CLIENTS,)))
    network = Template.from_stack(NetworkStack(new_app(), asked)).to_json()
    for group in ("SecurityGroupsPrimary", "SecurityGroupsCore"):
        rules = only(network, "AWS::EC2::SecurityGroup", group)["SecurityGroupIngress"]
        assert {rule["CidrIp"] for rule in rules} == {CLIENTS}
        assert sorted((rule["FromPort"], rule["ToPort"]) for rule in rules) == [
            (2181, 2181),
            (16000, 16000),
            (16020, 16020),
        ]


def test_endpoints_answer_the_network_on_https_alone(templates: Callable[[str], Templates]) -> None:
    network = templates("prod")["warmbase-prod-network"]
    [rule] = only(network, "AWS::EC2::SecurityGroup", "Endpoints")["SecurityGroupIngress"]
    assert (rule["FromPort"], rule["ToPort"]) == (443, 443)
    assert rule["CidrIp"] == only(network, "AWS::EC2::VPC")["CidrBlock"] == "10.40.0.0/16"


def test_rejected_traffic_is_kept_for_a_month_and_goes_with_the_stack(templates: Callable[[str], Templates]) -> None:
    network = templates("prod")["warmbase-prod-network"]
    [(name, group)] = of_type(network, "AWS::Logs::LogGroup").items()
    flow_log = only(network, "AWS::EC2::FlowLog")
    assert group["Properties"]["RetentionInDays"] == 30
    assert group["DeletionPolicy"] == group["UpdateReplacePolicy"] == "Delete"
    assert (flow_log["TrafficType"], flow_log["LogGroupName"]) == ("REJECT", {"Ref": name})
