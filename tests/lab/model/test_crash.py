"""The time for which a dead server's regions are offline follows from the settings that decide it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.prediction import Crash, offline_seconds
from warmbase.sizing.server.restart import retention_window_seconds

LAB = Crash(session_seconds=20.0, retries=10, regions=4.0, open_region_threads=3, s3_trip_seconds=0.02)


def total(crash: Crash) -> float:
    return sum(seconds for _, seconds in offline_seconds(crash))


def test_the_labs_own_crash_by_hand() -> None:
    # 20 - 20/6 + 1.5 until the session ends, 2 for the log, 51.15 of waiting, 7/6 rounds of 22 trips of 20 ms.
    assert total(LAB) == pytest.approx((20 - 20 / 6 + 1.5) + 2 + 51.15 + 7 / 6 * 22 * 0.02)


@given(retries=st.integers(0, 14))
def test_retention_adds_its_window_and_nothing_else(retries: int) -> None:
    difference = total(replace(LAB, retries=retries)) - total(replace(LAB, retries=None))
    assert abs(difference - retention_window_seconds(retries)) < 1e-9


@given(retries=st.none() | st.integers(0, 14))
def test_regions_wait_once_more_where_hbase_meta_waits_first(retries: int | None) -> None:
    crash = replace(LAB, retries=retries)
    window = retention_window_seconds(retries) if retries is not None else 0.0
    assert total(replace(crash, has_meta=True)) == pytest.approx(total(crash) + window + 22 * 0.02)


@given(seconds=st.floats(6, 90), more=st.floats(0.1, 10))
def test_a_longer_session_is_noticed_later(seconds: float, more: float) -> None:
    assert total(replace(LAB, session_seconds=seconds + more)) > total(replace(LAB, session_seconds=seconds))
