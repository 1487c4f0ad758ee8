"""The pages of `warmbase plan ENV --cluster NAME` for an analytics cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.plan_summary import Row, cluster_heading, command_lines, labelled_lines
from environments.engines.trino.assumptions import assumed
from environments.environment import Environment
from reports.engines.trino.words import OVERLOADED, decisive, lost_text, missed_texts, query_rate
from reports.nodes_text import volumes_text
from sizing.cost import CostLine
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.problem import fix_line
from sizing.units import format_duration, format_percent, format_size, format_usd


def trino_summary(name: str, environment: Environment, plan: TrinoPlan, width: int) -> str:
    """Return the page: what to buy, how long queries take, what decides, what is assumed, what to watch, what is next.

    `name` is the environment as the command line names it.
    """
    choice = environment.analytics[plan.cluster]
    blocks = (
        [_head(plan)],
        labelled_lines(_purchase(plan), width),
        labelled_lines(_outcome(plan, choice), width),
        labelled_lines(_reasons(environment, plan, choice), width),
        labelled_lines(_watch(plan), width),
        command_lines(_next(name, plan), width),
    )
    return "\n\n".join("\n".join(block) for block in blocks if block)


def trino_page(plan: TrinoPlan, pages: Sequence[str], width: int) -> str:
    """Return the sections of these pages: `why`, `cost`, or `everything`."""
    everything = "everything" in pages
    blocks = [[_head(plan)]]
    if everything or "why" in pages:
        reasons = ((path, explanation.sentence) for path, explanation in plan.because.items())
        blocks += [["Why", *(line for row in reasons for line in _paragraph(row, width))]]
        warnings = ((one.id, f"{one.message}. {fix_line(one.fix)}") for one in plan.warnings)
        blocks += [["Watch", *(line for row in warnings for line in _paragraph(row, width))]]
    if everything or "cost" in pages:
        billed = (line for line in plan.cost.lines if line.usd_per_month)
        blocks += [["Cost per month", *map(_cost, billed), _total(plan)]]
    if everything:
        rejected = (
            f"  {one.count} x {one.instance_type}: {format_usd(one.usd_per_month)} a month; {one.reason}"
            for one in plan.rejected
        )
        blocks += [["Rejected: the best cluster of each other instance type", *rejected]]
    return "\n\n".join("\n".join(block) for block in blocks)


def _paragraph(row: Row, width: int) -> Iterator[str]:
    label, text = row
    yield label
    yield from (line[2:] for line in labelled_lines(iter([("", text)]), width + 2))


def _cost(line: CostLine) -> str:
    return f"  {format_usd(line.usd_per_month):>9}  {line.item}: {line.because}"


def _total(plan: TrinoPlan) -> str:
    return f"  {format_usd(plan.cost.usd_per_month):>9}  total"


def _head(plan: TrinoPlan) -> str:
    place = f"{plan.release}, {plan.prices.region}"
    head = (
        f"{cluster_heading(plan.environment, plan.cluster)}   Trino {plan.trino} with a cache on its workers   {place}"
    )
    return head if plan.feasible else f"{head}\nno cluster meets its targets; this is the nearest"


def _purchase(plan: TrinoPlan) -> Iterator[Row]:
    workers = (
        f"workers: {plan.workers.count} x {plan.workers.instance_type}, each with {volumes_text(plan.workers.volumes)}"
    )
    yield "Buy", f"{workers}; coordinator: 1 x {plan.coordinator.instance_type}"
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices.as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    monthly = f"{format_usd(plan.cost.usd_per_month)} a month {rate} ({basis}; --cost)"
    yield "", f"{monthly}, in addition to the HBase clusters"


def _outcome(plan: TrinoPlan, choice: TrinoChoice) -> Iterator[Row]:
    queries = plan.queries
    hits = f"{format_percent(plan.hit_ratio.predicted)} of the pages that queries read come from local disks"
    mean = f"{query_rate(queries.per_hour)}: {_time(queries.mean_seconds)}"
    yield "Warm", f"{mean}; {hits}; at most {query_rate(queries.most_per_hour)} (estimate)"
    if queries.peak_per_hour != queries.per_hour:
        yield "Peak hour", f"{query_rate(queries.peak_per_hour)}: {_time(queries.peak_mean_seconds)}"
    warm = f"caches are warm after {plan.warmth.queries:,.0f} queries, {format_duration(plan.warmth.hours * 3600)}"
    yield "Cold", f"at first {_time(queries.cold_seconds)}; {warm} at this rate (estimates)"
    if choice.targets.lost_nodes:
        yield "Lost", f"{lost_text(choice)}, in the busiest hour: {_time(queries.after_loss_seconds)}"
    export = plan.export
    copied = f"{format_size(export.stored_bytes)} as Parquet in {format_duration(export.hours * 3600)}"
    yield "Export", f"{copied} for {format_usd(export.usd)} (estimates; docs/analytics.md)"


def _time(seconds: float | None) -> str:
    return OVERLOADED if seconds is None else f"{format_duration(seconds)} on average (estimate)"


def _reasons(environment: Environment, plan: TrinoPlan, choice: TrinoChoice) -> Iterator[Row]:
    yield "Decides", decisive(plan, choice)
    yield from (("Misses", text) for text in missed_texts(plan))
    values = ", ".join(assumed(environment, choice))
    if values:
        yield "Assumed", f"{values} (you did not state these)"


def _watch(plan: TrinoPlan) -> Iterator[Row]:
    """Yield the first thing to know before deploying; the others are counted."""
    first, *others = plan.warnings
    yield "Watch", first.message
    if others:
        yield "", f"{len(others)} more (--why)"


def _next(environment: str, plan: TrinoPlan) -> Iterator[tuple[str, str]]:
    yield f"warmbase plan {environment} --cluster {plan.cluster} --why", "every figure and its reason"
