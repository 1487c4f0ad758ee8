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
from functools import partial
from typing import Any, Final, TypeAlias

from botocore.exceptions import ClientError
from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.change import Change, changes
from warmbase.changes.engine_facet import EngineLaunch
from warmbase.changes.recorded_launch import NEWEST, immutable_changes
from warmbase.configurations.bootstrap import actions, program, script
from warmbase.configurations.launch import Launch, planned_spec
from warmbase.dashboards.alarms import alarms, composite_alarms
from warmbase.dashboards.boards import dashboard_bodies
from warmbase.dashboards.graph import CLUSTER_ID, Exact
from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_spec import Classification, ClusterSpec, counted, flattened
from warmbase.emr.cluster_state import is_running
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import cluster_stack, emr_cluster_name, monitoring_stack, network_stack, stacks_around
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import error_code, translated
from warmbase.operations.cluster.alarms import DescribedAlarm, described_alarms, read_silence
from warmbase.operations.cluster.claims import NOBODY, claim_of
from warmbase.operations.cluster.description import DescribedCluster, described_cluster
from warmbase.operations.cluster.engine_facet import operations_of
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
    sides = {
        "cluster": (settings.cluster, cluster.settings),
        "primary": (settings.primary, cluster.groups["primary"].settings),
        "core": (settings.core, cluster.groups["core"].settings),
    }
    in_account = partial(launch.environment.in_account, account=aws.account)
    results = [
        _facts(
            f"{group} classifications",
            {f"{path} {key}": in_account(value) for path, key, value in flattened(rendered)},
            {f"{path} {key}": value for path, key, value in flattened(actual)},
        )
        for group, (rendered, actual) in sides.items()
    ]
    groups, expected_groups = (
        {group.role: (group.instance_type, group.count, counted(group.volumes)) for group in spec.groups}
        for spec in (cluster.spec, planned_spec(launch))
    )
    results.append(_facts("instance groups", expected_groups, groups))
    return cluster, (*results, *around(aws, launch, cluster))


def around(aws: Aws, launch: Launch, cluster: DescribedCluster) -> tuple[Comparison, ...]:
    """Compare bootstrap actions, dashboards, alarms and the root bucket, but no classifications or groups."""
    environment = launch.environment
    expected_actions, expected_boards, boards = dict[str, object](), dict[str, object](), dict[str, object]()
    for action in actions(launch):
        # Compare the script, its arguments from the plan, and the SHA-256 of each program by its argument.
        arguments = tuple(environment.in_account(argument, aws.account) for argument in action.arguments)
        programs = tuple(
            f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
            for argument, name in action.programs.items()
        )
        script_sha256 = hashlib.sha256(script(action.name).encode()).hexdigest()
        expected_actions[action.name] = (script_sha256, (*arguments, *programs))
    actual_actions = {
        # CloudFormation chooses the address of a program, which its SHA-256 identifies.
        action.name: (cluster.scripts[action.name], tuple(text for text in action.arguments if "=s3://" not in text))
        for action in cluster.spec.bootstrap_actions
    }
    for name, body in dashboard_bodies(launch.plan, environment.region, environment.root).items():
        expected_boards[name] = json.loads(environment.in_account(body, aws.account).replace(CLUSTER_ID, cluster.id))
        try:
            boards[name] = json.loads(aws.cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])
        except ClientError as error:
            if error_code(error) not in {"ResourceNotFound", "DashboardNotFoundError"}:
                raise
            boards[name] = None
    return (
        _facts("bootstrap actions", expected_actions, actual_actions),
        _facts("dashboards", expected_boards, boards),
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

    def short(value: object) -> str:
        # A whole dashboard is too long for a message.
        text = repr(value)
        return text if len(text) <= SHORT else f"{text[:SHORT]}..."

    differences = tuple(
        f"{key}: rendered {short(expected.get(key))}, found {short(actual.get(key))}"
        for key in sorted({*expected, *actual})
        if expected.get(key) != actual.get(key)
    )
    return Comparison(subject=subject, facts=len(expected), differences=differences)


def _alarms(aws: Aws, launch: Launch, cluster_id: str) -> tuple[Facts, Facts]:
    plan, environment = launch.plan, launch.environment
    replica = environment.clusters[plan.cluster].role == "replica"

    def recorded(text: str) -> str:
        return environment.in_account(text, aws.account).replace(CLUSTER_ID, cluster_id)

    expected = {}
    for alarm in alarms(plan, environment.root, replica=replica):
        of = alarm.watched
        if isinstance(of, Exact):
            dimensions = sorted(f"{name}={recorded(value)}" for name, value in of.dimensions.items())
            watched: tuple[str, ...] = (of.metric.namespace, of.metric.cloudwatch, of.statistic, *dimensions)
        else:
            watched = (recorded(of),)
        expected[alarm.name] = DescribedAlarm(
            description=alarm.description,
            watched=watched,
            period_seconds=alarm.period_seconds,
            periods=alarm.periods,
            breaching=alarm.breaching,
            comparison=alarm.comparison,
            threshold=alarm.threshold,
            missing=alarm.missing,
        )
    for call in composite_alarms(plan, environment.root, replica=replica):
        expected[call.name] = DescribedAlarm(description=call.description, watched=(call.rule,))
    actual = described_alarms(aws, plan.environment, plan.cluster)
    rules = read_silence(aws, plan.environment, plan.cluster).rules
    muted = {f"mute rule {name}": alarm_names for name, alarm_names in rules.items()}
    return _unlike(expected, actual), {**_unlike(actual, expected), **muted}


def _unlike(some: Mapping[str, DescribedAlarm], others: Mapping[str, DescribedAlarm]) -> Facts:
    """Return the fields of each alarm that differ from those of the other alarm of that name."""
    return {
        name: {key: value for key in COMPARED if (value := getattr(alarm, key)) != getattr(others.get(name), key, None)}
        for name, alarm in some.items()
    }


def _root_bucket(aws: Aws, launch: Launch) -> tuple[Facts, Facts]:
    """Return nothing for an existing bucket, whose settings are its owner's, and nothing for data on the nodes."""
    environment = launch.environment
    if environment.root.existing or not environment.mode.keeps_data_in_s3:
        return {}, {}
    bucket = environment.in_account(environment.root.bucket, aws.account)
    [rule, *_] = aws.s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    versioning = aws.s3.get_bucket_versioning(Bucket=bucket).get("Status")
    try:
        is_blocked = all(aws.s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"].values())
    except ClientError as error:
        if error_code(error) != "NoSuchPublicAccessBlockConfiguration":
            raise
        is_blocked = False
    return {"versioning": "Enabled", "encryption": "aws:kms", "public access blocked": True}, {
        "versioning": versioning,
        "encryption": rule.get("ApplyServerSideEncryptionByDefault", {}).get("SSEAlgorithm"),
        "public access blocked": is_blocked,
    }


# judgement: CloudFormation takes seconds to minutes for a stack of this size.
DETECTION_SECONDS: Final = 300.0
POLL_SECONDS: Final = 2.0


def stack_edits(aws: Aws, environment: str, cluster_name: str) -> Iterator[Comparison]:
    """Yield for each stack of the cluster how many resources CloudFormation can check, and those edited or deleted.

    The cluster itself is left out, because it is tuned without CloudFormation, which would call that drift. Raises
    OperationFailed where CloudFormation cannot say, botocore's errors where it does not answer.
    """
    names = stacks_around(environment, cluster_name)
    began = {name: aws.cloudformation.detect_stack_drift(StackName=name)["StackDriftDetectionId"] for name in names}
    deadline = time.monotonic() + DETECTION_SECONDS
    for name, detection in began.items():
        while True:
            answer = aws.cloudformation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
            if answer["DetectionStatus"] == "DETECTION_COMPLETE":
                break
            has_failed = answer["DetectionStatus"] == "DETECTION_FAILED"
            if has_failed or time.monotonic() > deadline:
                what = f"CloudFormation has not finished detecting drift after {DETECTION_SECONDS:.0f} s"
                raise OperationFailed.of(
                    where=f"stack {name}",
                    what="CloudFormation could not detect drift" if has_failed else what,
                    why=answer.get("DetectionStatusReason", "no reason given") if has_failed else "",
                    fix="run the same command again",
                )
            time.sleep(POLL_SECONDS)
        checked = [
            drift
            for drift in _drifts(aws, name)
            if drift["ResourceType"] != CLUSTER_TYPE and drift["StackResourceDriftStatus"] != "NOT_CHECKED"
        ]
        differences = []
        for resource in checked:
            what = f"{resource['LogicalResourceId']}, {resource['ResourceType']}"
            if resource["StackResourceDriftStatus"] == "DELETED":
                differences.append(f"{what}: deleted")
            for difference in resource.get("PropertyDifferences", ()):
                expected, actual = difference["ExpectedValue"], difference["ActualValue"]
                differences.append(f"{what} {difference['PropertyPath']}: deployed {expected}, found {actual}")
        yield Comparison(subject=name, facts=len(checked), differences=tuple(differences))


def _drifts(aws: Aws, stack: str) -> Iterator[Mapping[str, Any]]:
    """Page by page: botocore has no paginator for it."""
    more: dict[str, Any] = {}
    while True:
        page: Any = aws.cloudformation.describe_stack_resource_drifts(StackName=stack, **more)
        yield from page["StackResourceDrifts"]
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


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
    pending = ", ".join(f"{role} {group.state}" for role, group in cluster.groups.items() if group.pending)
    remark = f", with settings that are not applied ({pending})" if pending else ""
    was = cluster.immutable_settings
    if launch.environment.os_release is None:
        # A file that names no operating system accepts the one of EMR.
        was = replace(was, os_release=NEWEST)
    return RunningCluster(
        cluster=cluster,
        # EMR adds applications that others need, so those of a running cluster are not compared.
        subject=replace(cluster.spec, source=f"{cluster.id}, {cluster.state}{remark}", applications=()),
        immutable=tuple(immutable_changes(was, launch.environment)),
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
            *operations_of(engine_of(launch.environment, plan.cluster)).comparisons(aws, launch, running.cluster),
            protection_compared(aws, launch),
            *stack_edits(aws, plan.environment, plan.cluster),
        )
    return ClusterDrift(running=running, around=beside)


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
    facts = {}
    for role, group in sorted(running.cluster.groups.items()):
        settings = digest([sorted(flattened(settings)) for settings in (group.settings, group.requested)])
        version = f"configuration version {group.version}, settings {settings}"
        facts[f"{role} group of {running.cluster.id}"] = f"{group.count} nodes, {version}"
    return facts


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
    for name in sorted({emr_cluster_name(environment.name, cluster_name) for cluster_name in unrecorded}):
        launches = [
            (cluster["Status"]["Timeline"]["CreationDateTime"], cluster["Id"])
            for cluster in entries(aws.emr.get_paginator("list_clusters"), "Clusters")
            if cluster["Name"] == name
        ]
        facts[f"last cluster named {name}"] = max(launches)[1] if launches else "none"
    return facts


def record_basis(records: Mapping[str, LaunchRecord]) -> dict[str, str]:
    """Return the facts that launch records state."""
    return {
        f"launch record of {cluster_name}": f"{record.cluster_id}, {digest(record.document())}"
        for cluster_name, record in records.items()
    }


def same_settings(one: Iterable[Classification], other: Iterable[Classification]) -> bool:
    """Return whether two lists of classifications set the same properties to the same values."""
    return sorted(flattened(one)) == sorted(flattened(other))


def _stack_basis(aws: Aws, stacks: Iterable[str]) -> dict[str, str]:
    with translated("could not read the deployed stacks", "run the same command again"):
        return {f"stack {stack}": status_of(aws, stack) or "absent" for stack in stacks}
