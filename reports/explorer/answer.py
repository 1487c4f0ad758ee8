"""The answers that the page asks for: the figures and plots of a state, its price alone, and how to save money."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from environments.reader.ranges import RangedDocument
from environments.samples import Sampling
from reports.decision_page import DecisionPage, Row, decision_page, value_text
from reports.explorer.state import State
from reports.explorer.steps import steps
from reports.explorer.subject import problem_documents
from reports.json_text import plain
from sizing.problem import WarmbaseError

Document = dict[str, Any]
PENDING: Final = "No cluster meets the targets. The nearest one is being computed."


def quick_answer(state: State) -> Document:
    """Return the plan, or only its verdict if the nearest cluster takes a further search."""
    return {"pending": PENDING} if state.planned.needs_search else plan_answer(state)


def plan_answer(state: State) -> Document:
    """Return the figures and plots of the plan, and the texts for a terminal."""
    return {
        **plain(state.planned.page()),
        "middle": middle_text(state.ranged),
        "yaml": state.subject.yaml(state.values),
        "command": state.subject.command(state.values),
        "steps": plain(steps(state)),
    }


def middle_text(ranged: RangedDocument) -> str:
    """Return a sentence that names the middle of each range, for which the plan is made; empty without ranges."""
    middles = [f"{entry.key} {value_text(entry, entry.middle)}" for entry in ranged.ranges.values()]
    return f"These figures are for the middle of each range: {', '.join(middles)}." if middles else ""


def price_answer(state: State) -> Document:
    """Return the price of the page's own cluster or of a column; None if no cluster meets the targets."""
    if state.column:
        return {"usd_per_month": state.subject.engine.usd_of_column(state.environment, state.column)}
    return {"usd_per_month": state.planned.usd_per_month}


def ranges_answer(state: State) -> Document:
    """Return the rows about the cluster that suits all values of the ranges best; none without ranges."""
    ranged = state.ranged
    return {"rows": decision_rows(decision_page(ranged, state.subject.cluster, Sampling())) if ranged.ranges else []}


def decision_rows(page: DecisionPage) -> list[Row]:
    """Return the rows of a decision, each with its label and its text."""
    return [row for block in page.blocks for row in block]


def advice_answer(state: State) -> Document:
    """Return sentences about what would save money."""
    return {"advice": state.planned.advice()}


ANSWERS: Final[dict[str, Callable[[State], Document]]] = {
    "quick": quick_answer,
    "plan": plan_answer,
    "price": price_answer,
    "ranges": ranges_answer,
    "advice": advice_answer,
}


def answer(kind: str, state: State) -> Document:
    """Return the answer of this kind, or the problems of the values that the user has set."""
    try:
        return ANSWERS[kind](state)
    except WarmbaseError as error:
        return {"problems": problem_documents(error.problems)}
