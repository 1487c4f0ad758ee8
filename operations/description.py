"""A cluster as the services describe it: EMR's groups and classifications, CloudWatch's dashboard and alarms, S3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from changes.immutable_settings import NEWEST, ImmutableSettings
from emr.classification import Classification
from environments.names import cluster_id_parameter
from operations.aws import Aws
from operations.aws_errors import error_code

__all__ = [
    "LIVES",
    "BootstrapAction",
    "DescribedAlarm",
    "DescribedCluster",
    "DescribedGroup",
    "DescribedVolume",
    "described_cluster",
]

LIVES: Final = frozenset({"STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING"})
"""States of a cluster that runs, or will."""
GROUPS: Final = {"MASTER": "primary", "CORE": "core", "TASK": "task"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DescribedVolume:
    """One EBS volume of a node, as the EMR API states it."""

    size_gib: int
    type: str
    iops: int | None
    throughput_mib_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """An instance group; volumes in order of size.

    `settings` are what its nodes have: while others are asked for and not applied, `pending`, those of before.
    """

    id: str
    state: str
    why: str
    instance_type: str
    count: int
    running: int
    volumes: tuple[DescribedVolume, ...]
    settings: tuple[Classification, ...]
    version: int
    pending: bool


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
    immutable_settings: ImmutableSettings
    settings: tuple[Classification, ...]
    groups: Mapping[str, DescribedGroup]
    bootstrap_actions: tuple[BootstrapAction, ...]


def cluster_id(aws: Aws, environment: str, cluster_name: str) -> str:
    """Return the id that the cluster's stack left behind."""
    return aws.ssm.get_parameter(Name=cluster_id_parameter(environment, cluster_name))["Parameter"]["Value"]


def described_cluster(aws: Aws, environment: str, cluster_name: str) -> DescribedCluster:
    """The cluster of that name with everything that was launched with it."""
    identity = cluster_id(aws, environment, cluster_name)
    cluster: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    actions: Any = aws.emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]
    return DescribedCluster(
        id=identity,
        state=cluster["Status"]["State"],
        release=cluster["ReleaseLabel"],
        immutable_settings=_immutable_settings(aws, cluster),
        settings=_settings(cluster),
        groups=described_groups(aws, identity),
        bootstrap_actions=tuple(_bootstrap_action(aws, action) for action in actions),
    )


def described_groups(aws: Aws, identity: str) -> dict[str, DescribedGroup]:
    """The instance groups of a cluster by role, with the state that each is in."""
    groups: Any = aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
    return {GROUPS[group["InstanceGroupType"]]: _group(group) for group in groups}


def described_dashboard(aws: Aws, name: str) -> object:
    """The body of a dashboard, parsed; None where there is none."""
    try:
        return json.loads(aws.cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])
    except ClientError as error:
        if error_code(error) not in {"ResourceNotFound", "DashboardNotFoundError"}:
            raise
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedAlarm:
    """An alarm, metric or composite. `watched` is namespace, metric, statistic and dimensions, a query, or the rule.

    `silenced`: it is not to tell anybody, for now.
    """

    description: str
    watched: tuple[str, ...]
    period_seconds: int = 0
    periods: int = 0
    breaching: int = 0
    comparison: str = ""
    threshold: float = 0.0
    missing: str = ""
    silenced: bool = False


def described_alarms(aws: Aws, prefix: str) -> Mapping[str, DescribedAlarm]:
    """Alarms whose names start so, by name."""
    pages: Any = aws.cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix=prefix, AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    found: dict[str, DescribedAlarm] = {}
    for page in pages:
        found |= {alarm["AlarmName"]: _alarm(alarm) for alarm in page.get("MetricAlarms", ())}
        found |= {
            alarm["AlarmName"]: DescribedAlarm(
                description=alarm.get("AlarmDescription", ""),
                watched=(alarm["AlarmRule"],),
                silenced=not alarm.get("ActionsEnabled", True),
            )
            for alarm in page.get("CompositeAlarms", ())
        }
    return found


def _immutable_settings(aws: Aws, cluster: Mapping[str, Any]) -> ImmutableSettings:
    """EMR says which operating system it took, whether anybody had asked for one or not."""
    name = cluster["SecurityConfiguration"]
    document: Any = aws.emr.describe_security_configuration(Name=name)["SecurityConfiguration"]
    return ImmutableSettings.parse(
        cluster["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
        cluster.get("OSReleaseLabel", NEWEST),
        json.loads(document) if isinstance(document, str) else document,
    )


def _settings(described: Mapping[str, Any], key: str = "Configurations") -> tuple[Classification, ...]:
    return tuple(Classification.parse(each) for each in described.get(key, ()))


def _group(group: Mapping[str, Any]) -> DescribedGroup:
    asked = group.get("ConfigurationsVersion", 0)
    # Of a group that was never reconfigured EMR may not say it.
    applied = group.get("LastSuccessfullyAppliedConfigurationsVersion", asked)
    status = group["Status"]
    return DescribedGroup(
        id=group["Id"],
        state=status["State"],
        why=(status.get("StateChangeReason") or {}).get("Message", ""),
        instance_type=group["InstanceType"],
        count=group["RequestedInstanceCount"],
        running=group["RunningInstanceCount"],
        volumes=tuple(sorted(_volume(block["VolumeSpecification"]) for block in group["EbsBlockDevices"])),
        settings=_settings(group, "Configurations" if asked == applied else "LastSuccessfullyAppliedConfigurations"),
        version=asked,
        pending=asked != applied,
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


def _alarm(alarm: Mapping[str, Any]) -> DescribedAlarm:
    queries = alarm.get("Metrics", ())
    dimensions = sorted(f"{each['Name']}={each['Value']}" for each in alarm.get("Dimensions", ()))
    one = (alarm.get("Namespace", ""), alarm.get("MetricName", ""), alarm.get("Statistic", ""), *dimensions)
    return DescribedAlarm(
        # One made by hand may say nothing.
        description=alarm.get("AlarmDescription", ""),
        watched=tuple(query.get("Expression", "") for query in queries) if queries else one,
        period_seconds=queries[0].get("Period", 0) if queries else alarm.get("Period", 0),
        periods=alarm["EvaluationPeriods"],
        breaching=alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"],
        comparison=alarm["ComparisonOperator"],
        threshold=alarm.get("Threshold", 0.0),
        missing=alarm.get("TreatMissingData", "missing"),
    )
