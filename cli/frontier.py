"""The page of `warmbase plan ENV --frontier TARGET`: what each step of a target costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Any, Final

import click

from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled, page_columns
from environments.environment import Environment
from environments.situation import situation_of
from reports.json_text import json_text, plain
from reports.nodes_text import nodes_text
from sizing.frontier import QUERY_TARGETS, TARGETS, Frontier, Step, Target, frontier
from sizing.problem import Infeasible, InvalidInput
from sizing.units import format_duration, format_percent, format_usd

TEXTS: Final[Mapping[Target, Callable[[float], str]]] = {
    "hit_ratio": format_percent,
    "p99": format_duration,
    "query_time": format_duration,
    "lost_nodes": lambda value: f"{value:.0f}",
}
LABEL: Final = 22
PRICE: Final = 8
INDENT: Final = LABEL + 2 * PRICE + 6


def show_frontier(environment: Environment, cluster: str, target: Target, output: str) -> None:
    """Print the price of each step of a target."""
    if output == "markdown":
        raise click.UsageError("A frontier is printed as a table or as JSON.")
    is_analytics = cluster in environment.analytics
    known = QUERY_TARGETS if is_analytics else TARGETS
    if target not in known:
        raise InvalidInput.of(
            where=environment.source,
            what=f"targets.{target} of {cluster}",
            why=f"{'a Trino' if is_analytics else 'an HBase'} cluster has no such target",
            fix=f"ask for one of its targets: --frontier {', '.join(known)}",
        )
    if target == "hit_ratio" and not (is_analytics or environment.mode.has_bucket_cache):
        raise InvalidInput.of(
            where=environment.source,
            what="targets.hit_ratio has no price",
            why=f"in mode {environment.mode}, no cache on disk answers reads",
            fix="ask for another target: --frontier p99",
        )
    result = frontier(situation_of(environment, cluster), target)
    if not any(step.option for step in result.steps):
        raise Infeasible.of(
            where=environment.source,
            what="no cluster meets the other targets",
            why=f"whatever targets.{target} is",
            fix=f"warmbase plan {environment.name} --cluster {cluster} says what is missing",
        )
    if output == "json":
        echo(json_text(_document(environment, cluster, result)))
    else:
        echo_styled("\n".join(_page(environment, cluster, result, page_columns())))


def _document(environment: Environment, cluster: str, result: Frontier) -> dict[str, Any]:
    return {
        "environment": environment.name,
        "cluster": cluster,
        **plain(result),
        "knee": None if result.knee is None else plain(result.steps[result.knee]),
    }


def _page(environment: Environment, cluster: str, result: Frontier, width: int) -> Iterator[str]:
    head = cluster_heading(environment.name, cluster)
    yield f"{head}   what targets.{result.target} costs a month, all else as stated"
    yield ""
    yield from _rows(result, width)
    yield ""
    yield from wrap(_conclusion(result), width, break_on_hyphens=False)


def _rows(result: Frontier, width: int) -> Iterator[str]:
    """Yield a row for each cluster: the strictest step that it meets, its price, and the rise from the row before."""
    text, before = TEXTS[result.target], None
    for option, group in groupby(result.steps, key=lambda step: step.option):
        steps = list(group)
        last = steps[-1]
        label = text(last.value)
        if result.stated == last.value:
            label += " (stated)"
        elif result.stated in [step.value for step in steps]:
            label += f" (stated: {text(result.stated)})"
        if option is None or last.usd_per_month is None:
            yield f"{label:>{LABEL}}  no cluster meets this"
            return
        more = "" if before is None else f"+{format_usd(last.usd_per_month - before)}"
        before = last.usd_per_month
        first, *others = wrap(nodes_text(option), width - INDENT, break_on_hyphens=False)
        yield f"{label:>{LABEL}}  {format_usd(before):>{PRICE}}  {more:>{PRICE}}  {first}"
        yield from (" " * INDENT + other for other in others)


def _conclusion(result: Frontier) -> str:
    if len({step.option for step in result.steps}) == 1:
        return "Every step costs the same, because this target does not decide; warmbase plan shows what does."
    if result.knee is None:
        return "No step stands out: the price rises evenly, or fewer than three steps can be met."
    knee, last = result.steps[result.knee], _last(result)
    text = TEXTS[result.target]
    assert knee.usd_per_month is not None  # noqa: S101 - the knee has a price
    assert last.usd_per_month is not None  # noqa: S101 - as above
    return (
        f"The price rises slowly up to {text(knee.value)}, and faster beyond: {text(last.value)} costs "
        f"{format_usd(last.usd_per_month - knee.usd_per_month)} a month more (estimates)."
    )


def _last(result: Frontier) -> Step:
    return [step for step in result.steps if step.usd_per_month is not None][-1]
