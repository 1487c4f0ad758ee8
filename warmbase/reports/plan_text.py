"""Plans in words and side by side: tables of storage modes, and the nodes, volumes and block reads of a plan.

A `ColumnTable` has a column for each plan, and a row for each figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from warmbase.ground.units import SECONDS_PER_HOUR, format_duration, format_percent, format_usd
from warmbase.sizing.modes import Mode
from warmbase.sizing.plan import Plan
from warmbase.sizing.ranges.regret import ClusterOption
from warmbase.sizing.requirements import Volume


def mode_table(plans: Mapping[Mode, Plan]) -> ColumnTable:
    """Return the table of these plans."""
    return ColumnTable(
        title="The storage modes side by side",
        names=tuple(mode.name for mode in plans),
        rows=tuple((name, *map(figure, plans.values())) for name, figure in ROWS.items()),
        summaries=tuple(f"{mode}: {mode.summary}" for mode in plans),
    )


def _of_cached_tables(plan: Plan) -> str:
    """Return the words that limit the hit ratio to cached tables; empty if all tables are cached."""
    return "" if all(table.cached for table in plan.tables) else " of reads of cached tables"


CANNOT_SERVE: Final = "-"  # a cluster that cannot serve the load has no price worth comparing


def _verdict(plan: Plan) -> str:
    return "yes" if plan.meets_targets else f"no; nearest: {plan.nearest[0]}" if plan.nearest else "no"


def _data_volume(plan: Plan) -> str:
    volumes = [volume for volume in plan.core.volumes if volume.purpose != "system"]
    return "".join(f"{volume.count} x {volume.size_gib:,} GiB {volume.type}" for volume in volumes) or "none"


def _reads(plan: Plan) -> str:
    return f"{plan.throughput.reads_per_second:,.0f}/s"


def _saturation(plan: Plan) -> str:
    return f"{plan.throughput.saturation_reads_per_second:,.0f}/s, {plan.throughput.bottleneck}"


def _price(plan: Plan) -> str:
    return format_usd(plan.cost.usd_per_month) if plan.feasible else CANNOT_SERVE


def _per_thousand_reads(plan: Plan) -> str:
    rate = plan.throughput.reads_per_second
    return f"{format_usd(plan.cost.usd_per_month / rate * 1000)} a month" if plan.feasible else CANNOT_SERVE


ROWS: Final[Mapping[str, Callable[[Plan], str]]] = {
    "meets the targets": _verdict,
    "core nodes": lambda plan: f"{plan.core.count} x {plan.core.instance_type}",
    "data per node": _data_volume,
    "reads": _reads,
    "at most": _saturation,
    "mean latency": lambda plan: f"{plan.throughput.mean_latency_ms:,.0f} ms",
    "p99 (estimate)": lambda plan: f"{plan.throughput.p99_latency_ms:,.0f} ms",
    "from local disks": lambda plan: format_percent(plan.hit_ratio.predicted) + _of_cached_tables(plan),
    "S3 GETs, warm": lambda plan: f"{plan.s3.gets_per_hour_warm / SECONDS_PER_HOUR:,.0f}/s",
    "warm after": lambda plan: format_duration(plan.warm_up.prefetch_seconds) if plan.bucket_cache else "no cache",
    "snapshot import": lambda plan: format_duration(plan.snapshot.restore_seconds),
    "a month": _price,
    "for 1,000 reads/s": _per_thousand_reads,
}


class ColumnTable(Struct, frozen=True, kw_only=True):
    """The columns' names, rows of a figure's name and its text in each column, and a summary of each column."""

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
