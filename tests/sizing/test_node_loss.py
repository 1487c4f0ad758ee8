"""A crash takes the rows of one node offline for the sum of its phases, and a target bounds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, REQUIREMENTS, WORLD, with_core, with_targets
from warmbase.ground.units import MIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS, S3_PLAIN
from warmbase.sizing.plan import Plan
from warmbase.sizing.server.restart import Crash, RestartLoad, offline, restart, retention_window_seconds

PROD = with_core(REQUIREMENTS, type="r8g.xlarge", count=11)
LOADS = st.builds(
    RestartLoad,
    heap_bytes=st.integers(2**30, 2**35),
    cached_blocks=st.integers(0, 10**8),
    regions=st.integers(1, 500),
    open_region_threads=st.integers(1, 20),
    s3_trip_seconds=st.floats(0.01, 0.5),
    pre_touch=st.booleans(),
    restores_in_background=st.booleans(),
)


def test_a_crash_of_the_shipped_cluster_takes_its_phases() -> None:
    sized = plan(PROD, WORLD)
    lost = sized.bad_hours.lost_node
    assert lost is not None
    assert lost.rows_fraction == lost.meta_probability == pytest.approx(1 / 11)
    assert lost.detection_seconds == 40
    assert lost.retention_seconds == sized.restart.crash_offline_seconds == pytest.approx(409.55)
    phases = (lost.detection_seconds, lost.split_seconds, lost.retention_seconds, lost.opening_seconds)
    assert lost.offline_seconds == pytest.approx(sum(phases))
    assert lost.offline_with_meta_seconds > lost.offline_seconds + lost.retention_seconds
    assert lost.cold_hit_ratio == pytest.approx(10 / 11 * sized.hit_ratio.predicted)
    assert lost.hit_ratio <= sized.hit_ratio.predicted
    assert lost.p99_latency_ms >= sized.throughput.p99_latency_ms
    assert 0 < lost.refill_seconds <= sized.warm_up.prefetch_seconds


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN])
def test_nothing_waits_where_retention_is_not_rendered(mode: object) -> None:
    lost = plan(replace(RELAXED, mode=mode), WORLD).bad_hours.lost_node
    assert lost is not None
    assert lost.retention_seconds == 0


def offline_seconds(sized: Plan) -> float:
    assert sized.bad_hours.lost_node is not None
    return sized.bad_hours.lost_node.offline_seconds


def test_a_target_is_met_by_waiting_less() -> None:
    usual, quick = (plan(with_targets(PROD, offline_after_crash_seconds=most), WORLD) for most in (None, 320.0))
    assert offline_seconds(quick) <= 320 < offline_seconds(usual)
    assert quick.feasible
    assert quick.restart.retain_retries == usual.restart.retain_retries - 1
    timing = quick.restart
    assert timing.retention_window_seconds >= timing.away_seconds + timing.opening_seconds


def test_a_target_is_met_by_smaller_caches_on_more_nodes() -> None:
    usual, quick = (plan(with_targets(REQUIREMENTS, offline_after_crash_seconds=most), WORLD) for most in (None, 200.0))
    assert quick.feasible
    assert offline_seconds(quick) <= 200 < offline_seconds(usual)
    assert quick.cost.usd_per_month >= usual.cost.usd_per_month


def test_a_target_that_nothing_meets_is_named() -> None:
    sized = plan(with_targets(REQUIREMENTS, offline_after_crash_seconds=10.0), WORLD)
    assert not sized.feasible
    assert any("offline" in change for change in sized.nearest)


@given(LOADS, st.floats(0, 10_000))
def test_the_shortened_window_still_holds_a_restart(load: RestartLoad, most: float) -> None:
    usual = restart(load)
    shorter = restart(load, most_window_seconds=most)
    assert shorter.retention_window_seconds <= usual.retention_window_seconds
    assert shorter.retention_window_seconds >= usual.away_seconds + usual.opening_seconds
    assert shorter.retention_window_seconds == retention_window_seconds(shorter.retain_retries)
    assert shorter.crash_offline_seconds == shorter.retention_window_seconds


@given(st.floats(0, 1e11), st.floats(0, 1e4), st.floats(0.1, 500))
def test_a_longer_log_or_window_never_shortens_a_crash(log: float, window: float, regions: float) -> None:
    crash = Crash(
        session_seconds=40,
        retention_seconds=window,
        unflushed_bytes=log,
        regions_of_survivor=regions,
        open_region_threads=3,
        s3_trip_seconds=0.15,
    )
    longer = offline(replace(crash, unflushed_bytes=2 * log, retention_seconds=2 * window))
    assert 40 < offline(crash).seconds <= longer.seconds
    assert offline(crash).meta_seconds <= longer.meta_seconds


def test_the_initial_load_is_bounded_by_the_logs_volumes() -> None:
    sized = plan(PROD, WORLD)
    assert sized.hdfs_replication == 2
    assert sized.bad_hours.initial_load_seconds >= 7.185 * TIB / (11 * 125 * MIB / 2) * (1 - 1e-9)
