"""`warmbase prices` writes price files from the AWS price list."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click

from warmbase.cli.terminal import echo
from warmbase.facts.prices.file import SMALLEST_CHANGE_FRACTION, PriceChange, figures
from warmbase.ground.units import format_percent
from warmbase.operations.aws.price_list import PriceRequest, Refresh, refresh

LISTED_CHANGES: Final = 10  # judgement: as many as a person reads; a dry run lists all


@click.group()
def prices() -> None:
    """Update the price files from the AWS price list.

    Plans use dated price files in facts/prices/. For a region without files, warmbase estimates the prices, or refuses
    to plan.

    \b
    Example:
      warmbase prices refresh --dry-run
      warmbase prices refresh --region eu-west-1
    """


@prices.command(name="refresh")
@click.option("--region", default="us-east-1", show_default=True, help="The region to fetch prices for.")
@click.option("--dry-run", is_flag=True, help="Show every price that would change, and write nothing.")
def refresh_command(region: str, *, dry_run: bool) -> None:
    """Write dated price files for a region from the AWS Pricing API.

    You need credentials of any account with the permission pricing:GetProducts. The files are named for the day on
    which AWS published the price list; older files are kept.

    \b
    Example:
      warmbase prices refresh --dry-run
      warmbase prices refresh --region eu-west-1
    """
    request = PriceRequest(region=region, dry_run=dry_run)
    result = refresh(os.environ, request, lambda line: echo(line, err=True))
    listed = result.changes if dry_run else result.changes[:LISTED_CHANGES]
    for line in (
        *_summary(result),
        *_changes(listed, len(result.changes)),
        *_without_price(result),
        *_files(result, request),
    ):
        echo(line)


def _summary(result: Refresh) -> Iterator[str]:
    table, before = result.fresh.table, {} if result.current is None else dict(figures(result.current))
    after = dict(figures(table))
    yield f"{table.region}: {len(after)} prices, {table.described}"
    if result.current is None:
        yield "The region had no prices before."
        return
    yield (
        f"Compared with the prices of {result.current.as_of}: {len(result.changes)} changed by more than "
        f"{format_percent(SMALLEST_CHANGE_FRACTION)}, {len(after.keys() - before.keys())} new, "
        f"{len(before.keys() - after.keys())} removed"
    )


def _changes(listed: Sequence[PriceChange], count: int) -> Iterator[str]:
    if len(listed) < count:
        yield f"The largest {len(listed)} changes:"
    for change in listed:
        sign = "+" if change.fraction > 0 else "-"
        yield (
            f"  {change.what}: ${_usd(change.current_usd)} → ${_usd(change.new_usd)} per {change.per}, "
            f"{sign}{format_percent(abs(change.fraction))}"
        )


def _without_price(result: Refresh) -> Iterator[str]:
    for why, names in _by_reason(result.fresh.omitted).items():
        yield f"Left out, {why}: {', '.join(names)}"
    for item, why in result.fresh.unchanged.items():
        yield f"Kept unchanged, {why}: {item}"


def _files(result: Refresh, request: PriceRequest) -> Iterator[str]:
    if request.dry_run:
        yield "Dry run: nothing was written."
    elif not result.written:
        yield "Nothing to do: the files of that day already have these prices."
    for path in result.written:
        yield f"Written: {path}"


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return names


def _usd(usd: float) -> str:
    return f"{usd:.10f}".rstrip("0").rstrip(".")
