"""The synthesised templates: what they create and protect."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_aws.template_lint import lint_errors
from tests.shipped import ENVIRONMENTS
from tests.stacks.template import Templates, all_of_type, cluster, only
from tests.tiers import quick_where
from warmbase.configurations.bootstrap import actions, program
from warmbase.configurations.launch import Launch
from warmbase.configurations.metrics import METRICS, MetricSource
from warmbase.emr.api import write_classifications
from warmbase.emr.cluster_spec import Classification
from warmbase.environments.environment import EMR_TAG
from warmbase.environments.planning import plan_of
from warmbase.environments.reader import read_environment
from warmbase.sizing.modes import S3_CACHED
from warmbase.sizing.search.evaluation import (
    ALARMS,
    ALARMS_OF_NODES,
    ALARMS_OF_S3,
    HDFS_METRICS,
    INTERFACE_ENDPOINTS,
    KMS_KEYS,
    MASTER_METRICS,
    NODE_METRICS,
    REGION_SERVER_METRICS,
    SYSTEM_METRICS,
)

Launches = Callable[[str], Launch]


def api_spelling(configurations: list[Any]) -> list[Any]:
    """Return CloudFormation's ConfigurationProperties as the API's Properties, with Fn::Sub resolved."""
    spelled = []
    for configuration in configurations:
        properties = {
            key: value["Fn::Sub"] if isinstance(value, dict) else value
            for key, value in configuration.get("ConfigurationProperties", {}).items()
        }
        document: dict[str, Any] = {"Classification": configuration["Classification"], "Properties": properties}
        if configuration.get("Configurations"):
            document["Configurations"] = api_spelling(configuration["Configurations"])
        spelled.append(document)
    return spelled


def documents(settings: tuple[Classification, ...]) -> list[Any]:
    return write_classifications(settings)


@pytest.mark.parametrize("name", quick_where(lambda name: name == "prod", ENVIRONMENTS))
def test_cfn_lint_finds_no_error(name: str, assemblies: Callable[[str], Path]) -> None:
    linted, errors = lint_errors(assemblies(name))
    assert linted == 4
    assert errors == ()


def test_stacks_are_named_by_environment_and_cluster_name(templates: Callable[[str], Templates]) -> None:
    assert set(templates("prod")) == {
        "warmbase-prod-network",
        "warmbase-prod-storage",
        "warmbase-prod-blue-cluster",
        "warmbase-prod-blue-monitoring",
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_cluster_is_launched_with_what_was_rendered(
    name: str, templates: Callable[[str], Templates], launches: Launches
) -> None:
    properties, settings = cluster(templates(name), name), launches(name).settings
    instances = properties["Instances"]
    assert api_spelling(properties["Configurations"]) == documents(settings.cluster)
    assert api_spelling(instances["MasterInstanceGroup"]["Configurations"]) == documents(settings.primary)
    assert api_spelling(instances["CoreInstanceGroup"]["Configurations"]) == documents(settings.core)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_volume_states_its_throughput(name: str, templates: Callable[[str], Templates]) -> None:
    properties = cluster(templates(name), name)
    for group in ("MasterInstanceGroup", "CoreInstanceGroup"):
        for block in properties["Instances"][group]["EbsConfiguration"]["EbsBlockDeviceConfigs"]:
            assert {"VolumeType", "SizeInGB", "Iops", "Throughput"} == set(block["VolumeSpecification"])
    assert properties["EbsRootVolumeThroughput"] == 125


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_bootstrap_actions_get_the_plans_figures_each_argument_once(
    name: str, templates: Callable[[str], Templates], launches: Launches
) -> None:
    found = cluster(templates(name), name)["BootstrapActions"]
    planned = actions(launches(name))
    assert [each["Name"] for each in found] == [each.name for each in planned]
    for action, each in zip(planned, found, strict=True):
        arguments = [json.dumps(argument) for argument in each["ScriptBootstrapAction"]["Args"]]
        assert len(set(arguments)) == len(arguments)
        for argument in action.arguments:
            assert any(json.dumps(argument) in text for text in arguments)
        for argument, file in action.programs.items():
            digest = hashlib.sha256(program(file).read_bytes()).hexdigest()
            assert json.dumps(f"--{argument}-sha256={digest}") in arguments
            assert any(f"--{argument}=" in text and "s3://" in text for text in arguments)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_nodes_may_fetch_what_their_actions_name_and_no_more(
    name: str, templates: Callable[[str], Templates], assemblies: Callable[[str], Path]
) -> None:
    template = templates(name)[f"warmbase-{name}-blue-cluster"]
    actions_text = json.dumps(only(template, "AWS::EMR::Cluster")["BootstrapActions"])
    named = set(re.findall(r"/([0-9a-f]{64}\.(?:sh|py))", actions_text))
    policies = [resource for resource in template["Resources"].values() if resource["Type"] == "AWS::IAM::Policy"]
    allowed = set(re.findall(r"/([0-9a-f]{64}\.(?:sh|py))", json.dumps(policies)))
    assert named == allowed
    uploaded = {f"{file.stem.removeprefix('asset.')}{file.suffix}" for file in assemblies(name).glob("asset.*")}
    assert named <= uploaded


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_active_cluster_claims_its_root_before_all_else(
    name: str, templates: Callable[[str], Templates], launches: Launches
) -> None:
    environment = launches(name).environment
    first = cluster(templates(name), name)["BootstrapActions"][0]
    assert first["Name"] == "claim-root"
    assert f"--key={environment.root.claim_key}" in first["ScriptBootstrapAction"]["Args"]
    assert environment.root.url == f"s3://{environment.root.bucket}/{environment.root.claim_key.partition('.')[0]}/"


def test_three_primaries_are_spread_and_one_is_not(templates: Callable[[str], Templates]) -> None:
    assert cluster(templates("prod"), "prod")["PlacementGroupConfigs"] == [
        {"InstanceRole": "MASTER", "PlacementStrategy": "SPREAD"}
    ]
    assert "PlacementGroupConfigs" not in cluster(templates("dev"), "dev")


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_no_template_protects_a_cluster_and_each_replaces_unhealthy_nodes(
    name: str, templates: Callable[[str], Templates]
) -> None:
    instances = cluster(templates(name), name)["Instances"]
    # With one primary, a launch that fails must end with all its nodes; the command that records it protects it.
    # With three, EMR protects the cluster from its launch on, whatever the template says.
    assert "TerminationProtected" not in instances
    assert instances["UnhealthyNodeReplacement"] is True
    assert "Ec2KeyName" not in instances


def test_storage_and_cluster_stacks_are_protected_from_deletion(assemblies: Callable[[str], Path]) -> None:
    artifacts = json.loads((assemblies("prod") / "manifest.json").read_text())["artifacts"]
    protected = {
        name
        for name, artifact in artifacts.items()
        if artifact["type"] == "aws:cloudformation:stack" and artifact["properties"].get("terminationProtection")
    }
    assert protected == {"warmbase-prod-storage", "warmbase-prod-blue-cluster"}


def test_what_emr_may_touch_carries_its_tag(templates: Callable[[str], Templates]) -> None:
    tag = {"Key": EMR_TAG, "Value": "true"}
    stacks = templates("prod")
    tagged = [
        *all_of_type(stacks, "AWS::EMR::Cluster"),
        *all_of_type(stacks, "AWS::EC2::Subnet"),
        *all_of_type(stacks, "AWS::EC2::SecurityGroup"),
    ]
    for each in tagged:
        assert tag in each["Properties"]["Tags"]


def test_no_export_carries_the_cluster_id(templates: Callable[[str], Templates]) -> None:
    stack = templates("prod")["warmbase-prod-blue-cluster"]
    assert "Outputs" not in stack
    assert only(stack, "AWS::SSM::Parameter")["Name"] == "/warmbase/prod/blue/cluster-id"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_bill_counts_what_the_stacks_create(name: str, templates: Callable[[str], Templates]) -> None:
    stacks = templates(name)
    interfaces = [
        each
        for each in all_of_type(stacks, "AWS::EC2::VPCEndpoint")
        if each["Properties"]["VpcEndpointType"] == "Interface"
    ]
    assert len(interfaces) == INTERFACE_ENDPOINTS
    assert len(all_of_type(stacks, "AWS::KMS::Key")) == KMS_KEYS
    alarms = all_of_type(stacks, "AWS::CloudWatch::Alarm")
    of_nodes = [alarm for alarm in alarms if "Metrics" in alarm["Properties"]]
    # Their queries find a metric, and so cost something, only while a claim is in doubt.
    of_claim = [alarm for alarm in of_nodes if "Claim" in json.dumps(alarm["Properties"]["Metrics"])]
    assert len(of_claim) == 2
    alarms, of_nodes = ([alarm for alarm in some if alarm not in of_claim] for some in (alarms, of_nodes))
    assert (len(alarms) - len(of_nodes), len(of_nodes)) == (ALARMS + ALARMS_OF_S3 - 1, ALARMS_OF_NODES)
    assert len(all_of_type(stacks, "AWS::CloudWatch::CompositeAlarm")) == len(S3_CACHED.composite_alarms)
    assert len(all_of_type(stacks, "AWS::CloudWatch::Dashboard")) == len(S3_CACHED.dashboards)
    assert Counter(metric.source for metric in METRICS) == {
        MetricSource.REGION_SERVER: REGION_SERVER_METRICS + HDFS_METRICS,  # the latter only in mode hdfs
        MetricSource.NODE: NODE_METRICS,
        MetricSource.CLAIM: 2,  # published only while a claim is in doubt
        MetricSource.MASTER: MASTER_METRICS,
        MetricSource.SYSTEM: SYSTEM_METRICS,
        MetricSource.S3: 2,  # of those that are sold together
        MetricSource.EMR: 2,  # free
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_synthesis_asks_no_account(name: str, assemblies: Callable[[str], Path]) -> None:
    assert "missing" not in json.loads((assemblies(name) / "manifest.json").read_text())


def test_an_instances_own_drive_is_no_volume_to_attach(tmp_path: Path) -> None:
    """Its size is what the node finds it by, though."""
    from warmbase import app  # noqa: PLC0415 - aws_cdk is loaded only by the tests that need it

    directory = tmp_path / "cdk.out"
    app.environment_app("tests/environments/examples/nvme-40tb.yaml", str(directory)).synth()
    template = json.loads((directory / "warmbase-nvme-blue-cluster.template.json").read_text())
    found = only(template, "AWS::EMR::Cluster")
    core = found["Instances"]["CoreInstanceGroup"]
    [volume] = core["EbsConfiguration"]["EbsBlockDeviceConfigs"]
    assert volume["VolumeSpecification"]["VolumeType"] == "gp3"
    environment = read_environment("tests/environments/examples/nvme-40tb.yaml")
    drive = plan_of(environment, environment.active).core.volume("cache")
    assert drive.type == "nvme"
    told = [bootstrap_action["ScriptBootstrapAction"]["Args"] for bootstrap_action in found["BootstrapActions"]]
    assert sum(f"--cache-volume-gib={drive.size_gib}" in arguments for arguments in told) == 2
