"""warmbase explain: why one figure or property is what it is."""

from __future__ import annotations

from difflib import get_close_matches
from textwrap import fill

import click

from cli.options import chosen_cluster, cluster_option, environment_argument, output_option
from configurations.properties import CATALOGUE, Property
from configurations.rendering import classifications
from emr.classification import flattened
from environments.environment import Environment
from environments.planning import plan_of
from environments.reader import read_environment
from facts.releases import releases
from lint.secret import redacted
from reports.amounts import quantity_text
from reports.json_text import json_text, plain
from sizing.explanation import Explanation
from sizing.plan import Plan
from sizing.problem import InvalidInput, Problem

__all__ = ["explain"]


@click.command()
@environment_argument
@click.argument("figure", metavar="FIGURE")
@cluster_option
@output_option
def explain(environment: str, figure: str, cluster: str | None, output: str) -> None:
    """Say why one figure or property is what it is: formula, inputs, source.

    FIGURE is a path in the plan (heap.xmx_mib, as `plan --output json` has it) or a property that is rendered
    (hbase.bucketcache.size).

    \b
    Example:
      warmbase explain prod hbase.bucketcache.size
      warmbase explain prod throughput.bottleneck
    """
    read = read_environment(environment)
    plan = plan_of(read, chosen_cluster(read, cluster))
    properties = [known for (_, key), known in CATALOGUE.items() if key == figure]
    path = properties[0].figure if properties else figure
    because = plan.because.get(path)
    if not properties and because is None:
        raise InvalidInput([_unknown(plan, figure)])
    if output == "json":
        click.echo(json_text({"figure": figure, "path": path, "properties": properties, "because": because}))
        return
    for known in properties[:1]:
        _print_property(known, read, plan)
    if because is not None:
        _print_explanation(path, because, plan)


def _print_property(known: Property, environment: Environment, plan: Plan) -> None:
    click.echo(f"{known.key} = {_rendered(known, environment, plan)}")
    applied = known.applied_in(releases()[plan.release])
    click.echo(f"  in {known.classification}, for {' and '.join(sorted(known.groups))}; a change: {applied}")
    for override in environment.overrides:
        if (override.classification, override.key) == (known.classification, known.key):
            click.echo(f"  an override: {override.where}")
    click.echo(_indented(known.reason))
    click.echo(_indented(f"source: {known.source}"))


def _rendered(known: Property, environment: Environment, plan: Plan) -> str:
    levels = classifications(environment, plan)
    found = [
        value
        for level in levels
        for path, key, value in flattened(level)
        if (path, key) == (known.classification, known.key)
    ]
    return (
        f"{redacted(known.key, found[0])} {known.unit}".rstrip()
        if found
        else "left alone: it is not rendered for this cluster"
    )


def _print_explanation(path: str, because: Explanation, plan: Plan) -> None:
    click.echo(f"{path} = {_value(path, plan)}")
    click.echo(_indented(because.formula))
    for name, quantity in because.inputs.items():
        click.echo(f"    {name.replace('_', ' '):<24} {quantity_text(quantity)}")
    click.echo(_indented(f"source: {because.source}"))


def _indented(text: str) -> str:
    return fill(text, width=80, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _value(path: str, plan: Plan) -> str:
    value = plain(plan)
    for key in path.split("."):
        if isinstance(value, list):
            value = next((each for each in value if each.get("purpose") == key), None)
        else:
            value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float):
        return f"{value:,.4g}"
    return (
        f"{value:,}" if isinstance(value, int) else ",".join(map(str, value)) if isinstance(value, list) else str(value)
    )


def _unknown(plan: Plan, figure: str) -> Problem:
    known = [*plan.because, *(key for _, key in CATALOGUE)]
    near = get_close_matches(figure, known, n=3)
    return Problem(
        where=figure,
        what="figure or property",
        why="no figure of the plan has a reason by that name, and no such property is rendered",
        fix=f"did you mean {', '.join(near)}?" if near else f"one of: {', '.join(plan.because)}",
    )
