"""One-time schedules of EventBridge Scheduler, which fire by the clock of the local AWS.

They modify EBS volumes, or invoke a function of Lambda.

Nothing waits for a schedule. Each call to EC2, to EMR's clusters or to the scheduler first runs what is due by then, in
the order of the times, as if it had run at its own time. A call that EC2 refuses is not tried again: AWS does not
document whether it would be, so whoever relies on a schedule here has to manage without.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.emr.models import ElasticMapReduceBackend
from moto.iam.models import iam_backends
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend, scheduler_backends

from local_aws import clock, functions, volumes
from local_aws.functions import allows
from local_aws.moto_internals import Json, Untyped, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

AT: Final = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
MODIFY_VOLUME: Final = "arn:aws:scheduler:::aws-sdk:ec2:modifyVolume"
SCHEDULER_CALLS: Final = ("create_schedule", "update_schedule", "get_schedule", "delete_schedule", "list_schedules")
CLUSTER_CALLS: Final = ("describe_cluster", "list_clusters", "run_job_flow")
VOLUME_CALLS: Final = ("describe_volumes", "modify_volume", "describe_volumes_modifications")


def install() -> None:
    """Run what is due before each call that could see it, and check a schedule when it is written."""
    for name in ("create_schedule", "update_schedule"):
        wrap(EventBridgeSchedulerBackend, name, _checked)
    callers = (
        (EventBridgeSchedulerBackend, SCHEDULER_CALLS),
        (EBSBackend, VOLUME_CALLS),
        (ElasticMapReduceBackend, CLUSTER_CALLS),
    )
    for owner, names in callers:
        for name in names:
            wrap(owner, name, _after_due)
    wrap(EventBridgeSchedulerBackend, "delete_schedule_group", _existing_group)


def _after_due(original: Callable[..., Untyped], backend: Untyped, *arguments: Untyped, **options: Untyped) -> Untyped:
    run_due(backend.account_id, backend.region_name)
    return original(backend, *arguments, **options)


def _checked(original: Callable[..., Untyped], backend: Untyped, **options: Untyped) -> Untyped:
    """Refuse a schedule that AWS would refuse, or that the local AWS cannot run."""
    group, target = options["group_name"] or "default", options["target"]
    backend.get_schedule_group(group)
    is_known = target["Arn"] == MODIFY_VOLUME or functions.find(backend.account_id, backend.region_name, target["Arn"])
    if AT.fullmatch(options["schedule_expression"]) is None or not is_known:
        raise ValidationException(
            "the local AWS knows schedules of the form at(...) that call ec2:modifyVolume or a function of a stack"
        )
    role = target["RoleArn"].rpartition("/")[2]
    roles = iam_backends[backend.account_id][backend.partition].roles.values()
    trust = [json.dumps(one.assume_role_policy_document) for one in roles if one.name == role]
    if not trust or "scheduler.amazonaws.com" not in trust[0]:
        raise ValidationException("The execution role you provide must allow AWS EventBridge Scheduler to assume it.")
    return original(backend, **options)


def _existing_group(original: Callable[..., None], backend: Untyped, name: str | None) -> None:
    backend.get_schedule_group(name)
    original(backend, name)


def run_due(account: str, region: str) -> None:
    """Run the schedules that are due by now, the earliest first."""
    groups = scheduler_backends[account][region].schedule_groups.values()
    planned = [(_time(one), one, group) for group in groups for one in group.schedules.values()]
    for at, one, group in sorted(planned, key=lambda entry: entry[0]):
        if at <= clock.now() and one.state == "ENABLED":
            if one.action_after_completion == "DELETE":
                group.delete_schedule(one.name)
            one.state = "DISABLED"
            if one.target["Arn"] == MODIFY_VOLUME:
                _run(one, ec2_backends[account][region], at)
            else:
                functions.invoke(account, region, one.target["Arn"], json.loads(one.target["Input"]))


def _time(schedule: Untyped) -> datetime:
    match = AT.fullmatch(schedule.schedule_expression)
    return datetime.fromisoformat(match[1]).replace(tzinfo=UTC) if match else datetime.max.replace(tzinfo=UTC)


def _run(schedule: Untyped, ec2: Untyped, at: datetime) -> None:
    request: Json = json.loads(schedule.target["Input"])
    wanted = {"iops": request.get("Iops"), "throughput": request.get("Throughput")}
    try:
        volume = ec2.get_volume(request["VolumeId"])
        if _may_modify(schedule, volume):
            volumes.modify(ec2, volume.id, {name: value for name, value in wanted.items() if value}, at)
    except EC2ClientError:
        return


def _may_modify(schedule: Untyped, volume: Untyped) -> bool:
    """Return whether a policy of the schedule's role allows the call: the tags of the volume must match."""
    tags = {tag["key"]: tag["value"] for tag in volume.get_tags()}
    return allows(volume.ec2_backend.account_id, schedule.target["RoleArn"], "ec2:ModifyVolume", tags)
