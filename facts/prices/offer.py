"""A product of the AWS price list, as GetProducts of the Pricing API returns it: JSON text in, one price out.

A product has a SKU, attributes, and terms. Each on-demand term has dimensions: a tier of usage from `beginRange` on,
with a unit and a price in USD. Reserved terms need a commitment, so they are not read.
Source: AWS Billing User Guide, "Reading the service price list file"; the same shape is in each element of PriceList.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

__all__ = ["Offer", "Quote", "Tier", "Unpriced", "offer", "quote"]


class Tier(Struct, frozen=True, kw_only=True):
    """The price of one unit from an amount of usage on; free tiers cost nothing."""

    begin: float
    unit: str
    usd: float


class Offer(Struct, frozen=True, kw_only=True):
    """A product with its on-demand tiers, which may be none, and dates as the price list writes them."""

    service: str
    sku: str
    attributes: Mapping[str, str]
    published: str
    effective: str
    tiers: tuple[Tier, ...]


class Quote(Struct, frozen=True, kw_only=True):
    """The price of one unit, with the product that has it."""

    usd: float
    offer: Offer


class Unpriced(Struct, frozen=True, kw_only=True):
    """The reason why there is no price."""

    why: str


def offer(text: str) -> Offer:
    """Return one element of PriceList. Raises ValueError where it is not a product of the documented shape."""
    try:
        document = json.loads(text)
        product, terms = document["product"], document.get("terms", {}).get("OnDemand", {})
        term = _current(list(terms.values()), document["publicationDate"])
        return Offer(
            service=document["serviceCode"],
            sku=product["sku"],
            attributes=product["attributes"],
            published=document["publicationDate"],
            effective=term.get("effectiveDate", ""),
            tiers=tuple(_tiers(term)),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a product of the price list ({error!r}): {text[:200]}") from error


def quote(offers: Iterable[Offer], units: Mapping[str, float]) -> Quote | Unpriced:
    """Return the price in our unit that all offers agree on.

    `units` maps the accepted units, in lower case, to the number of our units in one. The price is that of the first
    tier that is not free, because a cluster soon uses up a free tier.
    """
    answers = [_quote(offer, units) for offer in offers]
    quotes = [answer for answer in answers if isinstance(answer, Quote)]
    if not quotes:
        return answers[0] if answers else Unpriced(why="not in the price list")
    if len({quote.usd for quote in quotes}) > 1:
        prices = ", ".join(f"${quote.usd} ({quote.offer.sku})" for quote in quotes)
        return Unpriced(why=f"several prices: {prices}")
    return quotes[0]


def _quote(product: Offer, units: Mapping[str, float]) -> Quote | Unpriced:
    if not product.tiers:
        return Unpriced(why="not sold on demand in USD")
    understood = [tier for tier in product.tiers if tier.unit.lower() in units]
    if not understood:
        return Unpriced(why=f"sold by {product.tiers[0].unit}, not by {next(iter(units))}")
    paid = [tier for tier in understood if tier.usd > 0]
    if not paid:
        return Unpriced(why="its price is zero")
    first = min(paid, key=lambda tier: tier.begin)
    return Quote(usd=first.usd / units[first.unit.lower()], offer=product)


def _current(terms: Sequence[Mapping[str, Any]], published: str) -> Mapping[str, Any]:
    """Return the term that is in force when the list is published; dates of one form compare as text."""
    begun = [term for term in terms if term["effectiveDate"] <= published]
    return max(begun, key=lambda term: str(term["effectiveDate"]), default={})


def _tiers(term: Mapping[str, Any]) -> Iterable[Tier]:
    for dimension in term.get("priceDimensions", {}).values():
        if "USD" in dimension["pricePerUnit"]:
            yield Tier(
                begin=float(dimension.get("beginRange", 0)),
                unit=dimension["unit"],
                usd=float(dimension["pricePerUnit"]["USD"]),
            )
