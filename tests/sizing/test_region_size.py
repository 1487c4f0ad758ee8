"""Planned regions do not split, and the plan warns of regions that exceed a pinned limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, WORLD, with_workload
from warmbase.ground.units import GIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Pins, Requirements
from warmbase.sizing.workload.workload import DEFAULT_SPLIT_BYTES, JITTER_FRACTION, Regions, usual_regions


@given(stored_bytes=st.integers(1, 2**56), regions=st.integers(1, 100_000))
def test_a_region_of_nearly_twice_the_mean_does_not_split(stored_bytes: int, regions: int) -> None:
    workload = replace(PINNED.workload, stored_bytes=stored_bytes, regions=regions)
    sized = Regions.of(workload, None)
    assert sized.split_bytes * (1 - JITTER_FRACTION) >= 1.75 * (stored_bytes / regions)
    assert sized.split_bytes >= DEFAULT_SPLIT_BYTES
    assert sized.split_bytes % GIB == 0
    assert sized.split_bytes <= max(DEFAULT_SPLIT_BYTES, 2 * stored_bytes / regions + 2 * GIB)


def warned(requirements: Requirements) -> set[str]:
    return {warning.id for warning in planned(requirements).warnings}


def planned(requirements: Requirements) -> Plan:
    return plan(requirements, WORLD)


@pytest.mark.parametrize(("gib", "splits"), [(10, True), (35, True), (36, False), (None, False)])
def test_regions_over_a_pinned_limit_are_said_to_split(gib: int | None, *, splits: bool) -> None:
    """Regions of 30.66 GiB may split from a limit of 35.04 GiB on, less an eighth."""
    pins = Pins(split_bytes=gib and gib * GIB)
    assert ("regions-split" in warned(replace(PINNED, pins=pins))) == splits
    assert planned(replace(PINNED, pins=pins)).regions.split_bytes == (gib or 62) * GIB


@pytest.mark.parametrize(("regions", "is_large"), [(100, True), (158, True), (159, False)])
def test_regions_beyond_the_guide_are_large(regions: int, *, is_large: bool) -> None:
    few = with_workload(PINNED, stored_bytes=round(7.22 * TIB), regions=regions)
    assert ("regions-large" in warned(few)) == is_large
    if is_large:
        [fix] = [warning.fix for warning in planned(few).warnings if warning.id == "regions-large"]
        advised = int(fix.split(" into ")[1].split()[0])
        assert "regions-large" not in warned(with_workload(few, regions=advised))


@given(stored_bytes=st.integers(1, 2**56), servers=st.integers(2, 100))
def test_the_usual_regions_are_the_fewest_below_the_default_limit(stored_bytes: int, servers: int) -> None:
    regions = usual_regions(stored_bytes, servers)
    assert stored_bytes / regions <= DEFAULT_SPLIT_BYTES
    assert regions == 5 * servers or stored_bytes / (regions - 1) > DEFAULT_SPLIT_BYTES
    assert regions >= 5 * servers
