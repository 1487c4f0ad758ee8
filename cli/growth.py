"""The page of `warmbase plan ENV --months N`: when a growing workload needs more nodes, or a new cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from cli.options import chosen_cluster
from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled, page_columns
from environments.planning import requirements, world
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from environments.samples import Sampling, samples_of
from reports.json_text import json_text, plain
from reports.nodes_text import nodes_text
from sizing.growth import GrowthStep, growing, growth_steps, outgrown_month, split_month
from sizing.problem import Infeasible
from sizing.regret import ClusterOption
from sizing.units import format_percent, format_size, format_usd

HEADING: Final = "month  data, reads           price  cluster"
INDENT: Final = 36


class GrowthRequest(Struct, frozen=True, kw_only=True):
    """The options of `warmbase plan` that matter to a growing workload.

    If the rate is None, each table grows as the file states, or at the assumed rate.
    """

    cluster: str | None
    months: int
    rate: float | None
    sampling: Sampling
    output: str


def show_growth(ranged: RangedDocument, request: GrowthRequest) -> None:
    """Print each purchase that a growing workload needs. Raises Infeasible where no cluster serves it today.

    If inputs are ranges, the purchases are those for the middle of each, and samples say when the first is due.
    """
    if request.output == "markdown":
        raise click.UsageError("Growth is printed as a table or as JSON.")
    environment = environment_of(ranged.middle)
    cluster = chosen_cluster(environment, request.cluster)
    needs, offered = growing(requirements(environment, cluster), request.rate), world(environment)
    rates = {table.name: table.growth_per_month or 0.0 for table in needs.workload.parts}
    steps, split = list(growth_steps(needs, offered, request.months)), split_month(needs, request.months)
    if (first := steps[0].option) is None:
        raise Infeasible.of(
            where=environment.source,
            what="no cluster meets the targets today",
            why="growth begins with today's plan",
            fix=f"see what is missing: warmbase plan {environment.name}",
        )
    outgrown = _outgrown(ranged, cluster.name, first, request) if ranged.ranges else None
    if request.output == "json":
        document: dict[str, Any] = {"environment": environment.name, "cluster": cluster.name}
        tables = rates if needs.workload.tables else {}
        document |= {"growth": _common(rates), "tables": tables, "months": request.months}
        echo(json_text({**document, "steps": plain(steps), "split_month": split, "outgrown_months": outgrown}))
        return
    head = cluster_heading(environment.name, cluster.name)
    title = f"{head}   {request.months} months in which data, reads and writes grow by {_growth(rates)} a month"
    rows = [line for step in steps for line in _lines(step, page_columns())]
    all_notes = (*_notes(steps, split), *_by_table(rates), *_when_outgrown(outgrown or [], request.months))
    notes = [line for note in all_notes for line in wrap(note, page_columns(), break_on_hyphens=False)]
    echo_styled("\n".join([title, "", HEADING, *rows, "", *notes]))


def _outgrown(ranged: RangedDocument, cluster: str, first: ClusterOption, request: GrowthRequest) -> list[int | None]:
    """Return the month in which each sample of the ranges outgrows the first cluster; None if it does not in time."""
    situations = samples_of(ranged, cluster, request.sampling).situations
    grown = (replace(one, requirements=growing(one.requirements, request.rate)) for one in situations)
    return [outgrown_month(one, first, request.months) for one in grown]


def _when_outgrown(outgrown: Sequence[int | None], months: int) -> Iterator[str]:
    """Yield when samples of the ranges outgrow the cluster of month 0; nothing without samples."""
    if not outgrown:
        return
    known = sorted(months + 1 if month is None else month for month in outgrown)
    early, median, late = (known[round(share * (len(known) - 1))] for share in (0.1, 0.5, 0.9))
    yield (
        f"The table is for the middle of each range. Over {len(outgrown)} samples of the ranges, the cluster of month 0"
        f" misses a target from {_month(median, months)} on in the median; four in five samples lie between"
        f" {_month(early, months)} and {_month(late, months)}."
    )


def _month(month: int, months: int) -> str:
    return f"month {month}" if month <= months else f"a month after {months}"


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
