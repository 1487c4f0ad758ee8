"""The page of `warmbase plan ENV --tornado`: how far each input moves the price and the latency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Final

import click
from msgspec import Struct

from cli.options import chosen_name
from cli.plan_summary import cluster_heading
from cli.terminal import echo, echo_styled
from environments.reader.ranges import RangedDocument
from environments.reader.read import environment_of
from environments.reader.schema_keys import TABLES
from environments.sensitivity import Sensitivity, sensitivities
from reports.decision_page import value_text
from reports.json_text import json_text, plain
from sizing.units import format_usd

KEY: Final = 33
VALUES: Final = 19
PRICE: Final = 16
NO_CLUSTER: Final = "none"
"""The price at an end where no cluster meets the targets."""


def show_tornado(ranged: RangedDocument, cluster_name: str | None, output: str) -> None:
    """Print each input with the price at both ends, the one that moves it most first."""
    if output == "markdown":
        raise click.UsageError("A tornado is printed as a table or as JSON.")
    environment = environment_of(ranged.middle)
    cluster = chosen_name(environment, cluster_name)
    results = sensitivities(ranged, cluster)
    latency = QUERY if cluster in environment.analytics else P99
    if output == "json":
        inputs = [_entry(one, latency) for one in results]
        echo(json_text({"environment": environment.name, "cluster": cluster, "inputs": inputs}))
        return
    head = cluster_heading(environment.name, cluster)
    rows = _rows(results, latency, (f"{TABLES}.", f"clusters.{cluster}."))
    note = NOTE.format(latency=latency.name)
    echo_styled("\n".join([f"{head}   one input at a time, all others as stated", "", *rows, "", note]))


NOTE: Final = (
    "An input that is not a range goes from 20 % below its value to 20 % above it.\n"
    "All prices are per month; prices and {latency} are estimates."
)


class Latency(Struct, frozen=True, kw_only=True):
    """The latency that an engine's cluster has a target for: its name, its column, its key in JSON, and its format."""

    name: str
    heading: str
    key: str
    text: Callable[[float], str]


P99: Final = Latency(name="p99", heading="p99, ms", key="p99_ms", text=lambda ms: f"{ms:,.0f}")
QUERY: Final = Latency(
    name="times of queries",
    heading="query, s",
    key="query_ms",
    text=lambda ms: f"{ms / 1000:,.1f}",
)


def _rows(results: list[Sensitivity], latency: Latency, prefixes: tuple[str, ...]) -> Iterator[str]:
    keys = [reduce(str.removeprefix, prefixes, result.one.key) for result in results]
    width = max([KEY, *(len(key) + 1 for key in keys)])
    yield f"{'input':<{width}}{'values':<{VALUES}}{'price':<{PRICE}}{latency.heading}"
    for key, result in zip(keys, results, strict=True):
        values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
        prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
        times = "..".join(NO_CLUSTER if value is None else latency.text(value) for value in result.latency_ms)
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
