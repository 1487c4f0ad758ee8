"""The page of `warmbase plan ENV --months N`: when a growing workload needs more nodes, or a new cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, Final

import click
from msgspec import Struct

from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled, page_columns
from environments.environment import Environment
from environments.growth import Growth, Horizon, growth_of, outgrown_months
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from reports.json_text import json_text, plain
from reports.nodes_text import nodes_text
from sizing.disks import FILL_FRACTION, PINNED_FILL_FRACTION
from sizing.growth import GrowthStep, growth_steps
from sizing.problem import Infeasible
from sizing.units import format_percent, format_size, format_usd

INDENT: Final = 36


class Words(Struct, frozen=True, kw_only=True):
    """The words of the page for one engine: what grows, its column, the unit of the load, and a note on more nodes."""

    grows: str
    heading: str
    unit: str
    more_nodes: str


HBASE: Final = Words(
    grows="data, reads and writes",
    heading="data, reads",
    unit="s",
    more_nodes="More nodes of the same kind are added while the cluster runs (warmbase reconfigure). The regions that"
    " move to them are read from S3 once more; the other caches stay warm. A step may also need a larger cache on the"
    f" same volumes, up to {format_percent(PINNED_FILL_FRACTION)} of them instead of {format_percent(FILL_FRACTION)}: a"
    " change of the size empties a cache once.",
)
TRINO: Final = Words(
    grows="working set and queries",
    heading="working set, queries",
    unit="h",
    more_nodes="More workers of the same kind are added while the cluster runs (warmbase reconfigure). Files that move"
    " to a new worker are read from S3 once more. The amount of data that a query scans does not grow.",
)


class GrowthRequest(Struct, frozen=True, kw_only=True):
    """The options of `warmbase plan` that matter to a growing workload.

    If the rate is None, each table grows as the file states, or at the assumed rate.
    """

    cluster: str
    horizon: Horizon
    rate: float | None
    output: str

    def growth_in(self, environment: Environment) -> Growth:
        """Return the growth of the cluster's workload in an environment."""
        return growth_of(environment, self.cluster, self.horizon.months, self.rate)


def show_growth(ranged: RangedDocument, request: GrowthRequest) -> None:
    """Print each purchase that a growing workload needs. Raises Infeasible where no cluster serves it today.

    If inputs are ranges, the purchases are those for the middle of each, and samples say when the first is due.
    """
    if request.output == "markdown":
        raise click.UsageError("Growth is printed as a table or as JSON.")
    environment, cluster, months = environment_of(ranged.middle), request.cluster, request.horizon.months
    growth = request.growth_in(environment)
    steps = list(growth_steps(growth.later, months))
    if (first := steps[0].option) is None:
        raise Infeasible.of(
            where=environment.source,
            what="no cluster meets the targets today",
            why="growth begins with today's plan",
            fix=f"see what is missing: warmbase plan {environment.name} --cluster {cluster}",
        )
    outgrown = outgrown_months(ranged, request.growth_in, first, request.horizon) if ranged.ranges else None
    if request.output == "json":
        document = {"environment": environment.name, "cluster": cluster, "months": months}
        echo(json_text(document | _document(growth, steps) | {"outgrown_months": outgrown}))
        return
    words = TRINO if cluster in environment.analytics else HBASE
    head = cluster_heading(environment.name, cluster)
    title = f"{head}   {months} months in which {words.grows} grow by {_growth(growth.rates)} a month"
    columns = f"month  {words.heading:<20}{'price':>7}  cluster"
    rows = [line for step in steps for line in _lines(step, _load_text(growth, step.month, words), page_columns())]
    all_notes = (
        *_notes(steps, growth.split_month, words),
        *_by_table(growth.rates),
        *_when_outgrown(outgrown or [], months),
    )
    notes = [line for note in all_notes for line in wrap(note, page_columns(), break_on_hyphens=False)]
    echo_styled("\n".join([title, "", columns, *rows, "", *notes]))


def _when_outgrown(outgrown: Sequence[int | None], months: int) -> Iterator[str]:
    """Yield the note on when samples of the ranges outgrow the cluster of month 0; nothing without samples."""
    if not outgrown:
        return
    known = sorted(months + 1 if month is None else month for month in outgrown)
    early, median, late = (known[round(share * (len(known) - 1))] for share in (0.1, 0.5, 0.9))
    yield (
        f"The table is for the middle of each range. Over {len(outgrown)} samples of the ranges, the cluster of month 0"
        f" first misses a target in {_month(median, months)} (median). In four of five samples, this happens between"
        f" {_month(early, months)} and {_month(late, months)}."
    )


def _month(month: int, months: int) -> str:
    return f"month {month}" if month <= months else f"a month after {months}"


def _document(growth: Growth, steps: Sequence[GrowthStep]) -> dict[str, Any]:
    return {
        "growth": _common(growth.rates),
        "tables": growth.tables,
        "steps": [{**plain(step), **growth.figures(step.month)} for step in steps],
        "split_month": growth.split_month,
    }


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


def _load_text(growth: Growth, month: int, words: Words) -> str:
    stored_bytes, load = growth.figures(month).values()
    size = format_size(stored_bytes or 0)
    return size if load is None else f"{size}, {load:,.0f}/{words.unit}"


def _lines(step: GrowthStep, load: str, width: int) -> Iterator[str]:
    label = f"{step.month:>5}  {load:<19}"
    if step.option is None or step.usd_per_month is None:
        yield f"{label}no cluster meets the targets"
        return
    how = "new: " if step.is_new and step.month else ""
    why = f" ({', '.join(step.missed)})" if step.missed else ""
    first, *others = wrap(f"{how}{nodes_text(step.option)}{why}", width - INDENT, break_on_hyphens=False)
    yield f"{label}{format_usd(step.usd_per_month):>8}  {first}"
    yield from (" " * INDENT + other for other in others)


def _notes(steps: Sequence[GrowthStep], split: int | None, words: Words) -> Iterator[str]:
    later = [step for step in steps if step.month and step.option]
    if later:
        yield "In brackets: the targets that the previous cluster misses from that month on."
    if any(not step.is_new for step in later):
        yield words.more_nodes
    if any(step.is_new for step in later):
        yield "new: a new cluster, which starts with cold caches."
    if split is not None:
        yield f"From month {split} on, the mean region is larger than today's split limit, and HBase splits regions."
    yield "All prices are per month, and all are estimates."
