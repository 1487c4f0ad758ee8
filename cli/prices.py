"""warmbase prices: new price files from the AWS price list."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from facts.prices.change import SMALLEST_CHANGE_FRACTION, PriceChange, figures
from operations.price_list import PriceRequest, Refresh, refresh
from sizing.units import format_percent

__all__ = ["prices"]

LARGEST: Final = 10  # judgement: what one looks at; a dry run lists all


@click.group()
def prices() -> None:
    """Refresh the price files that plans are made with.

    \b
    Example:
      warmbase prices refresh --dry-run
      warmbase prices refresh --region eu-west-1
    """


@prices.command(name="refresh")
@click.option("--region", default="us-east-1", show_default=True, help="Whose prices; the region may be a new one.")
@click.option("--dry-run", is_flag=True, help="Show each price that changes, and write nothing.")
def refresh_command(region: str, *, dry_run: bool) -> None:
    """Write dated price files of a region from the AWS Pricing API.

    It needs credentials that may call pricing:GetProducts, of any account. The files are named for the day on which
    the price list was published; older ones stay.

    \b
    Example:
      warmbase prices refresh --dry-run
      warmbase prices refresh --region eu-west-1
    """
    request = PriceRequest(region=region, dry_run=dry_run)
    done = refresh(os.environ, request, lambda line: click.echo(line, err=True))
    shown = done.changes if dry_run else done.changes[:LARGEST]
    for line in (*_summary(done), *_changes(shown, len(done.changes)), *_without_price(done), *_files(done, request)):
        click.echo(line)


def _summary(done: Refresh) -> Iterator[str]:
    table, before = done.fresh.table, {} if done.current is None else dict(figures(done.current))
    after = dict(figures(table))
    yield f"{table.region}: {len(after)} prices, {table.described}"
    if done.current is None:
        yield "The region had no prices."
        return
    yield (
        f"Against those of {done.current.as_of}: {len(done.changes)} changed by more than "
        f"{format_percent(SMALLEST_CHANGE_FRACTION)}, {len(after.keys() - before.keys())} new, "
        f"{len(before.keys() - after.keys())} gone"
    )


def _changes(shown: Sequence[PriceChange], count: int) -> Iterator[str]:
    if len(shown) < count:
        yield f"The largest {len(shown)}:"
    for each in shown:
        sign = "+" if each.fraction > 0 else "-"
        yield (
            f"  {each.what}: ${_usd(each.current_usd)} → ${_usd(each.new_usd)} per {each.per}, "
            f"{sign}{format_percent(abs(each.fraction))}"
        )


def _without_price(done: Refresh) -> Iterator[str]:
    for why, names in _by_reason(done.fresh.omitted).items():
        yield f"Left out, {why}: {', '.join(names)}"
    for item, why in done.fresh.unchanged.items():
        yield f"Kept as it was, {why}: {item}"


def _files(done: Refresh, request: PriceRequest) -> Iterator[str]:
    if request.dry_run:
        yield "Nothing is written: it is a dry run."
    elif not done.written:
        yield "Nothing to do: the files of that day have these prices."
    for path in done.written:
        yield f"Written: {path}"


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return names


def _usd(usd: float) -> str:
    return f"{usd:.10f}".rstrip("0").rstrip(".")
