"""A node that EMR replaces waits for its launch, for the balancer and for its cache."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, REQUIREMENTS, WORLD, with_core, with_targets, with_workload
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS, S3_PLAIN

PROD = with_core(REQUIREMENTS, type="r8g.xlarge", count=11)


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
def test_nothing_warms_up_without_a_cache(mode: object) -> None:
    sized = plan(replace(RELAXED, mode=mode), WORLD)
    new = sized.bad_hours.replaced_node
    assert new is not None
    assert new.warm_seconds == 0
    assert new.gets == 0
    assert new.hit_ratio == (1 if mode is HDFS else 0)
    assert new.reads_per_second == sized.throughput.reads_per_second


def test_a_single_node_has_nobody_to_serve_meanwhile() -> None:
    little = with_workload(with_targets(RELAXED, lost_nodes=0), stored_bytes=2**34, regions=1)
    sized = plan(with_core(little, count=1), WORLD)
    assert sized.core.count == 1
    assert sized.bad_hours.replaced_node is None
