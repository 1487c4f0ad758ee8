"""Change sets tell what an update would do, belong to one stack, and do it when executed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import Bench, client, cluster_template, error_code, parameter

SECURITY = {"Type": "AWS::EMR::SecurityConfiguration", "Properties": {"SecurityConfiguration": {"a": 1}}}


def create_set(aws: Bench, template: dict[str, Any], kind: str = "UPDATE", stack: str = "stack") -> None:
    aws.cloudformation.create_change_set(
        StackName=stack,
        ChangeSetName="plan",
        ChangeSetType=kind,
        TemplateBody=json.dumps(template),
    )


@pytest.mark.parametrize(
    ("path_and_value", "replacement", "name"),
    [
        (("Name", "green"), "True", "Name"),
        (("Instances", "CoreInstanceGroup", "InstanceType", "r8g.4xlarge"), "True", "Instances"),
        (("Instances", "CoreInstanceGroup", "InstanceCount", 5), "Conditional", "Instances"),
        (("Instances", "TerminationProtected", True), "False", "Instances"),
        (("StepConcurrencyLevel", 4), "False", "StepConcurrencyLevel"),
    ],
)
def test_replacement_is_reported(aws: Bench, path_and_value: tuple[Any, ...], replacement: str, name: str) -> None:
    aws.create(cluster_template())
    change = aws.changes(cluster_template(*path_and_value))["Cluster"]
    assert (change["Action"], change["Replacement"], change["Scope"]) == ("Modify", replacement, ["Properties"])
    assert change["PhysicalResourceId"] == aws.physical_id("Cluster")
    assert change["ResourceType"] == "AWS::EMR::Cluster"
    target = change["Details"][0]["Target"]
    assert (target["Attribute"], target["Name"]) == ("Properties", name)
    recreation = {"True": "Always", "Conditional": "Conditionally", "False": "Never"}[replacement]
    assert target["RequiresRecreation"] == recreation


def test_additions_and_removals_are_reported(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    changes = aws.changes({"Resources": {"B": parameter("1", "/b")}})
    assert {name: change["Action"] for name, change in changes.items()} == {"A": "Remove", "B": "Add"}


def test_replacement_by_reference_is_conditional(aws: Bench) -> None:
    template = cluster_template("SecurityConfiguration", {"Ref": "Security"}, Security=SECURITY)
    aws.create(template)
    template["Resources"]["Security"] = {**SECURITY, "Properties": {"SecurityConfiguration": {"a": 2}}}
    changes = aws.changes(template)
    assert (changes["Security"]["Replacement"], changes["Cluster"]["Replacement"]) == ("True", "Conditional")
    assert changes["Cluster"]["Details"][0]["Evaluation"] == "Dynamic"


def test_execution_does_what_was_reported(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    aws.changes({"Resources": {"A": parameter("2")}})
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert aws.status() == "UPDATE_COMPLETE"
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "2"


def test_change_set_may_create_the_stack(aws: Bench) -> None:
    create_set(aws, {"Resources": {"A": parameter("1")}}, "CREATE")
    assert aws.status() == "REVIEW_IN_PROGRESS"
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert aws.status() == "CREATE_COMPLETE"


def test_nothing_to_change_fails_the_change_set(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    assert aws.changes({"Resources": {"A": parameter("1")}}) == {}
    described = aws.cloudformation.describe_change_set(StackName="stack", ChangeSetName="plan")
    assert (described["Status"], described["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert described["StatusReason"].startswith("The submitted information didn't contain changes")
    with pytest.raises(ClientError) as refused:
        aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert error_code(refused.value) == "InvalidChangeSetStatus"


def test_same_name_in_two_stacks_is_two_change_sets(aws: Bench) -> None:
    for name in ("one", "two"):
        aws.create({"Resources": {"A": parameter("1", f"/{name}")}}, name=name)
        create_set(aws, {"Resources": {"A": parameter("2", f"/{name}")}}, stack=name)
    aws.cloudformation.execute_change_set(StackName="one", ChangeSetName="plan")
    assert (aws.status("one"), aws.status("two")) == ("UPDATE_COMPLETE", "CREATE_COMPLETE")
    listed = aws.cloudformation.list_change_sets(StackName="two")["Summaries"]
    assert [one["StackName"] for one in listed] == ["two"]


def test_deleting_a_missing_change_set_is_no_error(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    aws.cloudformation.delete_change_set(StackName="stack", ChangeSetName="none")


def test_execution_voids_the_other_change_sets(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}})
    aws.changes({"Resources": {"A": parameter("2")}}, change_set="first")
    aws.changes({"Resources": {"A": parameter("3")}}, change_set="second")
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="second")
    with pytest.raises(ClientError) as refused:
        aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="first")
    assert error_code(refused.value) == "ChangeSetNotFound"


def test_outputs_and_exports_appear_with_a_change_set(aws: Bench) -> None:
    output = {"Id": {"Value": {"Ref": "A"}, "Export": {"Name": "exported"}}}
    create_set(aws, {"Resources": {"A": parameter("1")}, "Outputs": output}, "CREATE")
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert aws.stack()["Outputs"] == [{"OutputKey": "Id", "OutputValue": "/a", "ExportName": "exported"}]
    assert (
        aws.create({"Resources": {"B": parameter({"Fn::ImportValue": "exported"}, "/b")}}, "other") == "CREATE_COMPLETE"
    )
    assert client("ssm").get_parameter(Name="/b")["Parameter"]["Value"] == "/a"
