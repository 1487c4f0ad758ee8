"""Stage 0 asks AWS what it answers before anything exists that bills.

It deploys the stack of the backstop, which costs nothing while it waits, and writes objects, alarms and a dashboard
that it deletes again. A call that AWS does not answer leaves its check unknown, and the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from botocore.exceptions import ClientError

from warmbase.configurations.launch import Launch
from warmbase.environments.environment import UNCONDITIONAL, Environment, Wal
from warmbase.environments.launch_record import launch_records
from warmbase.environments.names import backstop_stack, emr_cluster_name
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import EXPIRED, error_code
from warmbase.operations.aws.progress import turns
from warmbase.operations.canary.backstop import MINUTES, Backstop
from warmbase.operations.canary.run import Canary, StageOutcome
from warmbase.operations.deploy.change_set import deploy_stack
from warmbase.operations.deploy.preflight import preflight
from warmbase.operations.verify.check import Check, CheckResult

ENDPOINTS: Final = ("s3", "elasticmapreduce", "kms", "monitoring", "ssm", "ssmmessages")
UNSUPPORTED: Final = ("r8gb.", "r8gn.", "r9g.", "r9gd.", "m9g.", "m9gd.")
FORGOTTEN: Final = "j-0000000000000"
CALLED: Final = (
    "elasticmapreduce:AddJobFlowSteps",
    "elasticmapreduce:ModifyInstanceGroups",
    "elasticmapreduce:SetTerminationProtection",
    "elasticmapreduce:TerminateJobFlows",
    "ssm:PutParameter",
    "ssm:SendCommand",
    "scheduler:CreateSchedule",
)
"""Actions that later stages take with the credentials of the command itself; CloudFormation creates the rest."""
PROBE_KEY: Final = "probe"
POLICY_SECONDS: Final = 60.0  # judgement: S3 documents no limit
FIRST_POLL_SECONDS: Final = 0.5
POLL_SECONDS: Final = 5.0
DASHBOARD: Final = json.dumps({"widgets": []})


def free_calls(canary: Canary) -> StageOutcome:
    """Return the result of every check. Raises OperationFailed where AWS does not answer the first of them at all."""
    launch = canary.planned.launch
    results: list[CheckResult] = []
    with canary.progress.step("check the account") as say:
        records = launch_records(canary.environment)
        for ready in preflight(canary.aws, canary.environment, {launch.plan.cluster: launch}, records):
            check = Check(ready.name, "", "ready for a deployment", ready.fix)
            results.append(check.result(ready.problem or ready.detail, good=not ready.problem))
        say(f"{len(results)} checks")
    with (
        canary.progress.step("create the backstop, which ends clusters") as say,
        canary.assembly(canary.run.file) as assembly,
    ):
        assembly.synthesise(say)
        deploy_stack(assembly, backstop_stack(canary.environment.name), say)
    for title, question in QUESTIONS.items():
        with canary.progress.step(f"ask about {title}") as say:
            answers = list[CheckResult]()
            try:
                answers += question(canary, launch)
            except ClientError as error:
                if error_code(error) in EXPIRED:
                    raise
                answers.append(Check(title, "", "an answer", "").result(f"no answer: {error}"[:200], good=None))
            results += answers
            say("; ".join(answer.found for answer in answers))
    good, unknown = (sum(result.good is verdict for result in results) for verdict in (True, None))
    bad = [f"{result.check}: {result.found}; {result.todo}" for result in results if result.good is False]
    names = ", ".join(dict.fromkeys(result.check for result in results if result.good))
    headline = f"{good} of {len(results)}{f', {unknown} without an answer' if unknown else ''}: {names}"
    return StageOutcome(lines=(headline, *bad), results=tuple(results))


Question = Callable[[Canary, Launch], Iterator[CheckResult]]


def _releases(canary: Canary, launch: Launch) -> Iterator[CheckResult]:
    emr: Any = canary.aws.emr
    release = canary.environment.release
    labels = emr.list_release_labels(Filters={"Prefix": release})["ReleaseLabels"]
    yield Check("release label", "", release, "name a release that EMR offers").result(
        ", ".join(labels)[:80] or "none", good=release in labels
    )
    page = emr.list_supported_instance_types(ReleaseLabel=release)
    listed = [kind["Type"] for kind in page["SupportedInstanceTypes"]]
    while page.get("Marker"):
        page = emr.list_supported_instance_types(ReleaseLabel=release, Marker=page["Marker"])
        listed += [kind["Type"] for kind in page["SupportedInstanceTypes"]]
    ours = {launch.plan.core.instance_type, launch.plan.primary.instance_type}
    yield Check("supported types", "", ", ".join(sorted(ours)), "limit core.families to what EMR lists").result(
        f"{len(listed)} types, {len(ours & {*listed})} of ours", good=ours <= {*listed}
    )
    new = sorted(kind for kind in listed if kind.startswith(UNSUPPORTED))
    yield Check(
        "unsupported types", "EMR does not support any type of r8gb", "none of them", "write emr_min_7x of these types"
    ).result(", ".join(new) or "none of them", good=not new if listed else None)


def _forgotten_cluster(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    check = Check(
        "forgotten cluster",
        "EMR answers `DescribeCluster` for an id that it has forgotten",
        "InvalidRequestException, is not valid",
        "correct FORGOTTEN in warmbase/operations/cluster/stack.py and bootstrap-actions/programs/claim_root.py",
    )
    try:
        canary.aws.emr.describe_cluster(ClusterId=FORGOTTEN)
    except ClientError as error:
        good = error_code(error) == "InvalidRequestException" and "is not valid" in str(error)
        yield check.result(str(error), good=good)
    else:
        yield check.result("a description", good=False)


def _permissions(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    aws = canary.aws
    arn = aws.caller
    if ":assumed-role/" in arn:
        # The ARN of a session lacks the path of its role, which roles of IAM Identity Center have.
        arn = aws.iam.get_role(RoleName=arn.split("/")[1])["Role"]["Arn"]
    pages = aws.iam.get_paginator("simulate_principal_policy").paginate(PolicySourceArn=arn, ActionNames=[*CALLED])
    decisions = {one["EvalActionName"]: one["EvalDecision"] for page in pages for one in page["EvaluationResults"]}
    denied = [action for action, decision in decisions.items() if decision != "allowed"]
    # The simulation asks for every resource (*): a permission for some resources looks like none.
    good = "explicitDeny" not in decisions.values() and (None if denied else True)
    yield Check("permissions", "", f"{len(CALLED)} actions", f"allow {arn} these actions").result(
        f"{', '.join(denied)} not allowed on every resource" if denied else f"{len(decisions)} allowed", good=good
    )


def _endpoints(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    environment = canary.environment
    wal = ("emrwal.prod",) if environment.wal is Wal.EMR_WAL else ()
    names = [f"com.amazonaws.{environment.region}.{service}" for service in (*ENDPOINTS, *wal)]
    services: Any = {
        service["ServiceName"]: service
        for page in canary.aws.ec2.get_paginator("describe_vpc_endpoint_services").paginate(ServiceNames=names)
        for service in page["ServiceDetails"]
    }
    zone = environment.network.availability_zone
    away = [name for name in names if zone not in services.get(name, {}).get("AvailabilityZones", ())]
    lax = [name for name in names if not services.get(name, {}).get("VpcEndpointPolicySupported")]
    yield Check("endpoint services", "", f"all in {zone}", "name another availability_zone").result(
        f"not there: {', '.join(away)}" if away else f"{len(names)} in {zone}", good=not away
    )
    yield Check("endpoint policies", "", "all take policies", "set network.endpoint_policies to false").result(
        f"without policies: {', '.join(lax)}" if lax else "all take policies", good=not lax
    )


def try_bucket(aws: Aws, environment: Environment) -> str:
    """Return the name of the bucket that stage 0 writes to, and deletes."""
    return f"warmbase-{environment.name}-try-{aws.account}-{environment.region}"


def _conditional_writes(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    """Write to a bucket of its own with the root's policy about the claim, and delete the bucket again."""
    aws, environment = canary.aws, canary.environment
    bucket = try_bucket(aws, environment)
    place: Any = {"LocationConstraint": environment.region}
    with suppress(aws.s3.exceptions.BucketAlreadyOwnedByYou):
        aws.s3.create_bucket(
            Bucket=bucket, **({} if environment.region == "us-east-1" else {"CreateBucketConfiguration": place})
        )
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": f"arn:{aws.partition}:s3:::{bucket}/{PROBE_KEY}",
        "Condition": UNCONDITIONAL,
    }
    try:
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        aws.s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
        # S3 may take a while to apply a new policy.
        for _turn in turns(POLICY_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
            aws.s3.delete_object(Bucket=bucket, Key=PROBE_KEY)
            plain = _written(aws, bucket)
            if plain != "accepted":
                break
        first = _written(aws, bucket, IfNoneMatch="*")
        tag = aws.s3.head_object(Bucket=bucket, Key=PROBE_KEY)["ETag"] if first == "accepted" else ""
        second = _written(aws, bucket, IfMatch=tag)
    finally:
        aws.s3.delete_object(Bucket=bucket, Key=PROBE_KEY)
        aws.s3.delete_bucket(Bucket=bucket)
    yield Check(
        "conditional put",
        "S3 refuses a write of the claim without `If-Match`",
        "refused without a condition, accepted with either",
        "do not launch: a claim would not stop a second writer",
    ).result(
        f"without a condition {plain}; If-None-Match {first}; If-Match {second}",
        good=(plain, first, second) == ("AccessDenied", "accepted", "accepted"),
    )


def _written(aws: Aws, bucket: str, **condition: str) -> str:
    conditions: Any = condition
    try:
        aws.s3.put_object(Bucket=bucket, Key=PROBE_KEY, Body=b"{}", **conditions)
    except ClientError as error:
        return error_code(error)
    return "accepted"


def _monitoring(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    """Put an alarm on a query, a composite alarm and a dashboard, and delete them again."""
    cloudwatch = canary.aws.cloudwatch
    name = f"{emr_cluster_name(canary.environment.name, 'try')}-stage-zero"
    query: Any = {
        "Id": "query",
        "Expression": 'SELECT MIN(Fill) FROM SCHEMA("warmbase", ClusterId, InstanceId)',
        "Period": 300,
        "ReturnData": True,
    }
    accepted = list[str]()
    try:
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            EvaluationPeriods=1,
            Threshold=0.0,
            ComparisonOperator="LessThanThreshold",
            TreatMissingData="notBreaching",
            Metrics=[query],
        )
        accepted.append("an alarm on a query")
        cloudwatch.put_composite_alarm(AlarmName=f"{name}-all", AlarmRule=f'ALARM("{name}")', ActionsEnabled=False)
        accepted.append("a composite alarm")
        cloudwatch.put_dashboard(DashboardName=name, DashboardBody=DASHBOARD)
        accepted.append("a dashboard")
    finally:
        cloudwatch.delete_alarms(AlarmNames=[f"{name}-all"])
        cloudwatch.delete_alarms(AlarmNames=[name])
        with suppress(ClientError):
            cloudwatch.delete_dashboards(DashboardNames=[name])
    yield Check("alarms and dashboard", "", "accepted", "").result(", ".join(accepted), good=True)


def _schedules(canary: Canary, _: Launch) -> Iterator[CheckResult]:
    backstop = Backstop(aws=canary.aws, environment=canary.environment.name)
    runs = bool(backstop.running())
    armed = backstop.arm(MINUTES)
    if not runs:
        backstop.disarm()
    yield Check("schedules", "", "accepted", "").result(armed, good=True)


QUESTIONS: Final[Mapping[str, Question]] = {
    "releases and instance types": _releases,
    "a forgotten cluster": _forgotten_cluster,
    "permissions": _permissions,
    "endpoint services": _endpoints,
    "conditional writes": _conditional_writes,
    "alarms and a dashboard": _monitoring,
    "schedules": _schedules,
}
"""Every question, in order."""
