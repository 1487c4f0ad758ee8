import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from warmbase.sizing.server.restart import (
    MOST_RETRIES,
    RestartLoad,
    late_seconds,
    opening_seconds,
    restart,
    restore_seconds,
    retain_retries,
    retention_window_seconds,
)

GIB = 1024**3
BLOCKS_PER_TIB = 15_690_000

LAB = RestartLoad(
    heap_bytes=1_500 * 1024**2,
    cached_blocks=18_766,
    regions=18,
    open_region_threads=3,
    s3_trip_seconds=0.026,
    pre_touch=False,
    restores_in_background=False,
)
LARGE = RestartLoad(
    heap_bytes=27 * GIB,
    cached_blocks=BLOCKS_PER_TIB,
    regions=40,
    open_region_threads=3,
    s3_trip_seconds=0.15,
    pre_touch=True,
    restores_in_background=False,
)
servers = st.builds(
    RestartLoad,
    heap_bytes=st.integers(GIB, 200 * GIB),
    cached_blocks=st.integers(0, 10**8),
    regions=st.integers(0, 1_000),
    open_region_threads=st.integers(1, 50),
    s3_trip_seconds=st.floats(0.005, 0.5),
    pre_touch=st.booleans(),
    restores_in_background=st.booleans(),
)


@pytest.mark.parametrize(("retries", "seconds"), [(0, 0), (10, 51.15), (11, 102.35), (12, 204.75), (14, 819.15)])
def test_the_window_doubles_with_every_retry(retries: int, seconds: float) -> None:
    assert retention_window_seconds(retries) == pytest.approx(seconds)


@pytest.mark.parametrize("retries", [-1, 26, 600])
def test_retries_that_break_hbase_are_refused(retries: int) -> None:
    with pytest.raises(ValueError, match="retries must be from 0 to 25"):
        retention_window_seconds(retries)


@pytest.mark.parametrize(
    ("seconds", "retries"), [(0.0, 1), (51.15, 10), (51.16, 11), (100, 11), (102.36, 12), (150, 12)]
)
def test_retries_are_the_fewest_whose_window_is_long_enough(seconds: float, retries: int) -> None:
    assert retain_retries(seconds) == retries


@given(st.floats(0, 1_000_000), st.floats(0, 1_000_000))
def test_a_longer_restart_never_needs_fewer_retries(one: float, other: float) -> None:
    shorter, longer = (retain_retries(seconds) for seconds in sorted((one, other)))
    assert shorter <= longer <= MOST_RETRIES
    assert retention_window_seconds(longer) >= max(one, other)
    assert longer == 1 or retention_window_seconds(longer - 1) < max(one, other)


def test_no_window_covers_a_month() -> None:
    with pytest.raises(ValueError, match="overflows an int"):
        retain_retries(30 * 86_400)


@given(st.floats(0.05, 1_000_000))
def test_the_master_looks_again_before_the_server_was_away_twice(away: float) -> None:
    assert 0 <= late_seconds(away) <= away + 0.05 + 1e-9 * away


@given(servers)
def test_phases_sum_to_the_restart_and_the_window_covers_it(server: RestartLoad) -> None:
    result = restart(server)
    phases = result.stop_seconds + result.away_seconds + result.late_seconds + result.opening_seconds
    assert result.seconds == pytest.approx(phases)
    assert result.retention_window_seconds >= result.away_seconds + result.late_seconds
    assert result.retention_window_seconds == retention_window_seconds(result.retain_retries)
    assert result.crash_offline_seconds == result.retention_window_seconds


@given(servers, st.integers(0, 10**7), st.integers(0, 100), st.integers(0, GIB))
def test_more_to_do_never_restarts_sooner(server: RestartLoad, blocks: int, regions: int, heap: int) -> None:
    fuller = replace(
        server,
        cached_blocks=server.cached_blocks + blocks,
        regions=server.regions + regions,
        heap_bytes=server.heap_bytes + heap,
    )
    assert restart(fuller).seconds >= restart(server).seconds * (1 - 1e-12)
    assert restart(fuller).retain_retries >= restart(server).retain_retries


def test_a_small_measured_restart_comes_within_a_fifth() -> None:
    # 24.8 s until the last of 18 regions, with HBase 2.6.4 and 20 ms to S3.
    result = restart(LAB)
    assert result.seconds == pytest.approx(24.8, rel=0.2)
    assert result.restore_seconds < 0.5


def test_the_published_restart_stays_under_two_minutes() -> None:
    # Three nodes with 20 GB of cache each: "less than 2 min".
    assert restart(replace(LARGE, cached_blocks=20_000_000_000 // 65_590)).seconds < 120


def test_a_tebibyte_of_blocks_takes_three_minutes_to_restore() -> None:
    assert restart(LARGE).restore_seconds == pytest.approx(170, rel=0.01)
    assert restart(LARGE).stop_seconds == pytest.approx(38, rel=0.02)


@pytest.mark.parametrize(
    ("blocks", "microseconds"), [(26_006, 5.65), (186_434, 6.56), (186_434, 8.54), (2_000_000, 8.0), (2_000_000, 9.5)]
)
def test_the_computed_restores_take_as_long_as_measured(blocks: int, microseconds: float) -> None:
    assert 1 / 1.5 < 1e6 * restore_seconds(blocks) / blocks / microseconds < 1.5


def test_ten_retries_lose_the_regions_of_a_terabyte_restart() -> None:
    result = restart(LARGE)
    assert result.away_seconds > retention_window_seconds(10)
    assert 12 <= result.retain_retries <= 14


def test_restoring_in_the_background_brings_the_server_back_sooner() -> None:
    result = restart(replace(LARGE, restores_in_background=True))
    assert result.away_seconds == pytest.approx(restart(LARGE).away_seconds - restart(LARGE).restore_seconds)
    assert result.opening_seconds >= opening_seconds(LARGE)
