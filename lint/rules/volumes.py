"""The volumes of a node and the cache files on them, as far as the file states them."""

from __future__ import annotations

from typing import Final

from facts.instance_types import instance_types, older_stores
from lint.node import LintedNode
from sizing.instance import InstanceType
from sizing.units import GIB

ON_DISK: Final = ("file", "files", "mmap")
"""Engines that keep the BucketCache on a volume."""


def instance_of(node: LintedNode) -> InstanceType | None:
    """Return the instance type of a node; None where it is missing or not in our table."""
    name = node.group.instance_type if node.group else None
    return instance_types().get(name) if name else None


def _volume_gib(node: LintedNode) -> list[int] | None:
    """Return the sizes of all data volumes of a node; None where one is unknown, and where EMR's defaults apply."""
    sizes: list[int] = []
    for volume in node.volumes:
        if volume.size_gib is None:
            return None
        sizes += [volume.size_gib] * volume.count
    disks, disk_bytes = instance_store(node)
    return [*sizes, *[disk_bytes // GIB] * disks] or None


def instance_store(node: LintedNode) -> tuple[int, int]:
    """Return how many disks the instance type itself has, and the bytes of each; none where the type is unknown."""
    instance = instance_of(node)
    if instance is not None:
        return instance.nvme_disks, instance.nvme_disk_bytes
    return older_stores().get((node.group.instance_type if node.group else None) or "", (0, 0))


def largest_volume_gib(node: LintedNode) -> int | None:
    """Return the size of the largest data volume of a node; None where it is unknown."""
    sizes = _volume_gib(node)
    return max(sizes) if sizes else None


def room_gib(node: LintedNode) -> int | None:
    """Return the size of all data volumes of a node together; None where one is unknown."""
    sizes = _volume_gib(node)
    return sum(sizes) if sizes else None


def files_of(node: LintedNode) -> int | None:
    """Return the number of cache files; 0 for a cache in memory, None where it is unknown.

    EMR's default is a file on every volume but one.
    """
    if node.unstated("hbase.bucketcache.ioengine"):
        return max(1, len(_volume_gib(node) or ()) - 1)
    engine = node.text("hbase.bucketcache.ioengine")
    if engine is None:
        return None
    return max(1, len(node.cache_files)) if engine.partition(":")[0] in ON_DISK else 0


def mount_of(path: str) -> str:
    """Return the mount point of a path: `/mnt1` for EMR's volumes, or the first two names of another path."""
    parts = path.removeprefix("file://").strip("/").split("/")
    depth = 1 if parts[0].startswith("mnt") else 2
    return "/" + "/".join(parts[:depth])
