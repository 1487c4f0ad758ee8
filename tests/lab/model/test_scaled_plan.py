"""A plan in small keeps what decides which blocks are found."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.prediction import (
    LabNode,
    expected,
    expected_hit_ratio,
    filled_by_chance,
    popularity_of,
    read_of,
    swing_of,
    timings_of,
)
from lab.scaled_plan import SERVERS, ScaledPlan, Small, miniature
from warmbase.configurations.launch import Launch
from warmbase.facts.releases import releases
from warmbase.ground.block import LengthHistogram
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.cache.bucket_sizes import BucketAllocator, minimum_capacity_bytes
from warmbase.sizing.service.resource import Disk
from warmbase.sizing.workload.popularity import UNIFORM, YCSB_RANKS, Zipf
from warmbase.sizing.workload.read import Hits

DATA = Small(memory_bytes=4 * GIB, data_bytes=256 * MIB)


@pytest.fixture(scope="module")
def small(launches: Callable[[str], Launch]) -> ScaledPlan:
    return _small(launches("prod"))


def _small(launch: Launch, size: Small = DATA) -> ScaledPlan:
    release = releases()[launch.environment.release]
    return miniature(launch.plan, launch.environment.workload, release, size)


def test_a_cache_that_holds_all_holds_all_here(small: ScaledPlan) -> None:
    assert small.cached_share == 1.0
    assert small.block_capacity >= small.demand.blocks.count


@pytest.mark.parametrize("servers", SERVERS)
@pytest.mark.parametrize("data_mib", [16, 48, 128, 512])
def test_so_does_one_of_little_data_in_any_order(
    launches: Callable[[str], Launch], data_mib: int, servers: int
) -> None:
    """The cache is cut by the sizes that HBase gets, and blocks come in random order until the first eviction."""
    launch = launches("prod")
    small = _small(launch, Small(memory_bytes=4 * GIB, data_bytes=data_mib * MIB, servers=servers))
    blocks, lengths = small.demand.blocks.count / servers, small.demand.blocks.lengths
    shares = ((length, math.ceil(2 * blocks * count / lengths.blocks)) for length, count in lengths.pairs)
    allocator = BucketAllocator(capacity_bytes=small.cache_mib * MIB, sizes=launch.plan.cache.bucket_sizes)
    filled = filled_by_chance(allocator, LengthHistogram.of(shares), orders=60)
    assert filled.mean - 4 * filled.deviation >= blocks


def test_a_list_of_sizes_that_a_coarse_cache_was_planned_with_is_counted_with(
    launches: Callable[[str], Launch],
) -> None:
    launch = launches("prod")
    sizes = launch.plan.cache.bucket_sizes[::3]
    cache = replace(launch.plan.cache, bucket_sizes=sizes)
    plan = replace(launch.plan, bucket_cache=cache)
    assert _small(replace(launch, plan=plan)).demand.sizes == sizes


def test_three_servers_share_what_one_would_have(small: ScaledPlan, launches: Callable[[str], Launch]) -> None:
    three = _small(launches("prod"), replace(DATA, servers=3))
    assert three.regions % three.servers == 0
    assert three.servers * three.heap_mib == pytest.approx(small.heap_mib, abs=three.servers)
    assert three.rows == pytest.approx(small.rows, rel=0.01)
    # Each cache holds a third, with the part of it that buckets begin and do not fill.
    assert three.block_capacity >= three.demand.blocks.count / 3
    assert small.cache_mib <= 3 * three.cache_mib <= 1.6 * small.cache_mib


def test_blocks_and_slots_are_the_plans(small: ScaledPlan, launches: Callable[[str], Launch]) -> None:
    launch = launches("prod")
    assert small.demand.sizes == launch.plan.cache.bucket_sizes
    assert small.workload.block_bytes == launch.environment.workload.block_bytes
    assert small.demand.blocks.cached_bytes == pytest.approx(launch.plan.cache.nominal_block_bytes, rel=0.05)


@given(share=st.floats(0.05, 1.0))
def test_no_cache_is_less_than_hbase_starts_with(small: ScaledPlan, share: float) -> None:
    assert small.sized(share) * MIB >= minimum_capacity_bytes(small.demand.sizes)


@given(smaller=st.floats(0.1, 0.9), more=st.floats(0.0, 0.1))
def test_a_larger_cache_finds_no_less(small: ScaledPlan, smaller: float, more: float) -> None:
    sizes = small.demand.sizes
    even = popularity_of(small, UNIFORM)
    ratios = [expected_hit_ratio(small, even, small.sized(share), sizes) for share in (smaller, smaller + more)]
    assert ratios[1] >= ratios[0] - 1e-9


def test_uniform_reads_hit_what_is_stored(small: ScaledPlan) -> None:
    cache_mib = small.sized(0.5)
    swing = swing_of(small, cache_mib, small.demand.sizes)
    ratio = expected_hit_ratio(small, popularity_of(small, UNIFORM), cache_mib, small.demand.sizes)
    count = small.demand.blocks.count
    assert swing.blocks_after_eviction / count - 0.01 <= ratio <= swing.full_blocks / count + 0.01
    skewed = popularity_of(small, Zipf(theta=0.99, ranks=YCSB_RANKS))
    assert expected_hit_ratio(small, skewed, cache_mib, small.demand.sizes) > ratio


def test_a_slow_volume_is_the_bottleneck_and_a_fast_one_is_not(small: ScaledPlan) -> None:
    def limit(mib_s: int) -> str:
        disk = Disk(kind="ebs", bytes_per_second=mib_s * MIB, ios_per_second=16_000, latency_seconds=1e-3)
        node = LabNode(vcpus=2, handlers=30, disk=disk, clients=64)
        return expected(node, read_of(small), Hits(ratio=1.0, page_cache_fraction=0.0), timings_of(small)).bottleneck

    assert limit(20) == "ebs-throughput"
    assert limit(4_000) != "ebs-throughput"


def test_ten_rows_read_ten_times_the_blocks(small: ScaledPlan) -> None:
    assert read_of(small, 10).blocks == pytest.approx(10 * read_of(small).blocks)
