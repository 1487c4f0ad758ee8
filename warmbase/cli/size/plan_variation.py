"""The pages of `warmbase plan` about inputs that vary, each with its JSON.

- `show_decision`: which cluster to buy if inputs are ranges.
- `show_steps`: what each step of a target costs (`--frontier TARGET`); when a growing workload needs more nodes, or a
  new cluster (`--months N`); how far inputs and judgements move the price and the latency (`--tornado`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, Final

from warmbase.cli.page import Column, Paragraph, Part, Table, Text, styled, summary_page
from warmbase.cli.size.plan_request import PlanRequest, PlanSubject
from warmbase.cli.size.plan_summary import cluster_heading
from warmbase.cli.terminal import echo, print_json
from warmbase.engines.engine import engine_of
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
from warmbase.reports.decision_page import EngineWords, decision_page, samples_text, value_text
from warmbase.reports.engine_facet import reports_of
from warmbase.reports.json_text import plain
from warmbase.reports.plan_text import nodes_text
from warmbase.sizing.ranges.growth import (
    Frontier,
    GrowthStep,
    Target,
    frontier,
    growth_steps,
)


def show_steps(request: PlanRequest) -> None:
    """Print the steps of a target or of a growing workload, or how far each input moves the price."""
    subject = request.subject()
    if request.tornado:
        request.refuse_markdown("A tornado")
        _show_tornado(subject.ranged.today, subject.cluster, request.output)
    elif request.frontier:
        # Raises InvalidInput if the plan for today depends on ranges.
        environment = environment_of(subject.ranged.today.document)
        request.refuse_markdown("A frontier")
        _show_frontier(environment, subject.cluster, request.frontier, request.output)
    else:
        request.refuse_markdown("Growth")
        _show_growth(request, subject)


def show_decision(request: PlanRequest, subject: PlanSubject) -> None:
    """Print the cluster with the least mean regret. Raises Infeasible where none meets the targets in any sample."""
    request.refuse_markdown("A plan from ranges")
    count = len(subject.ranged.today.ranges)
    echo(f"planning {samples_text(request.samples)} of {count} range{'s' * (count > 1)}", err=True)
    page = decision_page(subject.ranged.today, subject.cluster, request.sampling)
    if request.output == "json":
        print_json(page.document())
        return
    samples = f"{page.sampling.count} samples of the ranges, seed {page.sampling.seed}"
    parts: list[Part] = [cluster_heading(page.environment.name, page.cluster, samples)]
    for block in page.blocks:
        if rows := list(block):
            parts += ["", *rows]
    summary_page().show(parts)


TEXTS: Final[Mapping[Target, Callable[[float], str]]] = {
    "hit_ratio": format_percent,
    "p99": format_duration,
    "query_time": format_duration,
    "lost_nodes": lambda value: f"{value:.0f}",
}


def _show_frontier(environment: Environment, cluster: str, target: Target, output: str) -> None:
    """Print the price of each step of a target."""
    words = reports_of(engine_of(environment, cluster)).WORDS
    if target not in words.targets:
        raise InvalidInput.of(
            where=environment.source,
            what=f"targets.{target} of {cluster}",
            why=f"{words.cluster} has no such target",
            fix=f"ask for one of its targets: --frontier {', '.join(words.targets)}",
        )
    if target == "hit_ratio" and cluster in environment.clusters and not environment.mode.has_bucket_cache:
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
        knee = None if result.knee is None else plain(result.steps[result.knee])
        print_json({"environment": environment.name, "cluster": cluster, **plain(result), "knee": knee})
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
    knee, last = result.steps[result.knee], [step for step in result.steps if step.usd_per_month is not None][-1]
    text = TEXTS[result.target]
    assert knee.usd_per_month is not None  # noqa: S101 - the knee has a price
    assert last.usd_per_month is not None  # noqa: S101 - as above
    return (
        f"The price rises slowly up to {text(knee.value)}, and faster beyond: {text(last.value)} costs "
        f"{format_usd(last.usd_per_month - knee.usd_per_month)} a month more (estimates)."
    )


def _show_growth(request: PlanRequest, subject: PlanSubject) -> None:
    """Print each purchase that a growing workload needs. Raises Infeasible where no cluster serves it today.

    If inputs are ranges, the purchases are those for the middle of each, and samples say when the first is due. Without
    a rate, each table grows as the file states, or at the assumed rate.
    """
    ranged, cluster, months = subject.ranged, subject.cluster, request.months or 1
    environment = environment_of(ranged.middle)

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
    outgrown = None
    if ranged.ranges:
        outgrown = outgrown_months(ranged, growth_in, first, Horizon(months=months, sampling=request.sampling))
    rates = growth.rates
    common = next(iter(rates.values())) if len(set(rates.values())) == 1 else None
    if request.output == "json":
        document = {
            "environment": environment.name,
            "cluster": cluster,
            "months": months,
            "growth": common,
            "tables": growth.tables,
            "steps": [{**plain(step), **growth.figures(step.month)} for step in steps],
            "split_month": growth.split_month,
            "outgrown_months": outgrown,
        }
        print_json(document)
        return
    words = reports_of(engine_of(environment, cluster)).WORDS
    least, most = min(rates.values()), max(rates.values())
    growing = format_percent(least) + ("" if least == most else f" to {format_percent(most)}")
    title = f"{months} months in which {words.grows} grow by {growing} a month"
    columns = (
        Column(heading="month", right=True),
        Column(heading=words.load_heading, least=18),
        Column(heading="price", right=True, least=7),
        Column(heading="cluster", flexible=True),
    )
    table = Table(columns=columns, rows=[_cells(step, growth, words) for step in steps])
    by_table = ", ".join(f"{name} {format_percent(rate)}" for name, rate in rates.items())
    notes = (
        *_notes(steps, growth.split_month, words),
        *([f"Growth per month: {by_table}."] if common is None else []),
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


def _cells(step: GrowthStep, growth: Growth, words: EngineWords) -> tuple[str, ...]:
    stored_bytes, rate = growth.figures(step.month).values()
    size = format_size(stored_bytes or 0)
    load = size if rate is None else f"{size}, {rate:,.0f}/{words.load_unit}"
    if step.option is None or step.usd_per_month is None:
        return f"{step.month}", load, "no cluster meets the targets"
    how = "new: " if step.is_new and step.month else ""
    why = f" ({', '.join(step.missed)})" if step.missed else ""
    return f"{step.month}", load, format_usd(step.usd_per_month), f"{how}{nodes_text(step.option)}{why}"


def _notes(steps: Sequence[GrowthStep], split: int | None, words: EngineWords) -> Iterator[str]:
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


def _show_tornado(ranged: RangedDocument, cluster: str, output: str) -> None:
    """Print each input and each judgement with the price at both ends, the one that moves it most first."""
    environment = environment_of(ranged.middle)
    inputs, judgements = sensitivities(ranged, cluster), judgement_sensitivities(ranged.middle, cluster)
    words = reports_of(engine_of(environment, cluster)).WORDS
    if output == "json":
        document: dict[str, object] = {"environment": environment.name, "cluster": cluster}
        document["inputs"] = [_entry(one, words) for one in inputs]
        document["judgements"] = [_entry(one, words) | {"constants": one.one.where} for one in judgements]
        print_json(document)
        return
    important = list(filter(_matters, judgements))
    prefixes = (f"{TABLES}.", f"clusters.{cluster}.")
    headings = ("values", "price", words.latency_heading)
    rows: list[tuple[Text, ...]] = [_tornado_cells(result, words, prefixes) for result in inputs]
    if important:
        # One table for both, so that their columns are aligned.
        rows += [("",), tuple(styled(heading, dim=True) for heading in ("judgement", *headings))]
        rows += [_tornado_cells(result, words, prefixes) for result in important]
    columns = [Column(heading=heading) for heading in ("input", *headings)]
    notes = ["An input that is not a range goes from 20 % below its value to 20 % above it."]
    notes += ["In the rows of other inputs, a range has its middle value."] if ranged.ranges else []
    notes += ["A judgement is a value that warmbase assumes because nobody has measured it", "on your cluster."]
    if hidden := len(judgements) - len(important):
        least_price, least_latency = format_percent(LEAST_PRICE), format_percent(LEAST_LATENCY)
        moves = f"the price by at most {least_price} and the {words.latency} by at most"
        notes.append(f"{hidden} other judgements move {moves}")
        notes.append(f"{least_latency}. --output json lists all judgements, with the constants of each.")
    notes.append(f"All prices are per month; prices and {words.latency} are estimates.")
    head = cluster_heading(environment.name, cluster, "one input at a time, all others as stated")
    summary_page().show([head, "", Table(columns=columns, rows=rows), "", *notes])


def _matters(result: Sensitivity) -> bool:
    """Return whether a judgement moves the price or the latency by enough to be shown."""
    return any(
        low is None or high is None or abs(high - low) > fraction * low
        for (low, high), fraction in ((result.usd_per_month, LEAST_PRICE), (result.latency_ms, LEAST_LATENCY))
    )


def _tornado_cells(result: Sensitivity, words: EngineWords, prefixes: Sequence[str]) -> tuple[Text, ...]:
    """Return a row: the key without these prefixes, and at both ends the value, the price and the latency."""
    values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
    prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
    times = "..".join(NO_CLUSTER if value is None else words.latency_text(value) for value in result.latency_ms)
    return reduce(str.removeprefix, prefixes, result.one.key), values, prices, times


def _entry(result: Sensitivity, words: EngineWords) -> dict[str, object]:
    one = result.one
    return {
        "key": one.key,
        "unit": one.unit,
        "low": one.low,
        "high": one.high,
        "usd_per_month": plain(result.usd_per_month),
        words.latency_key: plain(result.latency_ms),
    }
