"""The comparison of two plans: as a page of `warmbase plan`, as JSON, and as Markdown for a pull request.

The page gives the answer in its first line, then what differs. The Markdown has at most 60 lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from warmbase.changes.engine_facet import changes_of
from warmbase.changes.plan_comparison import PlanComparison, PlanFigures, PlanSide, delta, plan_comparison
from warmbase.cli.change_parts import CHANGES
from warmbase.cli.engine_facet import pages_of
from warmbase.cli.page import NO_BREAK, Paragraph, Part, rows_table, styled, summary_page
from warmbase.cli.size.plan_differences import (
    PlanDifferences,
    Row,
    applied_rows,
    cost_rows,
    figure_rows,
    headline,
    single_headline,
    warnings_without,
)
from warmbase.cli.size.plan_request import PlanRequest
from warmbase.cli.terminal import answer_document, echo, print_json
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records, recorded_launch
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import locate, read_environment
from warmbase.environments.reader.document import load_document
from warmbase.environments.reader.read import environment_at, environment_of, is_revision, quoted_path
from warmbase.ground.errors import Infeasible, fix_line
from warmbase.reports.markdown import literal
from warmbase.sizing.plan import Warning  # noqa: A004 - the plan's own word


def plan_differences_of(
    comparison: PlanComparison, sources: tuple[str, str], others: tuple[PlanDifferences, ...] = ()
) -> PlanDifferences:
    """Return a comparison of HBase's plans in words; `others` are the comparisons of analytics clusters."""
    was, will = (PlanFigures.of(side.plan) if side.plan else None for side in (comparison.before, comparison.after))
    application, on_nodes = comparison.application, comparison.same_nodes
    same_nodes, of_nodes = "", None
    if on_nodes is not None:
        resized = PlanFigures.of(on_nodes.after.plan) if on_nodes.after.plan else None
        same_nodes = "With the node type and volumes unchanged, no number of nodes meets the targets."
        if resized and resized.feasible:
            same_nodes = f"With the node type and volumes unchanged: {headline(was, resized, on_nodes)}"
        if resized:
            of_nodes = {"after": resized, "application": _applied_document(on_nodes)}
    rows, cost, impact = list[Row](), list[Row](), list[tuple[str, str]]()
    if was and will:
        rows, cost = figure_rows(was, will), cost_rows(was.cost, will.cost)
    applied: list[Row] = [("unknown", comparison.unknown)] if comparison.unknown else []
    if application:
        environment, plan = application.launch.environment, application.launch.plan
        applied = list(applied_rows(application.changes))
        impact = list(changes_of(engine_of(environment, plan.cluster)).impact_rows(application.cost, plan))
    warnings = [figures.warnings if figures else () for figures in (was, will)]
    new, former = warnings_without(warnings[1], warnings[0]), warnings_without(warnings[0], warnings[1])
    answer = headline(was, will, comparison)
    return PlanDifferences(
        name=will.cluster if will else "",
        sources=sources,
        headline=answer,
        same_nodes=same_nodes,
        figures=rows,
        cost=cost,
        applied=applied,
        impact=impact,
        new_warnings=new,
        former_warnings=former,
        diff_command=f"warmbase diff {comparison.after.environment.argument}",
        no_difference=f"The plans{f' of {will.cluster}' if others and will else ''} do not differ.",
        is_empty=bool(was and will) and not [*rows, *cost, *applied, *new, *former],
        error=comparison.after.error,
        document={
            "sources": {"before": sources[0], "after": sources[1]},
            "summary": answer,
            "before": was,
            "after": will,
            "delta": delta(was, will) if was and will else None,
            "application": _applied_document(comparison),
            "unknown": comparison.unknown or None,
            "same_nodes": of_nodes,
            "analytics": {other.name: other.document for other in others},
        },
        others=others,
    )


def _applied_document(comparison: PlanComparison) -> dict[str, Any] | None:
    application = comparison.application
    return {"changes": application.changes, "cost": application.cost} if application else None


MOST_LINES: Final = 60
FRAME_LINES: Final = 4
"""The lines around the details, which must not follow them without a blank one."""
SIDES: Final = ("", "before", "after")


def comparison_markdown(compared: PlanDifferences) -> str:
    """Return what differs between two plans: the answer and the figures, and the rest to be opened by a click.

    Each analytics cluster whose plans differ has one line.
    """
    title = f"**{literal(compared.sources[1])}**: {literal(compared.headline)}"
    lines = _bullets(other.headline for other in compared.others)
    if compared.is_empty:
        return "\n".join([title, "", compared.no_difference, *lines])
    same_nodes = ["", literal(compared.same_nodes)] if compared.same_nodes else []
    details = [
        *_table(SIDES, compared.cost),
        *_bullets(f"{kind}: {names}" for kind, names in compared.applied),
        *_bullets(f"new warning: {warning.message}; {fix_line(warning.fix)}" for warning in compared.new_warnings),
        *_bullets(f"no longer: {warning.message}" for warning in compared.former_warnings),
    ]
    summary = f"Compared with {literal(compared.sources[0])}: the bill, how the change is applied, and warnings"
    return _page([title, *same_nodes, *lines, *_table(SIDES, compared.figures)], details, summary)


def single_markdown(
    source: str, answer: str, figures: Iterable[Row], cost: Iterable[Row], warnings: Iterable[Warning]
) -> str:
    """Return one plan: what it buys, does and costs, and the rest to be opened by a click."""
    details = [
        *_table(("", "a month"), cost),
        *_bullets(f"{warning.message}; {fix_line(warning.fix)}" for warning in warnings),
    ]
    top = [f"**{literal(source)}**: {literal(answer)}", *_table(("", "plan"), figures)]
    return _page(top, details, "The bill, and what to watch")


def plan_markdown(side: PlanSide, source: str) -> str:
    """Return the plan of an HBase cluster as Markdown, or only the answer if no cluster can hold the data."""
    figures = PlanFigures.of(side.plan) if side.plan else None
    answer = single_headline(figures)
    if figures is None:
        return f"**{literal(source)}**: {literal(answer)}"
    return single_markdown(source, answer, figure_rows(figures), cost_rows(figures.cost), figures.warnings)


def _page(top: Sequence[str], details: Sequence[str], summary: str) -> str:
    """Return the page, with as many of the details as fit into its lines."""
    most = MOST_LINES - len(top) - FRAME_LINES
    if len(details) > most:
        more = len(details) - (most - 2)
        details = [*details[: most - 2], "", f"{more} more lines: run `warmbase plan` to see them."]
    return "\n".join([*top, "", f"<details><summary>{summary}</summary>", *details, "", "</details>"])


def _table(headings: Sequence[str], rows: Iterable[Row]) -> list[str]:
    body = [f"| {' | '.join(map(literal, row))} |" for row in rows]
    rule = f"| {' | '.join('---' for _ in headings)} |"
    return ["", f"| {' | '.join(headings)} |", rule, *body] if body else []


def _bullets(texts: Iterable[str]) -> list[str]:
    lines = [f"- {literal(text)}" for text in texts]
    return ["", *lines] if lines else []


def comparison_page(compared: PlanDifferences) -> Iterator[Part]:
    """Yield the page that `warmbase plan` prints for two plans: the answer, where the plans come from, what differs."""
    yield from _answer(compared)
    yield from ("", rows_table(zip(SIDES[1:], compared.sources, strict=True)))
    yield from _differences(compared)
    for other in compared.others:
        yield from ("", *_answer(other), *_differences(other))


def _answer(compared: PlanDifferences) -> Iterator[Part]:
    for text in filter(None, (compared.headline, compared.same_nodes)):
        unbroken = text.replace(" %", f"{NO_BREAK}%")
        yield Paragraph(text=styled(unbroken, bold=True) if text is compared.headline else unbroken)


def _differences(compared: PlanDifferences) -> Iterator[Part]:
    if compared.is_empty:
        yield from ("", compared.no_difference)
        return
    for title, rows in (("What differs", compared.figures), ("Bill, a month", compared.cost)):
        if rows:
            yield from ("", styled(title, bold=True), rows_table(rows, *SIDES[1:]))
    if compared.applied:
        yield from ("", styled("How a running cluster gets there", bold=True), rows_table(compared.applied))
        yield from CHANGES.lines(compared.impact)
    for title, warnings in (
        ("New warnings", compared.new_warnings),
        ("Warnings that no longer apply", compared.former_warnings),
    ):
        if warnings:
            yield from ("", styled(title, bold=True))
        for warning in warnings:
            yield Paragraph(text=f"{warning.message} ({fix_line(warning.fix)})", hanging=2)
    command = f"{compared.diff_command} --against launch|live|FILE"
    yield from ("", Paragraph(text=f"Each setting and how it is applied: {command}"))


LAUNCH: Final = "launch"


def show_comparison(request: PlanRequest) -> None:
    """Print the comparison. Raises Infeasible where the newer plan misses its targets, after printing it.

    With --output markdown and a single environment, print its plan instead.
    """
    if request.other and request.against:
        raise click.UsageError("Name a second environment or --against, not both.")
    after, before = read_environment(request.other or request.environment, request.values), None
    if request.against and request.against != LAUNCH:
        before = _environment_against(locate(request.environment), request.against)
    elif not request.against and (request.other or request.assignments):
        before = read_environment(request.environment)
    text = " ".join([after.source, *map(str, request.values)])
    if before is None and request.against != LAUNCH:
        answer, error = _single(after, request.cluster, text)
        echo(answer)
    else:
        compared = _compared(request.cluster, before, after, text)
        error = next(filter(None, (one.error for one in (compared, *compared.others))), None)
        if request.output == "json":
            print_json(answer_document(compared.document, compared.error))
        elif request.output == "markdown":
            echo(comparison_markdown(compared))
        else:
            summary_page().show(comparison_page(compared))
    if error:
        raise error


def _single(environment: Environment, cluster: str | None, text: str) -> tuple[str, Infeasible | None]:
    """Return the plan of one cluster as Markdown, and its error if it misses its targets."""
    if cluster is not None and cluster in environment.analytics:
        return pages_of(engine_of(environment, cluster)).plan_markdown(environment, cluster, text)
    side = PlanSide.of(environment, chosen_cluster(environment, cluster))
    return plan_markdown(side, text), side.error


def _compared(cluster: str | None, before: Environment | None, after: Environment, text: str) -> PlanDifferences:
    """Return the comparison with an environment, or with the launches if there is none.

    If no cluster is named, compare the active cluster, and add each analytics cluster whose plans differ.
    """
    records = launch_records(after) if before is None else {}
    if cluster is not None and cluster in after.analytics:
        if before is None:
            records = {cluster: recorded_launch(after, cluster)}
        return _compared_analytics(cluster, before, after, records.get(cluster), text)
    choice = chosen_cluster(after, cluster)
    if before is None:
        record = recorded_launch(after, choice.name)
        old, source = PlanSide.at_launch(after, record), str(record.directory)
    else:
        old, source = PlanSide.of(before, chosen_cluster(before, cluster)), before.source
    comparison = plan_comparison(old, PlanSide.of(after, choice))
    names = () if cluster else dict.fromkeys((*after.analytics, *(before.analytics if before else ())))
    others = (
        _compared_analytics(name, before, after, records.get(name), text) for name in names if before or name in records
    )
    return plan_differences_of(comparison, (source, text), tuple(other for other in others if not other.is_empty))


def _compared_analytics(
    name: str, before: Environment | None, after: Environment, record: LaunchRecord | None, text: str
) -> PlanDifferences:
    source = str(record.directory) if record else before.source if before else ""
    engine = engine_of(after if name in after.analytics or before is None else before, name)
    return pages_of(engine).plan_differences(name, before, after, record, (source, text))


def _environment_against(file: Path, against: str) -> Environment:
    """Return the environment of a file, or of a git revision of the environment's own file."""
    if not Path(against).is_file():
        return environment_at(file, against)
    if is_revision(file, against):
        echo(f"note: {against} is a file and a git revision, and warmbase compares with the file", err=True)
        echo(f"to compare with the revision: --against {against}~0", err=True)
    return environment_of(load_document(Path(against), quoted_path(Path(against))))
