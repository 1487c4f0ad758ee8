"""The pages of `warmbase plan --why`, `--cost` and `--all`, as wide as the terminal up to 120 columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from warmbase.cli.page import Column, Paragraph, Part, Row, Style, Table, Text, rows_table, styled
from warmbase.cli.size.plan_summary import boost_text, outcome
from warmbase.environments.override import PINNED, Override
from warmbase.ground.errors import fix_line
from warmbase.ground.units import GIB, MIB, format_duration, format_percent, format_rate, format_size, format_usd
from warmbase.linter.secret import redacted
from warmbase.reports.amounts import amount_text
from warmbase.reports.plan_text import provision_text
from warmbase.sizing.plan import Plan

CYAN: Final[Style] = {"fg": "cyan"}
DIM: Final[Style] = {"dim": True}
PURPOSES = {"cache": "the cache", "data": "the data", "system": "HDFS, YARN and logs"}


def plan_page(plan: Plan, overrides: Sequence[Override], pages: Collection[str]) -> Iterator[Part]:
    """Yield the sections of these pages: `why`, `cost`, or `everything`."""
    head = styled(plan.environment, bold=True) + f" {plan.cluster}: {plan.mode} on {plan.release}"
    nearest = styled("misses its targets (nearest cluster)", fg="red", bold=True)
    yield head if plan.feasible else head + "  " + nearest
    for page, title, *parts in _sections(plan, overrides):
        if page in pages or "everything" in pages:
            yield from ("", styled(title, bold=True), *parts)


def _sections(plan: Plan, overrides: Sequence[Override]) -> Iterator[tuple[Any, ...]]:
    """Yield each section: the page that it belongs to, its title, and its parts."""
    yield "everything", "Buy", rows_table(_purchases(plan))
    yield "why", "What it does", rows_table(outcome(plan))
    yield "why", "Each RegionServer", rows_table(_region_server(plan))
    yield "why", "Why", *_whys(plan)
    yield "why", "What limits it", _limits(plan)
    if plan.writes.offered_bytes_per_second:
        yield "why", "What limits its writes", _write_limits(plan)
    yield "cost", f"Cost per month, {_price_basis(plan)}", _costs(plan)
    if plan.alternatives:
        yield "cost", "Saves money", rows_table(_alternatives(plan))
    if plan.warnings or plan.nearest:
        yield "why", "Watch", rows_table(_watch_rows(plan))
    if overrides:
        yield "why", "Overrides", *_overrides(overrides)
    searched = f"{plan.searched.evaluated:,} candidates evaluated, {plan.searched.pruned:,} skipped"
    yield "everything", f"Rejected: {searched}", _rejected(plan)


def _overrides(overrides: Sequence[Override]) -> Iterator[Paragraph]:
    for override in overrides:
        value = redacted(override.key, override.value)
        yield Paragraph(text=f"{override.classification} {override.key} = {value}")
        yield Paragraph(text=f"{override.where}: {_use(override)}", indent=2, hanging=-2)


def _use(override: Override) -> str:
    """Return whether the figures of the plan follow from an override, in words."""
    is_pin = (override.classification, override.key) in PINNED
    return "the plan uses it" if is_pin else "no figure of the plan depends on it"


def _purchases(plan: Plan) -> Iterator[tuple[str, Text]]:
    yield "core", f"{plan.core.count} x {plan.core.instance_type}, each with"
    purposes = PURPOSES if plan.hdfs is None else PURPOSES | {"system": "YARN and logs"}
    for volume in plan.core.volumes:
        yield "", f"{provision_text(volume)} for {purposes[volume.purpose]}"
    yield "primary", f"{plan.primary.count} x {plan.primary.instance_type}"
    estimate = ", ESTIMATE" if plan.prices.estimate else ""
    yield "price", styled(format_usd(plan.cost.usd_per_month), bold=True) + f" a month{estimate}"


def _region_server(plan: Plan) -> Iterator[Row]:
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


def _whys(plan: Plan) -> Iterator[Paragraph]:
    for path, explanation in plan.because.items():
        yield Paragraph(text=styled(path, fg="cyan") + f": {explanation.sentence}")
        yield Paragraph(text=styled(explanation.formula, dim=True), indent=2, hanging=-2)


def _limits(plan: Plan) -> Table:
    rows = []
    for resource in plan.throughput.resources:
        limit = resource.max_reads_per_second
        most = f"{limit:,.0f}" if limit < float("inf") else "none"
        demand = amount_text(resource.demand_per_read, resource.unit.removesuffix("/s"))
        used = format_percent(plan.throughput.reads_per_second / limit)
        rows.append((resource.name, amount_text(resource.capacity, resource.unit), demand, most, used))
    return _limits_table("capacity", "per read", "max reads/s", rows)


def _write_limits(plan: Plan) -> Table:
    rows = []
    for resource in plan.writes.resources:
        limit = resource.max_bytes_per_second
        most = format_rate(limit) if limit < float("inf") else "none"
        demand = amount_text(MIB * resource.demand_per_byte, resource.unit.removesuffix("/s"))
        used = format_percent(plan.writes.offered_bytes_per_second / limit)
        rows.append((resource.name, amount_text(resource.capacity, resource.unit), demand, most, used))
    return _limits_table("left by reads", "per MiB", "max writes/s", rows)


def _limits_table(capacity: str, demand: str, most: str, rows: Sequence[Sequence[str]]) -> Table:
    figures = (Column(heading=heading, right=True) for heading in (capacity, demand, most, "used"))
    return Table(columns=(Column(heading="resource", style=CYAN), *figures), rows=rows, wide=True)


def _price_basis(plan: Plan) -> str:
    if plan.prices.estimate:
        return plan.prices.described
    less = f", less {format_percent(plan.prices.discount)} on EC2" if plan.prices.discount else ""
    return f"at prices of {plan.prices_as_of}{less}"


def _costs(plan: Plan) -> Table:
    rows = [(line.item, format_usd(line.usd_per_month), line.because) for line in plan.cost.lines]
    total = styled("total", fg="cyan", bold=True), styled(format_usd(plan.cost.usd_per_month), bold=True), ""
    boosts = [
        ("boost", f"{format_usd(boost.usd_per_hour)}/h", f"only while you boost a fill: {boost_text(plan)}")
        for boost in plan.warm_up.boosts[-1:]
    ]
    columns = (Column(style=CYAN), Column(right=True, whole=True), Column(flexible=True, style=DIM))
    return Table(columns=columns, rows=[*rows, total, *boosts])


def _rejected(plan: Plan) -> Table:
    rows = []
    for rejection in plan.rejected:
        unnamed = rejection.bottleneck and rejection.bottleneck not in rejection.reason
        limit = f" ({rejection.bottleneck})" if unnamed else ""
        nodes = f"{rejection.count} x {rejection.instance_type}"
        rows.append((nodes, format_usd(rejection.usd_per_month), rejection.reason + limit))
    nodes_column = Column(heading="nodes", style=CYAN, whole=True)
    columns = (nodes_column, Column(heading="a month", right=True), Column(heading="reason", flexible=True))
    return Table(columns=columns, rows=rows)


def _alternatives(plan: Plan) -> Iterator[Row]:
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


def _watch_rows(plan: Plan) -> Iterator[tuple[str, Text]]:
    """Yield what to know before a deployment, with how to mend it."""
    for reason in plan.nearest:
        yield "nearest", reason
    for warning in plan.warnings:
        yield warning.severity, warning.message
        yield "", styled(fix_line(warning.fix), dim=True)
