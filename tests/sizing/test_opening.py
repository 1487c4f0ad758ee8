"""Opener threads shorten a restart, and never send S3 more requests than its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.sizing.server.region_server import DEFAULT_THREADS, MOST_THREADS, open_region_threads
from warmbase.sizing.service.resource import S3_GETS_PER_SECOND_PER_PREFIX

REGIONS = st.floats(0.1, 5_000)
SERVERS = st.integers(1, 500)
TRIP = st.floats(0.01, 1)


@given(regions=REGIONS, servers=SERVERS, trip=TRIP)
def test_threads_are_bounded(regions: float, servers: int, trip: float) -> None:
    threads = open_region_threads(regions, servers, trip)
    assert DEFAULT_THREADS <= threads <= MOST_THREADS
    assert threads <= max(DEFAULT_THREADS, regions + 1)
    assert threads == DEFAULT_THREADS or servers * threads / trip <= S3_GETS_PER_SECOND_PER_PREFIX


@given(regions=REGIONS, more=REGIONS, servers=SERVERS, trip=TRIP)
def test_more_regions_never_open_with_fewer_threads(regions: float, more: float, servers: int, trip: float) -> None:
    assert open_region_threads(regions, servers, trip) <= open_region_threads(regions + more, servers, trip)


@pytest.mark.parametrize(
    ("regions", "servers", "threads"),
    [(24, 10, 20), (1_250, 4, 20), (5, 10, 5), (2, 10, 3), (30, 55, 15), (30, 100, 8), (30, 400, 3)],
)
def test_threads_of_a_server(regions: int, servers: int, threads: int) -> None:
    assert open_region_threads(regions, servers, 0.15) == threads
