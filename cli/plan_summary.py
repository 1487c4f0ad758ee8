"""The summary that `warmbase plan` prints: at most 30 lines, as wide as the terminal up to 120 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import Final

import click

from cli.boost_text import boost_text
from environments.environment import Environment
from environments.unstated import unstated
from reports.block_reads import block_reads
from reports.nodes_text import purchase_text
from sizing.plan import Plan
from sizing.units import format_duration, format_number, format_percent, format_rate, format_size, format_usd
from sizing.workload import Workload

MOST_LINES: Final = 30
LEAST_WATCH_LINES: Final = 1
IN_OUTCOME: Final = frozenset({"cold-load"})
"""Warnings that the rows about bad hours already contain."""
LABEL: Final = 13
SOME: Final = 3
"""So many overrides are named, or none where the page has no room for them."""
REASONS: Final = 3
"""The index of the block that names them."""
Row = tuple[str, str]


def plan_summary(name: str, environment: Environment, plan: Plan, width: int, others: Sequence[Row] = ()) -> str:
    """Return the page: what to buy, what it does, what decides, what is assumed, what to watch, and what is next.

    `name` is the environment as the command line names it. `others` are further next commands, each with its purpose.
    """
    blocks = [
        _head(plan),
        labelled_lines(_purchase(plan), width),
        labelled_lines(_outcome(plan), width),
        labelled_lines(_reasons(plan, name, environment), width),
        command_lines(chain(_next(name, plan, environment.workload), others), width),
    ]
    if _room(blocks) < LEAST_WATCH_LINES:
        blocks[REASONS] = labelled_lines(_reasons(plan, name, environment, named=0), width)
    if _room(blocks) < LEAST_WATCH_LINES:
        blocks[REASONS] = labelled_lines(_reasons(plan, name, environment, named=0, counts=True), width)
    room = _room(blocks)
    watch = _watch(plan, name, width, max(room, LEAST_WATCH_LINES))
    blocks.insert(4, watch)
    return "\n\n".join("\n".join(block) for block in blocks if block)


def cluster_heading(environment: str, cluster: str) -> str:
    """Return the names with which a page about the plan of a cluster begins."""
    return click.style(f"{environment} / {cluster}", bold=True)


def _room(blocks: list[list[str]]) -> int:
    """Return how many lines are left, with an empty line between any two blocks."""
    return MOST_LINES - sum(map(len, blocks)) - len(blocks)


def _head(plan: Plan) -> list[str]:
    place = f"{plan.release}, {plan.prices.region}"
    head = f"{cluster_heading(plan.environment, plan.cluster)}   {plan.mode.title}   {place}"
    if plan.meets_targets:
        return [head]
    missed = "no cluster meets its targets; this is the nearest" if not plan.feasible else "misses its targets"
    return [head, click.style(missed, fg="red", bold=True)]


def labelled_lines(rows: Iterator[Row], width: int) -> list[str]:
    """Return each row as its label and its text, wrapped behind it."""
    lines: list[str] = []
    for label, text in rows:
        first, *others = wrap(text, width - LABEL, break_on_hyphens=False)
        lines += [click.style(f"{label:<{LABEL}}", fg="cyan") + first, *(" " * LABEL + other for other in others)]
    return lines


def _purchase(plan: Plan) -> Iterator[Row]:
    primaries = f"{plan.primary.count} x {plan.primary.instance_type} primary node{'s' * (plan.primary.count > 1)}"
    nodes = purchase_text(plan.core.instance_type, plan.core.count, plan.core.volumes)
    yield "Buy", f"{nodes}; {primaries}"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices_as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    yield "", f"{format_usd(plan.cost.usd_per_month)} a month {rate} ({basis}; --cost)"


def _outcome(plan: Plan) -> Iterator[Row]:
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
    yield from _tables(plan)
    yield from _bad_hours(plan)


def _tables(plan: Plan) -> Iterator[Row]:
    """Yield a row with the tables that have the lowest hit ratios, and of equal ones the slowest; `--why` shows all."""
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


def _bad_hours(plan: Plan) -> Iterator[Row]:
    cold, offered = plan.bad_hours.cold, plan.throughput.offered_reads_per_second
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


def _reasons(
    plan: Plan, name: str, environment: Environment, named: int = SOME, *, counts: bool = False
) -> Iterator[Row]:
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


def _watch(plan: Plan, environment: str, width: int, room: int) -> list[str]:
    """Return what to know before a deployment, the gravest first, in so many lines; the rest is counted."""
    warnings = [warning.message for warning in plan.warnings if warning.id not in IN_OUTCOME]
    messages = [*plan.nearest, *warnings]
    titles = dict.fromkeys([0], "Nearest" if plan.nearest else "Watch") | {len(plan.nearest): "Watch"}
    lines: list[str] = []
    for number, message in enumerate(messages):
        rest = len(messages) - number
        kind = f"note{'s' * (rest > 1)}" if number in titles else "more"
        more = f"{rest} {kind}: warmbase explain {environment} watch"
        following = labelled_lines(iter([(titles.get(number, ""), message)]), width)
        last = number == len(messages) - 1
        if len(lines) + len(following) + (not last) > room:
            return [*lines, *labelled_lines(iter([(titles.get(number, ""), more)]), width)]
        lines += following
    return lines


def command_lines(commands: Iterator[tuple[str, str]], width: int) -> list[str]:
    """Return the commands with what they are for; a command is never broken, because it could not be copied."""
    lines: list[str] = []
    for command, purpose in commands:
        label = " " * LABEL if lines else click.style(f"{'Next':<{LABEL}}", fg="cyan")
        line = f"{command}   {purpose}"
        lines.append(label + (line if LABEL + len(line) <= width else command))
    return lines


def _next(environment: str, plan: Plan, workload: Workload) -> Iterator[tuple[str, str]]:
    twice = format_size(2 * workload.stored_bytes).replace(" ", "").replace(",", "")
    yield f"warmbase plan {environment} --why", "every figure and its reason"
    if not workload.has_names:
        yield f"warmbase plan {environment} --set workload.stored={twice}", "twice the data"
    if any(part.growth_per_month for part in workload.parts):
        yield f"warmbase plan {environment} --months 24", "when the next node is due"
    if plan.meets_targets:
        yield f"warmbase deploy {environment} --dry-run", "what would be deployed"
