"""The page of `warmbase plan ENV --tornado`: how far inputs and judgements move the price and the latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Final

import click
from msgspec import Struct

from cli.options import chosen_name
from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled
from environments.judgements import judgement_sensitivities
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from environments.reader.schema_keys import TABLES
from environments.sensitivity import Sensitivity, sensitivities
from reports.decision_page import value_text
from reports.json_text import json_text, plain
from sizing.units import format_percent, format_usd

KEY: Final = 33
VALUES: Final = 19
PRICE: Final = 16
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
        list(_notes(latency, len(judgements) - len(important), has_ranges=bool(ranged.ranges))),
    ]
    echo_styled("\n\n".join("\n".join(page) for page in pages if page))


def _matters(result: Sensitivity) -> bool:
    """Return whether a judgement moves the price or the latency by enough to be shown."""
    return any(
        low is None or high is None or abs(high - low) > fraction * low
        for (low, high), fraction in ((result.usd_per_month, LEAST_PRICE), (result.latency_ms, LEAST_LATENCY))
    )


def _notes(latency: Latency, hidden: int, *, has_ranges: bool) -> Iterator[str]:
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
        yield f"{title:<{width}}{'values':<{VALUES}}{'price':<{PRICE}}{self.latency.heading}"
        for key, result in zip(keys, results, strict=True):
            values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
            prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
            times = "..".join(NO_CLUSTER if value is None else self.latency.text(value) for value in result.latency_ms)
            yield f"{key:<{width}}{values:<{VALUES}}{prices:<{PRICE}}{times}"


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
