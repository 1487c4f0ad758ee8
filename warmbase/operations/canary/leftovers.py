"""Stage 5: the cluster is shut down in order, every stack without data is deleted, and what is left has its price."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from warmbase.environments.environment import Environment
from warmbase.environments.names import (
    CANARY_TAG,
    backstop_stack,
    cluster_stack,
    emr_cluster_name,
    network_stack,
    stacks_around,
)
from warmbase.facts.prices import price_table
from warmbase.ground.errors import Refused, WarmbaseError
from warmbase.ground.units import GIB, MIB, format_usd
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import AGAIN, translated
from warmbase.operations.aws.progress import Stage
from warmbase.operations.canary.backstop import Backstop, canary_price
from warmbase.operations.canary.free_calls import try_bucket
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


def leave_nothing(canary: Canary) -> StageOutcome:
    """Remove what the canary created, except what holds data. Raises OperationFailed where something cannot go."""
    results = tuple(_without_first(canary))
    with translated("could not remove the canary", AGAIN):
        canary.carry_out(_removal(canary.aws, canary.environment))
        remains, usd = _leftovers(canary.aws, canary.environment)
        spent = format_usd(_spent_usd(canary))
    headline = ", ".join(f"{len(remains[kind])} {kind}" for kind in ("clusters", "instances", "volumes"))
    cost = f"what stays costs {format_usd(usd)} a month; the run cost about {spent} (estimate)"
    lines = (f"{kind}: {', '.join(names)}" for kind, names in remains.items() if names)
    return StageOutcome(lines=(f"{headline}; {cost}", *lines), results=results)


def _without_first(canary: Canary) -> Iterator[CheckResult]:
    """Shut the first cluster down in order; where that is refused, say why, and end it without."""
    aws, environment = canary.aws, canary.environment
    with canary.progress.step("wait until CloudFormation is idle") as say:
        for cluster_name in (FIRST, SECOND):
            for stack in stacks_around(environment.name, cluster_name):
                status = status_of(aws, stack)
                if status is not None and status.endswith("_IN_PROGRESS") and not status.startswith("REVIEW"):
                    say(f"{stack} is {status}: waiting until that ends")
                    Events(aws, stack, only_new=False).followed(say)
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


def _removal(aws: Aws, environment: Environment) -> Iterator[Stage]:
    """Yield the removal of the second cluster, which stage 4 may have left, and of the stacks without data."""
    name = environment.name
    stack, own_stack = cluster_stack(name, SECOND), backstop_stack(name)
    backstop = Backstop(aws=aws, environment=name, cluster=SECOND)
    if backstop.running():
        yield Stage(title=f"end cluster {emr_cluster_name(name, SECOND)}", act=backstop.end)
    if status_of(aws, stack) is not None:
        yield Stage(title=f"delete stack {stack}", act=lambda say: delete_stack(aws, stack, say))
    yield from destruction(aws, environment)
    yield Stage(title=f"delete stack {own_stack}", act=lambda say: delete_stack(aws, own_stack, say))


def _leftovers(aws: Aws, environment: Environment) -> tuple[dict[str, Sequence[str]], float]:
    """Return the remaining resources of the canary's environment by kind, and their monthly cost."""
    name, services = environment.name, price_table(environment.region).services
    # An environment with a longer name may begin alike. CloudFormation adds the id of a resource, in capitals.
    around = {backstop_stack(name), *(stack for one in (FIRST, SECOND) for stack in stacks_around(name, one))}
    named = re.compile(rf"/aws/lambda/{backstop_stack(name)}|{network_stack(name)}-[A-Z].*")
    roots = (environment.root.bucket, environment.log_bucket)
    own = {environment.in_account(bucket, aws.account) for bucket in roots} | {try_bucket(aws, environment)}
    tag: Any = {"Name": f"tag:{CANARY_TAG}", "Values": [name]}
    unended: Any = {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}
    remains: dict[str, Sequence[str]] = {
        "clusters": Backstop(aws=aws, environment=name).running(),
        "instances": [
            node["InstanceId"]
            for page in aws.ec2.get_paginator("describe_instances").paginate(Filters=[tag, unended])
            for reservation in page["Reservations"]
            for node in reservation["Instances"]
        ],
        "volumes": [
            volume["VolumeId"]
            for page in aws.ec2.get_paginator("describe_volumes").paginate(Filters=[tag])
            for volume in page["Volumes"]
        ],
        "network interfaces": [
            interface["NetworkInterfaceId"]
            for page in aws.ec2.get_paginator("describe_network_interfaces").paginate(Filters=[tag])
            for interface in page["NetworkInterfaces"]
        ],
        "security groups": [
            group["GroupId"]
            for page in aws.ec2.get_paginator("describe_security_groups").paginate(Filters=[tag])
            for group in page["SecurityGroups"]
        ],
        "stacks": [
            stack["StackName"]
            for page in aws.cloudformation.get_paginator("describe_stacks").paginate()
            for stack in page["Stacks"]
            if stack["StackName"] in around and stack["StackStatus"] != "DELETE_COMPLETE"
        ],
        "log groups": [
            group["logGroupName"]
            for page in aws.logs.get_paginator("describe_log_groups").paginate()
            for group in page["logGroups"]
            if named.fullmatch(group["logGroupName"])
        ],
    }
    buckets = [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"] if bucket["Name"] in own]
    stored = sum(
        version["Size"]
        for bucket in buckets
        for page in aws.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
        for version in page.get("Versions", ())
    )
    remains["buckets"] = [*buckets, f"with {stored / MIB:,.1f} MiB"] if buckets else []
    # The descriptions of the environment's keys end with its name.
    keys: dict[str, str] = {}
    for page in aws.keys.get_paginator("list_keys").paginate():
        for key in page["Keys"]:
            try:
                described = aws.keys.describe_key(KeyId=key["KeyId"])["KeyMetadata"]
            except ClientError:
                continue  # the key of somebody who allows nobody to describe it is not ours
            if described.get("Description", "").endswith(f"warmbase environment {name}"):
                keys[described["KeyId"]] = described["KeyState"]
    remains["keys"] = [f"{key} ({state})" for key, state in keys.items()]
    billed = sum(state != "PendingDeletion" for state in keys.values())
    return remains, stored / GIB * services["s3-gb-month"].usd + billed * services["kms-key-month"].usd


def _spent_usd(canary: Canary) -> float:
    """Return what the clusters of the environment have cost by EMR's own times; endpoints bill each hour begun."""
    environment, aws = canary.environment, canary.aws
    price, usd = canary_price(environment, canary.run, ()), 0.0
    names = {emr_cluster_name(environment.name, cluster_name): cluster_name for cluster_name in (FIRST, SECOND)}
    since = datetime.fromtimestamp((canary.run.directory / "run.json").stat().st_mtime, UTC)
    for page in aws.emr.get_paginator("list_clusters").paginate(CreatedAfter=since):
        for cluster in page["Clusters"]:
            cluster_name = names.get(cluster["Name"])
            if cluster_name is not None:
                timeline = cluster["Status"]["Timeline"]
                end = timeline.get("EndDateTime", aws.now())
                hours = (end - timeline["CreationDateTime"]).total_seconds() / 3600
                usd += hours * price.usd_per_hour[cluster_name]
                usd += math.ceil(hours) * price.idle_usd_per_hour if cluster_name == FIRST else 0
    return usd
