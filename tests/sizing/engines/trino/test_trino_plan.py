"""The plan of an analytics cluster: its targets, simulations, and the formulas of its explanations."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import WORLD, gp3_volume
from tests.sizing.engines.trino.questions import (
    CHOICE,
    question,
    with_query_targets,
    with_scans,
    with_workers,
)
from warmbase.engines.trino.cached_scan import CachedScan
from warmbase.engines.trino.calculator import trino_plan
from warmbase.engines.trino.request import ScanWorkload, TrinoChoice
from warmbase.engines.trino.search import TrinoSearch
from warmbase.engines.trino.section import LEAST_QUERY_SECONDS
from warmbase.engines.trino.workers import COORDINATION_SECONDS, most_seconds_alone, straggler_factor
from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing.explanation import Kind
from warmbase.sizing.requirements import Volume
from warmbase.sizing.service.inputs import UTILISATION
from warmbase.sizing.workload.popularity import UNIFORM, Zipf


@st.composite
def choices(draw: st.DrawFn) -> TrinoChoice:
    working_set = draw(st.integers(20, 20_000)) * GIB
    choice = with_scans(
        CHOICE,
        working_set_bytes=working_set,
        scanned_bytes=round(working_set * draw(st.floats(0.0005, 0.2))) + MIB,
        queries_per_second=draw(st.floats(0.5, 100)) / SECONDS_PER_HOUR,
        peak_queries_per_second=draw(st.floats(100, 400)) / SECONDS_PER_HOUR,
        popularity=draw(st.sampled_from([UNIFORM, Zipf(theta=0.7), Zipf(theta=1.1)])),
        read_bytes=draw(st.sampled_from([MIB, 8 * MIB, 64 * MIB])),
    )
    return with_query_targets(
        choice,
        hit_ratio=draw(st.sampled_from([0.3, 0.7, 0.9, 0.99])),
        query_seconds=draw(st.sampled_from([None, 5.0, 30.0, 300.0])),
        lost_nodes=draw(st.integers(0, 2)),
    )


@given(choice=choices())
def test_a_feasible_plan_meets_its_targets_when_workers_are_lost(choice: TrinoChoice) -> None:
    plan = trino_plan(question(choice), WORLD)
    if not plan.feasible:
        return
    best, *_ = TrinoSearch(choice=choice, world=WORLD).run()
    workers, servers = best.workers, best.workers.count - choice.targets.lost_nodes
    ratio, rate = workers.hit_ratio(servers), choice.workload.peak_queries_per_second
    assert ratio >= choice.targets.hit_ratio - 1e-9
    assert workers.utilisation(servers, ratio, rate) <= UTILISATION * (1 + 1e-6)
    if choice.targets.query_seconds is not None:
        assert workers.query_seconds(servers, ratio, rate) <= choice.targets.query_seconds * (1 + 1e-6)
    assert workers.cache_gib <= 0.85 * workers.cache.count * workers.cache.size_gib + 1
    assert plan.cost.usd_per_month == pytest.approx(best.usd_per_month)


@given(choice=choices())
def test_every_formula_gives_its_figure(choice: TrinoChoice) -> None:
    plan = trino_plan(question(choice), WORLD)
    for path, explanation in plan.because.items():
        figure = plan.figure(path)
        if explanation.kind is Kind.CONSTRAINT:
            assert plan.missed or explanation.value is True, path
        else:
            assert explanation.value == pytest.approx(figure, rel=1e-9), path


@given(choice=choices())
def test_a_count_that_is_left_out_has_no_better_cluster(choice: TrinoChoice) -> None:
    search = TrinoSearch(choice=choice, world=WORLD)
    everything = search._best_of_types(is_nearest=True)
    best = min(everything, key=lambda one: one.rank)
    assert search.run()[0].rank == pytest.approx(best.rank)


def test_pinned_drives_may_be_faster_than_those_of_the_type() -> None:
    drives = Volume(purpose="cache", type="nvme", count=4, size_gib=3000, iops=400_000, throughput_mib_s=2000)
    volumes = (drives, gp3_volume(purpose="system", size_gib=256))
    quick = with_query_targets(with_scans(CHOICE, cpu_seconds_per_gib=0.1), query_seconds=20.0)
    search = TrinoSearch(choice=with_workers(quick, type="r8g.2xlarge", volumes=volumes), world=WORLD)
    best, *_ = search.run()
    assert (best.shortfalls, best.rank) == ((), min(one.rank for one in search._best_of_types(is_nearest=True)))


def test_hit_ratio_is_that_of_a_replayed_lru_cache() -> None:
    """Whole files of pages are read in random order by popularity; a cache with a third of the pages answers them."""
    workload = ScanWorkload(
        working_set_bytes=2_000 * 4 * MIB,
        scanned_bytes=40 * MIB,
        queries_per_second=1.0,
        peak_queries_per_second=1.0,
        popularity=Zipf(theta=0.8),
        file_format="parquet",
        file_bytes=4 * MIB,
        read_bytes=64 * GIB,
    )
    scan, generator = CachedScan(workload=workload), random.Random(7)
    weights = list(itertools.accumulate(rank**-0.8 for rank in range(1, 2_001)))
    capacity, cache, hits, reads = 2_600, OrderedDict[tuple[int, int], None](), 0, 0
    for number in range(60_000):
        file = generator.choices(range(2_000), cum_weights=weights)[0]
        for page in range(4):
            key = (file, page)
            if number >= 20_000:
                reads, hits = reads + 1, hits + (key in cache)
            cache[key] = None
            cache.move_to_end(key)
            if len(cache) > capacity:
                cache.popitem(last=False)
    assert scan.hit_ratio(capacity) == pytest.approx(hits / reads, abs=0.02)


def test_mean_time_is_that_of_simulated_processor_sharing() -> None:
    """Queries of exponential size arrive at random and share one server equally."""
    generator, arrival_rate, alone = random.Random(3), 0.05, 13.0
    now, next_arrival, running, times, thresholds = 0.0, 0.0, 0, list[float](), list[tuple[float, float]]()
    served = 0.0  # the service that a query which runs since the beginning would have had
    while len(times) < 40_000:
        finish = now + (thresholds[0][0] - served) * running if thresholds else math.inf
        if next_arrival < finish:
            served += (next_arrival - now) / running if running else 0.0
            now = next_arrival
            heapq.heappush(thresholds, (served + generator.expovariate(1 / alone), now))
            running, next_arrival = running + 1, now + generator.expovariate(arrival_rate)
        else:
            served, now = thresholds[0][0], finish
            times.append(now - heapq.heappop(thresholds)[1])
            running -= 1
    predicted = alone / (1 - arrival_rate * alone)
    assert sum(times) / len(times) == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize(("files", "servers"), [(1, 2), (4, 9), (40, 9), (160, 9), (400, 20), (1_000, 4)])
def test_the_fullest_worker_is_that_of_simulated_hashing(files: int, servers: int) -> None:
    """The estimate is not below the mean of a simulation, and at most a quarter above it."""
    choice = with_scans(CHOICE, scanned_bytes=files * 256 * MIB, file_bytes=256 * MIB)
    generator, fullest = random.Random(5), list[int]()
    for _ in range(2_000):
        counts = [0] * servers
        for _ in range(files):
            counts[generator.randrange(servers)] += 1
        fullest.append(max(counts))
    simulated = sum(fullest) / len(fullest) / (files / servers)
    assert 0.98 * simulated <= straggler_factor(choice, servers) <= 1.25 * simulated


def test_every_directory_has_a_whole_share_of_the_cache() -> None:
    fast = with_query_targets(with_workers(CHOICE, type="r8g.8xlarge"), query_seconds=12.0)
    for gib in range(100, 112):
        scans = {"scanned_bytes": 20 * GIB, "cpu_seconds_per_gib": 1.0, "peak_queries_per_second": 0.1}
        plan = trino_plan(question(with_scans(fast, working_set_bytes=gib * GIB, **scans)), WORLD)
        assert plan.cache.directories == 2
        assert plan.cache.size_gib % plan.cache.directories == 0


def test_longest_time_alone_is_where_the_target_is_just_met() -> None:
    choice = with_query_targets(CHOICE, query_seconds=30.0)
    alone, rate = most_seconds_alone(choice, 8), choice.workload.peak_queries_per_second
    assert COORDINATION_SECONDS + alone * straggler_factor(choice, 8) / (1 - rate * alone) == pytest.approx(30.0)
    assert most_seconds_alone(with_query_targets(CHOICE, query_seconds=0.5)) == 0


def test_a_second_preferred_host_needs_twice_the_cache_and_survives_a_loss() -> None:
    one = trino_plan(question(with_workers(CHOICE, type="r8g.2xlarge", count=12)), WORLD)
    two = trino_plan(question(with_workers(replace(CHOICE, preferred_hosts=2), type="r8g.2xlarge", count=12)), WORLD)
    assert two.cache.size_gib >= 1.9 * one.cache.size_gib
    assert two.queries.after_loss_seconds is not None
    assert one.queries.after_loss_seconds is not None
    assert two.queries.after_loss_seconds <= one.queries.after_loss_seconds


def test_pinned_workers_are_evaluated_and_say_what_they_miss() -> None:
    volumes = (gp3_volume("cache", 200), gp3_volume("system", 64))
    plan = trino_plan(question(with_workers(CHOICE, type="r8g.xlarge", count=3, volumes=volumes)), WORLD)
    assert {one.target for one in plan.missed} == {"hit_ratio", "load", "load_after_loss", "query_time"}
    assert plan.workers.count == 3


def test_a_query_that_no_cluster_answers_in_time_has_the_nearest_plan() -> None:
    plan = trino_plan(question(with_query_targets(CHOICE, query_seconds=1.01)), WORLD)
    assert [one.target for one in plan.missed] == ["query_time"]
    assert plan.missed[0].actual > 1.01


def test_families_without_a_worker_have_none() -> None:
    with pytest.raises(LookupError, match="x9z"):
        TrinoSearch(choice=with_workers(CHOICE, families=("x9z",)), world=WORLD).run()


def test_a_target_is_longer_than_the_start_of_a_query() -> None:
    assert LEAST_QUERY_SECONDS == COORDINATION_SECONDS
