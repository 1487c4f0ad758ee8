"""An update makes the new before it deletes the old, and undoes what fails."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import PROTECTED, Bench, broken, client, cluster_template, error_code, parameter

CONFIGURATIONS = [{"Classification": "hbase-site", "ConfigurationProperties": {"hfile.block.cache.size": "0.5"}}]


@pytest.mark.parametrize(
    "path_and_value",
    [
        ("Configurations", CONFIGURATIONS),
        ("Name", "green"),
        ("ReleaseLabel", "emr-7.11.0"),
        ("LogUri", "s3://elsewhere/"),
        ("Instances", "CoreInstanceGroup", "Configurations", CONFIGURATIONS),
        ("Instances", "CoreInstanceGroup", "InstanceType", "r8g.4xlarge"),
        ("Instances", "Ec2SubnetId", "subnet-1"),
    ],
    ids=lambda path: "/".join(str(part) for part in path[:-1]),
)
def test_change_replaces_the_cluster(aws: Bench, path_and_value: tuple[Any, ...]) -> None:
    aws.create(cluster_template())
    old = aws.physical_id("Cluster")
    assert aws.update(cluster_template(*path_and_value)) == "UPDATE_COMPLETE"
    new = aws.physical_id("Cluster")
    assert aws.cluster_states() == {old: "TERMINATED", new: "WAITING"}


@pytest.mark.parametrize(
    "path_and_value",
    [
        ("Instances", "TerminationProtected", True),
        ("Instances", "UnhealthyNodeReplacement", False),
        ("Instances", "CoreInstanceGroup", "InstanceCount", 5),
        ("StepConcurrencyLevel", 4),
        ("VisibleToAllUsers", True),
        ("Tags", [{"Key": "a", "Value": "b"}]),
        ("AutoTerminationPolicy", {"IdleTimeout": 60}),
    ],
    ids=lambda path: "/".join(str(part) for part in path[:-1]),
)
def test_change_is_created_in_place(aws: Bench, path_and_value: tuple[Any, ...]) -> None:
    aws.create(cluster_template())
    old = aws.physical_id("Cluster")
    assert aws.update(cluster_template(*path_and_value)) == "UPDATE_COMPLETE"
    assert aws.physical_id("Cluster") == old
    assert aws.cluster_states() == {old: "WAITING"}


def test_a_list_of_subnets_is_refused_for_instance_groups(aws: Bench) -> None:
    assert aws.create(cluster_template("Instances", "Ec2SubnetIds", ["subnet-1"])) == "ROLLBACK_COMPLETE"


def test_count_in_place_resizes_the_group(aws: Bench) -> None:
    aws.create(cluster_template())
    aws.update(cluster_template("Instances", "CoreInstanceGroup", "InstanceCount", 5))
    group = aws.group(aws.physical_id("Cluster"))
    assert (group["RequestedInstanceCount"], group["Status"]["State"]) == (5, "RUNNING")


def test_tags_in_place_go_and_appear(aws: Bench) -> None:
    aws.create(cluster_template("Tags", [{"Key": "old", "Value": "1"}]))
    aws.update(cluster_template("Tags", [{"Key": "new", "Value": "2"}]))
    cluster = aws.emr.describe_cluster(ClusterId=aws.physical_id("Cluster"))["Cluster"]
    assert cluster["Tags"] == [{"Key": "new", "Value": "2"}]


def test_second_cluster_runs_before_the_first_is_deleted(aws: Bench) -> None:
    aws.create(cluster_template())
    old = aws.physical_id("Cluster")
    aws.update(cluster_template("Configurations", CONFIGURATIONS))
    new = aws.physical_id("Cluster")
    events = aws.cloudformation.describe_stack_events(StackName="stack")["StackEvents"][::-1]
    observed = [(event["PhysicalResourceId"], event["ResourceStatus"]) for event in events]
    assert observed.index((new, "UPDATE_COMPLETE")) < observed.index((old, "DELETE_IN_PROGRESS"))
    ready = aws.emr.describe_cluster(ClusterId=new)["Cluster"]["Status"]["Timeline"]["ReadyDateTime"]
    ended = aws.emr.describe_cluster(ClusterId=old)["Cluster"]["Status"]["Timeline"]["EndDateTime"]
    assert ready <= ended


def test_protected_cluster_outlives_its_replacement(aws: Bench) -> None:
    aws.create(cluster_template(*PROTECTED))
    old = aws.physical_id("Cluster")
    template = cluster_template(*PROTECTED)
    template["Resources"]["Cluster"]["Properties"]["Name"] = "green"
    assert aws.update(template) == "UPDATE_COMPLETE"
    assert aws.cluster_states() == {old: "WAITING", aws.physical_id("Cluster"): "WAITING"}
    assert aws.events().count(("Cluster", "DELETE_FAILED")) == 3
    assert aws.reasons("stack")[-1] == "Update successful. One or more resources could not be deleted."


def test_failed_replacement_leaves_the_old_cluster(aws: Bench) -> None:
    aws.create(cluster_template())
    old = aws.physical_id("Cluster")
    failing = cluster_template("Tags", [{"Key": "local-aws:bootstrap", "Value": "fail"}])
    failing["Resources"]["Cluster"]["Properties"]["Name"] = "green"
    assert aws.update(failing) == "UPDATE_ROLLBACK_COMPLETE"
    assert aws.physical_id("Cluster") == old
    assert sorted(aws.cluster_states().values()) == ["TERMINATED_WITH_ERRORS", "WAITING"]
    assert aws.cluster_states()[old] == "WAITING"


def test_failure_after_a_replacement_deletes_the_new_cluster(aws: Bench) -> None:
    aws.create(cluster_template())
    old = aws.physical_id("Cluster")
    failing = cluster_template("Name", "green", Broken={**broken(), "DependsOn": "Cluster"})
    assert aws.update(failing) == "UPDATE_ROLLBACK_COMPLETE"
    states = aws.cluster_states()
    assert aws.physical_id("Cluster") == old
    assert states.pop(old) == "WAITING"
    assert list(states.values()) == ["TERMINATED"]


def test_failure_changes_back_what_was_changed_in_place(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    failing = {"Resources": {"A": parameter("2"), "Broken": {**broken(), "DependsOn": "A"}}}
    assert aws.update(failing) == "UPDATE_ROLLBACK_COMPLETE"
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "1"
    assert aws.cloudformation.get_template(StackName="stack")["TemplateBody"]["Resources"].keys() == {"A"}


def test_failure_keeps_what_would_have_been_removed(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1"), "B": parameter("1", "/b")}})
    assert aws.update({"Resources": {"A": parameter("1"), "Broken": broken()}}) == "UPDATE_ROLLBACK_COMPLETE"
    assert client("ssm").get_parameter(Name="/b")["Parameter"]["Value"] == "1"
    assert aws.update({"Resources": {"A": parameter("1")}}) == "UPDATE_COMPLETE"
    with pytest.raises(ClientError):
        client("ssm").get_parameter(Name="/b")


def test_update_replace_policy_retains_the_old_cluster(aws: Bench) -> None:
    template = cluster_template()
    template["Resources"]["Cluster"]["UpdateReplacePolicy"] = "Retain"
    aws.create(template)
    template["Resources"]["Cluster"]["Properties"]["Name"] = "green"
    assert aws.update(template) == "UPDATE_COMPLETE"
    assert list(aws.cluster_states().values()) == ["WAITING", "WAITING"]
    assert ("Cluster", "DELETE_SKIPPED") in aws.events()


def test_replacement_reaches_what_refers_to_it(aws: Bench) -> None:
    template = cluster_template(Id=parameter({"Ref": "Cluster"}, "/cluster-id"))
    aws.create(template)
    template["Resources"]["Cluster"]["Properties"]["Name"] = "green"
    aws.update(template)
    value = client("ssm").get_parameter(Name="/cluster-id")["Parameter"]["Value"]
    assert value == aws.physical_id("Cluster")


def test_custom_named_resource_cannot_be_replaced(aws: Bench) -> None:
    bucket = {"Type": "AWS::EMR::SecurityConfiguration", "Properties": {"Name": "s", "SecurityConfiguration": {"a": 1}}}
    aws.create({"Resources": {"S": bucket}})
    changed = {**bucket, "Properties": {"Name": "s", "SecurityConfiguration": {"a": 2}}}
    assert aws.update({"Resources": {"S": changed}}) == "UPDATE_ROLLBACK_COMPLETE"
    assert "custom-named" in " ".join(aws.reasons("S"))


def test_update_without_change_is_refused(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    with pytest.raises(ClientError, match="No updates are to be performed"):
        aws.update({"Resources": {"A": parameter("1")}})


def test_type_of_a_resource_cannot_change(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    with pytest.raises(ClientError, match="resource type"):
        aws.update({"Resources": {"A": {"Type": "AWS::SNS::Topic"}}})


def test_events_tell_the_whole_update(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    aws.update({"Resources": {"A": parameter("2")}})
    assert aws.events() == [
        ("stack", "CREATE_IN_PROGRESS"),
        ("A", "CREATE_IN_PROGRESS"),
        ("A", "CREATE_COMPLETE"),
        ("stack", "CREATE_COMPLETE"),
        ("stack", "UPDATE_IN_PROGRESS"),
        ("A", "UPDATE_IN_PROGRESS"),
        ("A", "UPDATE_COMPLETE"),
        ("stack", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"),
        ("stack", "UPDATE_COMPLETE"),
    ]


def test_events_have_an_order_in_time(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1"), "B": parameter("1", "/b")}})
    times = [one["Timestamp"] for one in aws.cloudformation.describe_stack_events(StackName="stack")["StackEvents"]]
    assert len(set(times)) == len(times)
    assert times == sorted(times, reverse=True)


def test_unknown_stack_is_a_validation_error(aws: Bench) -> None:
    with pytest.raises(ClientError) as refused:
        aws.update({"Resources": {"A": parameter("1")}}, name="none")
    assert error_code(refused.value) == "ValidationError"
