"""A cluster made by a template is the cluster that EMR's API shows."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_aws.emr import nodes
from tests.local_aws.aws_bench import PROTECTED, Bench, cluster_template, error_code
from tests.patience import HANG_SECONDS, wait_until

VOLUME = {"VolumeType": "gp3", "SizeInGB": 512, "Iops": 6000, "Throughput": 500}


def started_cluster(aws: Bench, *path_and_value: Any) -> str:
    aws.create(cluster_template(*path_and_value))
    return aws.physical_id("Cluster")


def described(aws: Bench, *path_and_value: Any) -> dict[str, Any]:
    cluster_id = started_cluster(aws, *path_and_value)
    cluster: dict[str, Any] = aws.emr.describe_cluster(ClusterId=cluster_id)["Cluster"]
    return cluster


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OSReleaseLabel", "2023.8.20250715.0"),
        ("LogUri", "s3://logs/"),
        ("LogEncryptionKmsKeyId", "arn:aws:kms:us-east-1:123456789012:key/k"),
        ("SecurityConfiguration", "security"),
        ("EbsRootVolumeSize", 50),
        ("EbsRootVolumeIops", 3000),
        ("EbsRootVolumeThroughput", 125),
        ("ScaleDownBehavior", "TERMINATE_AT_TASK_COMPLETION"),
        ("StepConcurrencyLevel", 3),
        ("CustomAmiId", "ami-1"),
        ("VisibleToAllUsers", True),
        ("Tags", [{"Key": "team", "Value": "data"}]),
    ],
)
def test_property_is_listed_as_passed(aws: Bench, name: str, value: Any) -> None:
    assert described(aws, name, value)[name] == value


def test_configurations_are_spelt_as_the_api_does(aws: Bench) -> None:
    assert described(aws)["Configurations"] == [
        {"Classification": "hbase", "Properties": {"hbase.emr.storageMode": "s3"}},
        {
            "Classification": "hbase-env",
            "Properties": {},
            "Configurations": [{"Classification": "export", "Properties": {"HBASE_HEAPSIZE": "24g"}}],
        },
    ]


def test_applications_and_placement_are_stored(aws: Bench) -> None:
    spread = [{"InstanceRole": "MASTER", "PlacementStrategy": "SPREAD"}]
    assert described(aws, "PlacementGroupConfigs", spread)["PlacementGroups"] == spread


def test_bootstrap_actions_are_listed(aws: Bench) -> None:
    action = {"Name": "claim", "ScriptBootstrapAction": {"Path": "s3://b/claim.sh", "Args": ["--root=s3://r/"]}}
    cluster_id = started_cluster(aws, "BootstrapActions", [action])
    listed = aws.emr.list_bootstrap_actions(ClusterId=cluster_id)["BootstrapActions"]
    assert listed == [{"Name": "claim", "ScriptPath": "s3://b/claim.sh", "Args": ["--root=s3://r/"]}]


def test_group_shows_its_configurations(aws: Bench) -> None:
    group = aws.group(started_cluster(aws))
    assert group["Configurations"] == [{"Classification": "hbase-site", "Properties": {"a": "1", "b": "2"}}]
    assert group["LastSuccessfullyAppliedConfigurations"] == group["Configurations"]


def test_group_shows_every_volume_with_its_throughput(aws: Bench) -> None:
    ebs = {
        "EbsOptimized": True,
        "EbsBlockDeviceConfigs": [{"VolumesPerInstance": 2, "VolumeSpecification": VOLUME}],
    }
    group = aws.group(started_cluster(aws, "Instances", "CoreInstanceGroup", "EbsConfiguration", ebs))
    assert [device["VolumeSpecification"] for device in group["EbsBlockDevices"]] == [VOLUME, VOLUME]
    assert group["EbsOptimized"]


def test_nodes_are_listed_by_role(aws: Bench) -> None:
    cluster_id = started_cluster(aws)
    nodes = aws.emr.list_instances(ClusterId=cluster_id, InstanceGroupTypes=["CORE"])["Instances"]
    assert [node["Status"]["State"] for node in nodes] == ["RUNNING"] * 3


LIMITS = {"ComputeLimits": {"UnitType": "Instances", "MinimumCapacityUnits": 2, "MaximumCapacityUnits": 5}}


@pytest.mark.parametrize(
    ("name", "operation", "policy"),
    [
        ("ManagedScalingPolicy", "get_managed_scaling_policy", LIMITS),
        ("AutoTerminationPolicy", "get_auto_termination_policy", {"IdleTimeout": 3600}),
    ],
)
def test_policy_is_stored(aws: Bench, name: str, operation: str, policy: dict[str, Any]) -> None:
    cluster_id = started_cluster(aws, name, policy)
    assert getattr(aws.emr, operation)(ClusterId=cluster_id)[name] == policy


@pytest.mark.parametrize("replaces", [True, False])
def test_unhealthy_node_replacement_is_stored(aws: Bench, *, replaces: bool) -> None:
    assert described(aws, "Instances", "UnhealthyNodeReplacement", replaces)["UnhealthyNodeReplacement"] is replaces


def test_numbers_and_flags_may_be_text(aws: Bench) -> None:
    cluster_id = started_cluster(aws, "Instances", "CoreInstanceGroup", "InstanceCount", "4")
    assert aws.group(cluster_id)["RequestedInstanceCount"] == 4


def test_protected_cluster_is_not_terminated(aws: Bench) -> None:
    cluster_id = started_cluster(aws, *PROTECTED)
    with pytest.raises(ClientError, match="termination protected"):
        aws.emr.terminate_job_flows(JobFlowIds=[cluster_id])
    assert aws.cluster_states() == {cluster_id: "WAITING"}


def test_terminated_cluster_has_no_running_node(aws: Bench) -> None:
    cluster_id = started_cluster(aws)
    aws.emr.terminate_job_flows(JobFlowIds=[cluster_id])
    assert aws.group(cluster_id)["RunningInstanceCount"] == 0
    nodes = aws.emr.list_instances(ClusterId=cluster_id)["Instances"]
    assert {node["Status"]["State"] for node in nodes} == {"TERMINATED"}


@pytest.mark.parametrize("operation", ["describe_cluster", "list_instance_groups", "list_instances", "list_steps"])
def test_unknown_cluster_is_an_invalid_request(aws: Bench, operation: str) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(aws.emr, operation)(ClusterId="j-UNKNOWN")
    assert error_code(refused.value) == "InvalidRequestException"


def test_fleets_are_refused(aws: Bench) -> None:
    template = cluster_template("Instances", {"MasterInstanceFleet": {"TargetOnDemandCapacity": 1}})
    assert aws.create(template) == "ROLLBACK_COMPLETE"
    assert "fleet" in " ".join(aws.reasons("Cluster")).lower()


@pytest.mark.parametrize("outcome", ["COMPLETED", "FAILED"])
def test_step_ends_at_its_second_description(aws: Bench, outcome: str) -> None:
    tags = [] if outcome == "COMPLETED" else [{"Key": "local-aws:step", "Value": outcome}]
    cluster_id = started_cluster(aws, "Tags", tags)
    jar = {"Jar": "command-runner.jar", "Args": ["true"]}
    step = {"Name": "s", "ActionOnFailure": "CONTINUE", "HadoopJarStep": jar}
    step_id = aws.emr.add_job_flow_steps(JobFlowId=cluster_id, Steps=[step])["StepIds"][0]
    looks = [aws.emr.describe_step(ClusterId=cluster_id, StepId=step_id)["Step"]["Status"]["State"] for _ in range(2)]
    assert looks == ["RUNNING", outcome]
    assert aws.cluster_states() == {cluster_id: "WAITING"}


def test_a_program_that_takes_longer_than_an_answer_ends_later(aws: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that waited for it would send its request again, and the program would run twice."""
    cluster_id, may_end, runs = started_cluster(aws), Event(), list[Sequence[str]]()
    monkeypatch.setattr(nodes, "ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(nodes, "has_nodes", lambda: True)

    def run(_: str, __: nodes.SimulatedHBase, arguments: Sequence[str], *___: object) -> bool:
        runs.append(arguments)
        return may_end.wait(HANG_SECONDS)

    monkeypatch.setattr(nodes, "run_step", run)
    step = {"Name": "s", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["bash", "-c", "sleep"]}}
    step_id = aws.emr.add_job_flow_steps(JobFlowId=cluster_id, Steps=[step])["StepIds"][0]

    def state() -> str:
        return str(aws.emr.describe_step(ClusterId=cluster_id, StepId=step_id)["Step"]["Status"]["State"])

    assert [state() for _ in range(4)] == ["RUNNING"] * 4
    may_end.set()
    wait_until(lambda: state() == "COMPLETED")
    assert len(runs) == 1
