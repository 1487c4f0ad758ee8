"""Regions: every one that has prices has a clock."""

from __future__ import annotations

from warmbase.facts import rows
from warmbase.facts.ec2 import utc_offset_hours
from warmbase.facts.prices import priced_regions


def test_every_priced_region_is_listed() -> None:
    assert set(priced_regions()) <= {row["region"] for row in rows("regions.csv")}


def test_offsets_are_those_of_the_earth() -> None:
    for row in rows("regions.csv"):
        assert -12 <= float(row["utc_offset_hours"]) <= 14
    assert utc_offset_hours("us-west-2") == -8
    assert utc_offset_hours("nowhere-1") == 0
