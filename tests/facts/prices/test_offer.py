"""One product's JSON, and the one price that several products make, or the reason why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from warmbase.facts.prices.price_list import HOURLY, ITEMS, Quote, Unpriced, offer, quote

PUBLISHED = "2026-10-26T18:04:33Z"


def dimension(usd: str, unit: str = "Hrs", begin: str = "0", currency: str = "USD") -> dict[str, Any]:
    return {"unit": unit, "beginRange": begin, "endRange": "Inf", "pricePerUnit": {currency: usd}}


def term(*dimensions: Mapping[str, Any], effective: str = "2026-10-01T00:00:00Z") -> dict[str, Any]:
    return {"priceDimensions": {str(i): content for i, content in enumerate(dimensions)}, "effectiveDate": effective}


def product(terms: Mapping[str, Any], usage_type: str = "BoxUsage:r8g.xlarge", sku: str = "A") -> str:
    return json.dumps(
        {
            "product": {"productFamily": "Compute Instance", "sku": sku, "attributes": {"usagetype": usage_type}},
            "serviceCode": "AmazonEC2",
            "terms": terms,
            "publicationDate": PUBLISHED,
        }
    )


def on_demand(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"OnDemand": {str(i): content for i, content in enumerate(terms)}}


RESERVED = {"Reserved": {"0": term(dimension("0.1"))}}
QUOTED = [
    ("one tier", on_demand(term(dimension("0.25"))), 0.25),
    ("reserved terms beside it", {**RESERVED, **on_demand(term(dimension("0.25")))}, 0.25),
    ("tiers in any order", on_demand(term(dimension("0.2", begin="50"), dimension("0.3"))), 0.3),
    ("a free tier first", on_demand(term(dimension("0"), dimension("0.3", begin="50"))), 0.3),
    ("units in other letters", on_demand(term(dimension("0.25", unit="hrs"))), 0.25),
    ("another unit beside it", on_demand(term(dimension("9", unit="Quantity"), dimension("0.25"))), 0.25),
    (
        "an older term and one that has not begun",
        on_demand(
            term(dimension("0.5"), effective="2025-10-01T00:00:00Z"),
            term(dimension("0.25"), effective="2026-10-01T00:00:00Z"),
            term(dimension("0.1"), effective="2026-12-01T00:00:00Z"),
        ),
        0.25,
    ),
]
UNPRICED = [
    (RESERVED, "not sold on demand in USD"),
    ({}, "not sold on demand in USD"),
    (on_demand(term(dimension("3", currency="CNY"))), "not sold on demand in USD"),
    (on_demand(term(dimension("0.0000000000"))), "its price is zero"),
    (on_demand(term(dimension("1", unit="Quantity"))), "sold by Quantity, not by hrs"),
]


@pytest.mark.parametrize(("terms", "usd"), [case[1:] for case in QUOTED], ids=[case[0] for case in QUOTED])
def test_a_price_is_that_of_the_first_tier_that_costs(terms: Mapping[str, Any], usd: float) -> None:
    answer = quote([offer(product(terms))], HOURLY)
    assert isinstance(answer, Quote)
    assert answer.usd == usd


@pytest.mark.parametrize(("terms", "why"), UNPRICED, ids=[why for _, why in UNPRICED])
def test_what_is_no_price_says_why(terms: Mapping[str, Any], why: str) -> None:
    assert quote([offer(product(terms))], HOURLY) == Unpriced(why=why)


def test_no_offer_is_no_price() -> None:
    assert quote([], HOURLY) == Unpriced(why="not in the price list")


def test_several_products_must_agree() -> None:
    dear, cheap = on_demand(term(dimension("0.25"))), on_demand(term(dimension("0.2")))
    offers = [offer(product(dear, sku="A")), offer(product(cheap, sku="B"))]
    assert quote(offers, HOURLY) == Unpriced(why="several prices: $0.25 (A), $0.2 (B)")
    assert isinstance(quote([offers[0], offers[0]], HOURLY), Quote)


def test_one_that_has_no_price_does_not_hide_one_that_has() -> None:
    offers = [offer(product(RESERVED, sku="A")), offer(product(on_demand(term(dimension("0.25"))), sku="B"))]
    answer = quote(offers, HOURLY)
    assert isinstance(answer, Quote)
    assert answer.offer.sku == "B"


def test_throughput_by_the_gibibyte_is_a_price_by_the_mebibyte() -> None:
    [item] = [item for item in ITEMS if item.item == "gp3-mib-s-month"]
    for unit, usd in (("GiBps-mo", "40.96"), ("MiBps-Mo", "0.04")):
        answer = quote([offer(product(on_demand(term(dimension(usd, unit=unit)))))], item.units)
        assert isinstance(answer, Quote)
        assert answer.usd == 0.04


@pytest.mark.parametrize(
    ("usage_type", "ours"),
    [
        ("Requests-Tier2", True),
        ("USE2-Requests-Tier2", True),
        ("EU-Requests-Tier2", True),
        ("us-gov-west-1-Requests-Tier2", True),
        ("Requests-Tier20", False),
        ("Tables-Requests-Tier2", False),
        ("USE2-Tables-Requests-Tier2", False),
        ("Requests-SIA-Tier2", False),
    ],
)
def test_a_usage_type_is_ours_but_for_its_region(usage_type: str, ours: bool) -> None:  # noqa: FBT001 - a case
    [item] = [item for item in ITEMS if item.item == "s3-get"]
    assert item.has(offer(product({}, usage_type=usage_type))) is ours


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"product": {}}', "no JSON", product({"OnDemand": [1]})])
def test_what_is_no_product_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own is one
        offer(text)


@pytest.mark.parametrize("key", ["product", "publicationDate", "serviceCode"])
def test_a_key_that_is_missing_is_named(key: str) -> None:
    document = json.loads(product(on_demand(term(dimension("0.25")))))
    del document[key]
    with pytest.raises(ValueError, match=key):
        offer(json.dumps(document))
