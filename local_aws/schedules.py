"""One-time schedules of EventBridge Scheduler, and the volumes and functions on which they act.

Schedules fire by the clock of the local AWS. Nothing waits for them. Each call to EC2, to EMR's clusters or to the
scheduler first runs what is due by then, in the order of the times, as if it had run at its own time. A call that EC2
refuses is not tried again: AWS does not document whether it would be, so whoever relies on a schedule here has to
manage without.

A schedule may modify EBS volumes of the core nodes of EMR clusters, with the limits that EC2 sets. moto's nodes have no
data volumes. Here a node gets those of its instance group when EMR first lists it. A modification is `optimizing` for a
while before it is `completed`; until then, and after four of them within 24 hours, EC2 refuses the next one. In the
worse reading it is `modifying` first, and the volume is described as before. A volume reports only its latest
modification. Source: EC2 API Reference, ModifyVolume and DescribeVolumesModifications.

A schedule may invoke a function of Lambda whose source stands in a template. moto would run a function in a container.
Here it runs in this process, only if a stack of the local AWS has created it from inline Python, and with clients that
the policies of the function's role limit.
"""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Final

import boto3
from botocore.exceptions import ClientError
from moto.cloudformation.models import cloudformation_backends
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.emr.models import ElasticMapReduceBackend, Instance, emr_backends
from moto.iam.models import iam_backends
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend, scheduler_backends

from local_aws import controls, moto_internals
from local_aws.cloudformation.stack_state import state
from local_aws.moto_internals import Json, Untyped, wrap

OPTIMIZING: Final = [timedelta(seconds=20)]
"""How long a modification takes: long enough to be seen, and short enough to wait for. Tests change it."""
MODIFYING: Final = 0.25
"""The fraction of that time for which, in the worse reading, a modification is only `modifying`."""
WINDOW: Final = timedelta(hours=24)
MOST_MODIFICATIONS: Final = 4
IOPS_PER_MIB_S: Final = 4
MOST_MIB_S: Final = 2_000
NAMES: Final = {"Iops": "iops", "Throughput": "throughput"}


def _ebs_volumes(node: Untyped) -> list[Json]:
    """Return the volumes of a node as EMR lists them, its root volume too; create its data volumes if it has none."""
    ec2 = node.ec2_instance.ec2_backend
    if not hasattr(node, "data_volumes"):
        node.data_volumes = []
        for device in node.instance_group.ebs_block_devices:
            wanted, instance = device["VolumeSpecification"], ec2.get_instance(node.ec2_instance_id)
            volume = ec2.create_volume(
                size=int(wanted["SizeInGB"]),
                zone_name=instance.placement,
                volume_type=wanted["VolumeType"],
                iops=wanted["Iops"] and int(wanted["Iops"]),
                throughput=wanted["Throughput"] and int(wanted["Throughput"]),
            )
            ec2.attach_volume(volume.id, instance.id, device["Device"], delete_on_termination=True)
            node.data_volumes.append(str(volume.id))
    attached = node.ec2_instance.block_device_mapping.items()
    listed = [{"Device": device, "VolumeId": mapped.volume_id} for device, mapped in attached]
    # EMR also lists a node that has ended; it is not documented whether the node's volumes are still listed.
    node.listed_volumes = listed or getattr(node, "listed_volumes", [])
    return list(node.listed_volumes)


def modify(ec2: Untyped, volume_id: str, wanted: dict[str, int], at: datetime) -> Untyped:
    """Change the performance of a volume at that time; raises where EC2 would refuse."""
    volume = ec2.get_volume(volume_id)
    history = volume.__dict__.setdefault("history", [])
    _settle(volume, at)
    target = {name: int(wanted.get(name) or getattr(volume, name) or 0) for name in NAMES.values()}
    if target["throughput"] > min(MOST_MIB_S, target["iops"] // IOPS_PER_MIB_S):
        raise EC2ClientError("InvalidParameterValue", f"Throughput (MiBps) to iops ratio is too high: {target}")
    if controls.are_worse() and all(getattr(volume, name) == value for name, value in target.items()):
        raise EC2ClientError("InvalidParameterValue", f"Volume {volume_id} already has these parameters")
    if history and _state(history[-1], at) != "completed":
        message = f"Volume {volume_id} cannot be modified in modification state {_state(history[-1], at).upper()}"
        raise EC2ClientError("IncorrectModificationState", message)
    if sum(at - entry["StartTime"] < WINDOW for entry in history) >= MOST_MODIFICATIONS:
        message = "You've reached the maximum modification rate per volume limit."
        raise EC2ClientError("VolumeModificationRateExceeded", message)
    entry: Json = {"VolumeId": volume_id, "StartTime": at}
    for key, name in NAMES.items():
        entry |= {f"Original{key}": getattr(volume, name), f"Target{key}": target[name]}
    history.append(entry)
    _settle(volume, at)
    return volume


def _settle(volume: Untyped, now: datetime) -> None:
    """Give a volume what its last modification provisions, unless that is only `modifying`."""
    history = getattr(volume, "history", [])
    if history and _state(history[-1], now) != "modifying":
        for key, name in NAMES.items():
            setattr(volume, name, history[-1][f"Target{key}"])


def _modify_volume(original: Callable[..., Untyped], ec2: Untyped, *arguments: Untyped, **options: Untyped) -> Untyped:
    """Change performance here, and leave a change of size or type to moto."""
    names = ("volume_id", "target_size", "target_volume_type", "target_iops", "target_throughput")
    request = {**dict(zip(names, arguments, strict=False)), **options}
    if request.get("target_size") or request.get("target_volume_type"):
        return original(ec2, *arguments, **options)
    wanted = {name: request.get(f"target_{name}") for name in NAMES.values()}
    at = controls.now()
    volume = modify(ec2, request["volume_id"], {name: value for name, value in wanted.items() if value}, at)
    # moto answers with the last of these.
    volume.modifications = [_described(volume.history[-1], at)]
    return volume


def _describe_volumes_modifications(
    original: Callable[..., Untyped], ec2: Untyped, volume_ids: list[str] | None = None, filters: Untyped = None
) -> Untyped:
    names = (filters or {}).get("volume-id", volume_ids)
    if set(filters or {}) - {"volume-id"}:
        return original(ec2, volume_ids, filters)
    volumes = ec2.describe_volumes(names)
    now = controls.now()
    return [_described(history[-1], now) for volume in volumes if (history := getattr(volume, "history", []))]


def _described(entry: Json, now: datetime) -> Json:
    state = _state(entry, now)
    ended: Json = {"EndTime": entry["StartTime"] + OPTIMIZING[0]} if state == "completed" else {}
    return {**entry, "ModificationState": state, **ended}


def _state(entry: Json, now: datetime) -> str:
    age = now - entry["StartTime"]
    if age >= OPTIMIZING[0]:
        return "completed"
    return "modifying" if controls.are_worse() and age < MODIFYING * OPTIMIZING[0] else "optimizing"


TYPE = "AWS::Lambda::Function"


def find_function(account: str, region: str, arn: str) -> Json | None:
    """Return the properties of the function with this ARN; None where no stack has it."""
    for stack in cloudformation_backends[account][region].stacks.values():
        for entry in state(stack).resources.values():
            if entry.request.resource_type == TYPE and entry.resource.attributes["Arn"] == arn:
                properties: Json = entry.request.properties
                return properties
    return None


def invoke(account: str, region: str, arn: str, event: Json) -> None:
    """Run the function for an event. As an asynchronous invocation does, it tells nobody if the function fails."""
    properties = find_function(account, region, arn)
    if properties is None:
        return

    def client(service: str) -> Untyped:
        make: Untyped = boto3.client
        aws = make(service, region_name=region, aws_access_key_id="local", aws_secret_access_key=moto_internals.SECRET)
        aws.meta.events.register(f"before-parameter-build.{service}.*", permitted)
        return aws

    def permitted(params: Json, model: Untyped, **_: Untyped) -> None:
        """Raise AccessDeniedException where the role does not allow the call on each cluster that it names."""
        clusters = emr_backends[account][region].clusters
        for cluster in params.get("JobFlowIds", [None]):
            tags = {tag["Key"]: tag["Value"] for tag in clusters[cluster].tags} if cluster else {}
            if not allows(account, properties["Role"], f"elasticmapreduce:{model.name}", tags):
                raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": str(params)}}, model.name)

    def imported(name: str, *rest: Untyped) -> Untyped:
        return SimpleNamespace(client=client) if name == "boto3" else builtins.__import__(name, *rest)

    module: Json = {"__builtins__": {**vars(builtins), "__import__": imported}}
    source = compile(properties["Code"]["ZipFile"], arn, "exec")
    exec(source, module)  # noqa: S102 - the source of a template of ours
    with suppress(ClientError, RuntimeError):
        module[properties["Handler"].rpartition(".")[2]](event, None)


def allows(account: str, role_arn: str, action: str, tags: Mapping[str, str]) -> bool:
    """Return whether a statement allows the action, and every tag that its condition names has the stated value."""
    iam = next(iter(iam_backends[account].values()))
    [holder] = [role for role in iam.roles.values() if role.name == role_arn.rpartition("/")[2]]
    texts = [*holder.policies.values(), *(policy.document for policy in holder.managed_policies.values())]
    documents = [json.loads(text) if isinstance(text, str) else text for text in texts]
    for statements in (document["Statement"] for document in documents):
        for statement in statements if isinstance(statements, list) else [statements]:
            wanted = statement.get("Condition", {}).get("StringEquals", {})
            matches = all(tags.get(key.partition("ResourceTag/")[2]) == value for key, value in wanted.items())
            actions = statement["Action"]
            if action in ([actions] if isinstance(actions, str) else actions) and matches:
                return True
    return False


AT: Final = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
MODIFY_VOLUME: Final = "arn:aws:scheduler:::aws-sdk:ec2:modifyVolume"
SCHEDULER_CALLS: Final = ("create_schedule", "update_schedule", "get_schedule", "delete_schedule", "list_schedules")
CLUSTER_CALLS: Final = ("describe_cluster", "list_clusters", "run_job_flow")
VOLUME_CALLS: Final = ("describe_volumes", "modify_volume", "describe_volumes_modifications")


def install() -> None:
    """Give nodes their volumes, and volumes their modifications; run what is due before each call that could see it.

    A schedule is checked when it is written.
    """
    Instance.ebs_volumes = property(_ebs_volumes)
    wrap(EBSBackend, "modify_volume", _modify_volume)
    wrap(EBSBackend, "describe_volumes_modifications", _describe_volumes_modifications)
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
    is_known = target["Arn"] == MODIFY_VOLUME or find_function(backend.account_id, backend.region_name, target["Arn"])
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
    ec2, planned = ec2_backends[account][region], []
    for group in scheduler_backends[account][region].schedule_groups.values():
        for schedule in group.schedules.values():
            match = AT.fullmatch(schedule.schedule_expression)
            if match and schedule.state == "ENABLED":
                planned.append((datetime.fromisoformat(match[1]).replace(tzinfo=UTC), schedule, group))
    for at, schedule, group in sorted(planned, key=lambda entry: entry[0]):
        if at > controls.now() or schedule.state != "ENABLED":
            continue
        if schedule.action_after_completion == "DELETE":
            group.delete_schedule(schedule.name)
        schedule.state = "DISABLED"
        request: Json = json.loads(schedule.target["Input"])
        if schedule.target["Arn"] != MODIFY_VOLUME:
            invoke(account, region, schedule.target["Arn"], request)
            continue
        wanted = {"iops": request.get("Iops"), "throughput": request.get("Throughput")}
        with suppress(EC2ClientError):
            volume = ec2.get_volume(request["VolumeId"])
            tags = {tag["key"]: tag["value"] for tag in volume.get_tags()}
            if allows(account, schedule.target["RoleArn"], "ec2:ModifyVolume", tags):
                modify(ec2, volume.id, {name: value for name, value in wanted.items() if value}, at)
    for volume in ec2.volumes.values():
        _settle(volume, controls.now())
