"""A crash takes the rows of one node offline for the sum of its phases, and a target bounds it.

A node that EMR replaces waits for its launch, for the balancer and for its cache.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, REQUIREMENTS, WORLD, with_core, with_targets, with_workload
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


def test_the_phases_of_the_shipped_cluster_follow_each_other() -> None:
    sized = plan(PROD, WORLD)
    new, lost = sized.bad_hours.replaced_node, sized.bad_hours.lost_node
    assert new is not None
    assert lost is not None
    assert sized.bad_hours.cold is not None
    assert new.launch_seconds == 600
    assert new.seconds == pytest.approx(new.launch_seconds + new.regions_seconds + new.warm_seconds)
    assert new.regions == pytest.approx(240 / 11)
    # Reads slow the prefetch down; here the volume limits it, so one node takes as long as all of them.
    assert lost.refill_seconds <= new.warm_seconds * 1.02
    assert new.warm_seconds == pytest.approx(sized.warm_up.prefetch_seconds, rel=0.01)
    assert new.hit_ratio == pytest.approx(lost.cold_hit_ratio)
    assert new.p99_latency_ms > lost.p99_latency_ms
    # A tenth of the block reads miss at first and none at the end; the prefetch itself takes few, large GETs.
    blocks = sized.bad_hours.cold.gets_per_second / sized.bad_hours.cold.reads_per_second
    misses_per_second = new.reads_per_second * blocks / 11
    assert new.gets == pytest.approx(misses_per_second * new.warm_seconds / 2, rel=0.01)
    # S3's limit binds the cold cluster as a whole, and a single cold node has it for itself.
    assert 10 / 11 * 900 + 1.4 * sized.bad_hours.cold.reads_per_second / 11 < new.reads_per_second <= 900


@pytest.mark.parametrize(("most", "waits_seconds"), [(None, 336.641), (200.0, 0.0)])
def test_the_balancer_waits_until_the_lost_nodes_rows_are_online(most: float | None, waits_seconds: float) -> None:
    sized = plan(with_targets(REQUIREMENTS, offline_after_crash_seconds=most), WORLD)
    new, lost = sized.bad_hours.replaced_node, sized.bad_hours.lost_node
    assert new is not None
    assert lost is not None
    assert max(0.0, lost.offline_with_meta_seconds - new.launch_seconds) == pytest.approx(waits_seconds, abs=0.01)
    assert new.regions_seconds == pytest.approx(waits_seconds + 2 * 300, abs=0.01)


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN])
def test_without_a_cache_nothing_waits_for_it_or_warms_up(mode: object) -> None:
    sized = plan(replace(RELAXED, mode=mode), WORLD)
    lost, new = sized.bad_hours.lost_node, sized.bad_hours.replaced_node
    assert lost is not None
    assert new is not None
    assert lost.retention_seconds == 0
    assert new.warm_seconds == 0
    assert new.gets == 0
    assert new.hit_ratio == (1 if mode is HDFS else 0)
    assert new.reads_per_second == sized.throughput.reads_per_second


def test_a_single_node_has_nobody_to_serve_meanwhile() -> None:
    little = with_workload(with_targets(RELAXED, lost_nodes=0), stored_bytes=2**34, regions=1)
    sized = plan(with_core(little, count=1), WORLD)
    assert sized.core.count == 1
    assert sized.bad_hours.replaced_node is None
