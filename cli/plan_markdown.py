"""A plan, or the difference between two, as Markdown for a pull request: never more than 60 lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from changes.engines.trino.comparison import TrinoSide
from changes.plan_comparison import PlanSide
from changes.plan_figures import PlanFigures
from cli.compared_plans import ComparedPlans
from cli.engines.trino.comparison import ComparedTrino, bill_of, plan_headline
from cli.engines.trino.comparison import figure_rows as trino_rows
from cli.plan_differences import Row, cost_rows, figure_rows, single_headline
from reports.amounts import printable
from sizing.engines.trino.plan import TrinoWarning
from sizing.problem import fix_line
from sizing.warning import Warning  # noqa: A004 - the plan's own word

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
