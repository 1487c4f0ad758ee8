"""ModifyInstanceGroups: what a resize or a reconfiguration does to a group, and what EMR refuses."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from local_aws.emr.instance_groups import merged_configurations, plain_configurations
from tests.local_aws.aws_bench import Bench, cluster_template

BEFORE = {"a": "1", "b": "2"}


def started_cluster(aws: Bench, tag: str | None = None) -> tuple[str, str]:
    tags = [{"Key": "local-aws:reconfiguration", "Value": tag}] if tag else []
    aws.create(cluster_template("Tags", tags))
    cluster_id = aws.physical_id("Cluster")
    return cluster_id, aws.group(cluster_id)["Id"]


def site(properties: dict[str, str], **nested: Any) -> dict[str, Any]:
    return {"Classification": "hbase-site", "Properties": properties, **nested}


def modify(aws: Bench, cluster_id: str, group_id: str, **change: Any) -> None:
    aws.emr.modify_instance_groups(ClusterId=cluster_id, InstanceGroups=[{"InstanceGroupId": group_id, **change}])


def finished_group(aws: Bench, cluster_id: str) -> dict[str, Any]:
    aws.group(cluster_id)
    return aws.group(cluster_id)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({}, {"b": "3"}),
        ({"ReconfigurationType": "OVERWRITE"}, {"b": "3"}),
        ({"ReconfigurationType": "MERGE"}, {"a": "1", "b": "3"}),
    ],
)
def test_overwrite_drops_what_merge_keeps(aws: Bench, kind: dict[str, str], expected: dict[str, str]) -> None:
    cluster_id, group_id = started_cluster(aws)
    modify(aws, cluster_id, group_id, Configurations=[site({"b": "3"})], **kind)
    group = finished_group(aws, cluster_id)
    assert group["Configurations"] == [site(expected)]
    assert group["LastSuccessfullyAppliedConfigurations"] == group["Configurations"]
    assert group["ConfigurationsVersion"] == group["LastSuccessfullyAppliedConfigurationsVersion"] == 1


def test_group_is_observed_reconfiguring_later_running(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    modify(aws, cluster_id, group_id, Configurations=[site({})])
    assert [aws.group(cluster_id)["Status"]["State"] for _ in range(2)] == ["RECONFIGURING", "RUNNING"]


@pytest.mark.parametrize("state", ["SUSPENDED", "ARRESTED"])
def test_failed_revert_leaves_the_group_in_the_requested_state(aws: Bench, state: str) -> None:
    cluster_id, group_id = started_cluster(aws, state)
    modify(aws, cluster_id, group_id, Configurations=[site({"b": "3"})])
    group = finished_group(aws, cluster_id)
    assert group["Status"]["State"] == state
    assert group["LastSuccessfullyAppliedConfigurations"] == [site(BEFORE)]


def test_suspended_group_can_be_reconfigured_again(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws, "SUSPENDED")
    modify(aws, cluster_id, group_id, Configurations=[site({"b": "3"})])
    finished_group(aws, cluster_id)
    aws.emr.remove_tags(ResourceId=cluster_id, TagKeys=["local-aws:reconfiguration"])
    modify(aws, cluster_id, group_id, Configurations=[site({"b": "4"})])
    assert finished_group(aws, cluster_id)["Status"]["State"] == "RUNNING"


def test_reverted_reconfiguration_leaves_what_was(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws, "revert")
    modify(aws, cluster_id, group_id, Configurations=[site({"b": "3"})])
    group = finished_group(aws, cluster_id)
    assert (group["Status"]["State"], group["Configurations"]) == ("RUNNING", [site(BEFORE)])


def test_stuck_group_stays_reconfiguring_until_the_tag_goes(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws, "stuck")
    modify(aws, cluster_id, group_id, Configurations=[site({})])
    assert [aws.group(cluster_id)["Status"]["State"] for _ in range(3)] == ["RECONFIGURING"] * 3
    aws.emr.remove_tags(ResourceId=cluster_id, TagKeys=["local-aws:reconfiguration"])
    assert finished_group(aws, cluster_id)["Status"]["State"] == "RUNNING"


def test_count_changes_nodes(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    for count in (5, 2):
        modify(aws, cluster_id, group_id, InstanceCount=count)
        assert aws.group(cluster_id)["Status"]["State"] == "RESIZING"
        assert aws.group(cluster_id)["RequestedInstanceCount"] == count
        nodes = aws.emr.list_instances(ClusterId=cluster_id, InstanceGroupId=group_id)["Instances"]
        assert len(nodes) == count


def test_named_node_is_the_one_that_goes(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    listed = aws.emr.list_instances(ClusterId=cluster_id, InstanceGroupId=group_id)["Instances"]
    doomed = listed[1]["Ec2InstanceId"]
    modify(aws, cluster_id, group_id, InstanceCount=2, EC2InstanceIdsToTerminate=[doomed])
    remaining = aws.emr.list_instances(ClusterId=cluster_id, InstanceGroupId=group_id)["Instances"]
    assert {one["Ec2InstanceId"] for one in remaining} == {one["Ec2InstanceId"] for one in listed} - {doomed}


def test_no_reconfiguration_while_resizing(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    modify(aws, cluster_id, group_id, InstanceCount=4)
    with pytest.raises(ClientError, match="RESIZING"):
        modify(aws, cluster_id, group_id, Configurations=[site({})])


def test_no_resize_while_reconfiguring(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    modify(aws, cluster_id, group_id, Configurations=[site({})])
    with pytest.raises(ClientError, match="RECONFIGURING"):
        modify(aws, cluster_id, group_id, InstanceCount=4)


def test_resize_and_reconfiguration_are_two_requests(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    with pytest.raises(ClientError, match="one request"):
        modify(aws, cluster_id, group_id, InstanceCount=4, Configurations=[site({})])


def test_terminated_cluster_is_not_reconfigured(aws: Bench) -> None:
    cluster_id, group_id = started_cluster(aws)
    aws.emr.terminate_job_flows(JobFlowIds=[cluster_id])
    with pytest.raises(ClientError, match="TERMINATED"):
        modify(aws, cluster_id, group_id, Configurations=[site({})])


def test_merge_reaches_nested_configurations() -> None:
    current = plain_configurations(
        [site({}, Configurations=[{"Classification": "export", "Properties": {"x": "1", "y": "2"}}])],
    )
    submitted = plain_configurations(
        [site({}, Configurations=[{"Classification": "export", "Properties": {"y": "3"}}])]
    )
    assert merged_configurations(current, submitted)[0]["Configurations"] == [
        {"Classification": "export", "Properties": {"x": "1", "y": "3"}},
    ]


PROPERTIES = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]))
CONFIGURATIONS = st.dictionaries(st.sampled_from(["hbase-site", "hbase-env"]), PROPERTIES).map(
    lambda drawn: [{"Classification": name, "Properties": properties} for name, properties in drawn.items()],
)


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_merging_the_same_twice_is_merging_it_once(current: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    once = merged_configurations(current, new)
    assert merged_configurations(once, new) == once


@given(CONFIGURATIONS)
def test_merging_into_nothing_is_the_submission(new: list[dict[str, Any]]) -> None:
    assert merged_configurations([], new) == new
