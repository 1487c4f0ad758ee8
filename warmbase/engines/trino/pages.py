"""The pages of `warmbase plan` and `warmbase explain` for an analytics cluster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from warmbase.cli.page import Page, Paragraph, Part, Row, summary_page
from warmbase.cli.size.explanation import explanation_parts, list_parts
from warmbase.cli.size.plan_summary import cluster_heading, next_lines
from warmbase.cli.terminal import print_json
from warmbase.engines.trino.comparison import plan_differences, plan_markdown
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import assumed, trino_infeasible, trino_plan_of
from warmbase.engines.trino.properties import trino_properties
from warmbase.engines.trino.reports import OVERLOADED, decisive, lost_text, missed_texts, query_rate
from warmbase.engines.trino.request import TrinoChoice
from warmbase.environments.environment import Environment
from warmbase.ground.errors import Infeasible, InvalidInput, fix_line
from warmbase.ground.units import format_duration, format_percent, format_size, format_usd
from warmbase.reports.plan_text import volumes_text

__all__ = ["explain", "plan_differences", "plan_markdown", "plan_parts"]


def plan_parts(
    name: str, environment: Environment, cluster: str, pages: Sequence[str], page: Page
) -> tuple[Iterator[Part], Infeasible | None]:
    """Return the page of a plan, or the sections of `pages`, and the error of a plan that misses its targets.

    `name` is the environment as the command line names it.
    """
    plan = trino_plan_of(environment, environment.analytics[cluster])
    error = None if plan.feasible else trino_infeasible(environment.source, plan)
    return _sections(plan, pages) if pages else _summary(name, environment, plan, page), error


def _summary(name: str, environment: Environment, plan: TrinoPlan, page: Page) -> Iterator[Part]:
    """Yield the purchase, the latency of queries, the bottleneck, assumptions, warnings and the next commands."""
    choice = environment.analytics[plan.cluster]
    yield from _head(plan)
    for block in (_purchase(plan), _outcome(plan, choice)):
        yield ""
        yield from block
    yield ""
    yield "Decides", decisive(plan, choice)
    for text in missed_texts(plan):
        yield "Misses", text
    if values := ", ".join(assumed(environment, choice)):
        yield "Assumed", f"{values} (you did not state these)"
    first, *others = plan.warnings
    yield ""
    yield "Watch", first.message
    if others:
        yield "", f"{len(others)} more (--why)"
    why = f"warmbase plan {shlex.quote(name)} --cluster {plan.cluster} --why", "every figure and its reason"
    yield ""
    yield from next_lines([why], page)


def _sections(plan: TrinoPlan, pages: Sequence[str]) -> Iterator[Part]:
    """Yield the sections of these pages: `why`, `cost`, or `everything`."""
    everything = "everything" in pages
    yield from _head(plan)
    if everything or "why" in pages:
        yield from ("", "Why")
        for path, explanation in plan.because.items():
            yield from (path, Paragraph(text=explanation.sentence, indent=11))
        yield from ("", "Watch")
        for warning in plan.warnings:
            yield from (warning.id, Paragraph(text=f"{warning.message}. {fix_line(warning.fix)}", indent=11))
    if everything or "cost" in pages:
        lines = [(line.usd_per_month, f"{line.item}: {line.because}") for line in plan.cost.lines if line.usd_per_month]
        yield from ("", "Cost per month")
        for usd, text in (*lines, (plan.cost.usd_per_month, "total")):
            yield f"  {format_usd(usd):>9}  {text}"
    if everything:
        yield from ("", "Rejected: the best cluster of each other instance type")
        for one in plan.rejected:
            nodes = f"{one.count} x {one.instance_type}"
            yield f"  {nodes}: {format_usd(one.usd_per_month)} a month; {one.reason}"


def _head(plan: TrinoPlan) -> Iterator[Part]:
    engine = f"Trino {plan.trino} with a cache on its workers"
    yield cluster_heading(plan.environment, plan.cluster, f"{engine}   {plan.release}, {plan.prices.region}")
    if not plan.feasible:
        yield "no cluster meets its targets; this is the nearest"


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


WORDS = {
    "warm": ("queries.mean_seconds", "hit_ratio.predicted", "queries.most_per_hour"),
    "peak hour": ("queries.peak_mean_seconds",),
    "cold": ("queries.cold_seconds",),
    "lost": ("queries.after_loss_seconds",),
    "cache": ("cache.size_gib", "cache.pages", "cache.working_set_pages", "cache.amplification"),
    "s3": ("gets_per_second",),
    "decides": ("workers.count",),
    "memory": ("memory.heap_bytes", "memory.query_bytes_per_worker", "memory.query_bytes", "memory.page_index_bytes"),
    "export": ("export.hours",),
}
"""The words of the page of a plan, with the figures that they stand for."""
ASSUMED: Final = "assumed"
WATCH: Final = "watch"


def explain(environment: Environment, cluster: str, figure: str, output: str) -> None:
    """Print the explanation of a word, a path in the plan, or a property. Raises InvalidInput for anything else."""
    choice, word = environment.analytics[cluster], figure.lower()
    plan = trino_plan_of(environment, choice)
    if word in {ASSUMED, WATCH}:
        _print_list(word, plan, list(assumed(environment, choice)), output)
        return
    catalogue = trino_properties(plan.catalog)
    properties = [entry for entry in catalogue if entry.key == figure]
    named = [entry.figure for entry in properties if entry.figure]
    paths = [path for path in WORDS.get(word, named or [figure]) if path in plan.because]
    if not (paths or properties):
        names = [*WORDS, ASSUMED, WATCH, *plan.because, *(entry.key for entry in catalogue)]
        near = get_close_matches(figure, dict.fromkeys(names), n=3)
        usual = f"use a word such as {', '.join((*WORDS, ASSUMED, WATCH))}"
        raise InvalidInput.of(
            where=figure,
            what="figure or property",
            why="neither a figure of the plan nor a property that warmbase renders for Trino has this name",
            fix=f"did you mean {', '.join(near)}?" if near else usual,
        )
    if output == "json":
        entries = [
            {
                "classification": entry.classification,
                "key": entry.key,
                "value": entry.text(plan),
                "groups": sorted(entry.groups),
                "reason": entry.reason,
                "source": entry.source,
            }
            for entry in properties
        ]
        because = {path: plan.because[path] for path in paths}
        print_json({"figure": figure, "properties": entries, "because": because})
        return
    page = summary_page()
    for entry in properties:
        groups = " and ".join(sorted(entry.groups))
        applied = f"set in {entry.classification} for {groups}; to apply a change: {entry.applied}"
        lines = list_parts([f"  {applied}", f"  {entry.reason}", f"  source: {entry.source}"])
        page.show([f"{entry.key} = {entry.text(plan)}", *lines])
    for path in paths:
        page.show(explanation_parts(path, plan.because[path], plan))


def _print_list(word: str, plan: TrinoPlan, values: Sequence[str], output: str) -> None:
    """Print all warnings of a plan, or all values that the file does not state."""
    if output == "json":
        listed = {"assumed": values} if word == ASSUMED else {"warnings": plan.warnings}
        print_json({"figure": word, **listed})
        return
    if word == ASSUMED:
        lines = [*values, "State a value in the environment file, or try it: warmbase plan ENV --set KEY=VALUE"]
    else:
        lines = [
            line
            for warning in plan.warnings
            for line in (f"{warning.severity}: {warning.message}", f"  {fix_line(warning.fix)}")
        ]
    summary_page().show(list_parts(lines))
