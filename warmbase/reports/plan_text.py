"""Plans in words: their nodes, volumes and block reads, and the table of plans side by side."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from warmbase.sizing.plan import Plan
from warmbase.sizing.ranges.regret import ClusterOption
from warmbase.sizing.requirements import Volume


class ColumnTable(Struct, frozen=True, kw_only=True):
    """Plans side by side: their names, rows with a figure's name and its text for each plan, and their summaries."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summaries: tuple[str, ...]


def nodes_text(option: ClusterOption) -> str:
    """Return the nodes of an option with the size of the volumes that they read from."""
    return nodes_of(option.count, option.instance_type, option.volumes)


def nodes_of(count: int, instance_type: str, volumes: Iterable[Volume]) -> str:
    """Return nodes with the size of the volumes that they read from."""
    sizes = [_size_text(volume) for volume in volumes if volume.purpose != "system"]
    return ", ".join([f"{count} x {instance_type}", *sizes])


def purchase_text(instance_type: str, count: int, volumes: Iterable[Volume], name: str = "core nodes") -> str:
    """Return nodes with the size, speed and purpose of the volumes that they read from; `name` is their noun."""
    data_volumes = volumes_text(volumes)
    nodes = f"{count} x {instance_type} {name}"
    return f"{nodes}, each with {data_volumes}" if data_volumes else nodes


def volumes_text(volumes: Iterable[Volume]) -> str:
    """Return the size, speed and purpose of the volumes that a core node reads from; empty if it has none."""
    return " and ".join(
        f"{_size_text(volume)} ({volume.throughput_mib_s:,} MiB/s) for the {volume.purpose}"
        for volume in volumes
        if volume.purpose != "system"
    )


def _size_text(volume: Volume) -> str:
    number = f"{volume.count} x " if volume.count > 1 else ""
    return f"{number}{volume.size_gib:,} GiB {volume.type}"


def block_reads(plan: Plan) -> str:
    """Return the reads that the hit ratio is about: all, or those of cached tables."""
    return "block reads" if all(table.cached for table in plan.tables) else "the block reads of cached tables"


def provision_text(volume: Volume) -> str:
    """Return the number, size and speed of the volumes."""
    return f"{_size_text(volume)}, {volume.iops:,} IOPS, {volume.throughput_mib_s:,} MiB/s"
