"""A bench for the tests: clients of a mocked AWS with the extension on, and small templates as dictionaries."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import boto3
import moto  # noqa: F401 - before any client, so that it can answer them
from botocore.exceptions import ClientError
from msgspec import Struct

REGION = "us-east-1"
Template = dict[str, Any]


class Bench(Struct, frozen=True):
    """Clients, and the few questions every test asks."""

    cloudformation: Any
    emr: Any
    s3: Any

    def create(self, template: Template, name: str = "stack", **options: Any) -> str:
        """Return the status the new stack ended in."""
        self.cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), **options)
        return self.status(name)

    def update(self, template: Template, name: str = "stack", **options: Any) -> str:
        """Return the status the update ended in."""
        self.cloudformation.update_stack(StackName=name, TemplateBody=json.dumps(template), **options)
        return self.status(name)

    def stack(self, name: str = "stack") -> dict[str, Any]:
        """Return the stack as described."""
        stack: dict[str, Any] = self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        return stack

    def status(self, name: str = "stack") -> str:
        """Return the stack's status."""
        return str(self.stack(name)["StackStatus"])

    def events(self, name: str = "stack") -> list[tuple[str, str]]:
        """Return logical id and status of every event, oldest first."""
        events = self.cloudformation.describe_stack_events(StackName=name)["StackEvents"][::-1]
        return [(event["LogicalResourceId"], event["ResourceStatus"]) for event in events]

    def reasons(self, logical_id: str, name: str = "stack") -> list[str]:
        """Return the reasons given in the events of one logical id, oldest first."""
        events = self.cloudformation.describe_stack_events(StackName=name)["StackEvents"][::-1]
        return [event.get("ResourceStatusReason", "") for event in events if event["LogicalResourceId"] == logical_id]

    def changes(self, template: Template, name: str = "stack", change_set: str = "plan") -> dict[str, dict[str, Any]]:
        """Return the resource changes of a change set, by logical id."""
        body = json.dumps(template)
        self.cloudformation.create_change_set(StackName=name, ChangeSetName=change_set, TemplateBody=body)
        described = self.cloudformation.describe_change_set(StackName=name, ChangeSetName=change_set)
        return {
            change["ResourceChange"]["LogicalResourceId"]: change["ResourceChange"] for change in described["Changes"]
        }

    def physical_id(self, logical_id: str, name: str = "stack") -> str:
        """Return what Ref gives for a resource of the stack."""
        parameters = {"StackName": name, "LogicalResourceId": logical_id}
        resource = self.cloudformation.describe_stack_resource(**parameters)["StackResourceDetail"]
        return str(resource["PhysicalResourceId"])

    def cluster_states(self) -> dict[str, str]:
        """The state of every cluster there is, by id."""
        return {one["Id"]: one["Status"]["State"] for one in self.emr.list_clusters()["Clusters"]}

    def group(self, cluster_id: str, role: str = "CORE") -> dict[str, Any]:
        """Return the cluster's first group of that role; looking moves a change under way on."""
        groups = self.emr.list_instance_groups(ClusterId=cluster_id)["InstanceGroups"]
        result: dict[str, Any] = next(one for one in groups if one["InstanceGroupType"] == role)
        return result


def bench() -> Bench:
    """Clients of the mock that is active."""
    return Bench(*(client(service) for service in ("cloudformation", "emr", "s3")))


@cache
def client(service: str) -> Any:
    """A client for every test: moto answers it whichever mock is active."""
    make: Any = boto3.client
    return make(service, region_name=REGION, aws_access_key_id="local", aws_secret_access_key="local")


def error_code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])


CLUSTER: dict[str, Any] = {
    "Name": "blue",
    "ReleaseLabel": "emr-7.10.0",
    "ServiceRole": "service",
    "JobFlowRole": "profile",
    "Configurations": [
        {"Classification": "hbase", "ConfigurationProperties": {"hbase.emr.storageMode": "s3"}},
        {
            "Classification": "hbase-env",
            "Configurations": [{"Classification": "export", "ConfigurationProperties": {"HBASE_HEAPSIZE": "24g"}}],
        },
    ],
    "Instances": {
        "KeepJobFlowAliveWhenNoSteps": True,
        "TerminationProtected": False,
        "MasterInstanceGroup": {"InstanceCount": 1, "InstanceType": "m8g.xlarge"},
        "CoreInstanceGroup": {
            "InstanceCount": 3,
            "InstanceType": "r8g.2xlarge",
            "Configurations": [{"Classification": "hbase-site", "ConfigurationProperties": {"a": "1", "b": "2"}}],
        },
    },
}


PROTECTED = ("Instances", "TerminationProtected", True)


def cluster_template(*path_and_value: Any, **resources: Any) -> Template:
    """A template with one cluster; the last positional argument is put at the path that the others name."""
    properties = copy.deepcopy(CLUSTER)
    if path_and_value:
        *path, last, value = path_and_value
        place = properties
        for key in path:
            place = place[key]
        place[last] = value
    cluster = {"Type": "AWS::EMR::Cluster", "Properties": properties}
    return {"Resources": {"Cluster": cluster, **resources}}


def parameter(value: Any, name: str = "/a") -> dict[str, Any]:
    """Return an SSM parameter: the smallest resource whose value changes in place."""
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Name": name, "Type": "String", "Value": value}}


def broken() -> dict[str, Any]:
    """A resource whose creation fails."""
    return {"Type": "AWS::S3::BucketPolicy", "Properties": {"Bucket": "no-such-bucket", "PolicyDocument": {}}}
