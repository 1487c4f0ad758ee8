"""The page that `warmbase plan` prints, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from environments.override import Override
from environments.pins import PINNED
from lint.secret import redacted
from reports.amounts import amount_text
from sizing.cluster import Volume
from sizing.plan import Plan, Throughput
from sizing.problem import fix_line
from sizing.restart import Restart
from sizing.units import (
    GIB,
    MIB,
    SECONDS_PER_HOUR,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)

PAGE_COLUMNS = 80
LITTLE_MORE = 1.1
USUAL_HIT_RATIOS = (0.8, 0.9, 0.95)
PURPOSES = {"cache": "the cache", "data": "the data", "system": "HDFS, YARN and logs"}
Rows = Iterable[tuple[str, ...]]


def print_plan(plan: Plan, overrides: Sequence[Override] = (), *, explain: bool = False) -> None:
    """Print the page: what to buy, what it does, why, what limits it, what it costs, what to watch.

    With `explain` the page also lists the rejected candidates, nearest first.
    """
    console = Console(highlight=False)
    with console.capture() as page:
        _print(console, plan, overrides, explain=explain)
    # Tables are padded to their width; what is printed ends where the words do.
    print("\n".join(line.rstrip() for line in page.get().splitlines()), flush=True)  # noqa: T201 - the command's answer


def _print(console: Console, plan: Plan, overrides: Sequence[Override], *, explain: bool) -> None:
    width = min(PAGE_COLUMNS, console.width)
    console.print(_headline(plan))
    sections = _sections(plan, width)
    if overrides:
        sections = {**sections, "Overrides": _overrides(overrides, width)}
    if explain:
        searched = f"{plan.searched.evaluated:,} candidates evaluated, {plan.searched.pruned:,} skipped"
        sections = {**sections, f"Rejected: {searched}": _rejected(plan, width)}
    for title, table in sections.items():
        console.print(f"\n[bold]{title}[/bold]")
        console.print(table)


def _headline(plan: Plan) -> str:
    verdict = "" if plan.feasible else "  [bold red]misses its targets (nearest cluster)[/bold red]"
    return f"[bold]{plan.environment}[/bold] {plan.cluster}: {plan.mode} on {plan.release}{verdict}"


def _sections(plan: Plan, width: int) -> Mapping[str, Table]:
    advice = {"Saves money": _rows_table(_alternatives(plan), width)} if plan.alternatives else {}
    warnings = {"Watch": _rows_table(_warnings(plan), width)} if plan.warnings or plan.nearest else {}
    return {
        "Buy": _rows_table(_purchases(plan), width),
        "What it does": _rows_table(_outcome(plan), width),
        "Each RegionServer": _rows_table(_region_server(plan), width),
        "Why": _paragraphs(_whys(plan), width),
        "What limits it": _limits(plan, width),
        **({"What limits its writes": _write_limits(plan, width)} if plan.writes.offered_bytes_per_second else {}),
        f"Cost per month, {_price_basis(plan)}": _costs(plan, width),
        **advice,
        **warnings,
    }


def _overrides(overrides: Sequence[Override], width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=0, width=width)
    table.add_column(overflow="fold")
    for override in overrides:
        table.add_row(f"{override.classification} {override.key} = {redacted(override.key, override.value)}")
        table.add_row(f"  {override.where}: {_use(override)}")
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


def _outcome(plan: Plan) -> Rows:
    load, restart = plan.throughput, plan.restart
    offered = "" if load.offered_reads_per_second is None else f" of {load.offered_reads_per_second:,.0f} offered"
    latency = f"{format_number(load.mean_latency_ms)} ms"
    percentiles = f"p50 {load.p50_latency_ms:,.0f}, p95 {load.p95_latency_ms:,.0f}, p99 {load.p99_latency_ms:,.0f} ms"
    yield "hit ratio", f"{format_percent(plan.hit_ratio.predicted)} of block reads come from local disks once warm"
    yield "reads", f"{load.reads_per_second:,.0f}/s{offered}, {latency} on average"
    yield "latency", f"{percentiles} (estimates)"
    yield (
        "in flight",
        f"{format_number(round(load.concurrency, 1))} requests = {load.reads_per_second:,.0f}/s x {latency}",
    )
    if plan.peak:
        yield "peak hour", _peak(plan, plan.peak)
    yield "saturates", f"at {load.saturation_reads_per_second:,.0f} reads/s; {load.bottleneck} is the bottleneck"
    busiest = load.busiest_server
    if busiest.requests > LITTLE_MORE:
        requests, blocks = format_number(busiest.requests), format_number(busiest.blocks)
        times = f"{requests} times the mean number of requests, and reads {blocks} times the mean number of blocks"
        yield "busiest", f"one RegionServer serves {times}, because regions are not equally popular"
    if plan.writes.offered_bytes_per_second:
        offered, most = (
            format_rate(rate)
            for rate in (plan.writes.offered_bytes_per_second, plan.writes.saturation_bytes_per_second)
        )
        yield (
            "writes",
            f"{offered} of cell values; HBase begins to block writes at {most}, limited by {plan.writes.bottleneck}",
        )
    if plan.bucket_cache:
        knee = format_size(plan.hit_ratio.knee_bytes)
        yield "cache", f"{_hit_ratios(plan)}beyond {knee} each TiB adds fewer hits"
        yield (
            "warm-up",
            f"{format_duration(plan.warm_up.prefetch_seconds)} by prefetch, limited by {plan.warm_up.limit}",
        )
        yield from _cold(plan)
    yield "S3", f"{_gets(plan.s3.gets_per_hour_cold)} while cold, {_gets(plan.s3.gets_per_hour_warm)} once warm"
    export, restore = (
        format_duration(seconds) for seconds in (plan.snapshot.export_seconds, plan.snapshot.restore_seconds)
    )
    yield "snapshot", f"{export} to export, {restore} to import (estimates), {_mappers(plan)}"
    yield "restart", _restart(restart)
    if plan.hdfs:
        yield "node lost", f"HDFS has all copies again after {format_duration(plan.hdfs.recovery_seconds)} (estimate)"
    yield from _bad_hours(plan)


def _peak(plan: Plan, peak: Throughput) -> str:
    """Return the peak hour's load, latency and utilisation beside those of the mean hour."""
    mean, rate = plan.throughput, f"{peak.reads_per_second:,.0f}/s"
    if peak.offered_reads_per_second is not None:
        rate = f"{rate} of {peak.offered_reads_per_second:,.0f} offered"
    used = f"{format_percent(peak.utilisation_fraction)} of {peak.bottleneck} used"
    return (
        f"{rate}, {format_number(peak.mean_latency_ms)} ms on average, p99 {peak.p99_latency_ms:,.0f} ms (estimate); "
        f"{used} (mean hour: {format_percent(mean.utilisation_fraction)}); the hit ratio stays "
        f"{format_percent(plan.hit_ratio.predicted)}"
    )


def _cold(plan: Plan) -> Rows:
    cold, offered = plan.bad_hours.cold, plan.throughput.offered_reads_per_second
    if cold is None:
        return
    if offered is None or cold.carried_seconds == 0:
        yield "cold", f"{cold.reads_per_second:,.0f} reads/s while the caches are empty"
        return
    carried = "never all" if cold.carried_seconds is None else f"all after {format_duration(cold.carried_seconds)}"
    served = f"{cold.reads_per_second:,.0f} of {offered:,.0f} reads/s while the caches are empty"
    yield "cold", f"{served}, limited by {cold.bottleneck}; {carried}"


def _mappers(plan: Plan) -> str:
    """Return how many mappers copy, and what YARN needs for more than it has room for."""
    if plan.snapshot.yarn_mib <= plan.yarn_mib:
        return "one mapper per node" if plan.snapshot.mappers == plan.core.count else f"{plan.snapshot.mappers} mappers"
    needed = format_size(plan.snapshot.yarn_mib * MIB)
    return (
        f"{plan.snapshot.mappers:,} mappers, which need {needed} of YARN memory per node; the plan leaves"
        f" {format_size(plan.yarn_mib * MIB)}, so add task nodes for the copy"
    )


def _bad_hours(plan: Plan) -> Rows:
    lost = plan.bad_hours.lost_node
    if lost is not None:
        offline, with_meta = (
            format_duration(seconds) for seconds in (lost.offline_seconds, lost.offline_with_meta_seconds)
        )
        rows = f"{format_percent(lost.rows_fraction)} of rows are offline for {offline} (estimate)"
        hit_ratio, p99 = format_percent(lost.cold_hit_ratio), f"{lost.p99_latency_ms:,.0f} ms"
        afterwards = f"then the hit ratio is {hit_ratio}; once the other nodes are warm again, p99 is {p99}"
        yield "node lost", f"{rows}, or {with_meta} if the node had hbase:meta; {afterwards}"
    new = plan.bad_hours.replaced_node
    if new is not None:
        regions = format_duration(new.launch_seconds + new.regions_seconds)
        while_cold = (
            f"until then the hit ratio is {format_percent(new.hit_ratio)}, p99 {new.p99_latency_ms:,.0f} ms, and the "
            f"cluster serves {new.reads_per_second:,.0f} reads/s"
        )
        warm = f", and a warm cache {format_duration(new.warm_seconds)} later; {while_cold}" if new.warm_seconds else ""
        yield "replaced", f"EMR's new node has its regions after {regions} at most (ESTIMATE){warm}"
    yield "load", f"at least {format_duration(plan.bad_hours.initial_load_seconds)} to load all data with puts"


def _restart(restart: Restart) -> str:
    away, window = format_duration(restart.away_seconds), format_duration(restart.retention_window_seconds)
    if not restart.retain_retries:
        return f"{format_duration(restart.seconds)} per server (estimate); other servers open its regions meanwhile"
    return (
        f"{format_duration(restart.seconds)} per server (estimate), cache kept; its regions are unavailable for {away} "
        f"(the master waits up to {window} before it moves them)"
    )


def _hit_ratios(plan: Plan) -> str:
    """Return how much cache the usual hit ratios need, from the curve; empty where the curve reaches none of them."""
    needs = {
        ratio: next((size for size, predicted in plan.hit_ratio.curve if predicted >= ratio), None)
        for ratio in USUAL_HIT_RATIOS
    }
    sizes = [f"{ratio * 100:.0f} % with {format_size(size)}" for ratio, size in needs.items() if size is not None]
    return f"hits reach {', '.join(sizes)} in the whole cluster; " if sizes else ""


def _gets(per_hour: float) -> str:
    return f"{per_hour / SECONDS_PER_HOUR:,.0f} GETs/s"


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


def _warnings(plan: Plan) -> Rows:
    for reason in plan.nearest:
        yield "nearest", reason
    for warning in plan.warnings:
        yield warning.severity, f"{warning.message}\n[dim]{fix_line(warning.fix)}[/dim]"
