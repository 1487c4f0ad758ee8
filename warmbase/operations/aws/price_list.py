"""The AWS price list, searched through the Pricing API, and new price files from it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from mypy_boto3_pricing.type_defs import FilterTypeDef

from warmbase.facts.prices import PRICES, listed_prices
from warmbase.facts.prices.file import PriceChange, changes, write_files
from warmbase.facts.prices.price_list import (
    SEARCHES,
    FreshPrices,
    Offer,
    fresh_prices,
    offer,
)
from warmbase.ground.errors import OperationFailed
from warmbase.ground.prices import PriceTable
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say


class PriceRequest(Struct, frozen=True, kw_only=True):
    """A region whose prices are to be refreshed, and the directory of their files."""

    region: str
    directory: Path = PRICES
    dry_run: bool = False


class Refresh(Struct, frozen=True, kw_only=True):
    """New prices beside the current ones, if any, and which files were written."""

    current: PriceTable | None
    fresh: FreshPrices
    changes: tuple[PriceChange, ...]
    written: tuple[Path, ...]


def refresh(variables: Mapping[str, str], request: PriceRequest, say: Say = lambda _: None) -> Refresh:
    """Reads the region's prices with the credentials in these variables, and writes them unless it is a dry run.

    Raises OperationFailed, having written nothing, when the price list cannot be read or lacks what is needed, and
    when a file of that date has other prices.
    """
    current = None
    with suppress(KeyError):
        current = listed_prices(request.region, request.directory)
    offers: dict[str, list[Offer]] = {}
    try:
        with translated(
            "could not read the AWS price list", "use valid credentials with permission for pricing:GetProducts"
        ):
            client = Aws(variables).pricing
            for search in SEARCHES:
                filters: list[FilterTypeDef] = [
                    {"Type": "TERM_MATCH", "Field": field, "Value": value}
                    for field, value in search.filters(request.region).items()
                ]
                pages = client.get_paginator("get_products").paginate(
                    ServiceCode=search.service, Filters=filters, FormatVersion="aws_v1"
                )
                offers[search.name] = [offer(text) for page in pages for text in page["PriceList"]]
                say(f"{search.name}: {len(offers[search.name])} found")
    except ValueError as error:
        raise OperationFailed.of(
            where="the AWS Pricing API",
            what="answered in an unknown format",
            why=str(error),
            fix="compare the answer with warmbase/facts/prices/price_list.py, which reads the documented format",
        ) from error
    fresh = fresh_prices(request.region, offers, current)
    return Refresh(
        current=current,
        fresh=fresh,
        changes=() if current is None else changes(current, fresh.table),
        written=() if request.dry_run else write_files(fresh.files, request.directory),
    )
