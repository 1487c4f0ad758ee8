"""Tables: the needs of workers and the targets that they miss, the better of two clusters, and figures of a plan."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import WORLD, gp3_volume
from tests.sizing.engines.trino.questions import CHOICE, question, with_query_targets, with_scans, with_workers
from warmbase.engines.trino.cached_scan import CachedScan, Demand, demand, uncached_demand
from warmbase.engines.trino.calculator import compared_cache, compared_caches, trino_plan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import TrinoSearch
from warmbase.engines.trino.workers import (
    Evaluated,
    Shortfall,
    Workers,
    most_seconds_alone,
    shortfalls,
    straggler_factor,
)
from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR, TIB
from warmbase.sizing import gp3
from warmbase.sizing.requirements import Volume
from warmbase.sizing.service.resource import DiskKind
from warmbase.sizing.workload.popularity import UNIFORM

VOLUMES = (gp3.gp3_volume("cache", 1_000, (500, 3_000), 2), gp3_volume("system", 256))
EVEN = with_scans(CHOICE, popularity=UNIFORM, working_set_bytes=TIB, scanned_bytes=100 * GIB)
PAGES_OF_QUERY = 100 * 1024 * 1.125  # a read of 8 MiB touches nine pages
READS = 100 * 1024 / 8


def workers_of(choice: TrinoChoice, count: int, instance_type: str = "r8g.2xlarge") -> Workers:
    return TrinoSearch(choice=choice, world=WORLD).workers(instance_type, count, VOLUMES)


@pytest.mark.parametrize(
    ("kind", "ratio", "disk_bytes", "disk_ios"),
    [
        ("ebs", 1.0, 100 * GIB, READS * 32),
        ("ebs", 0.5, 50 * GIB + PAGES_OF_QUERY / 2 * MIB, READS / 2 * 32 + PAGES_OF_QUERY / 2 * 4),
        ("nvme", 0.0, PAGES_OF_QUERY * MIB, PAGES_OF_QUERY * 8),
        ("nvme", 0.5, 50 * GIB + PAGES_OF_QUERY / 2 * MIB, READS / 2 * 64 + PAGES_OF_QUERY / 2 * 8),
    ],
)
def test_hits_are_read_from_disks_and_missed_pages_written_to_them(
    kind: DiskKind, ratio: float, disk_bytes: float, disk_ios: float
) -> None:
    needed = demand(CachedScan(workload=EVEN.workload), ratio, kind)
    missed = (1 - ratio) * PAGES_OF_QUERY
    assert (needed.cpu_seconds, needed.gets) == (1_000.0, (1 - ratio) * READS)
    assert needed.network_bytes == pytest.approx(missed * MIB)
    assert (needed.disk_bytes, needed.disk_ios) == pytest.approx((disk_bytes, disk_ios))


def test_without_a_cache_a_query_fetches_only_what_it_reads() -> None:
    needed = Demand(cpu_seconds=1_000.0, disk_bytes=0.0, disk_ios=0.0, network_bytes=100 * GIB, gets=READS)
    assert uncached_demand(CachedScan(workload=EVEN.workload)) == needed


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9, 0.999])
def test_no_fewer_pages_reach_a_hit_ratio(ratio: float) -> None:
    scan = CachedScan(workload=CHOICE.workload)
    pages = scan.pages_for(ratio)
    assert scan.hit_ratio(pages) >= ratio > scan.hit_ratio(pages * (1 - 1e-6))


def test_the_part_of_the_pages_is_the_hit_ratio_of_files_that_are_read_equally_often() -> None:
    """Two thirds of all pages fit on three workers, and with two copies of each file one third does."""
    scan, size = CachedScan(workload=EVEN.workload), round(TIB * 1.125 * 1.05 / GIB * 2 / 9)
    one = replace(workers_of(EVEN, 3), cache_gib=size)
    two = replace(workers_of(replace(EVEN, preferred_hosts=2), 3), cache_gib=size)
    assert one.hit_ratio(3) == pytest.approx(2 / 3, rel=0.01)
    assert two.hit_ratio(3) == pytest.approx(1 / 3, rel=0.01)
    assert [scan.hit_ratio(pages) for pages in (0.0, scan.pages, 2 * scan.pages)] == [0.0, 1.0, 1.0]


def limits(workers: Workers, ratio: float) -> Mapping[str, float]:
    return {resource.name: resource.capacity for resource in workers.resources(2, ratio)}


def test_volumes_serve_no_more_than_the_instance_sustains() -> None:
    """Two volumes have 1,000 MiB/s and 6,000 IOPS; two workers of this type sustain half of that."""
    small, large = (limits(workers_of(EVEN, 3, name), 0.5) for name in ("m8g.xlarge", "r8g.24xlarge"))
    instance = WORLD.instance_types["m8g.xlarge"]
    assert instance.ebs_sustained_bytes_per_second < 1_000 * MIB
    assert small["ebs-throughput"] == 2 * instance.ebs_sustained_bytes_per_second
    assert small["ebs-iops"] == 2 * min(6_000, instance.ebs_sustained_iops)
    assert small["cpu"] == 2 * 4
    assert small["network"] == 2 * instance.network_sustained_bytes_per_second
    assert (large["ebs-throughput"], large["ebs-iops"]) == (2 * 1_000 * MIB, 2 * 6_000)
    assert small["s3-requests"] == large["s3-requests"] == 22_000
    slow = replace(VOLUMES[0], iops=80_000)
    quick = replace(workers_of(EVEN, 3, "m8g.xlarge"), volumes=(slow, VOLUMES[1]))
    assert limits(quick, 0.5)["ebs-iops"] == 2 * instance.ebs_sustained_iops


def missed(choice: TrinoChoice, count: int) -> dict[str, tuple[float, float, str]]:
    return {one.target: (one.actual, one.limit, one.unit) for one in shortfalls(workers_of(choice, count))}


def at_load(load: float, count: int = 4, lost_nodes: int = 1, hosts: int = 1) -> TrinoChoice:
    """Return a choice whose busiest hour has this utilisation just after the loss, with a cache for everything."""
    choice = with_query_targets(replace(EVEN, preferred_hosts=hosts), lost_nodes=lost_nodes, query_seconds=None)
    cheap = with_scans(choice, cpu_seconds_per_gib=0.01)
    workers = workers_of(cheap, count)
    alone = workers.seconds_alone(count - lost_nodes, workers.ratio_after_loss)
    return with_scans(cheap, peak_queries_per_second=load / alone)


@pytest.mark.parametrize(
    ("choice", "count", "targets"),
    [
        (at_load(0.72), 4, set()),
        (at_load(0.999), 4, {"load"}),
        (at_load(1.001), 4, {"load", "load_after_loss"}),
        (at_load(1.4), 4, {"load", "load_after_loss"}),
        (with_scans(at_load(0.9), peak_queries_per_second=1e-6), 4, set()),
        (at_load(0.69, hosts=2), 4, set()),
        (at_load(0.71, hosts=2), 4, {"load"}),
        (with_query_targets(at_load(0.1), hit_ratio=1.0), 4, set()),
        (with_query_targets(EVEN, lost_nodes=1), 1, {"lost_nodes"}),
        (with_query_targets(EVEN, lost_nodes=3), 2, {"lost_nodes"}),
    ],
)
def test_a_cluster_misses_exactly_the_targets_beyond_their_limits(
    choice: TrinoChoice, count: int, targets: set[str]
) -> None:
    assert set(missed(choice, count)) == targets


def test_a_missed_target_has_its_value_and_its_limit() -> None:
    assert missed(with_query_targets(EVEN, lost_nodes=3), 2) == {"lost_nodes": (2, 4, "workers")}
    assert missed(with_query_targets(EVEN, lost_nodes=1), 1) == {"lost_nodes": (1, 2, "worker")}
    actual, limit, unit = missed(at_load(1.4), 4)["load_after_loss"]
    assert (round(actual, 6), limit, unit) == (1.4, 1.0, "utilisation")


def shortfall(actual: float, limit: float, target: str = "load") -> Shortfall:
    return Shortfall(target=target, actual=actual, limit=limit, unit="")


def test_the_excess_is_a_factor_in_either_direction() -> None:
    pairs = [(1.4, 0.7), (0.4, 0.8), (0.0, 0.8), (3.0, 3.0)]
    assert [shortfall(*pair).excess for pair in pairs] == [2.0, 2.0, float("inf"), 1.0]


def evaluated(usd: float, count: int, *missed: Shortfall) -> Evaluated:
    return Evaluated(workers=workers_of(EVEN, count), usd_per_month=usd, shortfalls=missed)


def test_the_better_cluster_misses_fewer_targets_then_by_less_then_costs_less_then_has_fewer_workers() -> None:
    order = [
        evaluated(10.0, 2),
        evaluated(10.0, 3),
        evaluated(20.0, 1),
        evaluated(9.0, 2, shortfall(1.1, 1.0)),
        evaluated(5.0, 2, shortfall(1.2, 1.0)),
        evaluated(1.0, 2, shortfall(1.01, 1.0), shortfall(1.01, 1.0)),
        evaluated(1.0, 2, shortfall(1.01, 1.0), shortfall(9.0, 1.0)),
    ]
    mixed = random.Random(5).sample(order, len(order))
    assert sorted(mixed, key=lambda one: one.rank) == order
    assert [one.serves for one in order] == [True, True, True, False, False, False, False]
    assert evaluated(9.0, 2, shortfall(9.0, 8.0, "budget")).serves


def test_the_nearest_cluster_is_the_best_of_all_that_miss_a_target() -> None:
    """A query within 3 s needs more workers than there may be, so the nearest has as many, of the fastest type."""
    search = TrinoSearch(choice=with_query_targets(EVEN, query_seconds=1.02), world=WORLD)
    best = search.run()[0]
    assert [one.target for one in best.shortfalls] == ["query_time"]
    assert best.rank == min(one.rank for one in search._best_of_types(is_nearest=True))
    poor = TrinoSearch(choice=with_query_targets(EVEN, budget_usd_per_month=1_000.0), world=WORLD).run()[0]
    assert [one.target for one in poor.shortfalls] == ["budget"]
    # Two hundred workers would come nearer to the time, and miss the budget as well.
    both = with_query_targets(with_scans(EVEN, cpu_seconds_per_gib=0.01), query_seconds=3.0, budget_usd_per_month=9e3)
    best = TrinoSearch(choice=with_workers(both, type="r8g.2xlarge"), world=WORLD).run()[0]
    assert [one.target for one in best.shortfalls] == ["query_time"]


def test_every_cache_that_is_tried_has_the_hit_ratio() -> None:
    search = TrinoSearch(choice=with_workers(CHOICE, type="r8g.2xlarge"), world=WORLD)
    for count in (2, 7, 30):
        tried = list(search._candidates(WORLD.instance_types["r8g.2xlarge"], count))
        assert len(tried) > 3
        assert min(workers.hit_ratio(workers.survivors) for workers in tried) >= CHOICE.targets.hit_ratio


def test_a_query_that_waits_for_s3_waits_for_no_worker() -> None:
    """All 1,638,400 reads of 64 KiB miss, for which S3 takes 74.5 s whatever workers there are."""
    choice = with_query_targets(with_scans(EVEN, read_bytes=64 * 1024, cpu_seconds_per_gib=0.1), query_seconds=100.0)
    workers, of_s3 = workers_of(choice, 200, "r8g.24xlarge"), 100 * 16 * 1024 / 22_000
    own = workers.seconds_of_parts(199, 0.0)[0]
    assert own < own * straggler_factor(choice, 199) < of_s3
    assert workers.seconds_alone(199, 0.0) == pytest.approx(of_s3)
    assert workers.query_seconds(199, 0.0, 2e-3) == pytest.approx(1 + of_s3 / (1 - 2e-3 * of_s3))
    # The workers have what the queue for S3 leaves of the target.
    rare = with_scans(choice, peak_queries_per_second=2e-3)
    most = most_seconds_alone(rare, 9, READS * 128)
    assert 1 + most * straggler_factor(rare, 9) / (1 - 2e-3 * of_s3) == pytest.approx(100.0)
    assert most < min(of_s3, most_seconds_alone(rare, 9))


def cached_on(choice: TrinoChoice, cache_gib: int, count: int = 3) -> list[tuple[int, int, int, int]]:
    """Return the number, size, throughput and IOPS of the volumes that are tried for this cache."""
    search = TrinoSearch(choice=choice, world=WORLD)
    workers = replace(workers_of(choice, count), cache_gib=cache_gib)
    tried = search._cache_volumes(workers, workers.survivors)
    return sorted((one.count, one.size_gib, one.throughput_mib_s, one.iops) for one in tried)


LIGHT = with_scans(EVEN, scanned_bytes=GIB, peak_queries_per_second=1e-3)


@pytest.mark.parametrize(
    ("cache_gib", "volumes"),
    [
        (1, [(1, 2, 125, 3_000)]),
        (25, [(1, 31, 125, 3_000)]),  # a system volume is told from it by its size, as is the root volume of 30 GiB
        (54, [(1, 65, 125, 3_000)]),
        (870, [(1, 1_024, 125, 3_000)]),
        (871, [(2, 513, 125, 3_000)]),
        (2_610, [(3, 1_024, 125, 3_000)]),
        (2_611, [(4, 769, 125, 3_000)]),
        (10_440, [(12, 1_024, 125, 3_000)]),
        (10_441, []),
    ],
)
def test_the_fewest_volumes_hold_the_cache(cache_gib: int, volumes: list[tuple[int, int, int, int]]) -> None:
    assert cached_on(with_query_targets(LIGHT, query_seconds=None), cache_gib) == volumes


def test_more_volumes_and_larger_ones_carry_a_load_that_one_does_not() -> None:
    """Two workers need 4,115 MiB/s each, and a volume has 1,000. Of IOPS, a volume has 500 for each GiB."""
    heavy = with_query_targets(with_scans(EVEN, cpu_seconds_per_gib=0.01), query_seconds=18.0)
    on_large = replace(workers_of(heavy, 3, "r8g.24xlarge"), cache_gib=600)
    tried = list(TrinoSearch(choice=heavy, world=WORLD)._cache_volumes(on_large, 2))
    assert [(one.count, one.throughput_mib_s) for one in tried] == [(1, 1_000), (5, 825)]
    short = with_scans(heavy, read_bytes=64 * 1024, scanned_bytes=10 * GIB, peak_queries_per_second=1e-3)
    on_large = replace(workers_of(short, 3, "r8g.24xlarge"), cache_gib=10)
    tried = list(TrinoSearch(choice=short, world=WORLD)._cache_volumes(on_large, 2))
    assert [(one.count, one.size_gib, one.iops) for one in tried] == [(1, 53, 26_500), (7, 8, 4_000)]


@pytest.mark.parametrize(
    ("instance_type", "peak_queries_per_second", "slower"),
    [("r8g.2xlarge", 0.05, {"throughput_mib_s": -25}), ("r8g.24xlarge", 0.25, {"iops": -500})],
)
def test_volumes_serve_the_load_just_after_a_loss(
    instance_type: str, peak_queries_per_second: float, slower: dict[str, int]
) -> None:
    """Each read that misses fetches 17 times as many bytes, which are written to the volumes."""
    reads = {"read_bytes": 64 * 1024, "working_set_bytes": 20 * GIB, "scanned_bytes": GIB}
    scans = with_scans(EVEN, cpu_seconds_per_gib=0.01, peak_queries_per_second=peak_queries_per_second, **reads)
    choice = with_query_targets(scans, query_seconds=None)
    search, workers = TrinoSearch(choice=choice, world=WORLD), workers_of(choice, 3, instance_type)
    [volume] = search._cache_volumes(replace(workers, cache_gib=200), 2)

    def misses(volume: Volume) -> list[str]:
        return [one.target for one in shortfalls(replace(workers, cache_gib=200, volumes=(volume, VOLUMES[1])))]

    assert misses(volume) == []
    less = {name: getattr(volume, name) + step for name, step in slower.items()}
    assert misses(replace(volume, **less)) == ["load_after_loss"]


def test_a_copy_of_each_file_on_two_hosts_keeps_the_volumes_slow() -> None:
    choice = with_scans(LIGHT, read_bytes=64 * 1024, working_set_bytes=20 * GIB, peak_queries_per_second=0.05)
    two = replace(with_query_targets(choice, query_seconds=None), preferred_hosts=2)
    assert cached_on(two, 400) == [(1, 471, 125, 3_000)]


def test_disks_of_a_worker_have_different_sizes_and_each_directory_a_whole_share() -> None:
    """A node tells its disks apart by their sizes."""
    fast = with_query_targets(with_workers(CHOICE, type="r8g.8xlarge"), query_seconds=20.0)
    search, instance = TrinoSearch(choice=fast, world=WORLD), WORLD.instance_types["r8g.8xlarge"]
    tried = [workers for count in range(5, 20) for workers in search._candidates(instance, count)]
    light = TrinoSearch(choice=with_scans(LIGHT, working_set_bytes=1_469 * GIB), world=WORLD)
    tried += light._candidates(instance, 9)
    assert 256 in {workers.cache.size_gib for workers in tried}
    assert all(workers.cache.size_gib not in {30, workers.volumes[1].size_gib} for workers in tried)
    assert {workers.cache.count for workers in tried} > {1, 2}
    assert all(workers.cache_gib % workers.cache.count == 0 for workers in tried)


@pytest.mark.parametrize("lost_nodes", [0, 1, 2])
def test_counts_are_left_out_whose_survivors_cannot_serve(lost_nodes: int) -> None:
    """Eight survivors of this type have enough cores for a query in 25 s, and 31 read fast enough from EBS."""
    choice = with_query_targets(EVEN, query_seconds=25.0, lost_nodes=lost_nodes)
    search, instance = TrinoSearch(choice=choice, world=WORLD), WORLD.instance_types["m8g.2xlarge"]
    counts = search._counts(instance)
    first = next(count for count in counts if search._may_serve(instance, count))
    assert (counts.start - lost_nodes, first - lost_nodes) == (8, 31)


def test_only_a_single_drive_holds_a_cache() -> None:
    assert WORLD.instance_types["r8gd.16xlarge"].nvme_disks == 2
    several = replace(WORLD, instance_types={"r8gd.16xlarge": WORLD.instance_types["r8gd.16xlarge"]})
    assert compared_cache(question(CHOICE), several, "drive") is None
    drive = compared_cache(question(with_workers(CHOICE, type="r8g.xlarge", count=3)), WORLD, "drive")
    assert drive is not None
    assert drive.cache_gib == int(0.85 * drive.workers.volumes[0].size_gib)


def test_a_network_of_ones_own_saves_the_endpoint() -> None:
    new, own = (TrinoSearch(choice=CHOICE, world=WORLD, new_network=one) for one in (True, False))
    hour = WORLD.prices.usd("interface-endpoint-hour")
    assert new.fixed_usd - own.fixed_usd == pytest.approx(730 * hour)
    assert new.cost(workers_of(CHOICE, 3)).usd_per_month - own.cost(
        workers_of(CHOICE, 3)
    ).usd_per_month == pytest.approx(730 * hour)


PINNED = with_workers(
    with_scans(EVEN, queries_per_second=2e-3, peak_queries_per_second=4e-3), count=4, type="r8g.2xlarge"
)
HELD = 4 * 1_700 * 1024 / 1.05  # pages in the caches of four workers with 1,700 GiB each
ALL = 1024 * 1024 * 1.125


def test_the_figures_of_a_plan_are_those_of_arithmetic_by_hand() -> None:
    """Two volumes of 500 MiB/s are more than the type sustains, so its limit for EBS is the bottleneck."""
    choice = with_query_targets(with_workers(PINNED, volumes=VOLUMES), query_seconds=None)
    plan = trino_plan(question(replace(choice, preferred_hosts=2)), WORLD)
    alone = 100 * GIB / 4 / WORLD.instance_types["r8g.2xlarge"].ebs_sustained_bytes_per_second
    assert plan.cache.size_gib == 2 * 850
    assert plan.hit_ratio.predicted == 1.0
    assert plan.cache.pages == pytest.approx(ALL)
    assert plan.warm_cache_bytes == pytest.approx(ALL * MIB * 2 / 4)
    assert plan.queries.most_per_hour == pytest.approx(SECONDS_PER_HOUR / alone)
    assert plan.queries.utilisation_at_peak == pytest.approx(4e-3 * alone)
    assert plan.memory.query_bytes_per_worker == int(0.30 * int(0.70 * 64 * GIB))
    assert plan.memory.query_bytes == 3 * plan.memory.query_bytes_per_worker
    assert plan.export.usd == pytest.approx(plan.export.hours * 4 * WORLD.prices.compute["r8g.2xlarge"].usd_per_hour)
    assert plan.export.hours == pytest.approx(7 * TIB / (4 * 8 * 20e6) / SECONDS_PER_HOUR)
    # Of pages that are read equally often, one of e^4.6 is unread after 4.6 reads of each.
    assert plan.warmth.queries == pytest.approx(4.605 * ALL / PAGES_OF_QUERY * 2, rel=0.02)
    assert plan.warmth.hours == pytest.approx(plan.warmth.queries / 2e-3 / SECONDS_PER_HOUR)
    assert plan.hit_ratio.curve[10] == pytest.approx((ALL * MIB * 2 / 2, 0.5), rel=0.02)
    assert plan.hit_ratio.knee_bytes == plan.hit_ratio.curve[-1][0]
    skewed = trino_plan(question(CHOICE), WORLD).hit_ratio
    assert 0 < skewed.knee_bytes < skewed.curve[-1][0] / 2


@pytest.mark.parametrize(
    ("ratio", "amplification", "rate", "least"),
    [(1.0, 2.0, 1.0, 0.9), (0.5, 3.0, 0.25, 0.15), (0.05, 2.0, 0.05 / 1.95, 0.0), (0.0, 2.0, 0.0, 0.0)],
)
def test_trino_counts_the_bytes_of_whole_pages_as_misses(
    ratio: float, amplification: float, rate: float, least: float
) -> None:
    plan = trino_plan(question(with_workers(PINNED, volumes=VOLUMES)), WORLD)
    plan = replace(
        plan,
        hit_ratio=replace(plan.hit_ratio, predicted=ratio),
        cache=replace(plan.cache, amplification=amplification),
    )
    assert (plan.hit_rate, plan.least_hit_rate) == pytest.approx((rate, least))


def test_a_plan_with_fewer_workers_than_may_be_lost_has_no_memory_left() -> None:
    plan = trino_plan(question(with_query_targets(with_workers(CHOICE, count=1), lost_nodes=3)), WORLD)
    assert [one.target for one in plan.missed] == ["lost_nodes"]
    assert plan.memory.query_bytes == 0
    assert plan.queries.after_loss_seconds is None
    assert plan.because["cache.size_gib"].inputs["survivors"].value == 0
    assert plan.because["cache.size_gib"].inputs["ratio"].value == 0.0


LARGE = with_workers(EVEN, type="r8g.4xlarge", count=4, volumes=VOLUMES)
WARNINGS: list[tuple[TrinoChoice, set[str]]] = [
    (with_query_targets(LARGE, query_seconds=None), set()),
    (with_query_targets(LARGE, query_seconds=25.0), {"cold-query", "after-loss"}),
    (with_query_targets(with_scans(LARGE, file_bytes=10 * GIB), query_seconds=None), {"few-files"}),
    (with_query_targets(with_scans(LARGE, cpu_seconds_per_gib=100.0), query_seconds=None), {"cpu-bound"}),
    (with_scans(LARGE, scanned_bytes=TIB // 2, working_set_bytes=100 * TIB), {"cold-load"}),
    (
        with_scans(LARGE, scanned_bytes=20 * TIB, working_set_bytes=100 * TIB),
        {"query-larger-than-cache", "cold-load"},
    ),
]


@pytest.mark.parametrize(("choice", "ids"), WARNINGS)
def test_a_warning_is_given_where_it_holds(choice: TrinoChoice, ids: set[str]) -> None:
    plan = trino_plan(question(choice), WORLD)
    assert {one.id for one in plan.warnings} - {"build-unconfirmed"} == ids, plan.queries


def test_a_dearer_type_is_rejected_by_what_it_costs_more() -> None:
    plan = trino_plan(question(CHOICE), WORLD)
    dearer = [one for one in plan.rejected if "more" in one.reason]
    assert dearer
    assert all(one.usd_per_month >= plan.cost.usd_per_month for one in dearer)
    assert not [one for one in dearer if "-" in one.reason]
    slow = trino_plan(question(with_query_targets(CHOICE, query_seconds=1.02)), WORLD)
    assert {one.reason for one in slow.rejected} == {"misses query_time"}


def test_caches_are_compared_without_pinned_volumes() -> None:
    pinned = question(with_workers(CHOICE, type="r8g.2xlarge", count=30, volumes=VOLUMES))
    assert compared_caches(pinned, WORLD) == compared_caches(question(CHOICE), WORLD)
    gp3_cache = compared_caches(pinned, WORLD)["gp3"]
    assert gp3_cache.gets_per_second == pytest.approx(
        (1 - gp3_cache.hit_ratio) * READS * CHOICE.workload.queries_per_second
    )
