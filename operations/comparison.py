"""The comparison of what was rendered with what the services describe: the number of facts, and each difference."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from botocore.exceptions import ClientError
from msgspec import Struct

from configurations.bootstrap import Action, actions, program, script
from configurations.engines.trino.rendering import TrinoLaunch
from configurations.launch import Launch
from configurations.planned_spec import planned_spec
from dashboards.alarm import Alarm
from dashboards.alarms import alarms
from dashboards.boards import dashboard_bodies
from dashboards.composite_alarms import composite_alarms
from dashboards.graph import Exact
from dashboards.query import CLUSTER_ID
from emr.classification import Classification, flattened
from emr.cluster_spec import ClusterSpec, counted
from operations.alarm_muting import read_silence
from operations.aws import Aws
from operations.aws_errors import error_code
from operations.described_alarm import DescribedAlarm, described_alarms
from operations.description import (
    DescribedCluster,
    described_cluster,
    described_dashboard,
)
from operations.protection import read_protection

SHORT: Final = 300
COMPARED: Final = tuple(name for name in DescribedAlarm.__struct_fields__ if name != DescribedAlarm.UNCOMPARED)


class Comparison(Struct, frozen=True, kw_only=True):
    """The number of facts of one kind that were compared, and those that differ."""

    subject: str
    facts: int
    differences: tuple[str, ...]


def compare_deployed(aws: Aws, launch: Launch) -> tuple[DescribedCluster, tuple[Comparison, ...]]:
    """Compare every classification, group, volume, bootstrap action, dashboard and alarm of a running cluster."""
    plan, settings = launch.plan, launch.settings
    cluster = described_cluster(aws, plan.environment, plan.cluster)
    results = (
        _settings_compared("cluster", settings.cluster, cluster.settings, aws.account, launch),
        _settings_compared("primary", settings.primary, cluster.groups["primary"].settings, aws.account, launch),
        _settings_compared("core", settings.core, cluster.groups["core"].settings, aws.account, launch),
        _facts("instance groups", _groups(planned_spec(launch)), _groups(cluster.spec)),
        *around(aws, launch, cluster),
    )
    return cluster, results


def around(aws: Aws, launch: Launch, cluster: DescribedCluster) -> tuple[Comparison, ...]:
    """Compare bootstrap actions, dashboards, alarms and the root bucket, but no classifications or groups."""
    return (
        _facts("bootstrap actions", _expected_actions(launch, aws.account), _actions(cluster)),
        _facts("dashboards", *_dashboards(aws, launch, cluster.id)),
        _facts("alarms", *_alarms(aws, launch, cluster.id)),
        _facts("root bucket", *_root_bucket(aws, launch)),
    )


def protection_compared(aws: Aws, launch: Launch | TrinoLaunch) -> Comparison:
    """Compare the protection of the cluster and its stacks, which `deploy` sets and plain `cdk deploy` does not."""
    facts = read_protection(aws, launch.plan.environment, launch.plan.cluster).facts
    return _facts("protection", dict.fromkeys(facts, True), facts)


Facts = Mapping[str, object]


def _facts(subject: str, expected: Facts, actual: Facts) -> Comparison:
    """Compare both sides key by key; a key that one side lacks is a difference as well."""
    return Comparison(
        subject=subject,
        facts=len(expected),
        differences=tuple(_differences(expected, actual)),
    )


def _differences(expected: Facts, actual: Facts) -> Iterator[str]:
    for key in sorted({*expected, *actual}):
        if expected.get(key) != actual.get(key):
            yield f"{key}: rendered {_short(expected.get(key))}, found {_short(actual.get(key))}"


def _short(value: object) -> str:
    """Return the value as text, cut where it is too long to read, as a whole dashboard is."""
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


def _settings_compared(
    group: str,
    rendered: Iterable[Classification],
    actual: Iterable[Classification],
    account: str,
    launch: Launch,
) -> Comparison:
    expected = {
        f"{path} {key}": launch.environment.in_account(value, account) for path, key, value in flattened(rendered)
    }
    return _facts(
        f"{group} classifications", expected, {f"{path} {key}": value for path, key, value in flattened(actual)}
    )


def _groups(cluster: ClusterSpec) -> Facts:
    return {group.role: (group.instance_type, group.count, counted(group.volumes)) for group in cluster.groups}


def _expected_actions(launch: Launch, account: str) -> Facts:
    return {action.name: _expected_action(launch, account, action) for action in actions(launch)}


def _expected_action(launch: Launch, account: str, action: Action) -> object:
    """Return the script, its arguments from the plan, and the content of each program by its argument."""
    arguments = tuple(launch.environment.in_account(argument, account) for argument in action.arguments)
    programs = tuple(
        f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
        for argument, name in action.programs.items()
    )
    return (hashlib.sha256(script(action.name).encode()).hexdigest(), (*arguments, *programs))


def _actions(cluster: DescribedCluster) -> Facts:
    """Leave out the address of a program, which CloudFormation chooses: its SHA-256 identifies it."""
    return {
        action.name: (
            cluster.scripts[action.name],
            tuple(argument for argument in action.arguments if "=s3://" not in argument),
        )
        for action in cluster.spec.bootstrap_actions
    }


def _dashboards(aws: Aws, launch: Launch, cluster_id: str) -> tuple[Facts, Facts]:
    environment = launch.environment
    bodies = dashboard_bodies(launch.plan, environment.region, environment.root)
    expected = {
        name: json.loads(_recorded_cluster(body, launch, aws.account, cluster_id)) for name, body in bodies.items()
    }
    return expected, {name: described_dashboard(aws, name) for name in bodies}


def _alarms(aws: Aws, launch: Launch, cluster_id: str) -> tuple[Facts, Facts]:
    plan, root = launch.plan, launch.environment.root
    replica = launch.environment.clusters[plan.cluster].role == "replica"

    def watched(alarm: Alarm) -> tuple[str, ...]:
        of = alarm.watched
        if not isinstance(of, Exact):
            return (_recorded_cluster(of, launch, aws.account, cluster_id),)
        dimensions = sorted(
            f"{name}={_recorded_cluster(value, launch, aws.account, cluster_id)}"
            for name, value in of.dimensions.items()
        )
        return (of.metric.namespace, of.metric.cloudwatch, of.statistic, *dimensions)

    expected = {
        alarm.name: DescribedAlarm(
            description=alarm.description,
            watched=watched(alarm),
            period_seconds=alarm.period_seconds,
            periods=alarm.periods,
            breaching=alarm.breaching,
            comparison=alarm.comparison,
            threshold=alarm.threshold,
            missing=alarm.missing,
        )
        for alarm in alarms(plan, root, replica=replica)
    }
    composed = {
        call.name: DescribedAlarm(description=call.description, watched=(call.rule,))
        for call in composite_alarms(plan, root, replica=replica)
    }
    actual = described_alarms(aws, plan.environment, plan.cluster)
    rules = read_silence(aws, plan.environment, plan.cluster).rules
    muted = {f"mute rule {name}": alarm_names for name, alarm_names in rules.items()}
    return _unlike({**expected, **composed}, actual), {**_unlike(actual, {**expected, **composed}), **muted}


def _unlike(some: Mapping[str, DescribedAlarm], others: Mapping[str, DescribedAlarm]) -> Facts:
    """Return the fields of each alarm that differ from those of the other alarm of that name."""
    return {
        name: {key: value for key in COMPARED if (value := getattr(alarm, key)) != getattr(others.get(name), key, None)}
        for name, alarm in some.items()
    }


def _recorded_cluster(text: str, launch: Launch, account: str, cluster_id: str) -> str:
    return launch.environment.in_account(text, account).replace(CLUSTER_ID, cluster_id)


def _root_bucket(aws: Aws, launch: Launch) -> tuple[Facts, Facts]:
    """Return nothing for an existing bucket, whose settings are its owner's, and nothing for data on the nodes."""
    if launch.environment.root.existing or not launch.environment.mode.keeps_data_in_s3:
        return {}, {}
    expected = {"versioning": "Enabled", "encryption": "aws:kms", "public access blocked": True}
    return expected, _bucket(aws, launch.environment.in_account(launch.environment.root.bucket, aws.account))


def _bucket(aws: Aws, bucket: str) -> Facts:
    rules = aws.s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    return {
        "versioning": aws.s3.get_bucket_versioning(Bucket=bucket).get("Status"),
        "encryption": rules[0].get("ApplyServerSideEncryptionByDefault", {}).get("SSEAlgorithm"),
        "public access blocked": _blocked(aws, bucket),
    }


def _blocked(aws: Aws, bucket: str) -> bool:
    try:
        return all(aws.s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"].values())
    except ClientError as error:
        if error_code(error) != "NoSuchPublicAccessBlockConfiguration":
            raise
        return False
