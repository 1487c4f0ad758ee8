"""A product of the AWS price list, as the Pricing API's GetProducts answers: JSON text in, one price out.

A product has a SKU, attributes, and terms. Each on-demand term has dimensions: a tier of usage from `beginRange` on,
with a unit and a price in USD. Reserved terms are somebody's commitment and no price of ours.
Source: AWS Billing User Guide, "Reading the service price list file"; the same shape is in each element of PriceList.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Offer", "Quote", "Tier", "Unpriced", "offer", "quote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """What one unit costs from an amount of usage on; free tiers cost nothing."""

    begin: float
    unit: str
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A product with its on-demand tiers, of which there may be none; dates as the price list writes them."""

    service: str
    sku: str
    attributes: Mapping[str, str]
    published: str
    effective: str
    tiers: tuple[Tier, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The price of one unit, and the product that says so."""

    usd: float
    offer: Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """Why there is no price."""

    why: str


def offer(text: str) -> Offer:
    """One element of PriceList. Raises ValueError for what is not a product of the documented shape."""
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
    """The price that all these offers agree on, in our unit.

    `units` has the units that are understood, in small letters, each with how many of ours it holds. The price is
    that of the first tier which costs something: what is free for a start does not last a month of a cluster.
    """
    found = [_quote(each, units) for each in offers]
    quotes = [each for each in found if isinstance(each, Quote)]
    if not quotes:
        return found[0] if found else Unpriced(why="not in the price list")
    if len({each.usd for each in quotes}) > 1:
        said = ", ".join(f"${each.usd} ({each.offer.sku})" for each in quotes)
        return Unpriced(why=f"several prices: {said}")
    return quotes[0]


def _quote(each: Offer, units: Mapping[str, float]) -> Quote | Unpriced:
    if not each.tiers:
        return Unpriced(why="not sold on demand in USD")
    understood = [tier for tier in each.tiers if tier.unit.lower() in units]
    if not understood:
        return Unpriced(why=f"sold by {each.tiers[0].unit}, not by {next(iter(units))}")
    paid = [tier for tier in understood if tier.usd > 0]
    if not paid:
        return Unpriced(why="its price is zero")
    first = min(paid, key=lambda tier: tier.begin)
    return Quote(usd=first.usd / units[first.unit.lower()], offer=each)


def _current(terms: Sequence[Mapping[str, Any]], published: str) -> Mapping[str, Any]:
    """The term that is in force when the list is published; dates of one form compare as text."""
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
