"""The comparison of two plans: as a page of `warmbase plan`, as JSON, and as Markdown for a pull request.

The page gives the answer in its first line, then what differs. The Markdown has at most 60 lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import click
from msgspec import Struct

from warmbase.changes.plan_comparison import PlanComparison, PlanFigures, PlanSide, delta, plan_comparison
from warmbase.cli.change_parts import CHANGES, impact_rows
from warmbase.cli.options import chosen_analytics
from warmbase.cli.page import NO_BREAK, Paragraph, Part, rows_table, styled, summary_page
from warmbase.cli.page import Row as PageRow
from warmbase.cli.size.plan_differences import (
    Row,
    applied_rows,
    cost_rows,
    figure_rows,
    headline,
    single_headline,
    warnings_without,
)
from warmbase.cli.size.plan_request import PlanRequest
from warmbase.cli.terminal import answer_document, echo
from warmbase.engines.trino.changes import TrinoSide, trino_comparison
from warmbase.engines.trino.comparison import ComparedTrino, bill_of, plan_headline
from warmbase.engines.trino.comparison import figure_rows as trino_rows
from warmbase.engines.trino.plan import TrinoWarning
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, launch_records, recorded_launch
from warmbase.environments.planning import chosen_cluster
from warmbase.environments.reader import locate, read_environment
from warmbase.environments.reader.document import load_document
from warmbase.environments.reader.read import environment_at, environment_of, is_revision, quoted_path
from warmbase.ground.errors import Infeasible, fix_line
from warmbase.reports.amounts import printable
from warmbase.reports.json_text import json_text
from warmbase.sizing.plan import Warning  # noqa: A004 - the plan's own word


class ComparedPlans(Struct, frozen=True, kw_only=True):
    """A comparison with its text. `sources` say in words where each of the two environments comes from.

    `analytics` has the comparison of each analytics cluster whose plans differ.
    """

    comparison: PlanComparison
    sources: tuple[str, str]
    before: PlanFigures | None
    after: PlanFigures | None
    analytics: tuple[ComparedTrino, ...] = ()

    @classmethod
    def of(cls, comparison: PlanComparison, before: str, after: str, analytics: tuple[ComparedTrino, ...] = ()) -> Self:
        """Return the comparison of the plans for the environments that `before` and `after` describe."""
        was, will = comparison.before.plan, comparison.after.plan
        return cls(
            comparison=comparison,
            sources=(before, after),
            before=PlanFigures.of(was) if was else None,
            after=PlanFigures.of(will) if will else None,
            analytics=analytics,
        )

    @property
    def headline(self) -> str:
        """Return the answer in one line."""
        return headline(self.before, self.after, self.comparison)

    @property
    def same_nodes(self) -> str:
        """Return the answer for nodes of the older plan's type and volumes; empty where it has no other nodes."""
        comparison = self.comparison.same_nodes
        if comparison is None:
            return ""
        plan = comparison.after.plan
        if plan is None or not plan.feasible:
            return "With the node type and volumes unchanged, no number of nodes meets the targets."
        figures = PlanFigures.of(plan)
        return f"With the node type and volumes unchanged: {headline(self.before, figures, comparison)}"

    @property
    def figures(self) -> list[Row]:
        """Return the figures that differ."""
        return figure_rows(self.before, self.after) if self.before and self.after else []

    @property
    def cost(self) -> list[Row]:
        """Return the lines of the bill that differ."""
        return cost_rows(self.before.cost, self.after.cost) if self.before and self.after else []

    @property
    def warnings(self) -> tuple[list[Warning], list[Warning]]:
        """Return the warnings that only the newer plan has, and those that only the older one has."""
        was, will = (figures.warnings if figures else () for figures in (self.before, self.after))
        return warnings_without(will, was), warnings_without(was, will)

    @property
    def applied(self) -> list[Row]:
        """Return what is applied in each way: the settings that need a new cluster by name, the others by number."""
        if self.comparison.application is None:
            return [("unknown", self.comparison.unknown)] if self.comparison.unknown else []
        return list(applied_rows(self.comparison.application.changes))

    @property
    def impact(self) -> list[PageRow]:
        """Return what it costs to apply the changes."""
        application = self.comparison.application
        return list(impact_rows(application.cost, application.launch)) if application else []

    @property
    def diff_command(self) -> str:
        """Return the command that shows each setting."""
        return f"warmbase diff {Path(self.comparison.after.environment.source).stem}"

    @property
    def no_difference(self) -> str:
        """Return the sentence for plans that do not differ. The plans of analytics clusters may still differ."""
        name = f" of {self.after.cluster}" if self.analytics and self.after else ""
        return f"The plans{name} do not differ."

    @property
    def is_empty(self) -> bool:
        """Return whether the two plans do not differ in anything."""
        differences = [*self.figures, *self.cost, *self.applied, *self.warnings[0], *self.warnings[1]]
        return not differences and bool(self.before and self.after)

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON has it."""
        return {
            "sources": {"before": self.sources[0], "after": self.sources[1]},
            "summary": self.headline,
            "before": self.before,
            "after": self.after,
            "delta": delta(self.before, self.after) if self.before and self.after else None,
            "application": _applied_document(self.comparison),
            "unknown": self.comparison.unknown or None,
            "same_nodes": _same_nodes_document(self.comparison.same_nodes),
            "analytics": {compared.name: compared.document() for compared in self.analytics},
        }


def _applied_document(comparison: PlanComparison) -> dict[str, Any] | None:
    application = comparison.application
    return {"changes": application.changes, "cost": application.cost} if application else None


def _same_nodes_document(comparison: PlanComparison | None) -> dict[str, Any] | None:
    if comparison is None or comparison.after.plan is None:
        return None
    return {"after": PlanFigures.of(comparison.after.plan), "application": _applied_document(comparison)}


MOST_LINES: Final = 60
FRAME_LINES: Final = 4
"""The lines around the details, which must not follow them without a blank one."""
MARKED: Final = re.compile(r"([\\`*_\[\]|<>#~])")
"""Characters that Markdown, or GitHub and GitLab, take for more than text."""
SIDES: Final = ("", "before", "after")


def comparison_markdown(compared: ComparedPlans | ComparedTrino) -> str:
    """Return what differs between two plans: the answer and the figures, and the rest to be opened by a click.

    Each analytics cluster whose plans differ has one line.
    """
    title = f"**{_text(compared.sources[1])}**: {_text(compared.headline)}"
    others = compared.analytics if isinstance(compared, ComparedPlans) else ()
    lines = _bullets(other.headline for other in others)
    if compared.is_empty:
        return "\n".join([title, "", compared.no_difference, *lines])
    same_nodes = ["", _text(compared.same_nodes)] if compared.same_nodes else []
    came, went = compared.warnings
    details = [
        *_table(SIDES, compared.cost),
        *_bullets(f"{kind}: {names}" for kind, names in compared.applied),
        *_bullets(f"new warning: {_warning(warning)}" for warning in came),
        *_bullets(f"no longer: {warning.message}" for warning in went),
    ]
    summary = f"Compared with {_text(compared.sources[0])}: the bill, how the change is applied, and warnings"
    return _page([title, *same_nodes, *lines, *_table(SIDES, compared.figures)], details, summary)


def plan_markdown(side: PlanSide, source: str) -> str:
    """Return one plan: what it buys, does and costs, and the rest to be opened by a click."""
    figures = PlanFigures.of(side.plan) if side.plan else None
    title = f"**{_text(source)}**: {_text(single_headline(figures))}"
    if figures is None:
        return title
    return _plan_page(title, figure_rows(figures), cost_rows(figures.cost), figures.warnings)


def trino_markdown(side: TrinoSide, source: str) -> str:
    """Return the plan of an analytics cluster as `plan_markdown` does."""
    title = f"**{_text(source)}**: {_text(plan_headline(side))}"
    return _plan_page(title, trino_rows(side.plan), cost_rows(bill_of(side.plan)), side.plan.warnings)


def _plan_page(
    title: str, figures: Iterable[Row], cost: Iterable[Row], warnings: Iterable[Warning | TrinoWarning]
) -> str:
    details = [*_table(("", "a month"), cost), *_bullets(map(_warning, warnings))]
    return _page([title, *_table(("", "plan"), figures)], details, "The bill, and what to watch")


def _page(top: Sequence[str], details: Sequence[str], summary: str) -> str:
    """Return the page, with as many of the details as fit into its lines."""
    most = MOST_LINES - len(top) - FRAME_LINES
    if len(details) > most:
        more = len(details) - (most - 2)
        details = [*details[: most - 2], "", f"{more} more lines: run `warmbase plan` to see them."]
    return "\n".join([*top, "", f"<details><summary>{summary}</summary>", *details, "", "</details>"])


def _table(headings: Sequence[str], rows: Iterable[Row]) -> list[str]:
    body = [_line(map(_text, row)) for row in rows]
    return ["", _line(headings), _line("---" for _ in headings), *body] if body else []


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _bullets(texts: Iterable[str]) -> list[str]:
    lines = [f"- {_text(text)}" for text in texts]
    return ["", *lines] if lines else []


def _warning(warning: Warning | TrinoWarning) -> str:
    return f"{warning.message}; {fix_line(warning.fix)}"


def _text(text: str) -> str:
    """Return the text on one line, with every character that Markdown would take for more than text escaped."""
    return MARKED.sub(r"\\\1", printable(" ".join(text.split())))


def comparison_page(compared: ComparedPlans | ComparedTrino) -> Iterator[Part]:
    """Yield the page that `warmbase plan` prints for two plans: the answer, where the plans come from, what differs."""
    yield from _answer(compared)
    yield from ("", rows_table(zip(SIDES[1:], compared.sources, strict=True)))
    yield from _differences(compared)
    for other in compared.analytics if isinstance(compared, ComparedPlans) else ():
        yield from ("", *_answer(other), *_differences(other))


def _answer(compared: ComparedPlans | ComparedTrino) -> Iterator[Part]:
    yield Paragraph(text=styled(_unbroken(compared.headline), bold=True))
    if compared.same_nodes:
        yield Paragraph(text=_unbroken(compared.same_nodes))


def _unbroken(answer: str) -> str:
    """Return the answer with each percentage on one line."""
    return answer.replace(" %", f"{NO_BREAK}%")


def _differences(compared: ComparedPlans | ComparedTrino) -> Iterator[Part]:
    if compared.is_empty:
        yield from ("", compared.no_difference)
        return
    for title, rows in (("What differs", compared.figures), ("Bill, a month", compared.cost)):
        if rows:
            yield from ("", styled(title, bold=True), rows_table(rows, *SIDES[1:]))
    if compared.applied:
        yield from ("", styled("How a running cluster gets there", bold=True), rows_table(compared.applied))
        yield from CHANGES.lines(compared.impact)
    new: Sequence[Warning | TrinoWarning]
    former: Sequence[Warning | TrinoWarning]
    new, former = compared.warnings
    for title, warnings in (("New warnings", new), ("Warnings that no longer apply", former)):
        if warnings:
            yield from ("", styled(title, bold=True))
        for warning in warnings:
            yield Paragraph(text=f"{warning.message} ({fix_line(warning.fix)})", hanging=2)
    command = f"{compared.diff_command} --against launch|live|FILE"
    yield from ("", Paragraph(text=f"Each setting and how it is applied: {command}"))


LAUNCH: Final = "launch"


class ComparedEnvironments(Struct, frozen=True, kw_only=True):
    """The newer environment, and the older one: None where launches are compared, or where there is one plan."""

    before: Environment | None
    after: Environment
    after_text: str

    def source(self, record: LaunchRecord | None) -> str:
        """Return the older environment in words, or the directory of a launch record."""
        if record:
            return str(record.directory)
        return self.before.source if self.before else ""


def show_comparison(request: PlanRequest) -> None:
    """Print the comparison. Raises Infeasible where the newer plan misses its targets, after printing it."""
    environments = _environments(request)
    is_trino = chosen_analytics(environments.after, request.cluster) is not None
    error = (_show_trino if is_trino else _show_hbase)(request, environments)
    if error:
        raise error


def _show_hbase(request: PlanRequest, environments: ComparedEnvironments) -> Infeasible | None:
    choice, record = chosen_cluster(environments.after, request.cluster), None
    if request.against == LAUNCH:
        record = recorded_launch(environments.after, choice.name)
        before = PlanSide.at_launch(environments.after, record)
    elif environments.before:
        before = PlanSide.of(environments.before, chosen_cluster(environments.before, request.cluster))
    else:
        after = PlanSide.of(environments.after, choice)
        echo(plan_markdown(after, environments.after_text))
        return after.error
    after = PlanSide.of(environments.after, choice)
    analytics = () if request.cluster else tuple(_differing_analytics(request, environments))
    compared = ComparedPlans.of(
        plan_comparison(before, after), environments.source(record), environments.after_text, analytics
    )
    _print(compared, after.error, request.output)
    return next(filter(None, (after.error, *(other.error for other in analytics))), None)


def _differing_analytics(request: PlanRequest, environments: ComparedEnvironments) -> Iterator[ComparedTrino]:
    """Yield the comparison of each analytics cluster whose plans differ."""
    names = (*environments.after.analytics, *(environments.before.analytics if environments.before else ()))
    records = launch_records(environments.after) if request.against == LAUNCH and names else {}
    for name in dict.fromkeys(names):
        if environments.before or name in records:
            compared = _compared_trino(environments, name, records.get(name))
            if not compared.is_empty:
                yield compared


def _show_trino(request: PlanRequest, environments: ComparedEnvironments) -> Infeasible | None:
    name = request.cluster or ""
    if request.against != LAUNCH and environments.before is None:
        after = TrinoSide.of(environments.after, environments.after.analytics[name])
        echo(trino_markdown(after, environments.after_text))
        return after.error
    record = recorded_launch(environments.after, name) if request.against == LAUNCH else None
    compared = _compared_trino(environments, name, record)
    _print(compared, compared.error, request.output)
    return compared.error


def _compared_trino(environments: ComparedEnvironments, name: str, record: LaunchRecord | None) -> ComparedTrino:
    before = _side(environments.before, name)
    if record:
        before = TrinoSide.at_launch(environments.after, environments.after.analytics[name], record)
    comparison = trino_comparison(before, _side(environments.after, name))
    return ComparedTrino(
        name=name, comparison=comparison, sources=(environments.source(record), environments.after_text)
    )


def _side(environment: Environment | None, name: str) -> TrinoSide | None:
    choice = environment.analytics.get(name) if environment else None
    return TrinoSide.of(environment, choice) if environment and choice else None


def _print(compared: ComparedPlans | ComparedTrino, error: Infeasible | None, output: str) -> None:
    if output == "json":
        document: dict[str, Any] = answer_document(compared.document(), error)
        echo(json_text(document))
    elif output == "markdown":
        echo(comparison_markdown(compared))
    else:
        summary_page().show(comparison_page(compared))


def _environments(request: PlanRequest) -> ComparedEnvironments:
    """Return the two environments, the newer one also in words."""
    if request.other and request.against:
        raise click.UsageError("Name a second environment or --against, not both.")
    after = read_environment(request.other or request.environment, request.values)
    after_text = " ".join([after.source, *map(str, request.values)])
    return ComparedEnvironments(before=_before(request), after=after, after_text=after_text)


def _before(request: PlanRequest) -> Environment | None:
    if request.against == LAUNCH:
        return None
    if request.against:
        return _environment_against(locate(request.environment), request.against)
    return read_environment(request.environment) if request.other or request.assignments else None


def _environment_against(file: Path, against: str) -> Environment:
    """Return the environment of a file, or of a git revision of the environment's own file."""
    if not Path(against).is_file():
        return environment_at(file, against)
    if is_revision(file, against):
        echo(f"note: {against} is a file and a git revision, and warmbase compares with the file", err=True)
        echo(f"to compare with the revision: --against {against}~0", err=True)
    return environment_of(load_document(Path(against), quoted_path(Path(against))))
