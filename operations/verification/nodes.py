"""Checks of the core nodes of every cluster: bootstrap actions, volumes and disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from configurations.layout import cache_mounts
from operations.verification.check import Check, CheckResult, Facts, Nodes, VerificationContext
from sizing.units import GIB

VOLUME_FRACTION: Final = 0.02  # judgement: the share of a volume that the file system uses for itself
OLDEST_PYTHON: Final = (3, 9)
EMR_PART_GIB: Final = (4.0, 6.0)
DROP_IN: Final = "10-warmbase.conf"


def in_unit(unit: str, key: str, wanted: str) -> Callable[[Facts], tuple[bool, str]]:
    """Return the verdict on a property of a systemd unit."""

    def check(facts: Facts) -> tuple[bool, str]:
        value = (facts["units"].get(unit) or {}).get(key, "")
        return wanted in value, value[:200] or f"no {key}"

    return check


def active_timer(timer: str) -> Callable[[Facts], tuple[bool, str]]:
    """Return the verdict on a timer of systemd, which should be active."""

    def check(facts: Facts) -> tuple[bool, str]:
        state = (facts["units"].get(timer) or {}).get("ActiveState", "")
        return state == "active", f"the timer is {state or 'not installed'}"

    return check


def _python_checks(context: VerificationContext) -> Iterator[CheckResult]:
    yield from Check(
        "Python of the node",
        "Python 3.9 is `/usr/bin/python3`",
        "3.9 or later",
        "adapt the programs in bootstrap-actions/programs to this version",
    ).results_by_node(
        context.nodes, lambda facts: (tuple(map(int, facts["python"].split("."))) >= OLDEST_PYTHON, facts["python"])
    )


def completed_actions(nodes: Nodes, row: str) -> Iterator[CheckResult]:
    """Check that every bootstrap action is complete, which confirms a row of docs/unconfirmed.md."""
    yield from Check(
        "bootstrap actions",
        row,
        "every bootstrap action is done",
        "read /var/log/bootstrap-actions on that node",
    ).results_by_node(nodes, _actions_completed)


def _actions_completed(facts: Facts) -> tuple[bool, str]:
    actions: Mapping[str, str] = facts["actions"]
    states = ", ".join(f"{name} {state or 'empty'}" for name, state in actions.items())
    return bool(actions) and all(state == "done" for state in actions.values()), states or "no bootstrap action ran"


def _volume_checks(context: VerificationContext) -> Iterator[CheckResult]:
    """Check the size of each volume that has a path of its own."""
    for volume in context.core.volumes:
        if volume.purpose == "data":
            continue
        for path in cache_mounts(context.core) if volume.purpose == "cache" else ("/warmbase/system",):
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
        "systemd drop-in of the DataNode",
        "The systemd unit of a DataNode is named",
        DROP_IN,
        "correct the unit's name in bootstrap-actions/mount-volumes.sh",
    ).results_by_node(context.nodes, in_unit("hadoop-hdfs-datanode.service", "DropInPaths", DROP_IN))
    yield from Check(
        "EMR's partition",
        "EMR uses about 5 GiB of the first data volume",
        "one partition of 4 to 6 GiB, and another one with the rest of the volume",
        "no harm: bootstrap-actions/disks.sh takes the largest partition; correct its comment",
    ).results_by_node(context.nodes, _emr_partition)
    if any(volume.purpose == "system" for volume in context.core.volumes):
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


NODE_CHECKS = (_python_checks, _volume_checks, _disk_checks)
"""Every check, in the order of the report."""
