"""`warmbase prices` writes price files from the AWS price list."""

from __future__ import annotations

import os
from typing import Final

import click

from warmbase.cli.terminal import echo
from warmbase.facts.prices.file import SMALLEST_CHANGE_FRACTION, figures
from warmbase.ground.units import format_percent
from warmbase.operations.aws.price_list import PriceRequest, refresh

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
    table, before = result.fresh.table, {} if result.current is None else dict(figures(result.current))
    after = dict(figures(table))
    echo(f"{table.region}: {len(after)} prices, {table.described}")
    if result.current is None:
        echo("The region had no prices before.")
    else:
        echo(
            f"Compared with the prices of {result.current.as_of}: {len(result.changes)} changed by more than "
            f"{format_percent(SMALLEST_CHANGE_FRACTION)}, {len(after.keys() - before.keys())} new, "
            f"{len(before.keys() - after.keys())} removed"
        )
    if len(listed) < len(result.changes):
        echo(f"The largest {len(listed)} changes:")
    for change in listed:
        current, new = (f"{usd:.10f}".rstrip("0").rstrip(".") for usd in (change.current_usd, change.new_usd))
        share = f"{'+' if change.fraction > 0 else '-'}{format_percent(abs(change.fraction))}"
        echo(f"  {change.what}: ${current} → ${new} per {change.per}, {share}")
    omitted: dict[str, list[str]] = {}
    for item, why in result.fresh.omitted.items():
        omitted.setdefault(why, []).append(item)
    for why, items in omitted.items():
        echo(f"Left out, {why}: {', '.join(items)}")
    for item, why in result.fresh.unchanged.items():
        echo(f"Kept unchanged, {why}: {item}")
    if dry_run:
        echo("Dry run: nothing was written.")
    elif not result.written:
        echo("Nothing to do: the files of that day already have these prices.")
    for path in result.written:
        echo(f"Written: {path}")
