"""Checks of the core nodes: systemd units, bootstrap actions, volumes and disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from configurations.layout import cache_mounts
from operations.verification.check import Check, CheckResult, Facts, VerificationContext
from sizing.units import GIB

VOLUME_FRACTION: Final = 0.02  # judgement: the share of a volume that the file system uses for itself
OLDEST_PYTHON: Final = (3, 9)
EMR_PART_GIB: Final = (4.0, 6.0)
DROP_IN: Final = "10-warmbase.conf"
DAEMON: Final = "hbase-daemon.sh"


def _unit_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the drop-ins and commands of the systemd units."""
    server, data = "hbase-regionserver.service", "hadoop-hdfs-datanode.service"
    yield from Check(
        "systemd drop-in of the RegionServer",
        "The systemd unit is named `hbase-regionserver.service`",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/guard-regionserver.sh",
    ).results_by_node(context.nodes, _in_unit(server, "DropInPaths", DROP_IN))
    yield from Check(
        "stop command of the RegionServer",
        "EMR's unit stops a RegionServer with `hbase-daemon.sh`",
        DAEMON,
        "set only TimeoutStopSec: HBASE_STOP_TIMEOUT has no effect",
    ).results_by_node(context.nodes, _in_unit(server, "ExecStop", DAEMON))
    yield from Check(
        "systemd drop-in of the DataNode",
        "The systemd unit of a DataNode is named",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/mount-volumes.sh",
    ).results_by_node(context.nodes, _in_unit(data, "DropInPaths", DROP_IN))


def _in_unit(unit: str, key: str, wanted: str) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        value = (facts["units"].get(unit) or {}).get(key, "")
        return wanted in value, value[:200] or f"no {key}"

    return check


def _action_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the node's Python, and that every bootstrap action is complete."""
    yield from Check(
        "Python of the node",
        "Python 3.9 is `/usr/bin/python3`",
        "3.9 or later",
        "adapt the programs in bootstrap-actions/programs to this version",
    ).results_by_node(
        context.nodes, lambda facts: (tuple(map(int, facts["python"].split("."))) >= OLDEST_PYTHON, facts["python"])
    )
    yield from Check(
        "bootstrap actions",
        "Java 21 is on the node when bootstrap actions run",
        "every bootstrap action is done",
        "read /var/log/bootstrap-actions on that node",
    ).results_by_node(context.nodes, _actions_completed)

    yield from Check(
        "watch of the claim",
        "",
        "the timer is active",
        "run systemctl enable --now warmbase-claim.timer on that node",
    ).results_by_node(context.nodes, _claim_watched)


def _claim_watched(facts: Facts) -> tuple[bool, str]:
    """Return whether the node reads the claim each minute; a node that was launched without the watch is no fault."""
    if "watch-claim" not in facts["actions"]:
        return True, "none: this cluster was launched without it"
    state = (facts["units"].get("warmbase-claim.timer") or {}).get("ActiveState", "")
    return state == "active", f"the timer is {state or 'not installed'}"


def _actions_completed(facts: Facts) -> tuple[bool, str]:
    actions: Mapping[str, str] = facts["actions"]
    states = ", ".join(f"{name} {state or 'empty'}" for name, state in actions.items())
    return bool(actions) and all(state == "done" for state in actions.values()), states or "no bootstrap action ran"


def _volume_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the size of each volume that has a path of its own."""
    for volume in context.launch.plan.core.volumes:
        if volume.purpose == "data":
            continue
        core = context.launch.plan.core
        for path in cache_mounts(core) if volume.purpose == "cache" else ("/warmbase/system",):
            yield from Check(
                f"volume at {path}",
                "EMR formats and mounts data volumes before bootstrap actions run",
                f"{volume.size_gib} GiB",
                "run lsblk on that node; the bootstrap action recognises a volume by its size",
            ).results_by_node(context.nodes, _mounted(path, volume.size_gib))


def _mounted(path: str, size_gib: int) -> Callable[[Facts], tuple[bool, str]]:
    def check(facts: Facts) -> tuple[bool, str]:
        mount = facts["mounts"].get(path)
        if not mount:
            return False, "not mounted"
        gib = int(mount["size"]) / GIB
        return abs(gib - size_gib) <= max(
            1.0, VOLUME_FRACTION * size_gib
        ), f"{gib:,.1f} GiB, {mount['fstype']}, {mount['source']}"

    return check


def _disk_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check how EMR and HDFS use the volumes."""
    yield from Check(
        "EMR's partition",
        "EMR uses about 5 GiB of the first data volume",
        "one partition of 4 to 6 GiB, and another one with the rest of the volume",
        "no harm: bootstrap-actions/disks.sh takes the largest partition; correct its comment",
    ).results_by_node(context.nodes, _emr_partition)
    if any(volume.purpose == "system" for volume in context.launch.plan.core.volumes):
        yield from Check(
            "owner of the DataNode's directory",
            "A DataNode creates its own directory in `/warmbase/system`",
            "hdfs",
            "correct the mode of /warmbase/system in bootstrap-actions/mount-volumes.sh",
        ).results_by_node(context.nodes, lambda facts: _owner_verdict(facts["owners"].get("/warmbase/system/hdfs")))


def _emr_partition(facts: Facts) -> tuple[bool, str]:
    devices = facts["devices"]
    if devices is None:
        return False, "no answer from lsblk"
    small = [
        device
        for device in devices
        if device["type"] == "part"
        and EMR_PART_GIB[0] <= int(device["size"]) / GIB <= EMR_PART_GIB[1]
        and sum(1 for other in devices if other["pkname"] == device["pkname"] and other["type"] == "part") > 1
    ]
    partitions = (f"{part['name']} {int(part['size']) / GIB:.1f} GiB {part['mountpoint'] or ''}" for part in small)
    return len(small) == 1, ", ".join(partitions).strip() or "no small partition"


def _owner_verdict(owner: str | None) -> tuple[bool, str]:
    return owner is not None and owner.startswith("hdfs "), owner or "the directory does not exist"


NODE_CHECKS = (_unit_checks, _action_checks, _volume_checks, _disk_checks)
"""Every check, in the order of the report."""
