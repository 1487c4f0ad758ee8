"""Turns the offers of the price list into a table of prices and the two files that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from facts.instance_types import instance_types
from facts.prices.catalogue import EMR_FEES, HOURLY, INSTANCES, ITEMS, ServiceItem
from facts.prices.file import PriceFile, compute_rows, service_rows
from facts.prices.offer import Offer, Quote, Unpriced, quote
from sizing.prices import LIST, ComputePrice, PriceTable, ServicePrice
from sizing.problem import OperationFailed, Problem

__all__ = ["FreshPrices", "SearchOffers", "fresh_prices"]

SearchOffers = Mapping[str, Sequence[Offer]]
"""Offers by the name of their search."""

WRITTEN: Final = "Written by `warmbase prices refresh --region {region}` from the AWS Pricing API."


class FreshPrices(Struct, frozen=True, kw_only=True):
    """The prices of a region in today's price list.

    `omitted` gives the reason for each instance type without a price; `unchanged` gives the reason for each service
    item whose current row stays, because the price list has none.
    """

    table: PriceTable
    files: tuple[PriceFile, ...]
    omitted: Mapping[str, str]
    unchanged: Mapping[str, str]


def fresh_prices(region: str, offers: SearchOffers, current: PriceTable | None) -> FreshPrices:
    """Return the prices of a region among the offers, for the types of facts/instance-types.csv.

    Raises OperationFailed when no instance has a price, or an item has none and had none.
    """
    compute, omitted = _compute(region, offers)
    items = {item.item: quote(filter(item.has, offers[item.search.name]), item.units) for item in ITEMS}
    unchanged = {name: item.why for name, item in items.items() if isinstance(item, Unpriced)}
    quoted = [item for item in items.values() if isinstance(item, Quote)]
    compute_date, services_date = _date(price for pair in compute.values() for price in pair), _date(quoted)
    table = PriceTable(
        region=region,
        as_of=min(compute_date, services_date),
        compute={
            name: ComputePrice(ec2_usd_per_hour=ec2.usd, emr_fee_usd_per_hour=fee.usd, emr_fee_confidence=LIST)
            for name, (ec2, fee) in compute.items()
        },
        services={item.item: _service_price(item, items[item.item], current) for item in ITEMS},
    )
    # Services first: a region counts as priced as soon as it has a compute file.
    files = (
        PriceFile(
            region=region,
            kind="services",
            date=services_date,
            provenance=_services_provenance(region, quoted, unchanged),
            rows=service_rows(table),
        ),
        PriceFile(
            region=region,
            kind="compute",
            date=compute_date,
            provenance=_compute_provenance(region, compute.values()),
            rows=compute_rows(table),
        ),
    )
    return FreshPrices(table=table, files=files, omitted=omitted, unchanged=unchanged)


def _compute(region: str, offers: SearchOffers) -> tuple[dict[str, tuple[Quote, Quote]], dict[str, str]]:
    """Return EC2's price and EMR's fee of each type that has both, and the reason for each other type."""
    by_type = {search.name: _by_type(offers[search.name]) for search in (INSTANCES, EMR_FEES)}
    priced: dict[str, tuple[Quote, Quote]] = {}
    omitted: dict[str, str] = {}
    for name in instance_types():
        ec2 = quote(by_type[INSTANCES.name].get(name, ()), HOURLY)
        fee = quote(by_type[EMR_FEES.name].get(name, ()), HOURLY)
        if isinstance(ec2, Unpriced):
            omitted[name] = f"EC2: {ec2.why}"
        elif isinstance(fee, Unpriced):
            omitted[name] = f"EMR fee: {fee.why}"
        else:
            priced[name] = (ec2, fee)
    if not priced:
        raise OperationFailed(
            Problem(
                where="the AWS price list",
                what=f"has no price for any instance type in {region!r}",
                why=", ".join(sorted(set(omitted.values()))),
                fix="check the region's name, as in us-east-1, and that EMR is offered there",
            )
        )
    return priced, omitted


def _by_type(offers: Iterable[Offer]) -> dict[str, list[Offer]]:
    by_type: dict[str, list[Offer]] = {}
    for offer in offers:
        by_type.setdefault(offer.attributes.get("instanceType", ""), []).append(offer)
    return by_type


def _service_price(item: ServiceItem, price: Quote | Unpriced, current: PriceTable | None) -> ServicePrice:
    if isinstance(price, Quote):
        usage, effective = price.offer.attributes["usagetype"], price.offer.effective[:10]
        source = f"AWS Pricing API, {price.offer.service} {usage}, SKU {price.offer.sku}, effective {effective}"
        return ServicePrice(usd=price.usd, per=item.per, confidence=LIST, source=source)
    if current is None or item.item not in current.services:
        raise OperationFailed(
            Problem(
                where="the AWS price list",
                what=f"has no price for {item.item}, and no earlier file has one",
                why=f"{item.search.service} {item.usage_type}: {price.why}",
                fix="mend its entry in facts/prices/catalogue.py",
            )
        )
    return current.services[item.item]


def _compute_provenance(region: str, compute: Iterable[tuple[Quote, Quote]]) -> tuple[str, ...]:
    instances, fees = zip(*compute, strict=True)
    return (
        f"Prices of instances in {region}, USD per hour. {WRITTEN.format(region=region)}",
        f"ec2_usd_per_hour: {INSTANCES.service}, on-demand Linux, shared tenancy; {_dated(instances)}.",
        f"emr_fee_usd_per_hour: {EMR_FEES.service}, software EMR; {_dated(fees)}.",
        "emr_fee_confidence: list = EMR's published fee; estimate = a quarter of on demand, where no list was read.",
    )


def _services_provenance(region: str, quotes: Sequence[Quote], unchanged: Mapping[str, str]) -> tuple[str, ...]:
    origins = sorted({quote.offer.service for quote in quotes})
    return (
        f"Prices of services in {region}, USD. {WRITTEN.format(region=region)}",
        "confidence: list = published by the vendor; secondary = somebody's copy; estimate = remembered or derived.",
        *(f"{name}: {_dated([quote for quote in quotes if quote.offer.service == name])}." for name in origins),
        *(f"{item}: not from there ({why}); its row is older." for item, why in unchanged.items()),
    )


def _date(quotes: Iterable[Quote]) -> str:
    """Return the latest date of publication; some services publish once in years."""
    return max((quote.offer.published for quote in quotes), default="")[:10]


def _dated(quotes: Sequence[Quote]) -> str:
    published = _span(quote.offer.published for quote in quotes)
    return f"published {published}, effective {_span(quote.offer.effective[:10] for quote in quotes)}"


def _span(dates: Iterable[str]) -> str:
    ordered = sorted(dates)
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
