"""References between resources, and a recorded cluster in a stack that states more than its record."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_emr as emr

from warmbase.environments.launch_record import RecordedResource
from warmbase.stacks.pinned import apply_record
from warmbase.stacks.references import referenced_by, references

EXPORTS = {"Key": ("storage", {"Fn::GetAtt": ["KmsKey", "Arn"]})}
REFERENCES: list[tuple[object, list[tuple[str, str]]]] = [
    ("text", []),
    ({"Ref": "Subnet"}, [("cluster", "Subnet")]),
    ({"Fn::GetAtt": ["Role", "Arn"]}, [("cluster", "Role")]),
    ({"Fn::GetAtt": "Role.Arn"}, [("cluster", "Role")]),
    ({"Fn::ImportValue": "Key"}, [("storage", "KmsKey")]),
    ({"Fn::Sub": "arn:${AWS::Partition}:${Bucket}/${Role.Arn}"}, [("cluster", "Bucket"), ("cluster", "Role")]),
    ({"Fn::Sub": ["${Name}/${Role}", {"Name": {"Ref": "Topic"}}]}, [("cluster", "Role"), ("cluster", "Topic")]),
    ({"Fn::Join": ["/", ["s3:/", {"Ref": "Bucket"}]]}, [("cluster", "Bucket")]),
]


@pytest.mark.parametrize(("value", "named"), REFERENCES, ids=lambda value: str(value)[:24])
def test_every_reference_is_followed(value: object, named: list[tuple[str, str]]) -> None:
    assert list(references(value, "cluster", EXPORTS)) == named


def test_an_import_that_nothing_exports_is_refused() -> None:
    with pytest.raises(LookupError, match="nothing exports Vpc"):
        list(references({"Fn::ImportValue": "Vpc"}, "cluster", EXPORTS))


def test_a_role_that_a_substitution_names_is_recorded_with_the_cluster() -> None:
    resources = {
        "Cluster": {
            "Type": "AWS::EMR::Cluster",
            "Properties": {"Instances": {}, "LogUri": {"Fn::Sub": "s3://${Logs}/emr/"}},
        },
        "Logs": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "logs"}},
    }
    assert referenced_by({"cluster": {"Resources": resources}}, "cluster", "Cluster").keys() == {"cluster"}
    recorded = referenced_by({"cluster": {"Resources": resources}}, "cluster", "Cluster")["cluster"]
    assert recorded.keys() == {"Cluster", "Logs"}


def test_a_property_that_the_record_lacks_is_removed() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "stack")
    instances = emr.CfnCluster.JobFlowInstancesConfigProperty(ec2_subnet_id="subnet-1")
    cluster = emr.CfnCluster(
        stack,
        "Cluster",
        name="today",
        instances=instances,
        job_flow_role="nodes",
        service_role="service",
        custom_ami_id="ami-1",
        step_concurrency_level=1,
    )
    recorded = {"Name": "launched", "JobFlowRole": "nodes", "ServiceRole": "service"}
    apply_record(cluster, RecordedResource(type="AWS::EMR::Cluster", properties=recorded))
    [resource] = app.synth().get_stack_by_name("stack").template["Resources"].values()
    assert resource["Properties"] == {**recorded, "Instances": {"Ec2SubnetId": "subnet-1"}, "StepConcurrencyLevel": 1}
