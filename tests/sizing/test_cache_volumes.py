"""A cache on several volumes: the busiest carries more than an even share, and a cold cache uses only one of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from warmbase.ground.units import MIB, TIB
from warmbase.sizing.cache.bucket_cache import useful_volumes, useful_volumes_of
from warmbase.sizing.modes import S3_CACHED
from warmbase.sizing.requirements import Layout, Volume
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.disks import cache_volume_gib
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.resource import Disk, Rates, ebs_disk
from warmbase.sizing.workload.popularity import UNIFORM, RowPopularity, Zipf, hot_set

SYSTEM = Volume(purpose="system", type="gp3", count=1, size_gib=64, iops=3_000, throughput_mib_s=125)
POPULARITIES: tuple[RowPopularity, ...] = (UNIFORM, Zipf(theta=0.99), hot_set(rows_fraction=0.1, reads_fraction=0.9))


@cache
def question(popularity: RowPopularity = POPULARITIES[1], written: int = 0) -> SizingInputs:
    workload = replace(
        REQUIREMENTS.workload,
        stored_bytes=10 * TIB,
        popularity=popularity,
        write_bytes_per_second=written,
        inspection=None,
    )
    return SizingInputs.new(replace(REQUIREMENTS, workload=workload, mode=S3_CACHED), WORLD)


def candidate(count: int, cache_gib: int = 800, **changes: object) -> Candidate:
    """Return four nodes with this many cache volumes of 500 MiB/s."""
    inputs = question(**changes)
    volume = Volume(
        purpose="cache",
        type="gp3",
        count=count,
        size_gib=cache_volume_gib(cache_gib * 1024, inputs.demand, count),
        iops=40_000,
        throughput_mib_s=500,
    )
    return Candidate(
        inputs=inputs,
        instance=inputs.world.instance_types["r8g.16xlarge"],
        count=4,
        layout=Layout(cache_mib=cache_gib * 1024, volumes=(volume, SYSTEM)),
    )


def test_a_volume_holds_its_part_of_the_cache_and_the_whole_index() -> None:
    demand = question().demand
    one, four = (cache_volume_gib(800 * 1024, demand, count) for count in (1, 4))
    index_gib = 0.85 * one - 800
    assert 0.85 * four == pytest.approx(200 + index_gib, abs=1.5)
    assert index_gib > 0


@pytest.mark.parametrize("popularity", POPULARITIES)
@pytest.mark.parametrize("exact", [False, True])
def test_several_volumes_carry_at_least_one_and_at_most_all(popularity: RowPopularity, *, exact: bool) -> None:
    for count in (2, 3, 12):
        tried = replace(candidate(count, popularity=popularity), exact=exact)
        disk, limit = tried.disk(3), 500 * MIB
        assert disk is not None
        assert limit <= disk.bytes_per_second <= count * limit * (1 + 1e-9)
        busiest = tried.first_file_hit_ratio(3) / tried.hit_ratio(3)
        carried = min(limit / max(busiest, 1 / count), tried.instance.ebs_sustained_bytes_per_second)
        assert disk.bytes_per_second == pytest.approx(carried)


def test_even_reads_use_all_volumes_and_skewed_reads_do_not() -> None:
    even, skewed = (candidate(4, popularity=popularity).disk(3) for popularity in (UNIFORM, Zipf(theta=0.99)))
    assert even is not None
    assert skewed is not None
    assert even.bytes_per_second == pytest.approx(4 * 500 * MIB)
    assert skewed.bytes_per_second < 0.5 * even.bytes_per_second


def test_a_cold_cache_has_one_volume_and_a_warm_one_all_that_they_carry() -> None:
    tried = candidate(4)
    disk, one = tried.disk(3), candidate(1).disk(3)
    assert disk is not None
    assert one is not None
    assert disk.at(0.0).bytes_per_second == pytest.approx(one.bytes_per_second)
    assert disk.fill_bytes_per_second == pytest.approx(one.bytes_per_second)
    assert disk.at(0.0).fill_bytes_per_second == pytest.approx(one.bytes_per_second)
    rates = [disk.at(ratio).bytes_per_second for ratio in np.linspace(0, disk.warm_hit_ratio, 20)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(disk.bytes_per_second)
    # Until the first file is full, it answers every hit. From then on, its hits stay the same.
    ratio = (tried.first_file_hit_ratio(tried.survivors) + tried.hit_ratio(tried.survivors)) / 2
    share = tried.first_file_hit_ratio(tried.survivors) / ratio
    assert disk.at(ratio).bytes_per_second == pytest.approx(500 * MIB / share)


def test_more_volumes_of_the_same_size_fill_no_faster() -> None:
    one, four = (candidate(count, cache_gib=400) for count in (1, 4))
    assert one.cold is not None
    assert four.cold is not None
    # Reads use the first volume only, so prefetch has the others to itself.
    assert four.cold.course.prefetch_seconds == pytest.approx(one.cold.course.prefetch_seconds, rel=0.05)
    assert four.cold.prefetching.blocks_per_second <= one.cold.prefetching.blocks_per_second


def test_writes_leave_a_cold_cache_what_they_leave_of_one_volume() -> None:
    tried = candidate(4, written=20 * MIB)
    idle, cluster = candidate(4).cluster(3).disk, tried.cluster(3).disk
    assert idle is not None
    assert cluster is not None
    difference = idle.bytes_per_second - cluster.bytes_per_second
    assert difference > 0
    assert cluster.at(0.0).bytes_per_second == pytest.approx(idle.at(0.0).bytes_per_second - difference, rel=1e-3)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 12))
def test_useful_volumes_are_between_one_and_all(hit_ratio: float, first: float, volumes: int) -> None:
    useful = float(useful_volumes(np.array(hit_ratio), np.array(min(first, hit_ratio)), volumes))
    assert 1 <= useful <= volumes * (1 + 1e-9)


@settings(deadline=None)
@given(st.sampled_from(POPULARITIES), st.integers(2, 12))
def test_the_grid_and_a_candidate_agree_on_the_busiest_volume(popularity: RowPopularity, volumes: int) -> None:
    demand = candidate(1, popularity=popularity).inputs.demand
    sizes = np.array([100.0, 900.0, 3_000.0, 50_000.0]) * 1024
    useful = useful_volumes_of(demand, sizes, 3, volumes)
    for size, grid in zip(sizes, useful, strict=True):
        hit_ratio, total = demand.estimated_hit_ratio(int(size), 3), np.array(demand.useful_bytes(int(size), 3))
        first = demand.chord_hit_ratios(total / volumes)
        assert grid == pytest.approx(float(useful_volumes(np.array(hit_ratio), first, volumes)))


def disk_of_ten(volume_mib_s: float, instance_mib_s: float, instance_iops: float) -> Disk:
    """Return the disk of ten cache volumes of 3,000 IOPS that carry 6.7 times the load of the busiest."""
    return ebs_disk(
        Rates(bytes_per_second=volume_mib_s * MIB, ios_per_second=3_000),
        Rates(bytes_per_second=instance_mib_s * MIB, ios_per_second=instance_iops),
        volumes=6.7,
        files=10,
        warm_hit_ratio=0.9,
    )


def test_an_instance_that_sustains_less_limits_all_volumes_together() -> None:
    disk = disk_of_ten(volume_mib_s=500, instance_mib_s=300, instance_iops=1e6)
    assert disk.bytes_per_second == pytest.approx(300 * MIB)
    assert disk.at(0.0).bytes_per_second == disk.fill_bytes_per_second == pytest.approx(300 * MIB)


def test_one_volume_fills_at_its_own_speed_whatever_the_operations_of_the_instance() -> None:
    disk = disk_of_ten(volume_mib_s=125, instance_mib_s=596, instance_iops=6_000)
    assert disk.fill_bytes_per_second == disk.at(0.0).bytes_per_second == pytest.approx(125 * MIB)
    assert disk.at(0.0).ios_per_second == pytest.approx(3_000)


def reads_by_file(weights: np.ndarray, capacity: int, files: int, rng: np.random.Generator) -> np.ndarray:
    """Return the share of hits of each file after reads have filled the cache, one file after the other."""
    place: dict[int, int] = {}
    order = rng.choice(len(weights), size=40 * len(weights), p=weights)
    for block in order:
        if len(place) == capacity:
            break
        place.setdefault(int(block), len(place) * files // capacity)
    hits = np.zeros(files)
    for block, file in place.items():
        hits[file] += weights[block]
    return np.asarray(hits / hits.sum())


@pytest.mark.parametrize("theta", [0.5, 0.99, 1.2])
def test_the_first_file_of_a_replayed_cache_serves_the_share_of_the_rule(theta: float) -> None:
    """In an independent replay of reads, the first file answers as much as a cache of its size that has just filled."""
    weights = np.arange(1, 4_001.0) ** -theta
    weights /= weights.sum()
    full, files = 2_000, 4
    shares = np.mean([reads_by_file(weights, full, files, np.random.default_rng(seed)) for seed in range(4)], axis=0)

    def just_full(blocks: int) -> float:
        """Return the hit ratio of a cache that has just filled, by bisection of the number of reads that fill it."""
        low, high = 0.0, 1e9
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if -np.expm1(-weights * middle).sum() > blocks else (middle, high)
        return float(-np.expm1(-weights * low) @ weights)

    rule = just_full(full // files) / just_full(full)
    assert shares[0] == pytest.approx(rule, rel=0.05)
    assert shares[0] == max(shares)


@given(st.sampled_from(POPULARITIES), st.floats(0, 1))
def test_an_estimated_hit_ratio_is_hardly_too_high(popularity: RowPopularity, share: float) -> None:
    demand = candidate(1, popularity=popularity).inputs.demand
    for part in (share, 1 - share / 20):  # between its last points, the curve is not concave
        total = part * demand.everything_bytes
        estimated = float(demand.chord_hit_ratios(np.array(total)))
        assert estimated <= demand.hit_ratio(total) + 0.002
