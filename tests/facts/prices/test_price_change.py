"""Tests of which differences between two price tables count as a change."""

from __future__ import annotations

import pytest

from warmbase.facts.prices.file import changes
from warmbase.ground.prices import ComputePrice, PriceTable, ServicePrice


def table(ec2: float, fee: float, s3_get: float, *, name: str = "r8g.xlarge") -> PriceTable:
    return PriceTable(
        region="us-east-1",
        as_of="2026-10-26",
        compute={name: ComputePrice(ec2_usd_per_hour=ec2, emr_fee_usd_per_hour=fee, emr_fee_confidence="list")},
        services={"s3-get": ServicePrice(usd=s3_get, per="GET", confidence="list", source="")},
    )


def test_the_largest_change_comes_first_whichever_way_it_goes() -> None:
    price_changes = changes(table(1, 1, 4e-07), table(1.1, 0.5, 4.04e-07))
    assert [(change.what, change.per, round(change.fraction, 4)) for change in price_changes] == [
        ("r8g.xlarge EMR fee", "hour", -0.5),
        ("r8g.xlarge", "hour", 0.1),
        ("s3-get", "GET", 0.01),
    ]


@pytest.mark.parametrize(("new", "count"), [(1, 0), (1.004, 0), (0.996, 0), (1.006, 1), (0.994, 1)])
def test_half_a_percent_is_no_change(new: float, count: int) -> None:
    assert len(changes(table(1, 1, 1), table(new, 1, 1))) == count


def test_what_only_one_table_has_did_not_change() -> None:
    assert changes(table(1, 1, 1), table(2, 2, 1, name="r8g.2xlarge")) == ()
