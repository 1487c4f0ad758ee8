"""Deployed in this process, read back, compared: and a difference of each kind is found."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from msgspec.structs import replace

from local_aws.extension import install
from tests.operations.mocked_aws import ASSETS, Templates, clients, create
from tests.shipped import ENVIRONMENTS
from warmbase import app
from warmbase.changes.change import Change
from warmbase.configurations.launch import Launch, launch_of
from warmbase.configurations.properties.property import Applied
from warmbase.environments.reader import read_environment
from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.description import described_cluster
from warmbase.operations.cluster.drift import cluster_drift, compare_deployed, read_running_cluster
from warmbase.operations.cluster.protection import protect
from warmbase.reports.json_text import plain
from warmbase.stacks.pinned import read_templates

PROJECT = Path(__file__).parents[2]
Launches = Callable[[str], Launch]
HANDLERS = {"Classification": "hbase-site", "Properties": {"hbase.regionserver.handler.count": "99"}}


@pytest.fixture
def aws() -> Iterator[Aws]:
    install()
    with mock_aws():
        yield clients()


@pytest.fixture
def deploy(aws: Aws, templates: Callable[[str], Templates], assemblies: Callable[[str], Any]) -> Callable[[str], None]:
    """Creates the stacks of an environment from its templates, as CloudFormation would, and protects them."""

    def protected(name: str) -> None:
        create(aws, name, assemblies(name), templates(name))
        protect(aws, name, "blue")

    return protected


def differences(aws: Aws, launch: Launch, empty: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """By subject; something is compared of each, but for those that may be empty."""
    _, comparisons = compare_deployed(aws, launch)
    assert all(comparison.facts or comparison.subject in empty for comparison in comparisons)
    return {comparison.subject: comparison.differences for comparison in comparisons if comparison.differences}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_is_described_equals_what_was_rendered(
    name: str, aws: Aws, deploy: Callable[[str], None], launches: Launches
) -> None:
    deploy(name)
    assert differences(aws, launches(name)) == {}


def test_the_json_of_a_described_cluster_keeps_its_keys(aws: Aws, deploy: Callable[[str], None]) -> None:
    deploy("dev")
    document = plain(described_cluster(aws, "dev", "blue"))
    cluster = {"id", "state", "release", "immutable_settings", "settings", "groups", "bootstrap_actions"}
    group = {"id", "state", "why", "instance_type", "count", "running", "volumes", "settings", "version", "pending"}
    assert document.keys() == cluster
    assert document["groups"]["core"].keys() == group
    assert document["groups"]["core"]["volumes"][0].keys() == {"size_gib", "type", "iops", "throughput_mib_s"}
    assert document["settings"][0].keys() == {"name", "properties", "nested"}
    assert document["bootstrap_actions"][0].keys() == {"name", "script_sha256", "arguments"}


@pytest.mark.parametrize("storage", ["{mode: s3-plain}", "{mode: hdfs}", "{wal: emr-wal}"])
@pytest.mark.thorough
def test_so_it_is_wherever_data_and_log_lie(storage: str, aws: Aws, tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text((PROJECT / "environments/dev.yaml").read_text() + f"\nstorage: {storage}\n")
    assembly = app.synthesise(str(file), str(tmp_path / "cdk.out")).assembly
    create(aws, "dev", assembly, read_templates(assembly))
    protect(aws, "dev", "blue")
    environment = read_environment(str(file))
    assert differences(aws, launch_of(environment, environment.active), empty={"root bucket"}) == {}


def reconfigured(aws: Aws) -> None:
    cluster = described_cluster(aws, "dev", "blue")
    core = cluster.groups["core"].id
    change: Any = {"InstanceGroupId": core, "ReconfigurationType": "MERGE", "Configurations": [HANDLERS]}
    aws.emr.modify_instance_groups(ClusterId=cluster.id, InstanceGroups=[change])
    aws.emr.list_instance_groups(ClusterId=cluster.id)  # a change is under way until somebody looks


def edited_monitoring(aws: Aws) -> None:
    name = "warmbase-dev-blue-core-node-missing"
    [alarm] = aws.cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    kept = ("Namespace", "MetricName", "Dimensions", "Statistic", "Period", "EvaluationPeriods", "TreatMissingData")
    changed: Any = {key: alarm[key] for key in (*kept, "AlarmDescription", "ComparisonOperator")}  # type: ignore[literal-required]
    aws.cloudwatch.put_metric_alarm(AlarmName=name, Threshold=1, **changed)
    aws.cloudwatch.put_dashboard(DashboardName="warmbase-dev-blue-cache", DashboardBody=json.dumps({"widgets": []}))


def edited_script(aws: Aws) -> None:
    keys = [key["Key"] for key in aws.s3.list_objects_v2(Bucket=ASSETS)["Contents"]]
    script = next(key for key in keys if key.endswith(".sh"))
    aws.s3.put_object(Bucket=ASSETS, Key=script, Body=b"#!/bin/bash\nexit 0\n")


def public_bucket(aws: Aws) -> None:
    access: Any = {"BlockPublicAcls": False, "IgnorePublicAcls": True}
    aws.s3.put_public_access_block(
        Bucket="warmbase-dev-root-123456789012-us-east-1", PublicAccessBlockConfiguration=access
    )


@pytest.mark.parametrize(
    ("edit", "texts"),
    [
        (reconfigured, {"core classifications": "found '99'"}),
        (edited_monitoring, {"alarms": "threshold", "dashboards": "widgets"}),
        (edited_script, {"bootstrap actions": "found"}),
        (public_bucket, {"root bucket": "public access blocked: rendered True, found False"}),
    ],
)
def test_an_edit_by_hand_is_found(
    edit: Callable[[Aws], None],
    texts: dict[str, str],
    aws: Aws,
    deploy: Callable[[str], None],
    launches: Launches,
) -> None:
    deploy("dev")
    edit(aws)
    found = differences(aws, launches("dev"))
    assert found.keys() == texts.keys()
    assert all(text in found[subject][0] for subject, text in texts.items())


def tuning(aws: Aws, launch: Launch) -> tuple[Change, ...]:
    """Return what today's plan would change in the cluster that runs."""
    return read_running_cluster(aws, launch).changes(launch)


def test_what_runs_as_launched_has_not_drifted(aws: Aws, deploy: Callable[[str], None], launches: Launches) -> None:
    deploy("prod")
    assert tuning(aws, launches("prod")) == ()
    found = cluster_drift(aws, launches("prod"))
    assert found.running.immutable == ()
    assert {each.subject: each.differences for each in found.around} == {
        "bootstrap actions": (),
        "dashboards": (),
        "alarms": (),
        "root bucket": (),
        "protection": (),
        "warmbase-prod-network": (),
        "warmbase-prod-storage": (),
        "warmbase-prod-blue-cluster": (),
        "warmbase-prod-blue-monitoring": (),
    }
    assert all(each.facts for each in found.around)


def test_each_edit_by_hand_is_a_difference_with_its_impact(
    aws: Aws, deploy: Callable[[str], None], launches: Launches
) -> None:
    deploy("dev")
    launch = launches("dev")
    cluster = described_cluster(aws, "dev", "blue")
    core = cluster.groups["core"].id
    count = cluster.groups["core"].count + 2
    aws.emr.modify_instance_groups(
        ClusterId=cluster.id, InstanceGroups=[{"InstanceGroupId": core, "InstanceCount": count}]
    )
    aws.emr.list_instance_groups(ClusterId=cluster.id)  # a change is under way until somebody looks
    by_hand: Any = {"Classification": "hbase-site", "Properties": {"hbase.bucketcache.size": "1024"}}
    aws.emr.modify_instance_groups(
        ClusterId=cluster.id,
        InstanceGroups=[{"InstanceGroupId": core, "ReconfigurationType": "MERGE", "Configurations": [by_hand]}],
    )
    assert "with settings that are not applied (core RECONFIGURING)" in read_running_cluster(aws, launch).subject.source
    aws.cloudwatch.delete_alarms(AlarmNames=["warmbase-dev-blue-core-node-missing"])
    found = {change.key: change for change in tuning(aws, launch)}
    assert {key: change.applied for key, change in found.items()} == {
        "InstanceCount": Applied.LIVE,
        "hbase.bucketcache.size": Applied.ROLLING_RESTART,
    }
    assert found["InstanceCount"].before == str(count)
    assert (found["hbase.bucketcache.size"].before, found["hbase.bucketcache.size"].empties_cache) == ("1024", True)
    [alarms, stack] = [each for each in cluster_drift(aws, launch).around if each.differences]
    assert (alarms.subject, len(alarms.differences)) == ("alarms", 1)
    assert stack.subject == "warmbase-dev-blue-monitoring"
    assert stack.differences[0].endswith("AWS::CloudWatch::Alarm: deleted")


def test_what_stands_around_the_cluster_is_looked_at_as_well(
    aws: Aws, deploy: Callable[[str], None], launches: Launches
) -> None:
    deploy("dev")
    group = aws.cloudformation.describe_stacks(StackName="warmbase-dev-network")["Stacks"][0]["Outputs"][0]
    boto3.client("ec2", region_name="us-east-1").authorize_security_group_ingress(
        GroupId=group["OutputValue"], IpProtocol="tcp", FromPort=22, ToPort=22, CidrIp="0.0.0.0/0"
    )
    boto3.client("iam").put_role_policy(
        RoleName="warmbase-dev-blue-us-east-1",
        PolicyName="by-hand",
        PolicyDocument=json.dumps(
            {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        ),
    )
    aws.s3.delete_bucket_lifecycle(Bucket="warmbase-dev-root-123456789012-us-east-1")
    found = {each.subject: each.differences for each in cluster_drift(aws, launches("dev")).around if each.differences}
    assert {subject: len(differences) for subject, differences in found.items()} == {
        "warmbase-dev-network": 1,
        "warmbase-dev-blue-cluster": 1,
        "warmbase-dev-storage": 1,
    }
    assert "AWS::EC2::SecurityGroup /SecurityGroupIngress: deployed" in found["warmbase-dev-network"][0]
    assert "by-hand" in found["warmbase-dev-blue-cluster"][0]
    assert "/LifecycleConfiguration" in found["warmbase-dev-storage"][0]


def test_what_no_running_cluster_can_change_is_held_against_what_emr_says(
    aws: Aws, deploy: Callable[[str], None], launches: Launches
) -> None:
    deploy("dev")
    launch = launches("dev")
    network = replace(launch.environment.network, availability_zone="us-east-1b")
    asked = replace(launch.environment, network=network, os_release="2023.9.20251117.1", encrypt_local_disks=False)
    found = {
        each.key: (each.before, each.after)
        for each in read_running_cluster(aws, replace(launch, environment=asked)).immutable
    }
    assert found == {
        "AvailabilityZone": ("us-east-1a", "us-east-1b"),
        "OSReleaseLabel": ("the newest at launch", "2023.9.20251117.1"),
        "encryption of local disks": ("true", "false"),
    }


def test_nothing_that_runs_is_said_and_how_to_mend_it(aws: Aws, launches: Launches) -> None:
    with pytest.raises(OperationFailed, match=r"could not read cluster blue of dev(.|\n)*fix: deploy first"):
        cluster_drift(aws, launches("dev"))
