"""Stacks come, share values, and go, as CloudFormation's do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.local_aws.aws_bench import PROTECTED, Bench, broken, client, cluster_template, parameter


def retained_bucket(name: str = "kept-bucket") -> dict[str, Any]:
    return {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {"BucketName": name}}


def buckets(aws: Bench) -> list[str]:
    return [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]]


def test_failed_creation_deletes_what_it_created(aws: Bench) -> None:
    template = {"Resources": {"A": parameter("1"), "Broken": {**broken(), "DependsOn": "A"}}}
    assert aws.create(template) == "ROLLBACK_COMPLETE"
    with pytest.raises(ClientError):
        client("ssm").get_parameter(Name="/a")
    assert ("Broken", "CREATE_FAILED") in aws.events()
    assert ("A", "DELETE_COMPLETE") in aws.events()


def test_rolled_back_creation_can_only_be_deleted(aws: Bench) -> None:
    aws.create({"Resources": {"Broken": broken()}})
    with pytest.raises(ClientError, match="ROLLBACK_COMPLETE state and can not be updated"):
        aws.update({"Resources": {"A": parameter("1")}})
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.create({"Resources": {"A": parameter("1")}}) == "CREATE_COMPLETE"


def test_failed_creation_stays_when_rollback_is_disabled(aws: Bench) -> None:
    template = {"Resources": {"A": parameter("1"), "Broken": {**broken(), "DependsOn": "A"}}}
    assert aws.create(template, DisableRollback=True) == "CREATE_FAILED"
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "1"


def test_deletion_deletes_in_reverse_order(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1"), "B": parameter({"Ref": "A"}, "/b")}})
    stack_id = aws.stack()["StackId"]
    aws.cloudformation.delete_stack(StackName="stack")
    removed = [name for name, status in aws.events(stack_id) if status == "DELETE_COMPLETE"]
    assert removed == ["B", "A", "stack"]


def test_retained_bucket_outlives_its_stack(aws: Bench) -> None:
    aws.create({"Resources": {"Kept": retained_bucket(), "A": parameter("1")}})
    aws.s3.put_object(Bucket="kept-bucket", Key="data", Body=b"1")
    aws.cloudformation.delete_stack(StackName="stack")
    assert buckets(aws) == ["kept-bucket"]
    assert aws.s3.get_object(Bucket="kept-bucket", Key="data")["Body"].read() == b"1"


def test_retained_bucket_outlives_its_removal_from_the_template(aws: Bench) -> None:
    aws.create({"Resources": {"Kept": retained_bucket(), "A": parameter("1")}})
    aws.update({"Resources": {"A": parameter("1")}})
    assert buckets(aws) == ["kept-bucket"]
    assert ("Kept", "DELETE_SKIPPED") in aws.events()


def test_bucket_with_objects_fails_the_deletion(aws: Bench) -> None:
    bucket = {**retained_bucket("full-bucket"), "DeletionPolicy": "Delete"}
    aws.create({"Resources": {"Full": bucket}})
    aws.s3.put_object(Bucket="full-bucket", Key="data", Body=b"1")
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.status() == "DELETE_FAILED"
    aws.cloudformation.delete_stack(StackName="stack", RetainResources=["Full"])
    assert buckets(aws) == ["full-bucket"]


def test_protected_stack_is_not_deleted(aws: Bench) -> None:
    aws.create({"Resources": {"A": parameter("1")}}, EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="TerminationProtection is enabled"):
        aws.cloudformation.delete_stack(StackName="stack")
    aws.cloudformation.update_termination_protection(StackName="stack", EnableTerminationProtection=False)
    assert aws.stack()["EnableTerminationProtection"] is False
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.cloudformation.describe_stacks()["Stacks"] == []


def test_protected_cluster_fails_the_deletion_of_its_stack(aws: Bench) -> None:
    aws.create(cluster_template(*PROTECTED))
    aws.cloudformation.delete_stack(StackName="stack")
    assert aws.status() == "DELETE_FAILED"
    assert list(aws.cluster_states().values()) == ["WAITING"]


def test_deleting_an_unknown_stack_is_no_error(aws: Bench) -> None:
    aws.cloudformation.delete_stack(StackName="none")


def exporting(value: str) -> dict[str, Any]:
    return {"Resources": {"A": parameter(value)}, "Outputs": {"V": {"Value": value, "Export": {"Name": "value"}}}}


IMPORTING = {"Resources": {"B": parameter({"Fn::ImportValue": "value"}, "/b")}}


def test_imported_export_can_neither_change_nor_go(aws: Bench) -> None:
    aws.create(exporting("1"))
    aws.create(IMPORTING, "other")
    assert aws.update(exporting("2")) == "UPDATE_ROLLBACK_COMPLETE"
    with pytest.raises(ClientError, match="in use by other"):
        aws.cloudformation.delete_stack(StackName="stack")
    aws.cloudformation.delete_stack(StackName="other")
    assert aws.update(exporting("3")) == "UPDATE_COMPLETE"
    assert aws.cloudformation.list_exports()["Exports"][0]["Value"] == "3"


def test_export_name_is_used_once(aws: Bench) -> None:
    aws.create(exporting("1"))
    second = {**exporting("2"), "Resources": {"A": parameter("2", "/other")}}
    assert aws.create(second, "other") == "ROLLBACK_COMPLETE"


@pytest.mark.parametrize("resource_type", ["AWS::Nothing::Known", "AWS::Lambda::EventInvokeConfig"])
def test_unknown_type_is_refused_at_once(aws: Bench, resource_type: str) -> None:
    with pytest.raises(ClientError, match="Unrecognized resource types"):
        aws.create({"Resources": {"A": parameter("1"), "X": {"Type": resource_type}}})
    assert aws.cloudformation.describe_stacks()["Stacks"] == []


def test_harmless_type_is_blank(aws: Bench) -> None:
    assert aws.create({"Resources": {"M": {"Type": "AWS::CDK::Metadata"}}}) == "CREATE_COMPLETE"


def test_circle_of_references_is_refused(aws: Bench) -> None:
    resources = {"A": parameter({"Ref": "B"}), "B": parameter({"Ref": "A"}, "/b")}
    with pytest.raises(ClientError, match="Circular dependency"):
        aws.create({"Resources": resources})


def test_reference_to_nothing_fails(aws: Bench) -> None:
    assert aws.create({"Resources": {"A": parameter({"Ref": "Nothing"})}}) == "ROLLBACK_COMPLETE"


def test_condition_leaves_a_resource_out(aws: Bench) -> None:
    template = {
        "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
        "Resources": {"A": parameter("1"), "B": {**parameter("1", "/b"), "Condition": "Never"}},
    }
    assert aws.create(template) == "CREATE_COMPLETE"
    listed = aws.cloudformation.list_stack_resources(StackName="stack")["StackResourceSummaries"]
    assert [one["LogicalResourceId"] for one in listed] == ["A"]


def from_store(default: str | None = None) -> dict[str, Any]:
    declared = {"Type": "AWS::SSM::Parameter::Value<String>"} | ({"Default": default} if default else {})
    return {"Parameters": {"P": declared}, "Resources": {"A": parameter({"Ref": "P"})}}


def test_parameter_store_value_is_read_again_with_the_previous_name(aws: Bench) -> None:
    store = client("ssm")
    store.put_parameter(Name="/version", Value="1", Type="String")
    aws.create(from_store(), Parameters=[{"ParameterKey": "P", "ParameterValue": "/version"}])
    store.put_parameter(Name="/version", Value="2", Type="String", Overwrite=True)
    assert aws.update(from_store(), Parameters=[{"ParameterKey": "P", "UsePreviousValue": True}]) == "UPDATE_COMPLETE"
    assert store.get_parameter(Name="/a")["Parameter"]["Value"] == "2"


def test_default_parameter_store_name_works_in_a_change_set(aws: Bench) -> None:
    client("ssm").put_parameter(Name="/version", Value="1", Type="String")
    aws.create(from_store("/version"))
    template = from_store("/version")
    template["Resources"]["B"] = parameter("1", "/b")
    parameters = {"StackName": "stack", "ChangeSetName": "plan", "TemplateBody": json.dumps(template)}
    aws.cloudformation.create_change_set(**parameters, Parameters=[{"ParameterKey": "P", "UsePreviousValue": True}])
    aws.cloudformation.execute_change_set(StackName="stack", ChangeSetName="plan")
    assert aws.status() == "UPDATE_COMPLETE"


def test_missing_parameter_store_name_is_refused(aws: Bench) -> None:
    with pytest.raises(ClientError, match="Unable to fetch parameters"):
        aws.create(from_store("/none"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([], "must have values"),
        ([{"ParameterKey": "P", "ParameterValue": "c"}], "AllowedValues"),
        ([{"ParameterKey": "Q", "ParameterValue": "a"}], "do not exist in the template"),
    ],
)
def test_invalid_parameters_are_refused(aws: Bench, parameters: list[dict[str, str]], message: str) -> None:
    declared = {"P": {"Type": "String", "AllowedValues": ["a", "b"]}}
    with pytest.raises(ClientError, match=message):
        aws.create({"Parameters": declared, "Resources": {"A": parameter({"Ref": "P"})}}, Parameters=parameters)


def test_dynamic_reference_is_resolved(aws: Bench) -> None:
    client("ssm").put_parameter(Name="/source", Value="found", Type="String")
    aws.create({"Resources": {"A": parameter("<{{resolve:ssm:/source}}>")}})
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "<found>"


SECRET = {"password": "of-a-test", "number": 7}


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("{{resolve:secretsmanager:hbase/kdc}}", json.dumps(SECRET)),
        ("{{resolve:secretsmanager:hbase/kdc:SecretString}}", json.dumps(SECRET)),
        ("{{resolve:secretsmanager:hbase/kdc:SecretString:password}}", SECRET["password"]),
        ("{{resolve:secretsmanager:hbase/kdc:SecretString:password:AWSCURRENT}}", SECRET["password"]),
        ("{{resolve:secretsmanager:ARN:SecretString:number::}}", "7"),
    ],
)
def test_a_secret_is_resolved(aws: Bench, reference: str, value: str) -> None:
    arn = client("secretsmanager").create_secret(Name="hbase/kdc", SecretString=json.dumps(SECRET))["ARN"]
    aws.create({"Resources": {"A": parameter(reference.replace("ARN", arn))}})
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == value


@pytest.mark.parametrize(
    "reference",
    [
        "{{resolve:ssm:/none}}",
        "{{resolve:secretsmanager:secret}}",
        "{{resolve:secretsmanager:secret:SecretString:a:b:c:d}}",
        "{{resolve:ssm-secure:/none}}",
    ],
)
def test_dynamic_reference_that_cannot_be_resolved_fails(aws: Bench, reference: str) -> None:
    assert aws.create({"Resources": {"A": parameter(reference)}}) == "ROLLBACK_COMPLETE"


def test_template_url_may_be_path_style_on_a_loopback_address(aws: Bench) -> None:
    aws.s3.create_bucket(Bucket="templates")
    aws.s3.put_object(Bucket="templates", Key="a/b.json", Body=json.dumps({"Resources": {"A": parameter("1")}}))
    url = "http://127.0.0.1:4566/templates/a/b.json"
    aws.cloudformation.create_stack(StackName="stack", TemplateURL=url)
    assert aws.status() == "CREATE_COMPLETE"
