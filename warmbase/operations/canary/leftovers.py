"""Stage 5: the cluster is shut down in order, every stack without data is deleted, and what is left has its price."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.environments.names import CANARY_TAG, backstop_stack, cluster_stack, emr_cluster_name, stacks_around
from warmbase.facts.prices import price_table
from warmbase.ground.errors import Refused, WarmbaseError
from warmbase.ground.units import GIB, MIB, format_usd
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.canary.launch import Backstop, canary_price
from warmbase.operations.canary.run import FIRST, SECOND, Canary, StageOutcome, is_interruption
from warmbase.operations.cluster.stack import Events, delete_stack, status_of
from warmbase.operations.deploy.teardown import Consent, destruction, teardown
from warmbase.operations.verify.check import Check, CheckResult

STOPPED: Final = Check(
    "ordered stop",
    "After `hbase master stop --shutDownCluster` and a stop of its systemd units",
    "the teardown verifies each step",
    "find out what starts HBase again, and stop it in warmbase/operations/deploy/teardown.py",
)


class Leftover(Struct, frozen=True, kw_only=True):
    """Resources of one kind that still exist, and what they cost a month."""

    kind: str
    names: tuple[str, ...]
    remark: str = ""
    usd_per_month: float = 0.0


def leave_nothing(canary: Canary) -> StageOutcome:
    """Remove what the canary created, except what holds data. Raises OperationFailed where something cannot go."""
    results = tuple(_without_cluster(canary))
    environment = canary.environment
    with translated("could not remove the canary", AGAIN):
        canary.carry_out(_without_second(canary))
        canary.carry_out(destruction(canary.aws, environment))
        name = backstop_stack(environment.name)
        canary.carry_out(
            iter([Stage(title=f"delete stack {name}", act=lambda say: delete_stack(canary.aws, name, say))])
        )
        remains = tuple(leftovers(canary.aws, environment.name, environment.region))
        spent = format_usd(_spent_usd(canary))
    usd = sum(one.usd_per_month for one in remains)
    kinds = ("clusters", "instances", "volumes")
    headline = ", ".join(f"{sum(len(one.names) for one in remains if one.kind == kind)} {kind}" for kind in kinds)
    lines = (f"{one.kind}: {', '.join(one.names)}{one.remark}" for one in remains)
    cost = f"what stays costs {format_usd(usd)} a month; the run cost about {spent} (estimate)"
    return StageOutcome(lines=(f"{headline}; {cost}", *lines), results=results)


def _without_cluster(canary: Canary) -> Iterator[CheckResult]:
    """Shut the first cluster down in order; where that is refused, say why, and end it without."""
    aws, environment = canary.aws, canary.environment
    with canary.progress.step("wait until CloudFormation is idle") as say:
        for cluster_name in (FIRST, SECOND):
            for stack in stacks_around(environment.name, cluster_name):
                _settle(aws, stack, say)
        say("nothing is under way")
    cluster = canary.cluster
    consent = Consent(lost_cluster=cluster.id if cluster else None)
    try:
        canary.carry_out(teardown(aws, environment, FIRST, consent))
    except WarmbaseError as error:
        if is_interruption(error):
            raise
        yield STOPPED.result(error.summary, good=False if isinstance(error, Refused) else None)
        with canary.progress.step("end the cluster without its order: the canary's data is worth nothing") as say:
            Backstop(aws=aws, environment=environment.name, cluster=FIRST).end(say)
        canary.carry_out(teardown(aws, environment, FIRST, consent))
    else:
        if cluster is not None and cluster.is_running:
            yield STOPPED.result("the teardown ended with every step verified", good=True)


def _without_second(canary: Canary) -> Iterator[Stage]:
    """Yield the removal of the second cluster, which stage 4 may have left."""
    name, aws = canary.environment.name, canary.aws
    stack = cluster_stack(name, SECOND)
    backstop = Backstop(aws=aws, environment=name, cluster=SECOND)
    if backstop.running():
        yield Stage(title=f"end cluster {emr_cluster_name(name, SECOND)}", act=backstop.end)
    if status_of(aws, stack) is not None:
        yield Stage(title=f"delete stack {stack}", act=lambda say: delete_stack(aws, stack, say))


def _settle(aws: Aws, stack: str, say: Say) -> None:
    """Wait until CloudFormation has ended what it does with a stack."""
    status = status_of(aws, stack)
    if status is not None and status.endswith("_IN_PROGRESS") and not status.startswith("REVIEW"):
        say(f"{stack} is {status}: waiting until that ends")
        Events(aws, stack, only_new=False).followed(say)


def leftovers(aws: Aws, name: str, region: str) -> Iterator[Leftover]:
    """Yield what exists of the canary's environment, kind by kind. Raises botocore's errors."""
    services, prefix = price_table(region).services, f"warmbase-{name}-"
    resources = {
        "clusters": tuple(Backstop(aws=aws, environment=name).running()),
        **_tagged(aws, name),
        "stacks": tuple(
            stack["StackName"]
            for page in aws.cloudformation.get_paginator("describe_stacks").paginate()
            for stack in page["Stacks"]
            if stack["StackName"].startswith(prefix) and stack["StackStatus"] != "DELETE_COMPLETE"
        ),
        "log groups": tuple(
            group["logGroupName"]
            for page in aws.logs.get_paginator("describe_log_groups").paginate()
            for group in page["logGroups"]
            if prefix in group["logGroupName"]
        ),
    }
    yield from (Leftover(kind=kind, names=names) for kind, names in resources.items() if names)
    buckets = [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"] if bucket["Name"].startswith(prefix)]
    stored = sum(_stored_bytes(aws, bucket) for bucket in buckets)
    if buckets:
        usd = stored / GIB * services["s3-gb-month"].usd
        yield Leftover(
            kind="buckets", names=tuple(buckets), remark=f", with {stored / MIB:,.1f} MiB", usd_per_month=usd
        )
    keys = dict(_keys(aws, name))
    if keys:
        billed = sum(state != "PendingDeletion" for state in keys.values())
        yield Leftover(
            kind="keys",
            names=tuple(f"{key} ({state})" for key, state in keys.items()),
            usd_per_month=billed * services["kms-key-month"].usd,
        )


def _tagged(aws: Aws, name: str) -> dict[str, tuple[str, ...]]:
    """Return the ids of the EC2 resources that have the canary's tag and have not ended, by their kind."""
    ec2 = aws.ec2
    tag: Any = {"Name": f"tag:{CANARY_TAG}", "Values": [name]}
    unended: Any = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}
    return {
        "instances": tuple(
            node["InstanceId"]
            for page in ec2.get_paginator("describe_instances").paginate(Filters=[tag, unended])
            for reservation in page["Reservations"]
            for node in reservation["Instances"]
        ),
        "volumes": tuple(
            volume["VolumeId"]
            for page in ec2.get_paginator("describe_volumes").paginate(Filters=[tag])
            for volume in page["Volumes"]
        ),
        "network interfaces": tuple(
            interface["NetworkInterfaceId"]
            for page in ec2.get_paginator("describe_network_interfaces").paginate(Filters=[tag])
            for interface in page["NetworkInterfaces"]
        ),
        "security groups": tuple(
            group["GroupId"]
            for page in ec2.get_paginator("describe_security_groups").paginate(Filters=[tag])
            for group in page["SecurityGroups"]
        ),
    }


def _stored_bytes(aws: Aws, bucket: str) -> int:
    """Return the bytes of all versions of all objects."""
    pages = aws.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    return sum(version["Size"] for page in pages for version in page.get("Versions", ()))


def _keys(aws: Aws, name: str) -> Iterator[tuple[str, str]]:
    """Yield each KMS key of the environment with its state; their descriptions end with its name."""
    for page in aws.keys.get_paginator("list_keys").paginate():
        for key in page["Keys"]:
            try:
                described = aws.keys.describe_key(KeyId=key["KeyId"])["KeyMetadata"]
            except ClientError:
                continue  # the key of somebody who allows nobody to describe it is not ours
            if described.get("Description", "").endswith(f"warmbase environment {name}"):
                yield described["KeyId"], described["KeyState"]


def _spent_usd(canary: Canary) -> float:
    """Return what the clusters of the environment have cost by EMR's own times; endpoints bill each hour begun."""
    environment, aws = canary.environment, canary.aws
    price, usd = canary_price(environment, canary.run, ()), 0.0
    since = datetime.fromtimestamp((canary.run.directory / "run.json").stat().st_mtime, UTC)
    for page in aws.emr.get_paginator("list_clusters").paginate(CreatedAfter=since):
        for cluster in page["Clusters"]:
            timeline = cluster["Status"]["Timeline"]
            hours = (
                timeline.get("EndDateTime", datetime.now(UTC)) - timeline["CreationDateTime"]
            ).total_seconds() / 3600
            for cluster_name in (FIRST, SECOND):
                if cluster["Name"] == emr_cluster_name(environment.name, cluster_name):
                    usd += hours * price.usd_per_hour[cluster_name]
                    usd += math.ceil(hours) * price.idle_usd_per_hour if cluster_name == FIRST else 0
    return usd
