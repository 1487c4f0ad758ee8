"""The drift of a running cluster, with all that belongs to it, from what is rendered today.

A comparison has the number of facts that were compared, and each difference. Resources that were edited by hand since
they were deployed are those that CloudFormation's drift detection finds.

A basis is the facts that a proposal was made from; `refuse_moved` refuses to carry it out once they have changed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.change import Change, changes
from warmbase.changes.recorded_launch import NEWEST, immutable_changes
from warmbase.configurations.bootstrap import Action, actions, program, script
from warmbase.configurations.launch import Launch, planned_spec
from warmbase.dashboards.alarm import Alarm
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.dashboards.boards import dashboard_bodies
from warmbase.dashboards.graph import CLUSTER_ID, Exact
from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_spec import Classification, ClusterSpec, counted, flattened
from warmbase.emr.cluster_state import is_running
from warmbase.engines.engine import EngineLaunch, engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import cluster_stack, emr_cluster_name, monitoring_stack, network_stack, stacks_around
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import error_code, translated
from warmbase.operations.cluster.alarms import DescribedAlarm, described_alarms, read_silence
from warmbase.operations.cluster.claims import NOBODY, claim_of
from warmbase.operations.cluster.description import (
    DescribedCluster,
    DescribedGroup,
    described_cluster,
    described_dashboard,
)
from warmbase.operations.cluster.protection import read_protection
from warmbase.operations.cluster.stack import environment_cluster, status_of

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


def protection_compared(aws: Aws, launch: EngineLaunch) -> Comparison:
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


"""It is compared in full with what EMR says: it is tuned beside CloudFormation, which would call that drift."""
# judgement: CloudFormation takes seconds to minutes for a stack of this size.
DETECTION_SECONDS: Final = 300.0
POLL_SECONDS: Final = 2.0


def stack_edits(aws: Aws, environment: str, cluster_name: str) -> Iterator[Comparison]:
    """For each stack of that cluster: how many resources CloudFormation can look at, and those edited or gone.

    Raises OperationFailed where CloudFormation cannot say, botocore's errors where it does not answer.
    """
    names = stacks_around(environment, cluster_name)
    began = {name: aws.cloudformation.detect_stack_drift(StackName=name)["StackDriftDetectionId"] for name in names}
    deadline = time.monotonic() + DETECTION_SECONDS
    for name, detection in began.items():
        _wait(aws, name, detection, deadline)
        drifts = [drift for drift in _drifts(aws, name) if drift["ResourceType"] != CLUSTER_TYPE]
        checked = [drift for drift in drifts if drift["StackResourceDriftStatus"] != "NOT_CHECKED"]
        differences = tuple(line for drift in checked for line in _edits(drift))
        yield Comparison(subject=name, facts=len(checked), differences=differences)


def _drifts(aws: Aws, stack: str) -> Iterator[Mapping[str, Any]]:
    """Page by page: botocore has no paginator for it."""
    more: dict[str, Any] = {}
    while True:
        page: Any = aws.cloudformation.describe_stack_resource_drifts(StackName=stack, **more)
        yield from page["StackResourceDrifts"]
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


def _wait(aws: Aws, stack: str, detection: str, deadline: float) -> None:
    while True:
        answer = aws.cloudformation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
        if answer["DetectionStatus"] == "DETECTION_COMPLETE":
            return
        why = answer.get("DetectionStatusReason", "no reason given")
        if answer["DetectionStatus"] == "DETECTION_FAILED":
            raise OperationFailed.of(
                where=f"stack {stack}",
                what="CloudFormation could not detect drift",
                why=why,
                fix="run the same command again",
            )
        if time.monotonic() > deadline:
            raise OperationFailed.of(
                where=f"stack {stack}",
                what=f"CloudFormation has not finished detecting drift after {DETECTION_SECONDS:.0f} s",
                why="",
                fix="run the same command again",
            )
        time.sleep(POLL_SECONDS)


def _edits(resource: Mapping[str, Any]) -> Iterator[str]:
    what = f"{resource['LogicalResourceId']}, {resource['ResourceType']}"
    if resource["StackResourceDriftStatus"] == "DELETED":
        yield f"{what}: deleted"
    for difference in resource.get("PropertyDifferences", ()):
        expected, actual = difference["ExpectedValue"], difference["ActualValue"]
        yield f"{what} {difference['PropertyPath']}: deployed {expected}, found {actual}"


class RunningCluster(Struct, frozen=True, kw_only=True):
    """A running cluster, ready to be compared with a plan.

    `immutable` are the changes that the environment file asks for and that only a new cluster can have.
    """

    cluster: DescribedCluster
    subject: ClusterSpec
    immutable: tuple[Change, ...]

    def changes(self, launch: Launch) -> tuple[Change, ...]:
        """Return the changes that today's plan asks for, those that need a new cluster among them."""
        release = releases()[launch.plan.release]
        return changes(self.subject, planned_spec(launch), ("primary", "core"), release, self.immutable)


class ClusterDrift(Struct, frozen=True, kw_only=True):
    """A running cluster, and the comparison of what belongs to it with today's rendering and the last deployment."""

    running: RunningCluster
    around: tuple[Comparison, ...]


def read_running_cluster(aws: Aws, launch: EngineLaunch) -> RunningCluster:
    """Asks EMR. Raises OperationFailed where it does not answer, or nothing runs."""
    plan = launch.plan
    unread = f"could not read cluster {plan.cluster} of {plan.environment}"
    with translated(unread, "deploy first; or use credentials of the account in which it was deployed"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
    if not is_running(cluster.state):
        raise OperationFailed.of(
            where=f"cluster {cluster.id} of {plan.environment} {plan.cluster}",
            what=f"is {cluster.state}",
            why="only a running cluster can be compared",
            fix="list what remains of it: warmbase status",
        )
    return RunningCluster(
        cluster=cluster, subject=_spec(cluster), immutable=tuple(_immutable_changes(cluster, launch.environment))
    )


def cluster_drift(aws: Aws, launch: EngineLaunch) -> ClusterDrift:
    """Asks CloudWatch, S3 and CloudFormation as well, which takes a minute or more to look at all that it made.

    An analytics cluster has no root bucket, and its dashboard and alarms are compared as resources of their stack.
    Raises OperationFailed as `running`.
    """
    plan, running = launch.plan, read_running_cluster(aws, launch)
    unread = f"could not read the stacks of {plan.environment} {plan.cluster}"
    with translated(unread, "use credentials of the account in which it was deployed"):
        beside = (
            *engine_of(launch.environment, plan.cluster).comparisons(aws, launch, running.cluster),
            protection_compared(aws, launch),
            *stack_edits(aws, plan.environment, plan.cluster),
        )
    return ClusterDrift(running=running, around=beside)


def _immutable_changes(cluster: DescribedCluster, environment: Environment) -> Iterator[Change]:
    """Yield the changes that need a new cluster; a file that names no operating system accepts the one of EMR."""
    was = cluster.immutable_settings
    return immutable_changes(replace(was, os_release=NEWEST) if environment.os_release is None else was, environment)


def _spec(cluster: DescribedCluster) -> ClusterSpec:
    """EMR adds applications that others need, so those of a running cluster are not compared."""
    return replace(cluster.spec, source=f"{cluster.id}, {cluster.state}{_pending(cluster)}", applications=())


def _pending(cluster: DescribedCluster) -> str:
    """Return a remark on settings that were requested and are not applied yet."""
    named = [f"{role} {group.state}" for role, group in cluster.groups.items() if group.pending]
    return f", with settings that are not applied ({', '.join(named)})" if named else ""


Basis: TypeAlias = Mapping[str, str]
"""Each fact by its name, both in words for people; as JSON, a basis can be saved beside a proposal."""


def refuse_moved(before: Basis, now: Basis) -> None:
    """Refuse to carry out a proposal that was made from other facts. Raises Refused with each fact that changed."""
    names = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
    if names:
        raise Refused.of(
            where="the proposal",
            what="is out of date, so nothing was changed",
            why="\n".join(f"{name}: was {before.get(name, 'absent')}, is {now.get(name, 'absent')}" for name in names),
            fix="run the same command again, and review the new proposal",
        )


def digest(document: object) -> str:
    """Return a short digest of a JSON document."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()[:12]


def group_basis(running: RunningCluster) -> Basis:
    """Return the facts that a tuning is made from: the cluster, and each group's nodes and settings."""
    cluster = running.cluster
    return {f"{role} group of {cluster.id}": _group_text(group) for role, group in sorted(cluster.groups.items())}


def cluster_basis(aws: Aws, environment: Environment, cluster_name: str) -> dict[str, str]:
    """Return the facts that a teardown is proposed from. Raises as `environment_cluster` does."""
    cluster = environment_cluster(aws, environment, cluster_name)
    # RUNNING and WAITING alternate with every step.
    state = None if cluster is None else "running" if cluster.is_running else cluster.state_text
    stacks = (cluster_stack(environment.name, cluster_name), monitoring_stack(environment.name, cluster_name))
    facts = {f"cluster {cluster_name}": f"{cluster.id}, {state}" if cluster else "not launched"}
    return facts | _stack_basis(aws, stacks)


def environment_basis(aws: Aws, environment: Environment) -> dict[str, str]:
    """Return the facts that a destruction is proposed from. Raises as `environment_cluster` does."""
    facts: dict[str, str] = {}
    for cluster_name in environment.cluster_names:
        facts |= cluster_basis(aws, environment, cluster_name)
    return facts | _stack_basis(aws, (network_stack(environment.name),))


def trace_basis(aws: Aws, environment: Environment, unrecorded: Iterable[str]) -> dict[str, str]:
    """Return the facts that a cluster leaves behind when it is torn down, which every launch is proposed from.

    The stacks and records are afterwards as before its launch. Raises botocore's errors, or OperationFailed.
    """
    facts: dict[str, str] = {}
    if environment.mode.keeps_data_in_s3:
        claim = claim_of(aws, environment.root)
        holder = "none" if claim is None else "released" if claim.cluster == NOBODY else claim.cluster
        facts["claim of the root"] = f"{holder}, since {claim.claimed_at}" if claim else holder
    names = {emr_cluster_name(environment.name, cluster_name) for cluster_name in unrecorded}
    return facts | {f"last cluster named {name}": _last_cluster(aws, name) for name in sorted(names)}


def record_basis(records: Mapping[str, LaunchRecord]) -> dict[str, str]:
    """Return the facts that launch records state."""
    return {
        f"launch record of {cluster_name}": f"{record.cluster_id}, {digest(record.document())}"
        for cluster_name, record in records.items()
    }


def same_settings(one: Iterable[Classification], other: Iterable[Classification]) -> bool:
    """Return whether two lists of classifications set the same properties to the same values."""
    return sorted(flattened(one)) == sorted(flattened(other))


def _last_cluster(aws: Aws, name: str) -> str:
    """Return the id of the cluster of this name that was launched last, as far as EMR lists it."""
    pages = aws.emr.get_paginator("list_clusters").paginate()
    launches = [
        (cluster["Status"]["Timeline"]["CreationDateTime"], cluster["Id"])
        for page in pages
        for cluster in page["Clusters"]
        if cluster["Name"] == name
    ]
    return max(launches)[1] if launches else "none"


def _stack_basis(aws: Aws, stacks: Iterable[str]) -> dict[str, str]:
    with translated("could not read the deployed stacks", "run the same command again"):
        return {f"stack {stack}": status_of(aws, stack) or "absent" for stack in stacks}


def _group_text(group: DescribedGroup) -> str:
    settings = digest([sorted(flattened(settings)) for settings in (group.settings, group.requested)])
    return f"{group.count} nodes, configuration version {group.version}, settings {settings}"
