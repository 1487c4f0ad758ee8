"""`warmbase explain` shows the formula, inputs and source of one figure or property."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import Final

import click

from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from cli.plan_words import LISTS, SAVES, WORDS, is_word, listed, word_document, word_paths
from cli.terminal import echo, page_columns
from configurations.properties import CATALOGUE, Property
from configurations.rendering import classifications
from emr.classification import flattened
from environments.environment import Environment
from environments.override import Override
from environments.planning import advised_plan_of, plan_of
from environments.reader import read_environment
from environments.unstated import Unstated, unstated
from facts.releases import releases
from lint.secret import redacted
from reports.json_text import json_text
from sizing.explanation import Explanation
from sizing.plan import Plan
from sizing.problem import InvalidInput, Problem
from sizing.units import format_duration, format_percent, format_size, format_usd

THOUSAND: Final = 1000
UNITS: Final[Mapping[str, Callable[[str, float], str]]] = {
    "memory.parts.": lambda number, value: f"{number} B ({format_size(value)})",
    "_bytes": lambda number, value: f"{number} B ({format_size(value)})",
    "_mib_s": lambda number, _: f"{number} MiB/s",
    "_mib": lambda number, _: f"{number} MiB",
    "_gib": lambda number, _: f"{number} GiB",
    "_ms": lambda number, _: f"{number} ms",
    "seconds": lambda number, value: f"{number} s ({format_duration(value)})",
    "_per_second": lambda number, _: f"{number}/s",
    "usd_per_month": lambda _, value: f"{format_usd(value)} a month",
    "_fraction": lambda _, value: format_percent(value),
    "lower_limit": lambda _, value: format_percent(value),
    "hit_ratio.": lambda _, value: format_percent(value),
    "busiest_server.": lambda number, _: f"{number} times the mean",
}
"""How a figure is shown with its unit, by a part of its path; the first that fits. Others are counts or names."""
USUAL: Final = ("cold", "p99", "restart", "decides", "cache", "cost")
"""Words that somebody who has mistyped another may want."""


def _complete_word(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the words and properties that begin with these letters, for completion in a shell."""
    names = [*WORDS, *LISTS, *(key for _, key in CATALOGUE)]
    return sorted({name for name in names if name.startswith(start.lower()) and " " not in name})


@click.command()
@environment_argument
@click.argument("words", metavar="FIGURE", nargs=-1, required=True, shell_complete=_complete_word)
@cluster_option
@output_option
def explain(environment: str, words: tuple[str, ...], cluster: str | None, output: str) -> None:
    """Explain one figure or property: formula, inputs, source.

    FIGURE is a word that `warmbase plan` prints (cold, p99, assumed, watch), a path in the plan (heap.xmx_mib; `plan
    --output json` lists the paths under `because`), or a property that warmbase renders (hbase.bucketcache.size).

    \b
    Example:
      warmbase explain prod hbase.bucketcache.size
      warmbase explain prod node lost
      warmbase explain prod assumed
    """
    figure = " ".join(words)
    read = read_environment(environment)
    choice = chosen_cluster(read, cluster)
    word = figure.lower()
    plan = (advised_plan_of if word in SAVES else plan_of)(read, choice)
    if is_word(word, plan):
        _explain_word(word, plan, (unstated(read, choice), read.overrides), output)
        return
    properties = [entry for (_, key), entry in CATALOGUE.items() if key == figure]
    path = properties[0].figure if properties else figure
    explanation = plan.because.get(path)
    if not properties and explanation is None:
        raise InvalidInput([_unknown(plan, figure)])
    if output == "json":
        echo(json_text({"figure": figure, "path": path, "properties": properties, "because": explanation}))
        return
    for entry in properties[:1]:
        _print_property(entry, read, plan)
    if explanation is not None:
        _print_explanation(path, explanation, plan)


def _explain_word(word: str, plan: Plan, entries: tuple[Sequence[Unstated], Sequence[Override]], output: str) -> None:
    """Explain every figure of the plan that a word stands for, or list what it names."""
    if output == "json":
        echo(json_text({"figure": word, **word_document(word, plan, *entries)}))
        return
    for path in word_paths(word, plan):
        _print_explanation(path, plan.because[path], plan)
    for line in listed(word, plan, *entries):
        echo(_indented(line) if line.startswith(" ") else fill(line, width=page_columns(), break_on_hyphens=False))


def _print_property(entry: Property, environment: Environment, plan: Plan) -> None:
    echo(f"{entry.key} = {_rendered(entry, environment, plan)}")
    applied = entry.applied_in(releases()[plan.release])
    groups = " and ".join(sorted(entry.groups))
    echo(_indented(f"set in {entry.classification} for {groups}; to apply a change: {applied}"))
    for override in environment.overrides:
        if (override.classification, override.key) == (entry.classification, entry.key):
            echo(f"  an override: {override.where}")
    echo(_indented(entry.reason))
    echo(_indented(f"source: {entry.source}"))


def _rendered(entry: Property, environment: Environment, plan: Plan) -> str:
    levels = classifications(environment, plan)
    values = [
        value
        for level in levels
        for path, key, value in flattened(level)
        if (path, key) == (entry.classification, entry.key)
    ]
    return (
        f"{redacted(entry.key, values[0])} {entry.unit}".rstrip()
        if values
        else "not set for this cluster: the default applies"
    )


def _print_explanation(path: str, explanation: Explanation, plan: Plan) -> None:
    echo(f"{path} = {_value(path, plan)}")
    echo(_indented(explanation.sentence))
    echo(_indented(explanation.formula))
    for name, quantity in explanation.facts.items():
        echo(f"    {name:<20} {quantity!s:<18} {quantity.source}")
    echo(_indented(f"source: {explanation.source}"))


def _indented(text: str) -> str:
    return fill(text.strip(), width=page_columns(), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _value(path: str, plan: Plan) -> str:
    value = plan.figure(path)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if not isinstance(value, int | float):
        return str(value)
    number = f"{value:,.4g}" if isinstance(value, float) and value < THOUSAND else f"{value:,.0f}"
    return next((text(number, value) for part, text in UNITS.items() if part in path), number)


def _unknown(plan: Plan, figure: str) -> Problem:
    names = [*plan.because, *(key for _, key in CATALOGUE)] if "." in figure else [*WORDS, *LISTS, *plan.because]
    near = get_close_matches(figure, names, n=3)
    return Problem(
        where=figure,
        what="figure or property",
        why="neither a figure of the plan nor a property that warmbase knows has this name",
        fix=f"did you mean {', '.join(near)}?"
        if near
        else f"use a word on the page of the plan, such as {', '.join(USUAL)}",
    )
