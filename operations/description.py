"""A cluster as the services describe it: EMR's groups and classifications, CloudWatch's dashboard and alarms, S3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from configurations.classification import Classification
from dashboards.alarm import Alarm
from operations.aws import Aws

__all__ = ["BootstrapAction", "DescribedCluster", "DescribedGroup", "DescribedVolume", "described_cluster"]

GROUPS: Final = {"MASTER": "primary", "CORE": "core"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DescribedVolume:
    """One EBS volume of a node, as the EMR API states it."""

    size_gib: int
    type: str
    iops: int | None
    throughput_mib_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """An instance group; volumes in order of size."""

    instance_type: str
    count: int
    volumes: tuple[DescribedVolume, ...]
    settings: tuple[Classification, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapAction:
    """A bootstrap action: the digest of the script that it fetches, and its arguments."""

    name: str
    script_sha256: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedCluster:
    """What the EMR API says of a cluster."""

    id: str
    state: str
    release: str
    settings: tuple[Classification, ...]
    groups: Mapping[str, DescribedGroup]
    bootstrap_actions: tuple[BootstrapAction, ...]


def cluster_id(aws: Aws, environment: str, colour: str) -> str:
    """The id that the cluster's stack left behind."""
    name = f"/warmbase/{environment}/{colour}/cluster-id"
    return aws.ssm.get_parameter(Name=name)["Parameter"]["Value"]


def described_cluster(aws: Aws, environment: str, colour: str) -> DescribedCluster:
    """The cluster of that colour with everything that was launched with it."""
    identity = cluster_id(aws, environment, colour)
    cluster: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    groups: Any = aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
    actions: Any = aws.emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]
    return DescribedCluster(
        id=identity,
        state=cluster["Status"]["State"],
        release=cluster["ReleaseLabel"],
        settings=_settings(cluster),
        groups={GROUPS[group["InstanceGroupType"]]: _group(group) for group in groups},
        bootstrap_actions=tuple(_bootstrap_action(aws, action) for action in actions),
    )


def described_dashboard(aws: Aws, name: str) -> object:
    """The body of a dashboard, parsed."""
    return json.loads(aws.cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])


def described_alarms(aws: Aws, prefix: str) -> Mapping[str, Alarm]:
    """Alarms whose names start so, by name."""
    found: Any = aws.cloudwatch.describe_alarms(AlarmNamePrefix=prefix)["MetricAlarms"]
    return {alarm["AlarmName"]: _alarm(alarm) for alarm in found}


def _settings(described: Mapping[str, Any]) -> tuple[Classification, ...]:
    return tuple(Classification.parse(each) for each in described.get("Configurations", ()))


def _group(group: Mapping[str, Any]) -> DescribedGroup:
    return DescribedGroup(
        instance_type=group["InstanceType"],
        count=group["RequestedInstanceCount"],
        volumes=tuple(sorted(_volume(block["VolumeSpecification"]) for block in group["EbsBlockDevices"])),
        settings=_settings(group),
    )


def _volume(specification: Mapping[str, Any]) -> DescribedVolume:
    return DescribedVolume(
        size_gib=specification["SizeInGB"],
        type=specification["VolumeType"],
        iops=specification.get("Iops"),
        throughput_mib_s=specification.get("Throughput"),
    )


def _bootstrap_action(aws: Aws, action: Mapping[str, Any]) -> BootstrapAction:
    bucket, _, key = action["ScriptPath"].removeprefix("s3://").partition("/")
    script = aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    return BootstrapAction(
        name=action["Name"],
        script_sha256=hashlib.sha256(script).hexdigest(),
        arguments=tuple(action["Args"]),
    )


def _alarm(alarm: Mapping[str, Any]) -> Alarm:
    return Alarm(
        name=alarm["AlarmName"],
        description=alarm["AlarmDescription"],
        namespace=alarm["Namespace"],
        metric=alarm["MetricName"],
        dimensions={each["Name"]: each["Value"] for each in alarm["Dimensions"]},
        statistic=alarm["Statistic"],
        period_seconds=alarm["Period"],
        periods=alarm["EvaluationPeriods"],
        comparison=alarm["ComparisonOperator"],
        threshold=alarm["Threshold"],
        missing_data=alarm["TreatMissingData"],
    )
