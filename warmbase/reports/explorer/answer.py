"""The answers that the page asks for: the figures and plots of a state, its price alone, and how to save money.

Two plots need further plans: the price by amount of data for each kind of cluster, and what moves the price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from warmbase.environments.reader.key import Kind
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.uncertainty.samples import Sampling
from warmbase.environments.uncertainty.sensitivity import REACH
from warmbase.ground.errors import WarmbaseError
from warmbase.ground.units import parse_multiple, parse_size
from warmbase.reports.decision_page import DecisionPage, Row, decision_page, value_text
from warmbase.reports.explorer.drawing import PRICES, TORNADO
from warmbase.reports.explorer.page_input import PageInput
from warmbase.reports.explorer.subject import ZIPF, State, problem_documents
from warmbase.reports.json_text import plain

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


FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 3.0)
HERE: Final = "here"
WRITTEN: Final[Mapping[Kind, Callable[[float], str]]] = {
    "size": lambda value: f"{round(value)} B",
    "count": lambda value: f"{value:.6g}",
    "ratio": lambda value: f"{value:.6g}",
    "multiple": lambda value: f"{value:.6g}x",
    "skew": lambda value: f"{value:.6g}",
}
PARSERS: Final[Mapping[Kind, Callable[[str], float]]] = {"size": parse_size, "multiple": parse_multiple}


class Step(Struct, frozen=True, kw_only=True):
    """One plan of a plot: `series` names its line or bar, and `x` is the amount of data or the factor of the input.

    `column` is that of `warmbase compare`, or empty for a plan of the page's own cluster.
    """

    plot: str
    series: str
    x: float
    label: str
    values: Mapping[str, str]
    column: str = ""


def steps(state: State) -> list[Step]:
    """Return the plans that both plots need for a state of the page, whose inputs may be ranges."""
    return [*_data_steps(state), *_input_steps(state)]


def _data_steps(state: State) -> Iterator[Step]:
    """Yield a plan for each amount of data and each column, or nothing if the page lacks an input for an amount.

    The data of all tables is scaled together.
    """
    engine = state.subject.engine
    amounts = engine.amounts(state.environment)
    if not amounts.keys() <= state.subject.inputs.keys():
        return
    for factor in FACTORS:
        scaled = {key: round(factor * amount_bytes) for key, amount_bytes in amounts.items()}
        for column, title in engine.columns.items():
            yield Step(
                plot=PRICES,
                series=title,
                x=sum(scaled.values()),
                label=HERE if factor == 1 and column == state.planned.column else "",
                values={**state.values, **{key: f"{data} B" for key, data in scaled.items()}},
                column=column,
            )


def _input_steps(state: State) -> Iterator[Step]:
    ends = {entry.key: (entry.text(entry.low), entry.text(entry.high)) for entry in state.ranged.ranges.values()}
    inputs = state.subject.inputs
    for entry in state.subject.engine.varied(inputs.values()):
        if entry.is_meaningless(inputs, state.values):
            continue
        name = f"{entry.key}.{ZIPF}" if entry.kind == "skew" else entry.key
        texts = ends.get(name) or _varied(entry, state.values.get(entry.key, entry.text))
        for factor, text in zip((1 - REACH, 1 + REACH), texts, strict=False):
            values = {**state.values, entry.key: text}
            yield Step(plot=TORNADO, series=entry.name, x=factor, label=text, values=values)


def _varied(entry: PageInput, text: str) -> tuple[str, ...]:
    """Return an input a fifth smaller and larger, or nothing if it is not a number that can be varied."""
    number = _number(entry, text)
    return tuple(WRITTEN[entry.kind](factor * number) for factor in (1 - REACH, 1 + REACH)) if number else ()


def _number(entry: PageInput, text: str) -> float | None:
    """Return the number of an input that can be varied by a fifth, or None if the input is not such a number."""
    if entry.kind not in WRITTEN:
        return None
    try:
        return PARSERS.get(entry.kind, float)(text)
    except ValueError:
        return None
