"""The answers that the page asks for: the figures and plots of a state, its price alone, and how to save money."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from environments.environment import Environment
from environments.planning import plan_of, requirements, world
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from environments.samples import Sampling
from reports.decision_page import DecisionPage, Row, decision_page, value_text
from reports.explorer.day import day_document
from reports.explorer.figures import decisive, figures, verdict
from reports.explorer.steps import steps
from reports.explorer.subject import Subject, problem_documents
from reports.json_text import plain
from sizing.block_advice import alternatives
from sizing.cache_price import cache_price
from sizing.plan import Alternative, Plan
from sizing.problem import WarmbaseError
from sizing.units import format_size, format_usd

DRAWN: Final = (
    "environment",
    "cluster",
    "release",
    "mode",
    "core",
    "memory",
    "bucket_cache",
    "hit_ratio",
    "throughput",
    "bad_hours",
    "cost",
    "warnings",
)
"""The parts of a plan that the page draws. The other parts are larger, and every move of a slider would send them."""
Document = dict[str, Any]


class State(Struct, frozen=True, kw_only=True, dict=True):
    """The subject with the values that the user has set on the page."""

    subject: Subject
    values: Mapping[str, str]
    is_free: bool = False

    @cached_property
    def ranged(self) -> RangedDocument:
        """Return the file with these values. Raises InvalidInput for a range that the file does not accept."""
        return self.subject.ranged(self.values)

    @cached_property
    def environment(self) -> Environment:
        """Return the environment with these values, and the middle of each range. Raises InvalidInput as above."""
        return environment_of(self.ranged.middle)

    @cached_property
    def plan(self) -> Plan:
        """Return the plan, without advice. Raises InvalidInput as above, and Infeasible if nothing is large enough."""
        cluster = self.subject.choice(self.environment, is_free=self.is_free)
        return plan_of(self.environment, cluster)


def plan_answer(state: State) -> Document:
    """Return the figures, and the parts of the plan that the page draws."""
    plan = state.plan
    return {
        "figures": plain(figures(plan)),
        "verdict": verdict(plan),
        "decides": decisive(plan),
        "middle": middle_text(state.ranged),
        "plan": page_plan(plan),
        "day": day_document(plan),
        "cache_price": plain(cache_price(plan, world(state.environment).prices)),
        "yaml": state.subject.yaml(state.values),
        "command": state.subject.command(state.values),
        "steps": plain(steps(state.subject, state.values, state.environment, state.ranged.ranges.values())),
    }


def middle_text(ranged: RangedDocument) -> str:
    """Return a sentence that names the middle of each range, for which the plan is made; empty without ranges."""
    middles = [f"{entry.key} {value_text(entry, entry.middle)}" for entry in ranged.ranges.values()]
    return f"These figures are for the middle of each range: {', '.join(middles)}." if middles else ""


def page_plan(plan: Plan) -> Document:
    """Return the parts of a plan that the page draws, with the keys of `--output json`."""
    return {name: plain(getattr(plan, name)) for name in DRAWN}


def price_answer(state: State) -> Document:
    """Return the price and the p99; both are None if no cluster meets the targets."""
    plan = state.plan
    if not plan.meets_targets:
        return {"usd_per_month": None, "p99_ms": None}
    return {"usd_per_month": plan.cost.usd_per_month, "p99_ms": plan.throughput.p99_latency_ms}


def ranges_answer(state: State) -> Document:
    """Return the rows about the cluster that suits all values of the ranges best; none without ranges."""
    ranged = state.ranged
    return {"rows": decision_rows(decision_page(ranged, state.subject.cluster, Sampling())) if ranged.ranges else []}


def decision_rows(page: DecisionPage) -> list[Row]:
    """Return the rows of a decision, each with its label and its text."""
    return [row for block in page.blocks for row in block]


def advice_answer(state: State) -> Document:
    """Return sentences that name other block sizes and codecs that would save money."""
    environment = state.environment
    cluster = state.subject.choice(environment)
    return {"advice": advice_texts(alternatives(requirements(environment, cluster), world(environment), state.plan))}


def advice_texts(options: Iterable[Alternative]) -> list[str]:
    """Return each alternative as a text that names its saving."""
    return [f"{format_usd(option.saving_usd_per_month)} less a month with {_setting(option)}" for option in options]


def _setting(option: Alternative) -> str:
    if option.setting != "COMPRESSION":
        return f"{option.setting} {format_size(option.block_bytes)}"
    return f"{option.setting} {option.codec.upper()}, if it compresses your data {option.compression_ratio:g}:1"


ANSWERS: Final[dict[str, Callable[[State], Document]]] = {
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
