"""The page of `warmbase plan ENV --months N`: when a growing workload needs more nodes, or a new cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any, Final

import click

from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled, page_columns
from environments.environment import Environment
from environments.planning import requirements, world
from reports.json_text import json_text, plain
from reports.nodes_text import nodes_text
from sizing.cluster import ClusterChoice
from sizing.growth import GrowthStep, growing, growth_steps, split_month
from sizing.problem import Infeasible
from sizing.units import format_percent, format_size, format_usd

HEADING: Final = "month  data, reads           price  cluster"
INDENT: Final = 36


def show_growth(environment: Environment, cluster: ClusterChoice, months: int, rate: float | None, output: str) -> None:
    """Print each purchase that a growing workload needs. Raises Infeasible where no cluster serves it today.

    If the rate is None, each table grows as the file states, or at the assumed rate.
    """
    if output == "markdown":
        raise click.UsageError("Growth is printed as a table or as JSON.")
    needs, offered = growing(requirements(environment, cluster), rate), world(environment)
    rates = {table.name: table.growth_per_month or 0.0 for table in needs.workload.parts}
    steps, split = list(growth_steps(needs, offered, months)), split_month(needs, months)
    if steps[0].option is None:
        raise Infeasible.of(
            where=environment.source,
            what="no cluster meets the targets today",
            why="growth begins with today's plan",
            fix=f"see what is missing: warmbase plan {environment.name}",
        )
    if output == "json":
        document: dict[str, Any] = {"environment": environment.name, "cluster": cluster.name}
        document |= {"growth": _common(rates), "tables": rates if needs.workload.tables else {}, "months": months}
        echo(json_text({**document, "steps": plain(steps), "split_month": split}))
        return
    head = cluster_heading(environment.name, cluster.name)
    title = f"{head}   {months} months in which data, reads and writes grow by {_growth(rates)} a month"
    rows = [line for step in steps for line in _lines(step, page_columns())]
    all_notes = (*_notes(steps, split), *_by_table(rates))
    notes = [line for note in all_notes for line in wrap(note, page_columns(), break_on_hyphens=False)]
    echo_styled("\n".join([title, "", HEADING, *rows, "", *notes]))


def _common(rates: Mapping[str, float]) -> float | None:
    """Return the growth of all tables, or None if it differs."""
    return next(iter(rates.values())) if len(set(rates.values())) == 1 else None


def _growth(rates: Mapping[str, float]) -> str:
    least, most = min(rates.values()), max(rates.values())
    return format_percent(least) + ("" if least == most else f" to {format_percent(most)}")


def _by_table(rates: Mapping[str, float]) -> Iterator[str]:
    """Yield the growth of each table if it differs."""
    if _common(rates) is None:
        yield f"Growth per month: {', '.join(f'{name} {format_percent(rate)}' for name, rate in rates.items())}."


def _lines(step: GrowthStep, width: int) -> Iterator[str]:
    workload = format_size(step.stored_bytes)
    if step.reads_per_second is not None:
        workload += f", {step.reads_per_second:,.0f}/s"
    label = f"{step.month:>5}  {workload:<19}"
    if step.option is None or step.usd_per_month is None:
        yield f"{label}no cluster meets the targets"
        return
    how = "new: " if step.is_new and step.month else ""
    why = f" ({', '.join(step.missed)})" if step.missed else ""
    first, *others = wrap(f"{how}{nodes_text(step.option)}{why}", width - INDENT, break_on_hyphens=False)
    yield f"{label}{format_usd(step.usd_per_month):>8}  {first}"
    yield from (" " * INDENT + other for other in others)


def _notes(steps: list[GrowthStep], split: int | None) -> Iterator[str]:
    later = [step for step in steps if step.month and step.option]
    if later:
        yield "In brackets: the targets that the previous cluster misses from that month on."
    if any(not step.is_new for step in later):
        yield (
            "More nodes of the same kind are added while the cluster runs (warmbase reconfigure). The regions that move"
            " to them are read from S3 once more; the other caches stay warm."
        )
    if any(step.is_new for step in later):
        yield "new: a new cluster, which starts with cold caches."
    if split is not None:
        yield f"From month {split} on, the mean region is larger than today's split limit, and HBase splits regions."
    yield "All prices are per month, and all are estimates."
