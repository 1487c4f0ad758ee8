"""A discount is taken off EC2's price of instances, and off no other price."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, WORLD
from warmbase.facts.prices import price_table
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan


def pinned_plan(discount: float) -> Plan:
    return plan(PINNED, replace(WORLD, prices=WORLD.prices.discounted(discount)))


def lines(plan: Plan) -> dict[str, float]:
    return {line.item: line.usd_per_month for line in plan.cost.lines}


def test_only_instances_are_cheaper() -> None:
    whole, less = lines(pinned_plan(0)), lines(pinned_plan(0.28))
    assert whole.keys() == less.keys()
    for item, usd in whole.items():
        assert less[item] == pytest.approx(usd * (0.72 if item.endswith(" instances") else 1))


def test_the_bill_says_which_discount_it_contains() -> None:
    sized = pinned_plan(0.28)
    assert sized.prices.discount == 0.28
    assert "less 28 %" in next(line.because for line in sized.cost.lines if line.item == "core instances")
    assert "less 28 % on EC2 instances" in sized.prices.described
    assert "less" not in pinned_plan(0).prices.described


def test_an_estimate_is_discounted_too() -> None:
    table = price_table("eu-west-1").discounted(0.5)
    assert table.note.estimate
    assert "less 50 % on EC2 instances" in table.described
    assert table.compute["r8g.xlarge"].ec2_usd_per_hour == pytest.approx(0.2356 * 0.52736 / 0.47128 / 2)
