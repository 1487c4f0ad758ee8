"""`warmbase compare` plans the same workload in each storage mode, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import click

from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from cli.terminal import echo, echo_styled
from environments.planning import compared_plans
from environments.reader import read_environment
from sizing.modes import Mode
from sizing.plan import Plan
from sizing.units import SECONDS_PER_HOUR, format_duration, format_percent, format_usd


@click.command()
@environment_argument
@cluster_option
@output_option
def compare(environment: str, cluster: str | None, output: str) -> None:
    """Compare the storage modes for one environment.

    Each column is the cheapest cluster that meets the targets in one mode: S3 with a disk cache, S3 without a cache,
    and HDFS. The calculator chooses everything, even where the file pins the cluster. For a mode that cannot meet the
    targets, the column shows the nearest target that it could meet.

    \b
    Example:
      warmbase compare prod
    """
    read = read_environment(environment)
    plans = compared_plans(read, chosen_cluster(read, cluster))
    if output == "json":
        from reports.json_text import json_text  # noqa: PLC0415 - each output loads what it needs

        echo(json_text(plans))
    else:
        _print(plans)


def _print(plans: Mapping[Mode, Plan]) -> None:
    from rich.console import Console  # noqa: PLC0415 - for people
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=80, header_style="bold")
    table.add_column("")
    for mode in plans:
        table.add_column(mode.name)
    for name, figure in ROWS.items():
        table.add_row(f"[cyan]{name}[/cyan]", *(figure(plan) for plan in plans.values()))
    console = Console(highlight=False, width=80)
    with console.capture() as page:
        console.print(table)
    for line in page.get().splitlines():
        echo_styled(line.rstrip())
    echo()
    for mode in plans:
        echo(f"{mode}: {mode.summary}")
    for note in {plan.prices for plan in plans.values() if plan.prices.estimate}:
        echo(f"Prices are an {note.described}. To use the real prices, run: {note.refresh}")


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


ROWS: Mapping[str, Callable[[Plan], str]] = {
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
