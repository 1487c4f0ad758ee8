"""A cold cluster serves no more than it can, and warms while it serves, just as in a simulation block by block."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import CLOSED, PINNED, REQUIREMENTS, WORLD, with_core, with_targets, with_workload
from tests.speed import loops
from warmbase.sizing import warning
from warmbase.sizing.cache.warm_up import CacheCapacity
from warmbase.sizing.calculator import plan
from warmbase.sizing.search.search import search
from warmbase.sizing.server import cold_start
from warmbase.sizing.server.cold_start import ColdStart, Prefetching
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.resource import S3_GETS_PER_SECOND_PER_PREFIX, Disk, ServingCluster, bottleneck, resources
from warmbase.sizing.workload.popularity import Popularity
from warmbase.sizing.workload.read import Hits, Read, Timings
from warmbase.sizing.workload.workload import ClosedLoad, OpenLoad

MIB = 2**20
BLOCKS = 40_000
CAPACITY = CacheCapacity(blocks_after_eviction=BLOCKS, prefetch_stops_blocks=BLOCKS)


def zipf(exponent: float) -> Popularity:
    weights = np.arange(1, BLOCKS + 1) ** -exponent
    return Popularity(weights=weights / weights.sum(), blocks=np.ones(BLOCKS))


START = ColdStart(
    cluster=ServingCluster(
        servers=3,
        vcpus=4,
        network_gbit_per_second=1.0,
        handlers=20,
        disk=Disk(kind="ebs", bytes_per_second=25 * MIB, ios_per_second=3_000),
    ),
    read=Read(blocks=4, cached_length_bytes=66_000, on_disk_length_bytes=66_000, answer_bytes=260_000),
    timings=Timings(),
    load=OpenLoad(reads_per_second=200.0),
    popularity=zipf(0.8),
    room=CAPACITY,
    prefetching=Prefetching(
        blocks=BLOCKS, blocks_per_second=400.0, s3_bytes=66_000, slot_bytes=66_560, get_bytes=64 * MIB
    ),
)
starts = st.builds(
    lambda handlers, reads, rate, exponent, disk: replace(
        START,
        cluster=replace(START.cluster, handlers=handlers, disk=disk),
        load=OpenLoad(reads_per_second=reads),
        prefetching=replace(START.prefetching, blocks_per_second=min(rate, disk.fill_bytes_per_second / 66_560)),
        popularity=zipf(exponent),
    ),
    st.integers(1, 400),
    st.floats(1, 1_000),
    st.floats(10, 2_000),
    st.floats(0, 0.99),
    st.builds(
        lambda mib_s, files, part: Disk(
            kind="ebs",
            bytes_per_second=mib_s * MIB,
            ios_per_second=3_000,
            files=files,
            one_bytes_per_second=part * mib_s * MIB if files > 1 else math.inf,
            one_ios_per_second=max(part, 0.5) * 3_000 if files > 1 else math.inf,
            warm_hit_ratio=0.9 if files > 1 else 0.0,
        ),
        st.floats(5, 500),
        st.sampled_from([1, 1, 3]),
        st.floats(0.3, 1.2),
    ),
)


@given(starts, st.floats(0, 1))
def test_reads_stay_below_what_is_offered_and_what_every_resource_allows(start: ColdStart, ratio: float) -> None:
    moment = start.served(ratio)
    limits = resources(start.cluster, start.read, Hits(ratio=ratio), start.timings)
    assert moment.reads_per_second <= start.load.reads_per_second  # type: ignore[union-attr]
    assert moment.reads_per_second <= bottleneck(limits).max_reads_per_second * (1 + 1e-9)
    misses = moment.reads_per_second * start.read.blocks * (1 - ratio)
    assert misses <= S3_GETS_PER_SECOND_PER_PREFIX * (1 + 1e-9)


@given(starts, st.floats(0, 1))
def test_reads_and_prefetch_together_fit_every_resource(start: ColdStart, ratio: float) -> None:
    moment = start.served(ratio)
    for resource, per_block in start._demands(ratio):
        used = moment.reads_per_second * resource.demand_per_read + moment.prefetched_per_second * per_block
        assert used <= resource.capacity * (1 + 1e-9), resource.name


@given(starts)
def test_reads_lengthen_prefetch_and_at_most_double_it(start: ColdStart) -> None:
    idle = replace(start, load=OpenLoad(reads_per_second=1e-6))
    assert idle.course.prefetch_seconds <= start.course.prefetch_seconds * (1 + 1e-6)
    assert start.course.prefetch_seconds <= 2 * idle.course.prefetch_seconds * (1 + 1e-6)


@given(starts)
def test_the_course_never_falls(start: ColdStart) -> None:
    for (before, low, few), (after, high, many) in pairwise(start.course.points):
        assert before < after
        assert low <= high
        assert few <= many * (1 + 1e-9)


@given(starts, st.floats(1.0, 3.0))
def test_more_reads_are_never_carried_sooner(start: ColdStart, more: float) -> None:
    load = start.load
    assert isinstance(load, OpenLoad)
    heavier = replace(start, load=OpenLoad(reads_per_second=load.reads_per_second * more))
    first, second = start.course.carried_seconds, heavier.course.carried_seconds
    assert second is None or (first is not None and first <= second * 1.05 + 5)


@given(starts, st.floats(0, 1))
def test_the_demand_of_a_read_between_two_hit_ratios_is_almost_exact(start: ColdStart, ratio: float) -> None:
    demands: dict[str, float] = {}
    capacities = {contest.name: contest.capacity for contest in start.contests(ratio)}
    for contest in start.contests(ratio):
        demands[contest.name] = max(demands.get(contest.name, 0.0), contest.per_read)
    error = 2e-3 if start.cluster.disk and start.cluster.disk.files == 1 else 2e-2
    for limit in resources(start.cluster, start.read, Hits(ratio=ratio), start.timings):
        assert demands[limit.name] == pytest.approx(limit.demand_per_read * limit.imbalance, rel=error)
        assert capacities[limit.name] == pytest.approx(limit.capacity)


@given(starts)
def test_a_cluster_that_carries_its_load_warm_carries_it_once_it_is_warm(start: ColdStart) -> None:
    load = start.load
    assert isinstance(load, OpenLoad)
    warm = bottleneck(resources(start.cluster, start.read, Hits(ratio=1.0), start.timings)).max_reads_per_second
    assert (start.course.carried_seconds is not None) == (load.reads_per_second <= warm)


@given(starts, st.floats(10, 10_000), st.none() | st.floats(0.9, 0.9999) | st.floats(1.0001, 1.1))
def test_what_a_target_is_held_against_decides_as_the_course_does(
    start: ColdStart, wanted: float, nearness: float | None
) -> None:
    course = start.course
    wanted = wanted if nearness is None else nearness * course.prefetch_seconds
    assert (start.prefetch_seconds_against(wanted) <= wanted) == (course.prefetch_seconds <= wanted)
    met = course.carried_seconds is not None and course.carried_seconds <= wanted
    assert (start.carried_seconds_against(wanted) <= wanted) == met


def simulated(start: ColdStart, seconds: int) -> list[tuple[float, float]]:
    """Return (hit ratio, reads/s) by seconds, block by block, with rates that the calculator did not compute."""
    cluster, read = start.cluster, start.read
    disk = cluster.disk
    assert disk is not None
    draw, cached = np.random.default_rng(7), np.zeros(BLOCKS, dtype=bool)
    order = draw.permutation(BLOCKS)  # prefetch goes through files, and knows nothing of popularity
    weights, done, drawn = start.popularity.weights, 0.0, []
    cumulative = np.cumsum(weights)
    offered = start.load.reads_per_second  # type: ignore[union-attr]
    for _ in range(seconds):
        ratio = float(weights[cached].sum())
        limits = {
            limit.name: (limit.capacity, limit.demand_per_read)
            for limit in resources(cluster, read, Hits(ratio=ratio), start.timings)
        }
        capacity, of_read = limits["ebs-throughput"]
        wish = start.prefetching.blocks_per_second if done < BLOCKS else 0.0
        wish = min(wish, capacity / 66_560)
        others = min(total / need for name, (total, need) in limits.items() if name != "ebs-throughput" and need)
        fair = max(capacity / 2, capacity - wish * 66_560) / of_read
        reads = min(offered, others, fair)
        fill = min(wish, (capacity - reads * of_read) / 66_560)
        cached[order[round(done) : round(done + fill)]] = True
        done += fill
        touched = np.searchsorted(cumulative, draw.random(round(reads * read.blocks)))
        cached[np.minimum(touched, BLOCKS - 1)] = True
        drawn.append((ratio, reads))
    return drawn


@pytest.mark.parametrize(
    ("handlers", "reads", "prefetched"), [(20, 200.0, 400.0), (60, 200.0, 400.0), (20, 60.0, 100.0), (20, 200.0, 1e-3)]
)
def test_a_simulation_block_by_block_goes_the_same_course(handlers: int, reads: float, prefetched: float) -> None:
    start = replace(
        START,
        cluster=replace(START.cluster, handlers=handlers),
        load=OpenLoad(reads_per_second=reads),
        prefetching=replace(START.prefetching, blocks_per_second=prefetched),
    )
    if prefetched < 1:  # by reads alone: there is nothing to prefetch
        start = replace(start, prefetching=replace(start.prefetching, blocks=1.0, blocks_per_second=1.0))
    drawn = simulated(start, 400)
    hours, ratios, served = zip(*start.course.points, strict=True)
    for second in range(10, 400, 30):
        ratio, rate = drawn[second]
        assert np.interp(second / 3_600, hours, ratios) == pytest.approx(ratio, abs=0.02)
        assert np.interp(second / 3_600, hours, served) == pytest.approx(rate, rel=0.06)


def test_finer_steps_move_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    course = START.course
    monkeypatch.setattr(cold_start, "FIRST_STEP_SECONDS", cold_start.FIRST_STEP_SECONDS / 10)
    monkeypatch.setattr(cold_start, "STEP_FRACTION", cold_start.STEP_FRACTION / 10)
    fine = replace(START).course
    assert course.prefetch_seconds == pytest.approx(fine.prefetch_seconds, rel=0.01)
    assert course.carried_seconds == pytest.approx(fine.carried_seconds, rel=0.02)


def test_an_idle_cluster_prefetches_as_fast_as_it_can() -> None:
    idle = replace(START, load=OpenLoad(reads_per_second=1e-6))
    assert idle.course.prefetch_seconds == pytest.approx(BLOCKS / 400, rel=1e-6)
    assert idle.course.carried_seconds == 0


def test_a_load_that_the_warm_cluster_cannot_carry_is_never_carried() -> None:
    swamped = replace(START, load=OpenLoad(reads_per_second=10_000.0))
    assert swamped.course.carried_seconds is None
    assert swamped.least_hit_ratio is None
    assert swamped.carried_seconds_against(3_600) > 3_600


def test_a_closed_load_is_never_more_than_what_is_served() -> None:
    closed = replace(START, load=ClosedLoad(concurrency=30))
    assert closed.course.carried_seconds is None
    assert closed.carried_seconds_against(60.0) == 0
    assert closed.served(0.0).reads_per_second <= 30 / (4 * 0.15)


# -- in a plan


def test_what_the_shipped_cluster_serves_cold_is_what_handlers_allow() -> None:
    pinned = with_core(REQUIREMENTS, type="r8g.xlarge", count=11)
    sized = plan(pinned, WORLD)
    cold = sized.bad_hours.cold
    assert cold is not None
    assert cold.reads_per_second < 900
    assert sized.s3.gets_per_hour_cold == pytest.approx(3_600 * cold.gets_per_second)
    assert cold.gets_per_second <= S3_GETS_PER_SECOND_PER_PREFIX
    assert cold.course[-1][1] == pytest.approx(sized.warm_up.curve[-1][1], abs=1e-3)
    assert cold.carried_seconds is not None
    assert "cold-load" in {item.id for item in sized.warnings}


def test_a_cold_cache_is_no_warning_where_clients_outwait_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert warning.SHORT_COLD_SECONDS == 60
    pinned = with_core(REQUIREMENTS, type="r8g.xlarge", count=11)
    cold = plan(pinned, WORLD).bad_hours.cold
    assert cold is not None
    assert cold.carried_seconds is not None
    for threshold, warns in ((cold.carried_seconds - 1, True), (cold.carried_seconds, False)):
        monkeypatch.setattr(warning, "SHORT_COLD_SECONDS", threshold)
        assert ("cold-load" in {item.id for item in plan(pinned, WORLD).warnings}) == warns


@pytest.mark.parametrize("reads", [1.0, 900.0, 1_500.0])
def test_reads_slow_the_warm_up_of_a_plan(reads: float) -> None:
    pinned = with_workload(PINNED, reads=replace(PINNED.workload.reads, load=OpenLoad(reads_per_second=reads)))
    quiet = with_workload(PINNED, reads=replace(PINNED.workload.reads, load=OpenLoad(reads_per_second=0.1)))
    ratio = plan(pinned, WORLD).warm_up.prefetch_seconds / plan(quiet, WORLD).warm_up.prefetch_seconds
    assert ratio == pytest.approx(1.0, abs=0.01) if reads == 1 else 1.1 < ratio <= 2.0


def test_a_benchmark_carries_whatever_it_is_served() -> None:
    sized = plan(with_workload(PINNED, reads=CLOSED), WORLD)
    assert sized.bad_hours.cold is not None
    assert sized.bad_hours.cold.carried_seconds is None
    assert "cold-load" not in {item.id for item in sized.warnings}


def test_a_time_until_the_load_is_carried_is_met_or_named() -> None:
    free = with_targets(REQUIREMENTS, carries_load_within_seconds=1_800.0)
    sized = plan(free, WORLD)
    best = search(SizingInputs.new(free, WORLD)).best.candidate
    cold = best.cold_start(best.survivors)
    assert cold is not None
    assert sized.feasible == (cold.course.carried_seconds is not None and cold.course.carried_seconds <= 1_800)
    assert sized.cost.usd_per_month >= plan(REQUIREMENTS, WORLD).cost.usd_per_month


@pytest.mark.bench
def test_a_course_is_quick() -> None:
    assert loops(lambda: replace(START).course) < 0.4
