"""`warmbase explain` shows the formula, inputs and source of one figure or property."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Final

import click

from warmbase.cli.engine_facet import pages_of
from warmbase.cli.options import cluster_option, environment_argument, output_option
from warmbase.cli.page import Paragraph, Part, summary_page
from warmbase.cli.size.explanation import (
    LISTS,
    SAVES,
    WORDS,
    explanation_parts,
    is_word,
    list_parts,
    listed,
    word_document,
    word_paths,
)
from warmbase.cli.terminal import print_json
from warmbase.configurations.launch import classifications
from warmbase.configurations.properties import CATALOGUE, HBaseProperty
from warmbase.emr.cluster_spec import flattened
from warmbase.engines.engine import engine_of
from warmbase.environments.environment import Environment, Override
from warmbase.environments.planning import advised_plan_of, chosen_cluster, plan_of
from warmbase.environments.reader import read_environment
from warmbase.environments.unstated import Unstated, unstated
from warmbase.facts.releases import releases
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.secret import redacted
from warmbase.sizing.plan import Plan

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
    if cluster is not None and cluster in read.analytics:
        pages_of(engine_of(read, cluster)).explain(read, cluster, figure, output)
        return
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
        print_json({"figure": figure, "path": path, "properties": properties, "because": explanation})
        return
    page = summary_page()
    for entry in properties[:1]:
        page.show(_property_parts(entry, read, plan))
    if explanation is not None:
        page.show(explanation_parts(path, explanation, plan))


def _explain_word(word: str, plan: Plan, entries: tuple[Sequence[Unstated], Sequence[Override]], output: str) -> None:
    """Explain every figure of the plan that a word stands for, or list what it names."""
    if output == "json":
        print_json({"figure": word, **word_document(word, plan, *entries)})
        return
    figures = (explanation_parts(path, plan.because[path], plan) for path in word_paths(word, plan))
    summary_page().show(chain(*figures, list_parts(listed(word, plan, *entries))))


def _property_parts(entry: HBaseProperty, environment: Environment, plan: Plan) -> Iterator[Part]:
    levels = classifications(environment, plan)
    values = [
        value
        for level in levels
        for path, key, value in flattened(level)
        if (path, key) == (entry.classification, entry.key)
    ]
    rendered = (
        f"{redacted(entry.key, values[0])} {entry.values.unit}".rstrip()
        if values
        else "not set for this cluster: the default applies"
    )
    yield f"{entry.key} = {rendered}"
    applied = entry.applied_in(releases()[plan.release])
    groups = " and ".join(sorted(entry.groups))
    yield Paragraph(text=f"set in {entry.classification} for {groups}; to apply a change: {applied}", indent=2)
    for override in environment.overrides:
        if (override.classification, override.key) == (entry.classification, entry.key):
            yield f"  an override: {override.where}"
    yield from list_parts([f"  {entry.reason}", f"  source: {entry.source}"])


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
