"""A plan says when its release or its prices are old, and never before."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from facts.releases import improvements_since, releases
from sizing.freshness import OLD_PRICES, freshness_warnings
from sizing.requirements import World
from tests.sizing.clusters import WORLD

PRICED_ON = date.fromisoformat(WORLD.prices.as_of)


def world(label: str = "emr-7.12.0", today: date | None = PRICED_ON) -> World:
    release = releases()[label]
    return replace(WORLD, release=release, improvements=improvements_since(release), today=today)


def ids(world: World) -> set[str]:
    return {warning.id for warning in freshness_warnings(world)}


@pytest.mark.parametrize("label", releases())
def test_support_is_past_on_the_day_after_its_last(label: str) -> None:
    last = releases()[label].support_until
    assert last
    assert "release-past-support" not in ids(world(label, last))
    assert "release-past-support" in ids(world(label, last + timedelta(days=1)))


def test_prices_are_old_after_three_months() -> None:
    assert timedelta(days=90) == OLD_PRICES
    assert "prices-old" not in ids(world(today=PRICED_ON + OLD_PRICES))
    assert "prices-old" in ids(world(today=PRICED_ON + OLD_PRICES + timedelta(days=1)))


def test_without_a_day_nothing_depends_on_it() -> None:
    assert ids(world(today=None)) == {"release-newer"}


def test_an_older_release_is_told_what_the_newest_improves() -> None:
    (newer,) = (warning for warning in freshness_warnings(world()) if warning.id == "release-newer")
    assert newer.message.startswith("emr-7.14.0 ")
    assert "read-policy defect" in newer.message
    assert "promotes a replica in 10 to 15 s instead of 6 min" in newer.message
    assert "release-newer" not in ids(world("emr-7.14.0"))
