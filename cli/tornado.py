"""The page of `warmbase plan ENV --tornado`: how far inputs and judgements move the price and the p99."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click

from cli.options import chosen_cluster
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
LEAST_PRICE: Final = 0.001  # judgement: a dollar of a thousand is less than what prices differ by from month to month
LEAST_P99: Final = 0.05  # judgement: nobody states a p99 to better than a twentieth
NO_CLUSTER: Final = "none"
"""The price at an end where no cluster meets the targets."""


def show_tornado(ranged: RangedDocument, cluster_name: str | None, output: str) -> None:
    """Print each input and each judgement with the price at both ends, the one that moves it most first."""
    if output == "markdown":
        raise click.UsageError("A tornado is printed as a table or as JSON.")
    environment = environment_of(ranged.middle)
    cluster = chosen_cluster(environment, cluster_name).name
    inputs, judgements = sensitivities(ranged, cluster), judgement_sensitivities(ranged.middle, cluster)
    if output == "json":
        echo(json_text(_document(environment.name, cluster, inputs, judgements)))
        return
    head, important = cluster_heading(environment.name, cluster), list(filter(_matters, judgements))
    pages = [
        [f"{head}   one input at a time, all others as stated"],
        list(_rows("input", inputs)),
        list(_rows("judgement", important)) if important else [],
        list(_notes(len(judgements) - len(important))),
    ]
    echo_styled("\n\n".join("\n".join(page) for page in pages if page))


def _matters(result: Sensitivity) -> bool:
    """Return whether a judgement moves the price or the p99 by enough to be shown."""
    return any(
        low is None or high is None or abs(high - low) > fraction * low
        for (low, high), fraction in ((result.usd_per_month, LEAST_PRICE), (result.p99_ms, LEAST_P99))
    )


def _notes(hidden: int) -> Iterator[str]:
    yield "An input that is not a range goes from 20 % below its value to 20 % above it."
    yield "A judgement is a value that warmbase assumes, because nobody has measured it"
    yield "on your cluster."
    if hidden:
        least_price, least_p99 = format_percent(LEAST_PRICE), format_percent(LEAST_P99)
        yield f"{hidden} other judgements move the price by {least_price} at most, and the p99 by {least_p99} at"
        yield "most; --output json has them, and the constants of each."
    yield "All prices are per month; prices and p99 are estimates."


def _document(
    environment: str, cluster: str, inputs: Sequence[Sensitivity], judgements: Sequence[Sensitivity]
) -> dict[str, object]:
    return {
        "environment": environment,
        "cluster": cluster,
        "inputs": [_entry(one) for one in inputs],
        "judgements": [_entry(one) | {"constants": one.one.where} for one in judgements],
    }


def _rows(title: str, results: Sequence[Sensitivity]) -> Iterator[str]:
    keys = [result.one.key.removeprefix(f"{TABLES}.") for result in results]
    width = max([KEY, *(len(key) + 1 for key in keys)])
    yield f"{title:<{width}}{'values':<{VALUES}}{'price':<{PRICE}}p99, ms"
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
