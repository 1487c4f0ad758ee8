"""EBS volumes of the core nodes of EMR clusters, and their modifications with the limits that EC2 sets.

moto's nodes have no data volumes. Here a node gets those of its instance group when EMR first lists it. A modification
is `optimizing` for a while before it is `completed`; until then, and after four of them within 24 hours, EC2 refuses
the next one. A volume reports only its latest modification.

Source: EC2 API Reference, ModifyVolume and DescribeVolumesModifications.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.elastic_block_store import EBSBackend
from moto.emr.models import Instance

from local_aws import clock, readings
from local_aws.moto_internals import Json, Untyped, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIMIZING: Final = [timedelta(seconds=20)]
"""How long a modification is `optimizing`: long enough to be seen, and short enough to wait for. Tests change it."""
WINDOW: Final = timedelta(hours=24)
MOST_MODIFICATIONS: Final = 4
IOPS_PER_MIB_S: Final = 4
MOST_MIB_S: Final = 2_000
NAMES: Final = {"Iops": "iops", "Throughput": "throughput"}


def install() -> None:
    """Give nodes their volumes, and volumes their modifications."""
    Instance.ebs_volumes = property(_ebs_volumes)
    wrap(EBSBackend, "modify_volume", _modify_volume)
    wrap(EBSBackend, "describe_volumes_modifications", _describe_volumes_modifications)


def _ebs_volumes(node: Untyped) -> list[Json]:
    """Return the volumes of a node as EMR lists them, its root volume too; create its data volumes if it has none."""
    ec2 = node.ec2_instance.ec2_backend
    if not hasattr(node, "data_volumes"):
        node.data_volumes = [_created(ec2, node, device) for device in node.instance_group.ebs_block_devices]
    return [
        {"Device": device, "VolumeId": mapped.volume_id}
        for device, mapped in node.ec2_instance.block_device_mapping.items()
    ]


def _created(ec2: Untyped, node: Untyped, device: Json) -> str:
    """Return the id of a new volume on a node."""
    wanted, instance = device["VolumeSpecification"], ec2.get_instance(node.ec2_instance_id)
    volume = ec2.create_volume(
        size=int(wanted["SizeInGB"]),
        zone_name=instance.placement,
        volume_type=wanted["VolumeType"],
        iops=wanted["Iops"] and int(wanted["Iops"]),
        throughput=wanted["Throughput"] and int(wanted["Throughput"]),
    )
    ec2.attach_volume(volume.id, instance.id, device["Device"], delete_on_termination=True)
    return str(volume.id)


def modify(ec2: Untyped, volume_id: str, wanted: dict[str, int], at: datetime) -> Untyped:
    """Change the performance of a volume at that time; raises where EC2 would refuse."""
    volume = ec2.get_volume(volume_id)
    history = volume.__dict__.setdefault("history", [])
    target = {name: int(wanted.get(name) or getattr(volume, name) or 0) for name in NAMES.values()}
    if target["throughput"] > min(MOST_MIB_S, target["iops"] // IOPS_PER_MIB_S):
        raise EC2ClientError("InvalidParameterValue", f"Throughput (MiBps) to iops ratio is too high: {target}")
    if readings.are_worse() and all(getattr(volume, name) == value for name, value in target.items()):
        raise EC2ClientError("InvalidParameterValue", f"Volume {volume_id} already has these parameters")
    if history and _state(history[-1], at) != "completed":
        message = f"Volume {volume_id} cannot be modified in modification state OPTIMIZING"
        raise EC2ClientError("IncorrectModificationState", message)
    if sum(at - entry["StartTime"] < WINDOW for entry in history) >= MOST_MODIFICATIONS:
        message = "You've reached the maximum modification rate per volume limit."
        raise EC2ClientError("VolumeModificationRateExceeded", message)
    entry: Json = {"VolumeId": volume_id, "StartTime": at}
    for key, name in NAMES.items():
        entry |= {f"Original{key}": getattr(volume, name), f"Target{key}": target[name]}
        setattr(volume, name, target[name])
    history.append(entry)
    return volume


def _modify_volume(original: Callable[..., Untyped], ec2: Untyped, *arguments: Untyped, **options: Untyped) -> Untyped:
    """Change performance here, and leave a change of size or type to moto."""
    names = ("volume_id", "target_size", "target_volume_type", "target_iops", "target_throughput")
    request = {**dict(zip(names, arguments, strict=False)), **options}
    if request.get("target_size") or request.get("target_volume_type"):
        return original(ec2, *arguments, **options)
    wanted = {name: request.get(f"target_{name}") for name in NAMES.values()}
    at = clock.now()
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
    now = clock.now()
    return [_described(history[-1], now) for volume in volumes if (history := getattr(volume, "history", []))]


def _described(entry: Json, now: datetime) -> Json:
    state = _state(entry, now)
    ended: Json = {"EndTime": entry["StartTime"] + OPTIMIZING[0]} if state == "completed" else {}
    return {**entry, "ModificationState": state, **ended}


def _state(entry: Json, now: datetime) -> str:
    return "completed" if now - entry["StartTime"] >= OPTIMIZING[0] else "optimizing"
