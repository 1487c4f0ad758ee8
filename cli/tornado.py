"""The page of `warmbase plan ENV --tornado`: how far each input moves the price and the p99."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

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
    if output == "json":
        echo(
            json_text({"environment": environment.name, "cluster": cluster, "inputs": [_entry(one) for one in results]})
        )
        return
    head = cluster_heading(environment.name, cluster)
    echo_styled("\n".join([f"{head}   one input at a time, all others as stated", "", *_rows(results), "", NOTE]))


NOTE: Final = (
    "An input that is not a range goes from 20 % below its value to 20 % above it.\n"
    "All prices are per month; prices and p99 are estimates."
)


def _rows(results: list[Sensitivity]) -> Iterator[str]:
    keys = [result.one.key.removeprefix(f"{TABLES}.") for result in results]
    width = max([KEY, *(len(key) + 1 for key in keys)])
    yield f"{'input':<{width}}{'values':<{VALUES}}{'price':<{PRICE}}p99, ms"
    for key, result in zip(keys, results, strict=True):
        values = f"{value_text(result.one, result.one.low)}..{value_text(result.one, result.one.high)}"
        prices = "..".join(NO_CLUSTER if usd is None else format_usd(usd) for usd in result.usd_per_month)
        p99 = "..".join(NO_CLUSTER if value is None else f"{value:,.0f}" for value in result.p99_ms)
        yield f"{key:<{width}}{values:<{VALUES}}{prices:<{PRICE}}{p99}"


def _entry(result: Sensitivity) -> dict[str, object]:
    one = result.one
    return {
        "key": one.key,
        "unit": one.unit,
        "low": one.low,
        "high": one.high,
        "usd_per_month": plain(result.usd_per_month),
        "p99_ms": plain(result.p99_ms),
    }
