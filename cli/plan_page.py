"""A plan as a page for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table

from sizing.because import Quantity
from sizing.cluster import Volume
from sizing.plan import Plan
from sizing.units import (
    GIB,
    MIB,
    format_duration,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)

__all__ = ["print_plan"]

PAGE_COLUMNS = 80
Rows = Iterable[tuple[str, ...]]


def print_plan(plan: Plan, console: Console | None = None) -> None:
    """The page on stdout: what to buy, what it does, why, what limits it, what it costs, what to watch."""
    console = console or Console(highlight=False)
    width = min(PAGE_COLUMNS, console.width)
    console.print(_headline(plan))
    for title, table in _sections(plan, width).items():
        console.print(f"\n[bold]{title}[/bold]")
        console.print(table)


def _headline(plan: Plan) -> str:
    verdict = "" if plan.feasible else "  [bold red]misses its targets[/bold red]"
    return f"[bold]{plan.environment}[/bold] {plan.cluster}: {plan.mode} on {plan.release}{verdict}"


def _sections(plan: Plan, width: int) -> Mapping[str, Table]:
    warnings = {"To watch": _rows_table(_warnings(plan), width)} if plan.warnings or plan.nearest else {}
    return {
        "To buy": _rows_table(_purchases(plan), width),
        "What it does": _rows_table(_outcome(plan), width),
        "Each RegionServer": _rows_table(_region_server(plan), width),
        "Why": _paragraphs(_whys(plan), width),
        "What limits it": _limits(plan, width),
        f"What it costs a month, at prices of {plan.prices_as_of}": _costs(plan, width),
        **warnings,
    }


def _rows_table(rows: Rows, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _paragraphs(rows: Rows, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _purchases(plan: Plan) -> Rows:
    yield "core", f"{plan.core.count} x {plan.core.instance_type}, each with"
    for volume in plan.core.volumes:
        yield "", f"{_volume(volume)} for {'the cache' if volume.purpose == 'cache' else 'HDFS, YARN and logs'}"
    yield "primary", f"{plan.primary.count} x {plan.primary.instance_type}"
    yield "month", f"[bold]{format_usd(plan.cost.usd_per_month)}[/bold]"


def _volume(volume: Volume) -> str:
    many = f"{volume.count} x " if volume.count > 1 else ""
    return f"{many}{volume.size_gib:,} GiB {volume.type}, {volume.iops:,} IOPS, {volume.throughput_mib_s:,} MiB/s"


def _outcome(plan: Plan) -> Rows:
    load, restart = plan.throughput, plan.restart
    offered = "" if load.offered_reads_per_second is None else f" of {load.offered_reads_per_second:,.0f} offered"
    kept = f"{format_duration(restart.seconds)} (estimate) with the cache kept"
    window = format_duration(restart.retention_window_seconds)
    latency = f"{load.mean_latency_ms:,.0f} ms"
    yield "hit ratio", f"{format_percent(plan.hit_ratio.predicted)} of block reads, once warm"
    yield "reads", f"{load.reads_per_second:,.0f}/s{offered}, in {latency} on average (estimate)"
    yield "in flight", f"{load.concurrency:,.0f} = {load.reads_per_second:,.0f}/s x {latency}"
    yield "saturates", f"at {load.saturation_reads_per_second:,.0f} reads/s, by {load.bottleneck}"
    away = format_duration(restart.away_seconds)
    yield "restart", f"{kept}; away for {away} of it, and its regions wait {window} for it"


def _region_server(plan: Plan) -> Rows:
    cache, heap, kept = plan.bucket_cache, plan.heap, plan.persistence
    sizes = ", ".join(f"{size:,}" for size in cache.bucket_sizes)
    parts = ", ".join(f"{name.replace('_', ' ')} {size / GIB:.1f}" for name, size in plan.memory.parts.items())
    fractions = f"L1 {heap.l1_fraction}, memstore {heap.memstore_fraction}"
    dumped = format_duration(kept.interval_ms / 1000)
    yield "BucketCache", f"{cache.size_mib / 1024:,.0f} GiB for {cache.blocks_held:,} blocks"
    yield "bucket sizes", f"{sizes} B; {format_percent(cache.slot_efficiency_fraction)} of a slot is block"
    yield "heap", f"{heap.xmx_mib / 1024:,.2f} GiB {heap.collector.upper()}, {fractions}"
    yield "RAM in GiB", f"{plan.memory.ram_bytes / GIB:.0f} = {parts}"
    yield "cache index", f"{format_size(kept.index_bytes)} on disk, dumped every {dumped}"


def _whys(plan: Plan) -> Rows:
    for path, because in plan.because.items():
        inputs = ", ".join(
            f"{name.replace('_', ' ')} {_quantity(quantity)}" for name, quantity in because.inputs.items()
        )
        yield (f"[cyan]{path}[/cyan] = {because.formula}" + (f"\n  [dim]{inputs}[/dim]" if inputs else ""),)


def _quantity(quantity: Quantity) -> str:
    if quantity.unit == "B" and isinstance(quantity.value, int) and quantity.value >= MIB:
        return format_size(quantity.value)
    return f"{_number(quantity.value)} {quantity.unit}".rstrip()


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004


def _limits(plan: Plan, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="dim")
    table.add_column("resource", style="cyan")
    for name in ("capacity", "for each read", "reads/s", "used"):
        table.add_column(name, justify="right")
    for resource in plan.throughput.resources:
        limit = resource.max_reads_per_second
        used = plan.throughput.reads_per_second / limit
        table.add_row(
            resource.name,
            _amount(resource.capacity, resource.unit),
            _amount(resource.demand_per_read, resource.unit.removesuffix("/s")),
            f"{limit:,.0f}" if limit < float("inf") else "none",
            format_percent(used),
        )
    return table


def _amount(value: float, unit: str) -> str:
    if unit == "B/s":
        return format_rate(value)
    if unit == "B":
        return format_size(value)
    return f"{_number(round(value, 4))} {unit}"


def _costs(plan: Plan, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    table.add_column(style="cyan")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for line in plan.cost.lines:
        table.add_row(line.item, format_usd(line.usd_per_month), line.because)
    table.add_row("[bold]all[/bold]", f"[bold]{format_usd(plan.cost.usd_per_month)}[/bold]", "")
    return table


def _warnings(plan: Plan) -> Rows:
    for reason in plan.nearest:
        yield "target", reason
    for warning in plan.warnings:
        yield warning.severity, f"{warning.message}\n[dim]fix: {warning.fix}[/dim]"
