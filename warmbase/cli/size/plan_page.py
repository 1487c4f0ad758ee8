"""The pages of `warmbase plan --why`, `--cost` and `--all`, as wide as the terminal up to 120 columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from warmbase.cli.page import Column, Paragraph, Part, Row, Style, Table, Text, rows_table, styled
from warmbase.cli.size.plan_summary import boost_text, outcome
from warmbase.environments.environment import PINNED, Override
from warmbase.ground.errors import fix_line
from warmbase.ground.secret import redacted
from warmbase.ground.units import (
    GIB,
    MIB,
    amount_text,
    format_duration,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)
from warmbase.reports.plan_text import provision_text
from warmbase.sizing.plan import Plan
from warmbase.sizing.server.writes import WriteResource
from warmbase.sizing.service.resource import Resource

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
    purposes = PURPOSES if plan.hdfs is None else PURPOSES | {"system": "YARN and logs"}
    price = styled(format_usd(plan.cost.usd_per_month), bold=True)
    purchase: list[tuple[str, Text]] = [
        ("core", f"{plan.core.count} x {plan.core.instance_type}, each with"),
        *(("", f"{provision_text(volume)} for {purposes[volume.purpose]}") for volume in plan.core.volumes),
        ("primary", f"{plan.primary.count} x {plan.primary.instance_type}"),
        ("price", price + f" a month{', ESTIMATE' if plan.prices.estimate else ''}"),
    ]
    yield "everything", "Buy", rows_table(purchase)
    yield "why", "What it does", rows_table(outcome(plan))
    yield "why", "Each RegionServer", rows_table(_region_server(plan))
    whys = list[Part]()
    for path, explanation in plan.because.items():
        whys.append(Paragraph(text=styled(path, fg="cyan") + f": {explanation.sentence}"))
        whys.append(Paragraph(text=styled(explanation.formula, dim=True), indent=2, hanging=-2))
    yield "why", "Why", *whys
    used = plan.throughput.reads_per_second
    reads = [
        _limit_cells(one, one.max_reads_per_second, used, one.demand_per_read, "{:,.0f}".format)
        for one in plan.throughput.resources
    ]
    yield "why", "What limits it", _limits_table("capacity", "per read", "max reads/s", reads)
    if offered := plan.writes.offered_bytes_per_second:
        writes = [
            _limit_cells(one, one.max_bytes_per_second, offered, MIB * one.demand_per_byte, format_rate)
            for one in plan.writes.resources
        ]
        yield "why", "What limits its writes", _limits_table("left by reads", "per MiB", "max writes/s", writes)
    less = f", less {format_percent(plan.prices.discount)} on EC2" if plan.prices.discount else ""
    basis = plan.prices.described if plan.prices.estimate else f"at prices of {plan.prices_as_of}{less}"
    lines: list[tuple[Text, Text, str]] = [
        *((line.item, format_usd(line.usd_per_month), line.because) for line in plan.cost.lines),
        (styled("total", fg="cyan", bold=True), price, ""),
        *(
            ("boost", f"{format_usd(boost.usd_per_hour)}/h", f"only while you boost a fill: {boost_text(plan)}")
            for boost in plan.warm_up.boosts[-1:]
        ),
    ]
    columns = (Column(style=CYAN), Column(right=True, whole=True), Column(flexible=True, style=DIM))
    yield "cost", f"Cost per month, {basis}", Table(columns=columns, rows=lines)
    if plan.alternatives:
        yield "cost", "Saves money", rows_table(_alternatives(plan))
    watched: list[tuple[str, Text]] = [("nearest", reason) for reason in plan.nearest]
    for warning in plan.warnings:
        watched += [(warning.severity, warning.message), ("", styled(fix_line(warning.fix), dim=True))]
    if watched:
        yield "why", "Watch", rows_table(watched)
    if overrides:
        yield "why", "Overrides", *_overrides(overrides)
    rejected = []
    for rejection in plan.rejected:
        unnamed = rejection.bottleneck and rejection.bottleneck not in rejection.reason
        limit = f" ({rejection.bottleneck})" if unnamed else ""
        nodes = f"{rejection.count} x {rejection.instance_type}"
        rejected.append((nodes, format_usd(rejection.usd_per_month), rejection.reason + limit))
    columns = (
        Column(heading="nodes", style=CYAN, whole=True),
        Column(heading="a month", right=True),
        Column(heading="reason", flexible=True),
    )
    searched = f"{plan.searched.evaluated:,} candidates evaluated, {plan.searched.pruned:,} skipped"
    yield "everything", f"Rejected: {searched}", Table(columns=columns, rows=rejected)


def _overrides(overrides: Sequence[Override]) -> Iterator[Paragraph]:
    for override in overrides:
        is_pin = (override.classification, override.key) in PINNED
        use = "the plan uses it" if is_pin else "no figure of the plan depends on it"
        yield Paragraph(text=f"{override.classification} {override.key} = {redacted(override.key, override.value)}")
        yield Paragraph(text=f"{override.where}: {use}", indent=2, hanging=-2)


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


def _limit_cells(
    resource: Resource | WriteResource, limit: float, used: float, demand: float, text: Callable[[float], str]
) -> tuple[str, ...]:
    """Return the name of a resource, its capacity, the demand on it, its limit, and the share in use."""
    most = text(limit) if limit < float("inf") else "none"
    demanded = amount_text(demand, resource.unit.removesuffix("/s"))
    return resource.name, amount_text(resource.capacity, resource.unit), demanded, most, format_percent(used / limit)


def _limits_table(capacity: str, demand: str, most: str, rows: Sequence[Sequence[str]]) -> Table:
    figures = (Column(heading=heading, right=True) for heading in (capacity, demand, most, "used"))
    return Table(columns=(Column(heading="resource", style=CYAN), *figures), rows=rows, wide=True)


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
