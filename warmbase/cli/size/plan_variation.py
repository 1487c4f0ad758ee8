"""The pages of `warmbase plan` about inputs that vary, each with its JSON.

- `show_decision`: which cluster to buy if inputs are ranges.
- `show_frontier`: what each step of a target costs (`--frontier TARGET`).
- `show_growth`: when a growing workload needs more nodes, or a new cluster (`--months N`).
- `show_tornado`: how far inputs and judgements move the price and the latency (`--tornado`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from textwrap import wrap
from typing import Any, Final

import click
from msgspec import Struct

from warmbase.cli.options import chosen_name
from warmbase.cli.size.plan_summary import cluster_heading, labelled_lines
from warmbase.cli.terminal import echo, echo_styled, page_columns
from warmbase.environments.environment import Environment
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import environment_of
from warmbase.environments.reader.schema import TABLES
from warmbase.environments.uncertainty.growth import Growth, Horizon, growth_of, outgrown_months
from warmbase.environments.uncertainty.judgements import judgement_sensitivities
from warmbase.environments.uncertainty.samples import Sampling, situation_of
from warmbase.environments.uncertainty.sensitivity import Sensitivity, sensitivities
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.ground.units import format_duration, format_percent, format_size, format_usd
from warmbase.reports.decision_page import DecisionPage, decision_page, samples_text, value_text
from warmbase.reports.json_text import json_text, plain
from warmbase.reports.plan_text import nodes_text
from warmbase.sizing.ranges.growth import (
    QUERY_TARGETS,
    TARGETS,
    Frontier,
    GrowthStep,
    Step,
    Target,
    frontier,
    growth_steps,
)
from warmbase.sizing.search.disks import FILL_FRACTION, PINNED_FILL_FRACTION


class DecisionRequest(Struct, frozen=True, kw_only=True):
    """The options of `warmbase plan` that matter to a decision."""

    cluster: str
    output: str
    sampling: Sampling


def show_decision(ranged: RangedDocument, request: DecisionRequest) -> None:
    """Print the cluster with the least mean regret. Raises Infeasible where none meets the targets in any sample."""
    if request.output == "markdown":
        raise click.UsageError("A plan from ranges is printed as a table or as JSON.")
    count = len(ranged.ranges)
    echo(f"planning {samples_text(request.sampling.count)} of {count} range{'s' * (count > 1)}", err=True)
    page = decision_page(ranged, request.cluster, request.sampling)
    if request.output == "json":
        echo(json_text(page.document()))
    else:
        echo_styled(_text(page, page_columns()))


def _text(page: DecisionPage, width: int) -> str:
    """Return the page for a terminal of that width."""
    head = cluster_heading(page.environment.name, page.cluster)
    samples = f"{page.sampling.count} samples of the ranges, seed {page.sampling.seed}"
    blocks = ("\n".join(labelled_lines(rows, width)) for rows in page.blocks)
    return "\n\n".join([f"{head}   {samples}", *filter(None, blocks)])


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


GROWTH_INDENT: Final = 36


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
        echo(json_text(document | _document_of_growth(growth, steps) | {"outgrown_months": outgrown}))
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


def _document_of_growth(growth: Growth, steps: Sequence[GrowthStep]) -> dict[str, Any]:
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
    first, *others = wrap(f"{how}{nodes_text(step.option)}{why}", width - GROWTH_INDENT, break_on_hyphens=False)
    yield f"{label}{format_usd(step.usd_per_month):>8}  {first}"
    yield from (" " * GROWTH_INDENT + other for other in others)


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


KEY: Final = 33
VALUES: Final = 19
TORNADO_PRICE: Final = 16
LEAST_PRICE: Final = 0.001  # judgement: prices differ by more than this from month to month
LEAST_LATENCY: Final = 0.05  # judgement: nobody states a target for the latency more exactly
NO_CLUSTER: Final = "none"
"""The price at an end where no cluster meets the targets."""


def show_tornado(ranged: RangedDocument, cluster_name: str | None, output: str) -> None:
    """Print each input and each judgement with the price at both ends, the one that moves it most first."""
    if output == "markdown":
        raise click.UsageError("A tornado is printed as a table or as JSON.")
    environment = environment_of(ranged.middle)
    cluster = chosen_name(environment, cluster_name)
    inputs, judgements = sensitivities(ranged, cluster), judgement_sensitivities(ranged.middle, cluster)
    latency = QUERY if cluster in environment.analytics else P99
    if output == "json":
        document: dict[str, object] = {"environment": environment.name, "cluster": cluster}
        document["inputs"] = [_entry(one, latency) for one in inputs]
        document["judgements"] = [_entry(one, latency) | {"constants": one.one.where} for one in judgements]
        echo(json_text(document))
        return
    head, important = cluster_heading(environment.name, cluster), list(filter(_matters, judgements))
    columns = Columns(latency=latency, prefixes=(f"{TABLES}.", f"clusters.{cluster}."))
    pages = [
        [f"{head}   one input at a time, all others as stated"],
        list(columns.rows("input", inputs)),
        list(columns.rows("judgement", important)) if important else [],
        list(_notes_of_tornado(latency, len(judgements) - len(important), has_ranges=bool(ranged.ranges))),
    ]
    echo_styled("\n\n".join("\n".join(page) for page in pages if page))


def _matters(result: Sensitivity) -> bool:
    """Return whether a judgement moves the price or the latency by enough to be shown."""
    return any(
        low is None or high is None or abs(high - low) > fraction * low
        for (low, high), fraction in ((result.usd_per_month, LEAST_PRICE), (result.latency_ms, LEAST_LATENCY))
    )


def _notes_of_tornado(latency: Latency, hidden: int, *, has_ranges: bool) -> Iterator[str]:
    yield "An input that is not a range goes from 20 % below its value to 20 % above it."
    if has_ranges:
        yield "In the rows of other inputs, a range has its middle value."
    yield "A judgement is a value that warmbase assumes because nobody has measured it"
    yield "on your cluster."
    if hidden:
        least_price, least_latency = format_percent(LEAST_PRICE), format_percent(LEAST_LATENCY)
        yield f"{hidden} other judgements move the price by at most {least_price} and the {latency.name} by at most"
        yield f"{least_latency}. --output json lists all judgements, with the constants of each."
    yield f"All prices are per month; prices and {latency.name} are estimates."


class Latency(Struct, frozen=True, kw_only=True):
    """The latency that an engine's cluster has a target for: its name, its column, its key in JSON, and its format."""

    name: str
    heading: str
    key: str
    text: Callable[[float], str]


P99: Final = Latency(name="p99", heading="p99, ms", key="p99_ms", text=lambda ms: f"{ms:,.0f}")
QUERY: Final = Latency(
    name="query time",
    heading="query, s",
    key="query_ms",
    text=lambda ms: f"{ms / 1000:,.1f}",
)


class Columns(Struct, frozen=True, kw_only=True):
    """The columns of the tables: the engine's latency, and the prefixes that the keys of inputs are shown without."""

    latency: Latency
    prefixes: tuple[str, ...]

    def rows(self, title: str, results: Sequence[Sensitivity]) -> Iterator[str]:
        """Yield the lines of a table."""
        keys = [reduce(str.removeprefix, self.prefixes, result.one.key) for result in results]
        width = max([KEY, *(len(key) + 1 for key in keys)])
        yield f"{title:<{width}}{'values':<{VALUES}}{'price':<{TORNADO_PRICE}}{self.latency.heading}"
        for key, result in zip(keys, results, strict=True):
            values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
            prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
            times = "..".join(NO_CLUSTER if value is None else self.latency.text(value) for value in result.latency_ms)
            yield f"{key:<{width}}{values:<{VALUES}}{prices:<{TORNADO_PRICE}}{times}"


def _entry(result: Sensitivity, latency: Latency) -> dict[str, object]:
    one = result.one
    return {
        "key": one.key,
        "unit": one.unit,
        "low": one.low,
        "high": one.high,
        "usd_per_month": plain(result.usd_per_month),
        latency.key: plain(result.latency_ms),
    }
