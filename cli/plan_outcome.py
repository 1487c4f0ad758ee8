"""The rows of a plan's page that say what the cluster does, in good hours and in bad ones."""

from __future__ import annotations

from collections.abc import Iterable

from cli.boost_text import boost_text
from reports.block_reads import block_reads
from sizing.hdfs_load import NAMENODE_REQUESTS_PER_SECOND, Hdfs
from sizing.plan import Plan, PlannedTable, Throughput
from sizing.restart import Restart
from sizing.scan_export import ScanExport
from sizing.units import (
    MIB,
    SECONDS_PER_HOUR,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)

LITTLE_MORE = 1.1
MILLION = 1_000_000
USUAL_HIT_RATIOS = (0.8, 0.9, 0.95)
Rows = Iterable[tuple[str, ...]]


def outcome(plan: Plan) -> Rows:
    """Yield what the cluster does: reads, writes, caches, S3, snapshots and bad hours, each with its label."""
    yield from _reads(plan)
    for number, table in enumerate(plan.tables):
        yield "" if number else "tables", table_text(table)
    if plan.writes.offered_bytes_per_second:
        yield "writes", _writes(plan)
    if plan.bucket_cache:
        yield from _cache(plan)
    yield "S3", f"{_gets(plan.s3.gets_per_hour_cold)} while cold, {_gets(plan.s3.gets_per_hour_warm)} once warm"
    export, restore = (
        format_duration(seconds) for seconds in (plan.snapshot.export_seconds, plan.snapshot.restore_seconds)
    )
    yield "snapshot", f"{export} to export, {restore} to import (estimates), {_mappers(plan)}"
    for number, one in enumerate(plan.scan_exports):
        yield "" if number else "export", export_text(one)
    yield "restart", _restart(plan.restart)
    if plan.hdfs:
        yield "node lost", f"HDFS has all copies again after {format_duration(plan.hdfs.recovery_seconds)} (estimate)"
        yield "NameNode", _name_node(plan.hdfs)
    yield from _bad_hours(plan)


def export_text(export: ScanExport) -> str:
    """Return a sentence about the export of a table by a scan."""
    name = f"{export.table}: " if export.table else ""
    beside = f"{export.beside_reads_per_second:,.0f} reads/s"
    if export.seconds is None:
        return f"{name}at {beside}, the load leaves no capacity for an export by a scan"
    time = f"a scan takes {format_duration(export.seconds)} (estimate) while the cluster serves {beside}"
    gets = f"about {export.gets:,.0f} GETs for {format_usd(export.gets_usd)}" if export.gets >= 1 else "no GETs"
    return f"{name}{time}, limited by {export.limit}; {gets}"


def _name_node(hdfs: Hdfs) -> str:
    requests = (
        f"{format_number(round(hdfs.refreshes_per_second, 1))} requests/s for block locations if no block is local"
    )
    return f"{requests}; a NameNode with 4 vCPUs has answered {NAMENODE_REQUESTS_PER_SECOND:,}/s"


def _reads(plan: Plan) -> Rows:
    load = plan.throughput
    offered = "" if load.offered_reads_per_second is None else f" of {load.offered_reads_per_second:,.0f} offered"
    latency = f"{format_number(load.mean_latency_ms)} ms"
    percentiles = f"p50 {load.p50_latency_ms:,.0f}, p95 {load.p95_latency_ms:,.0f}, p99 {load.p99_latency_ms:,.0f} ms"
    yield (
        "hit ratio",
        f"{format_percent(plan.hit_ratio.predicted)} of {block_reads(plan)} come from local disks once warm",
    )
    yield "reads", f"{load.reads_per_second:,.0f}/s{offered}, {latency} on average"
    yield "latency", f"{percentiles} (estimates)"
    yield (
        "in flight",
        f"{format_number(round(load.concurrency, 1))} requests = {load.reads_per_second:,.0f}/s x {latency}",
    )
    if plan.peak:
        yield "daily peak" if plan.daily_peak else "peak hour", peak_text(plan, plan.peak)
    yield "saturates", f"at {load.saturation_reads_per_second:,.0f} reads/s; {load.bottleneck} is the bottleneck"
    busiest = load.busiest_server
    if busiest.requests > LITTLE_MORE:
        requests, blocks = format_number(busiest.requests), format_number(busiest.blocks)
        times = f"{requests} times the mean number of requests, and reads {blocks} times the mean number of blocks"
        yield "busiest", f"one RegionServer serves {times}, because regions are not equally popular"


def table_text(table: PlannedTable) -> str:
    """Return the line of one table: its hits, its room in the cache, its reads, GETs and cost."""
    latency = f"p50 {table.p50_latency_ms:,.0f} ms and p99 {table.p99_latency_ms:,.0f} ms (estimates)"
    cached = "its data blocks are not cached"
    if table.cached:
        cached = (
            f"{format_percent(table.hit_ratio)} of its block reads come from local disks,"
            f" {format_size(round(table.cached_bytes))} of the table is cached"
        )
    costs = (
        ""
        if table.usd_per_month is None
        else f"; a cluster without it would cost {format_usd(table.usd_per_month)} a month less"
    )
    return (
        f"{table.name}: {cached};"
        f" {table.reads_per_second:,.0f} reads/s, {latency}, {format_number(round(table.gets_per_second, 1))} GETs/s"
        f"{costs}"
    )


def _writes(plan: Plan) -> str:
    writes = plan.writes
    offered, most = format_rate(writes.offered_bytes_per_second), format_rate(writes.saturation_bytes_per_second)
    return f"{offered} of cell values; HBase begins to block writes at {most}, limited by {writes.bottleneck}"


def _cache(plan: Plan) -> Rows:
    yield "cache", f"{_hit_ratios(plan)}beyond {format_size(plan.hit_ratio.knee_bytes)} each TiB adds fewer hits"
    warm_up = plan.warm_up
    yield "warm-up", f"{format_duration(warm_up.prefetch_seconds)} by prefetch, limited by {warm_up.limit}"
    if warm_up.server:
        yield "boost", boost_text(plan)
    yield from _cold(plan)


def peak_text(plan: Plan, peak: Throughput) -> str:
    """Return the peak hour's load, latency and utilisation beside those of the mean hour."""
    mean, rate = plan.throughput, f"{peak.reads_per_second:,.0f}/s"
    if peak.offered_reads_per_second is not None:
        rate = f"{rate} of {peak.offered_reads_per_second:,.0f} offered"
    if plan.daily_peak:
        hours, quiet = plan.daily_peak.hours, plan.daily_peak.quiet_reads_per_second
        rate = f"{rate} for {format_number(hours)} h a day ({quiet:,.0f}/s in the other hours)"
    used = f"{format_percent(peak.utilisation_fraction)} of {peak.bottleneck} used"
    hits = "" if plan.tables else f"; the hit ratio stays {format_percent(plan.hit_ratio.predicted)}"
    return (
        f"{rate}, {format_number(peak.mean_latency_ms)} ms on average, p99 {peak.p99_latency_ms:,.0f} ms (estimate); "
        f"{used} (mean hour: {format_percent(mean.utilisation_fraction)}){hits}"
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
        gets = f"{new.gets / MILLION:,.1f} million GETs"
        warm = f", and a warm cache after another {format_duration(new.warm_seconds)} and {gets}; {while_cold}"
        warm = warm if new.warm_seconds else ""
        yield (
            "replaced",
            f"EMR replaces a lost instance; the new node has its regions after {regions} (ESTIMATE){warm}",
        )
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
