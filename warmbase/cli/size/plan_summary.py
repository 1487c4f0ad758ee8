"""The summary that `warmbase plan` prints: at most 30 lines, as wide as the terminal up to 120 columns.

Its rows say what to buy and what the cluster does, in good hours and in bad ones. `boost_text` says how much faster a
boost would make a fill, and at what price.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from warmbase.cli.page import Page, Part, Row, Styled, styled
from warmbase.environments.environment import Environment
from warmbase.environments.unstated import unstated
from warmbase.ground.units import (
    MIB,
    SECONDS_PER_HOUR,
    format_duration,
    format_number,
    format_percent,
    format_rate,
    format_size,
    format_usd,
)
from warmbase.reports.plan_text import block_reads, purchase_text
from warmbase.sizing.plan import Plan, PlannedTable, ScanExport, Throughput
from warmbase.sizing.recovery.boost import Boost, FillLimit, Level
from warmbase.sizing.server.restart import Restart
from warmbase.sizing.server.system_volume import NAMENODE_REQUESTS_PER_SECOND

LIMITS: Final[Mapping[FillLimit, str]] = {
    "s3-streams": "the prefetch threads",
    "network": "the network of the nodes",
    "s3-requests": "the request limit of S3",
    "volume": "the throughput of the volumes",
    "instance-ebs": "the EBS throughput of the nodes",
    "cache-writers": "the writer threads of the cache",
    "cpu": "the CPU",
}
LEVELS: Final[Mapping[Level, str]] = {
    "sustained": "at the rates that the nodes sustain",
    "burst": "while the nodes burst, 30 minutes a day",
}
SHORT_LEVELS: Final[Mapping[Level, str]] = {"sustained": "at the sustained limit", "burst": "in burst"}
LEAST_USD: Final = 0.01


def boost_text(plan: Plan, most: int | None = None) -> str:
    """Return the time of a fill without reads: without a boost, and with each boost or the `most` fastest ones.

    The text is empty if no EBS volume holds a cache.
    """
    server = plan.warm_up.server
    if server is None:
        return ""
    now = server.time(server.volume.throughput_mib_s, server.sustained)
    fill = f"{format_duration(now.seconds)} to fill without reads"
    if not plan.warm_up.boosts:
        return f"{fill}; more throughput would not shorten it: the limit is {limits_text(now.limits)}"
    command = f"`warmbase warm boost {plan.environment}`"
    return f"{fill}; {'; '.join(_with_boosts(plan.warm_up.boosts[-(most or 0) :]))} (estimates; {command})"


def _with_boosts(boosts: tuple[Boost, ...]) -> Iterator[str]:
    for number, boost in enumerate(boosts):
        raised = (
            f"with {'one' if number else 'a boost'} to {boost.throughput_mib_s:,} MiB/s {SHORT_LEVELS[boost.level]}"
        )
        cents = boost.usd_per_hour >= LEAST_USD
        usd = format_usd(boost.usd_per_hour) if cents else f"less than {format_usd(LEAST_USD)}"
        yield f"{format_duration(boost.seconds)} {raised}, {usd}/h"


def limits_text(limits: tuple[FillLimit, ...]) -> str:
    """Return the names of limits in words."""
    return " and ".join(LIMITS[limit] for limit in limits)


LITTLE_MORE = 1.1
MILLION = 1_000_000
USUAL_HIT_RATIOS = (0.8, 0.9, 0.95)


def outcome(plan: Plan) -> Iterator[Row]:
    """Yield what the cluster does: reads, writes, caches, S3, snapshots and bad hours, each with its label."""
    yield from _reads(plan)
    for number, table in enumerate(plan.tables):
        yield "" if number else "tables", table_text(table)
    if plan.writes.offered_bytes_per_second:
        yield "writes", _writes(plan)
    if plan.bucket_cache:
        # The cache that the usual hit ratios need, by the curve, which may reach none of them.
        needs = {
            ratio: next((size for size, predicted in plan.hit_ratio.curve if predicted >= ratio), None)
            for ratio in USUAL_HIT_RATIOS
        }
        sizes = [f"{ratio * 100:.0f} % with {format_size(size)}" for ratio, size in needs.items() if size is not None]
        hit_ratios = f"hits reach {', '.join(sizes)} in the whole cluster; " if sizes else ""
        yield "cache", f"{hit_ratios}beyond {format_size(plan.hit_ratio.knee_bytes)} each TiB adds fewer hits"
        warm_up = plan.warm_up
        yield "warm-up", f"{format_duration(warm_up.prefetch_seconds)} by prefetch, limited by {warm_up.limit}"
        if warm_up.server:
            yield "boost", boost_text(plan)
        yield from _cold(plan)
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
        requests = f"{format_number(round(plan.hdfs.refreshes_per_second, 1))} requests/s for block locations"
        answered = f"a NameNode with 4 vCPUs has answered {NAMENODE_REQUESTS_PER_SECOND:,}/s"
        yield "NameNode", f"{requests} if no block is local; {answered}"
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


def _reads(plan: Plan) -> Iterator[Row]:
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


def _cold(plan: Plan) -> Iterator[Row]:
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


def _bad_hours(plan: Plan) -> Iterator[Row]:
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


def _gets(per_hour: float) -> str:
    return f"{per_hour / SECONDS_PER_HOUR:,.0f} GETs/s"


MOST_LINES: Final = 30
LEAST_WATCH_LINES: Final = 1
IN_OUTCOME: Final = frozenset({"cold-load"})
"""Warnings that the rows about bad hours already contain."""
SOME: Final = 3
"""So many overrides are named, or none where the page has no room for them."""
Command = tuple[str, str]
"""A command, and what it is for."""


def plan_summary(
    name: str, environment: Environment, plan: Plan, page: Page, others: Sequence[Command] = ()
) -> list[Part]:
    """Return what to buy, what it does, what decides, what is assumed, what to watch, and what is next.

    `name` is the environment as the command line names it. `others` are further next commands, each with its purpose.
    """
    name = shlex.quote(name)
    workload, commands = environment.workload, [(f"warmbase plan {name} --why", "every figure and its reason")]
    if not workload.has_names:
        twice = format_size(2 * workload.stored_bytes).replace(" ", "").replace(",", "")
        commands.append((f"warmbase plan {name} --set workload.stored={twice}", "twice the data"))
    if any(part.growth_per_month for part in workload.parts):
        commands.append((f"warmbase plan {name} --months 24", "when the next node is due"))
    if plan.meets_targets:
        commands.append((f"warmbase deploy {name} --dry-run", "what would be deployed"))
    above: list[Part] = [*_purchase_and_outcome(plan), ""]
    below: list[Part] = ["", *next_lines([*commands, *others], page)]
    fixed, reasons, room = len(page.lines([*above, *below])), list[Row](), 0
    for named, counts in ((SOME, False), (0, False), (0, True)):
        if room < LEAST_WATCH_LINES:
            reasons = list(_reasons(plan, name, environment, named, counts=counts))
            room = MOST_LINES - fixed - len(page.lines(reasons)) - 1
    # The gravest messages first, in the lines that are left; the others are counted.
    messages = [*plan.nearest, *(warning.message for warning in plan.warnings if warning.id not in IN_OUTCOME)]
    titles = {0: "Nearest" if plan.nearest else "Watch"} | {len(plan.nearest): "Watch"}
    watch: list[Row] = []
    for number, message in enumerate(messages):
        title, rest = titles.get(number, ""), len(messages) - number
        following = [*watch, (title, message)]
        if len(page.lines(following)) + (rest > 1) > max(room, LEAST_WATCH_LINES):
            kind = f"note{'s' * (rest > 1)}" if title else "more"
            watch.append((title, f"{rest} {kind}: warmbase explain {name} watch"))
            break
        watch = following
    return [*above, *reasons, *([""] if watch else []), *watch, *below]


def cluster_heading(environment: str, cluster: str, rest: str) -> Styled:
    """Return the line with which a page about the plan of a cluster begins."""
    return styled(f"{environment} / {cluster}", bold=True) + f"   {rest}"


def _purchase_and_outcome(plan: Plan) -> Iterator[Part]:
    """Yield the head of the page, what to buy, and how the cluster performs in good hours and in bad ones."""
    yield cluster_heading(plan.environment, plan.cluster, f"{plan.mode.title}   {plan.release}, {plan.prices.region}")
    if not plan.meets_targets:
        missed = "no cluster meets its targets; this is the nearest" if not plan.feasible else "misses its targets"
        yield styled(missed, fg="red", bold=True)
    primaries = f"{plan.primary.count} x {plan.primary.instance_type} primary node{'s' * (plan.primary.count > 1)}"
    nodes = purchase_text(plan.core.instance_type, plan.core.count, plan.core.volumes)
    yield ""
    yield "Buy", f"{nodes}; {primaries}"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices_as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    yield "", f"{format_usd(plan.cost.usd_per_month)} a month {rate} ({basis}; --cost)"
    yield ""
    load, offered = plan.throughput, plan.throughput.offered_reads_per_second
    rate = f"{load.reads_per_second:,.0f} reads/s"
    if offered is not None and load.reads_per_second < offered:
        rate = f"only {load.reads_per_second:,.0f} of {offered:,.0f} reads/s"
    hits = f"{format_percent(plan.hit_ratio.predicted)} of {block_reads(plan)} come from local disks"
    served = (
        f"{rate} in {format_number(load.mean_latency_ms)} ms on average, p99 {load.p99_latency_ms:,.0f} ms (estimate); "
        f"{hits if plan.bucket_cache or plan.hdfs else 'block reads go to S3'}; at most "
        f"{load.saturation_reads_per_second:,.0f} reads/s"
    )
    yield "Warm", served
    if plan.peak:
        peak = plan.peak
        label, rate, quiet = "Peak hour", f"{peak.reads_per_second:,.0f} reads/s", ""
        if plan.daily_peak:
            label, rate = "Daily peak", f"{rate} for {format_number(plan.daily_peak.hours)} h"
            quiet = f"; {plan.daily_peak.quiet_reads_per_second:,.0f} reads/s in the other hours"
        yield label, f"{rate}, p99 {peak.p99_latency_ms:,.0f} ms (estimate){quiet}"
    if plan.writes.offered_bytes_per_second:
        most = format_rate(plan.writes.saturation_bytes_per_second)
        yield "Writes", f"{format_rate(plan.writes.offered_bytes_per_second)}; HBase begins to block writes at {most}"
    # The tables with the lowest hit ratios, and of equal ones the slowest.
    tables = sorted(plan.tables, key=lambda table: (table.hit_ratio, -table.p99_latency_ms))
    named = [
        f"{table.name} {format_percent(table.hit_ratio) if table.cached else 'not cached'},"
        f" {table.p99_latency_ms:,.0f} ms"
        + ("" if table.usd_per_month is None else f", {format_usd(table.usd_per_month)} a month")
        for table in tables[:SOME]
    ]
    if named:
        costs = any(table.usd_per_month is not None for table in tables)
        figures = "hit ratio, p99 and cost" if costs else "hit ratio and p99"
        more = [f"{len(tables) - SOME} more (--why)"] if len(tables) > SOME else []
        yield "Tables", f"{figures}: {'; '.join(named + more)}"
    cold = plan.bad_hours.cold
    if cold is not None and plan.bucket_cache:
        warm = f"caches full after {format_duration(plan.warm_up.prefetch_seconds)}"
        served = f"{cold.reads_per_second:,.0f} reads/s at first"
        if offered is not None and cold.carried_seconds != 0:
            late = "never all" if cold.carried_seconds is None else f"all after {format_duration(cold.carried_seconds)}"
            served = f"{cold.reads_per_second:,.0f} of {offered:,.0f} reads/s, limited by {cold.bottleneck}; {late}"
        yield "Cold", f"{served}; {warm} (estimates)"
    if plan.warm_up.boosts and plan.meets_targets:
        yield "Boost", boost_text(plan, most=1)
    lost = plan.bad_hours.lost_node
    if lost is not None:
        offline = f"{format_percent(lost.rows_fraction)} of rows offline for {format_duration(lost.offline_seconds)}"
        yield "A node lost", f"{offline}, then p99 {lost.p99_latency_ms:,.0f} ms (estimates)"
    cache = "; the cache is kept" if plan.bucket_cache else ""
    yield "Restart", f"{format_duration(plan.restart.seconds)} per server (estimate){cache}"


def _reasons(plan: Plan, name: str, environment: Environment, named: int, *, counts: bool) -> Iterator[Row]:
    assumed = unstated(environment, environment.clusters[plan.cluster])
    used = sorted(plan.throughput.resources, key=lambda resource: resource.max_reads_per_second)[:2]
    shares = " and ".join(
        f"{format_percent(plan.throughput.reads_per_second / resource.max_reads_per_second)} of {resource.name}"
        for resource in used
    )
    core_usd = sum(line.usd_per_month for line in plan.cost.lines if line.item.startswith("core "))
    decisive = (
        f"{plan.because['core.count'].sentence} Reads use {shares}. One more core node like these costs "
        f"{format_usd(core_usd / plan.core.count)} a month."
    )
    yield "Decides", decisive
    if plan.alternatives:
        best = plan.alternatives[0]
        setting = best.codec.upper() if best.setting == "COMPRESSION" else format_size(best.block_bytes)
        yield "Saves", f"{format_usd(best.saving_usd_per_month)} a month with {best.setting} {setting} (--cost)"
    if assumed:
        values = f"{len(assumed)} values" if counts else ", ".join(value.value for value in assumed)
        yield "Assumed", f"{values} (you did not state these; `warmbase explain {name} assumed`)"
    if environment.overrides:
        names = [f"{override.classification} {override.key}" for override in environment.overrides[:named]]
        more = len(environment.overrides) - len(names)
        others = [f"{more} more" if names else f"{more} setting{'s' * (more > 1)} of your own"] if more else []
        yield "Overrides", f"{' and '.join([', '.join(names)] * bool(names) + others)} (--why)"


def next_lines(commands: Iterable[Command], page: Page) -> Iterator[Styled]:
    """Yield the commands, with what they are for where both fit on a line; a broken command could not be copied."""
    for number, (command, purpose) in enumerate(commands):
        label, line = f"{'' if number else 'Next':<{page.label}}", f"{command}   {purpose}"
        yield styled(label, fg=page.accent) + (line if page.label + len(line) <= page.columns else command)
