"""Deployed in this process, read back, compared: and a difference of each kind is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws

from configurations.launch import Launch
from lab.aws.extension import install
from operations.aws import Aws
from operations.comparison import compared
from operations.description import described_cluster
from tests.shipped import ENVIRONMENTS

Templates = Mapping[str, Mapping[str, Any]]
Launches = Callable[[str], Launch]
VARIABLES = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
ASSETS = "cdk-hnb659fds-assets-123456789012-us-east-1"


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        yield Aws(VARIABLES)


@pytest.fixture
def deploy(aws: Aws, templates: Callable[[str], Templates], assemblies: Callable[[str], Any]) -> Callable[[str], None]:
    """Creates the stacks of an environment from its templates, as CloudFormation would."""

    def deployed(name: str) -> None:
        aws.s3.create_bucket(Bucket=ASSETS)
        for asset in assemblies(name).glob("asset.*"):
            aws.s3.put_object(Bucket=ASSETS, Key=asset.name.removeprefix("asset."), Body=asset.read_bytes())
        stacks = boto3.client("cloudformation", region_name="us-east-1")
        for stack in ("network", "storage", "blue-cluster", "blue-monitoring"):
            full = f"warmbase-{name}-{stack}"
            stacks.create_stack(StackName=full, TemplateBody=json.dumps(templates(name)[full]))
            [described] = stacks.describe_stacks(StackName=full)["Stacks"]
            assert described["StackStatus"] == "CREATE_COMPLETE", described

    return deployed


def differences(aws: Aws, launch: Launch) -> dict[str, tuple[str, ...]]:
    _, comparisons = compared(aws, launch)
    assert all(comparison.facts for comparison in comparisons)
    return {comparison.subject: comparison.differences for comparison in comparisons if comparison.differences}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_is_described_equals_what_was_rendered(
    name: str, aws: Aws, deploy: Callable[[str], None], launches: Launches
) -> None:
    deploy(name)
    assert differences(aws, launches(name)) == {}


def test_a_reconfigured_group_is_found(aws: Aws, deploy: Callable[[str], None], launches: Launches) -> None:
    deploy("dev")
    launch = launches("dev")
    cluster = described_cluster(aws, "dev", "blue")
    groups = aws.emr.list_instance_groups(ClusterId=cluster.id)["InstanceGroups"]
    [core] = [group["Id"] for group in groups if group["InstanceGroupType"] == "CORE"]
    aws.emr.modify_instance_groups(
        ClusterId=cluster.id,
        InstanceGroups=[
            {
                "InstanceGroupId": core,
                "ReconfigurationType": "MERGE",
                "Configurations": [
                    {"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "99"}}
                ],
            }
        ],
    )
    found = differences(aws, launch)
    assert list(found) == ["core classifications"]
    assert "found '99'" in found["core classifications"][0]


def test_a_changed_alarm_and_dashboard_are_found(aws: Aws, deploy: Callable[[str], None], launches: Launches) -> None:
    deploy("dev")
    name = "warmbase-dev-blue-core-node-missing"
    [alarm] = aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    kept = ("Namespace", "MetricName", "Dimensions", "Statistic", "Period", "EvaluationPeriods", "TreatMissingData")
    changed: Any = {key: alarm[key] for key in (*kept, "AlarmDescription", "ComparisonOperator")}  # type: ignore[literal-required]
    aws.cloudwatch.put_metric_alarm(AlarmName=name, Threshold=1, **changed)
    aws.cloudwatch.put_dashboard(DashboardName="warmbase-dev-blue-cache", DashboardBody=json.dumps({"widgets": []}))
    assert set(differences(aws, launches("dev"))) == {"alarms", "dashboard"}


def test_a_changed_bootstrap_script_is_found(aws: Aws, deploy: Callable[[str], None], launches: Launches) -> None:
    deploy("dev")
    keys = [key["Key"] for key in aws.s3.list_objects_v2(Bucket=ASSETS)["Contents"]]
    script = next(key for key in keys if key.endswith(".sh"))
    aws.s3.put_object(Bucket=ASSETS, Key=script, Body=b"#!/bin/bash\nexit 0\n")
    assert set(differences(aws, launches("dev"))) == {"bootstrap actions"}


def test_a_bucket_made_public_is_found(aws: Aws, deploy: Callable[[str], None], launches: Launches) -> None:
    deploy("dev")
    bucket = "warmbase-dev-root-123456789012-us-east-1"
    aws.s3.put_public_access_block(
        Bucket=bucket, PublicAccessBlockConfiguration={"BlockPublicAcls": False, "IgnorePublicAcls": True}
    )
    assert set(differences(aws, launches("dev"))) == {"root bucket"}
