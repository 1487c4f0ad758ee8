"""The pages of `warmbase plan --why`, `--cost` and `--all`, as wide as the terminal up to 120 columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from warmbase.cli.size.plan_summary import Rows, boost_text, outcome
from warmbase.cli.terminal import echo_styled, page_columns, rich_text
from warmbase.environments.override import PINNED, Override
from warmbase.ground.errors import fix_line
from warmbase.ground.units import GIB, MIB, format_duration, format_percent, format_rate, format_size, format_usd
from warmbase.linter.secret import redacted
from warmbase.reports.amounts import amount_text
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Volume

PURPOSES = {"cache": "the cache", "data": "the data", "system": "HDFS, YARN and logs"}


def print_plan(plan: Plan, overrides: Sequence[Override], pages: Collection[str]) -> None:
    """Print the sections of these pages: `why`, `cost`, or `everything`."""
    console = Console(highlight=False)
    with console.capture() as page:
        _print(console, plan, overrides, pages)
    # Tables are padded to their width; what is printed ends where the words do.
    echo_styled("\n".join(line.rstrip() for line in page.get().splitlines()))


def _print(console: Console, plan: Plan, overrides: Sequence[Override], pages: Collection[str]) -> None:
    console.print(_headline(plan))
    for page, title, table in _sections(plan, overrides, page_columns()):
        if page not in pages and "everything" not in pages:
            continue
        console.print(f"\n[bold]{title}[/bold]")
        console.print(table)


def _headline(plan: Plan) -> str:
    verdict = "" if plan.feasible else "  [bold red]misses its targets (nearest cluster)[/bold red]"
    return f"[bold]{plan.environment}[/bold] {plan.cluster}: {plan.mode} on {plan.release}{verdict}"


def _sections(plan: Plan, overrides: Sequence[Override], width: int) -> Iterator[tuple[str, str, Table]]:
    """Yield each section with its title and the page that it belongs to."""
    yield "everything", "Buy", _rows_table(_purchases(plan), width)
    yield "why", "What it does", _rows_table(outcome(plan), width)
    yield "why", "Each RegionServer", _rows_table(_region_server(plan), width)
    yield "why", "Why", _paragraphs(_whys(plan), width)
    yield "why", "What limits it", _limits(plan, width)
    if plan.writes.offered_bytes_per_second:
        yield "why", "What limits its writes", _write_limits(plan, width)
    yield "cost", f"Cost per month, {_price_basis(plan)}", _costs(plan, width)
    if plan.alternatives:
        yield "cost", "Saves money", _rows_table(_alternatives(plan), width)
    if plan.warnings or plan.nearest:
        yield "why", "Watch", _rows_table(watch_rows(plan), width)
    if overrides:
        yield "why", "Overrides", _overrides(overrides, width)
    searched = f"{plan.searched.evaluated:,} candidates evaluated, {plan.searched.pruned:,} skipped"
    yield "everything", f"Rejected: {searched}", _rejected(plan, width)


def _overrides(overrides: Sequence[Override], width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=0, width=width)
    table.add_column(overflow="fold")
    for override in overrides:
        setting = f"{override.classification} {override.key} = {redacted(override.key, override.value)}"
        table.add_row(rich_text(setting))
        table.add_row(rich_text(f"  {override.where}: {_use(override)}"))
    return table


def _use(override: Override) -> str:
    """Return whether the figures of the plan follow from an override, in words."""
    is_pin = (override.classification, override.key) in PINNED
    return "the plan uses it" if is_pin else "no figure of the plan depends on it"


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
    purposes = PURPOSES if plan.hdfs is None else PURPOSES | {"system": "YARN and logs"}
    for volume in plan.core.volumes:
        yield "", f"{_volume(volume)} for {purposes[volume.purpose]}"
    yield "primary", f"{plan.primary.count} x {plan.primary.instance_type}"
    estimate = ", ESTIMATE" if plan.prices.estimate else ""
    yield "price", f"[bold]{format_usd(plan.cost.usd_per_month)}[/bold] a month{estimate}"


def _volume(volume: Volume) -> str:
    many = f"{volume.count} x " if volume.count > 1 else ""
    return f"{many}{volume.size_gib:,} GiB {volume.type}, {volume.iops:,} IOPS, {volume.throughput_mib_s:,} MiB/s"


def _region_server(plan: Plan) -> Rows:
    cache, heap = plan.bucket_cache, plan.heap
    if cache:
        sizes = ", ".join(f"{size:,}" for size in cache.bucket_sizes)
        yield "BucketCache", f"{cache.size_mib / 1024:,.0f} GiB for {cache.blocks_held:,} blocks"
        yield "bucket sizes", f"{sizes} B; blocks fill {format_percent(cache.slot_efficiency_fraction)} of their slots"
    parts = ", ".join(f"{name.replace('_', ' ')} {size / GIB:.1f}" for name, size in plan.memory.parts.items())
    fractions = f"L1 {heap.l1_fraction}, memstore {heap.memstore_fraction}"
    yield "heap", f"{heap.xmx_mib / 1024:,.2f} GiB {heap.collector.upper()}, {fractions}"
    yield "RAM in GiB", f"{plan.memory.ram_bytes / GIB:.0f} = {parts}"
    if cache:
        interval = format_duration(plan.persistence.interval_ms / 1000)
        yield "cache index", f"{format_size(plan.persistence.index_bytes)} on disk, saved every {interval}"


def _whys(plan: Plan) -> Rows:
    for path, explanation in plan.because.items():
        yield (f"[cyan]{path}[/cyan]: {explanation.sentence}\n  [dim]{explanation.formula}[/dim]",)


def _limits(plan: Plan, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="dim")
    table.add_column("resource", style="cyan")
    for name in ("capacity", "per read", "max reads/s", "used"):
        table.add_column(name, justify="right")
    for resource in plan.throughput.resources:
        limit = resource.max_reads_per_second
        used = plan.throughput.reads_per_second / limit
        table.add_row(
            resource.name,
            amount_text(resource.capacity, resource.unit),
            amount_text(resource.demand_per_read, resource.unit.removesuffix("/s")),
            f"{limit:,.0f}" if limit < float("inf") else "none",
            format_percent(used),
        )
    return table


def _price_basis(plan: Plan) -> str:
    if plan.prices.estimate:
        return plan.prices.described
    less = f", less {format_percent(plan.prices.discount)} on EC2" if plan.prices.discount else ""
    return f"at prices of {plan.prices_as_of}{less}"


def _write_limits(plan: Plan, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="dim")
    table.add_column("resource", style="cyan")
    for name in ("left by reads", "per MiB", "max writes/s", "used"):
        table.add_column(name, justify="right")
    for resource in plan.writes.resources:
        limit = resource.max_bytes_per_second
        table.add_row(
            resource.name,
            amount_text(resource.capacity, resource.unit),
            amount_text(MIB * resource.demand_per_byte, resource.unit.removesuffix("/s")),
            format_rate(limit) if limit < float("inf") else "none",
            format_percent(plan.writes.offered_bytes_per_second / limit),
        )
    return table


def _costs(plan: Plan, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), width=width)
    table.add_column(style="cyan")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1, style="dim")
    for line in plan.cost.lines:
        table.add_row(line.item, format_usd(line.usd_per_month), line.because)
    table.add_row("[bold]total[/bold]", f"[bold]{format_usd(plan.cost.usd_per_month)}[/bold]", "")
    for boost in plan.warm_up.boosts[-1:]:
        table.add_row(
            "boost", f"{format_usd(boost.usd_per_hour)}/h", f"only while you boost a fill: {boost_text(plan)}"
        )
    return table


def _rejected(plan: Plan, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="dim")
    table.add_column("nodes", style="cyan", no_wrap=True)
    table.add_column("a month", justify="right")
    table.add_column("reason", ratio=1)
    for rejection in plan.rejected:
        unnamed = rejection.bottleneck and rejection.bottleneck not in rejection.reason
        limit = f" ({rejection.bottleneck})" if unnamed else ""
        nodes = f"{rejection.count} x {rejection.instance_type}"
        table.add_row(nodes, format_usd(rejection.usd_per_month), rejection.reason + limit)
    return table


def _alternatives(plan: Plan) -> Rows:
    """Yield the cheapest of the block sizes, and the cheapest codec, because both need a major compaction."""
    best = {alternative.setting: alternative for alternative in reversed(plan.alternatives)}
    for attribute, alternative in best.items():
        codec = f"{alternative.codec.upper()}, if it compresses the data {alternative.compression_ratio:g}:1"
        value = codec if attribute == "COMPRESSION" else format_size(alternative.block_bytes)
        cluster = f"{alternative.count} x {alternative.instance_type}, {format_usd(alternative.usd_per_month)} a month"
        server = (
            f"heap {alternative.heap_mib / 1024:,.2f} GiB, restart {format_duration(alternative.restart_seconds)} per"
            " server"
        )
        saving = f"{format_usd(alternative.saving_usd_per_month)} a month"
        yield saving, f"{attribute} {value}: {cluster}; {server}; takes effect with a major compaction"


def watch_rows(plan: Plan) -> Rows:
    """Yield what to know before a deployment, with how to mend it."""
    for reason in plan.nearest:
        yield "nearest", reason
    for warning in plan.warnings:
        yield warning.severity, f"{rich_text(warning.message)}\n[dim]{rich_text(fix_line(warning.fix))}[/dim]"
