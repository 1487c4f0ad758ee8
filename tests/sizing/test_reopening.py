"""A change of a table reopens every region once, and never more regions at a time than there are servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.sizing.server.restart import reopening


def batches_of_hbase(regions: int, limit: int) -> list[int]:
    """Return the sizes of the batches as ReopenTableRegionsProcedure of HBase 2.6.2 makes them."""
    sizes: list[int] = []
    size = 1
    while sum(sizes) < regions:
        sizes.append(min(size, regions - sum(sizes)))
        size = max(size, min(limit, 2 * size))
    return sizes


@given(regions=st.integers(1, 5_000), servers=st.integers(1, 200))
def test_batches_are_those_of_hbase(regions: int, servers: int) -> None:
    sizes = batches_of_hbase(regions, servers)
    planned = reopening(regions, servers, 0.15)
    assert planned.batches == len(sizes)
    assert max(sizes) <= planned.most_regions <= servers


@pytest.mark.parametrize(("regions", "servers", "seconds"), [(240, 11, 107.5), (1, 3, 4.3), (40, 3, 64.5)])
def test_time_of_a_change(regions: int, servers: int, seconds: float) -> None:
    assert reopening(regions, servers, 0.15).seconds == pytest.approx(seconds)
