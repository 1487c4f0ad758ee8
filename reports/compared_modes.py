"""The storage modes side by side: the figures of one plan for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reports.column_table import ColumnTable
from sizing.modes import Mode
from sizing.plan import Plan
from sizing.units import SECONDS_PER_HOUR, format_duration, format_percent, format_usd


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
