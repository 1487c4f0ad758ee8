"""`warmbase explain ENV FIGURE --cluster NAME` for an analytics cluster."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import Final

from cli.explanation_text import indented, print_explanation
from cli.terminal import echo, page_columns
from configurations.engines.trino.properties import PROPERTIES, TrinoProperty
from environments.engines.trino.assumptions import assumed
from environments.engines.trino.planning import trino_plan_of
from environments.environment import Environment
from reports.json_text import json_text
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.problem import InvalidInput, fix_line

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


def explain_trino(environment: Environment, cluster: TrinoChoice, figure: str, output: str) -> None:
    """Print the explanation of a word, a path in the plan, or a property. Raises InvalidInput for anything else."""
    plan = trino_plan_of(environment, cluster)
    properties = [entry for entry in PROPERTIES if entry.at(plan)[1] == figure]
    named = [entry.figure for entry in properties if entry.figure]
    paths = [path for path in WORDS.get(figure.lower(), named or [figure]) if path in plan.because]
    if figure.lower() in {ASSUMED, WATCH}:
        _print_list(figure.lower(), plan, list(assumed(environment, cluster)), output)
        return
    if not (paths or properties):
        raise _unknown(plan, figure)
    if output == "json":
        explanations = {path: plan.because[path] for path in paths}
        echo(
            json_text(
                {"figure": figure, "properties": [_plain(entry, plan) for entry in properties], "because": explanations}
            )
        )
        return
    for entry in properties:
        _print_property(entry, plan)
    for path in paths:
        print_explanation(path, plan.because[path], plan)


def _print_list(word: str, plan: TrinoPlan, values: Sequence[str], output: str) -> None:
    """Print all warnings of a plan, or all values that the file does not state."""
    if output == "json":
        listed = {"assumed": values} if word == ASSUMED else {"warnings": plan.warnings}
        echo(json_text({"figure": word, **listed}))
        return
    if word == ASSUMED:
        lines = [*values, "State a value in the environment file, or try it: warmbase plan ENV --set KEY=VALUE"]
    else:
        lines = [f"{warning.severity}: {warning.message}\n  {fix_line(warning.fix)}" for warning in plan.warnings]
    for line in "\n".join(lines).splitlines():
        echo(indented(line) if line.startswith(" ") else fill(line, width=page_columns(), break_on_hyphens=False))


def _plain(entry: TrinoProperty, plan: TrinoPlan) -> dict[str, object]:
    classification, key = entry.at(plan)
    return {
        "classification": classification,
        "key": key,
        "value": entry.value(plan),
        "groups": sorted(entry.groups),
        "reason": entry.reason,
        "source": entry.source,
    }


def _print_property(entry: TrinoProperty, plan: TrinoPlan) -> None:
    classification, key = entry.at(plan)
    echo(f"{key} = {entry.value(plan)}")
    groups = " and ".join(sorted(entry.groups))
    echo(indented(f"set in {classification} for {groups}; to apply a change: {entry.applied}"))
    echo(indented(entry.reason))
    echo(indented(f"source: {entry.source}"))


def _unknown(plan: TrinoPlan, figure: str) -> InvalidInput:
    names = [*WORDS, ASSUMED, WATCH, *plan.because, *(entry.at(plan)[1] for entry in PROPERTIES)]
    near = get_close_matches(figure, dict.fromkeys(names), n=3)
    return InvalidInput.of(
        where=figure,
        what="figure or property",
        why="neither a figure of the plan nor a property that warmbase renders for Trino has this name",
        fix=f"did you mean {', '.join(near)}?" if near else f"use a word such as {', '.join((*WORDS, ASSUMED, WATCH))}",
    )
