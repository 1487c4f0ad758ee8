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
from typing import Any, Final

from msgspec import Struct

from warmbase.cli.options import chosen_name
from warmbase.cli.page import Column, Paragraph, Part, Table, Text, styled, summary_page
from warmbase.cli.size.plan_request import PlanRequest, PlanSubject
from warmbase.cli.size.plan_summary import cluster_heading
from warmbase.cli.terminal import echo
from warmbase.environments.environment import Environment
from warmbase.environments.reader.ranges import RangedDocument
from warmbase.environments.reader.read import environment_of
from warmbase.environments.reader.schema_keys import TABLES
from warmbase.environments.uncertainty.growth import Growth, Horizon, growth_of, outgrown_months
from warmbase.environments.uncertainty.judgements import judgement_sensitivities
from warmbase.environments.uncertainty.samples import situation_of
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


def show_steps(request: PlanRequest) -> None:
    """Print the steps of a target or of a growing workload, or how far each input moves the price."""
    subject = request.subject()
    if request.tornado:
        request.refuse_markdown("A tornado")
        show_tornado(subject.today, subject.cluster, request.output)
    elif request.frontier:
        environment = subject.exact
        request.refuse_markdown("A frontier")
        show_frontier(environment, subject.cluster, request.frontier, request.output)
    else:
        request.refuse_markdown("Growth")
        show_growth(request, subject)


def show_decision(request: PlanRequest, subject: PlanSubject) -> None:
    """Print the cluster with the least mean regret. Raises Infeasible where none meets the targets in any sample."""
    request.refuse_markdown("A plan from ranges")
    count = len(subject.today.ranges)
    echo(f"planning {samples_text(request.samples)} of {count} range{'s' * (count > 1)}", err=True)
    page = decision_page(subject.today, subject.cluster, request.sampling)
    if request.output == "json":
        echo(json_text(page.document()))
    else:
        summary_page().show(_decision_parts(page))


def _decision_parts(page: DecisionPage) -> Iterator[Part]:
    samples = f"{page.sampling.count} samples of the ranges, seed {page.sampling.seed}"
    yield cluster_heading(page.environment.name, page.cluster, samples)
    for block in page.blocks:
        if rows := list(block):
            yield ""
            yield from rows


TEXTS: Final[Mapping[Target, Callable[[float], str]]] = {
    "hit_ratio": format_percent,
    "p99": format_duration,
    "query_time": format_duration,
    "lost_nodes": lambda value: f"{value:.0f}",
}


def show_frontier(environment: Environment, cluster: str, target: Target, output: str) -> None:
    """Print the price of each step of a target."""
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
        costs = f"what targets.{target} costs a month, all else as stated"
        table = Table(columns=FRONTIER_COLUMNS, rows=list(_rows(result)))
        head = cluster_heading(environment.name, cluster, costs)
        summary_page().show([head, "", table, "", Paragraph(text=_conclusion(result))])


def _document(environment: Environment, cluster: str, result: Frontier) -> dict[str, Any]:
    return {
        "environment": environment.name,
        "cluster": cluster,
        **plain(result),
        "knee": None if result.knee is None else plain(result.steps[result.knee]),
    }


FRONTIER_COLUMNS: Final = (
    Column(right=True, least=22),
    Column(right=True, least=8),
    Column(right=True, least=8),
    Column(flexible=True),
)


def _rows(result: Frontier) -> Iterator[tuple[str, ...]]:
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
            yield label, "no cluster meets this"
            return
        more = "" if before is None else f"+{format_usd(last.usd_per_month - before)}"
        before = last.usd_per_month
        yield label, format_usd(before), more, nodes_text(option)


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


def show_growth(request: PlanRequest, subject: PlanSubject) -> None:
    """Print each purchase that a growing workload needs. Raises Infeasible where no cluster serves it today.

    If inputs are ranges, the purchases are those for the middle of each, and samples say when the first is due. Without
    a rate, each table grows as the file states, or at the assumed rate.
    """
    ranged, cluster, horizon = (
        subject.ranged,
        subject.cluster,
        Horizon(months=request.months or 1, sampling=request.sampling),
    )
    environment, months = environment_of(ranged.middle), horizon.months

    def growth_in(environment: Environment) -> Growth:
        return growth_of(environment, cluster, months, request.growth)

    growth = growth_in(environment)
    steps = list(growth_steps(growth.later, months))
    if (first := steps[0].option) is None:
        raise Infeasible.of(
            where=environment.source,
            what="no cluster meets the targets today",
            why="growth begins with today's plan",
            fix=f"see what is missing: warmbase plan {environment.name} --cluster {cluster}",
        )
    outgrown = outgrown_months(ranged, growth_in, first, horizon) if ranged.ranges else None
    if request.output == "json":
        document = {"environment": environment.name, "cluster": cluster, "months": months}
        echo(json_text(document | _growth_document(growth, steps) | {"outgrown_months": outgrown}))
        return
    words = TRINO if cluster in environment.analytics else HBASE
    title = f"{months} months in which {words.grows} grow by {_growth(growth.rates)} a month"
    columns = (
        Column(heading="month", right=True),
        Column(heading=words.heading, least=18),
        Column(heading="price", right=True, least=7),
        Column(heading="cluster", flexible=True),
    )
    table = Table(columns=columns, rows=[_cells(step, growth, words) for step in steps])
    notes = (
        *_notes(steps, growth.split_month, words),
        *_by_table(growth.rates),
        *_when_outgrown(outgrown or [], months),
    )
    head = cluster_heading(environment.name, cluster, title)
    summary_page().show([head, "", table, "", *(Paragraph(text=note) for note in notes)])


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


def _growth_document(growth: Growth, steps: Sequence[GrowthStep]) -> dict[str, Any]:
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


def _cells(step: GrowthStep, growth: Growth, words: Words) -> tuple[str, ...]:
    load = _load_text(growth, step.month, words)
    if step.option is None or step.usd_per_month is None:
        return f"{step.month}", load, "no cluster meets the targets"
    how = "new: " if step.is_new and step.month else ""
    why = f" ({', '.join(step.missed)})" if step.missed else ""
    return f"{step.month}", load, format_usd(step.usd_per_month), f"{how}{nodes_text(step.option)}{why}"


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


LEAST_PRICE: Final = 0.001  # judgement: prices differ by more than this from month to month
LEAST_LATENCY: Final = 0.05  # judgement: nobody states a target for the latency more exactly
NO_CLUSTER: Final = "none"
"""The price at an end where no cluster meets the targets."""


def show_tornado(ranged: RangedDocument, cluster_name: str | None, output: str) -> None:
    """Print each input and each judgement with the price at both ends, the one that moves it most first."""
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
    important = list(filter(_matters, judgements))
    prefixes = (f"{TABLES}.", f"clusters.{cluster}.")
    headings = ("values", "price", latency.heading)
    rows: list[tuple[Text, ...]] = [_tornado_cells(result, latency, prefixes) for result in inputs]
    if important:
        # One table for both, so that their columns are aligned.
        rows += [("",), tuple(styled(heading, dim=True) for heading in ("judgement", *headings))]
        rows += [_tornado_cells(result, latency, prefixes) for result in important]
    columns = [Column(heading=heading) for heading in ("input", *headings)]
    notes = _tornado_notes(latency, len(judgements) - len(important), has_ranges=bool(ranged.ranges))
    head = cluster_heading(environment.name, cluster, "one input at a time, all others as stated")
    summary_page().show([head, "", Table(columns=columns, rows=rows), "", *notes])


def _matters(result: Sensitivity) -> bool:
    """Return whether a judgement moves the price or the latency by enough to be shown."""
    return any(
        low is None or high is None or abs(high - low) > fraction * low
        for (low, high), fraction in ((result.usd_per_month, LEAST_PRICE), (result.latency_ms, LEAST_LATENCY))
    )


def _tornado_notes(latency: Latency, hidden: int, *, has_ranges: bool) -> Iterator[str]:
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


def _tornado_cells(result: Sensitivity, latency: Latency, prefixes: Sequence[str]) -> tuple[Text, ...]:
    """Return a row: the key without these prefixes, and at both ends the value, the price and the latency."""
    values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
    prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
    times = "..".join(NO_CLUSTER if value is None else latency.text(value) for value in result.latency_ms)
    return reduce(str.removeprefix, prefixes, result.one.key), values, prices, times


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
