"""Large cells in small data sets, whose caches have few buckets, have a plan, and its blocks fit into the caches."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizing.clusters import RELAXED, WORLD, gp3_volume, with_core, with_workload
from warmbase.ground.block import LengthHistogram, cached_bytes, spread_block_lengths
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.ground.units import GIB, KIB, MIB, TIB
from warmbase.sizing.cache.bucket_cache import WRITER_THREADS, CacheDemand
from warmbase.sizing.cache.bucket_sizes import (
    PROPORTIONAL_BUCKETS,
    BucketAllocator,
    bucket_bytes,
    bucket_sizes,
    bytes_claimed_per_block,
    fullest_list,
    short_lists,
)
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import OpenLoad, Reads

CELLS = st.floats(min_value=4, max_value=24).map(lambda power: round(2**power))
STORED = st.floats(min_value=0, max_value=17).map(lambda power: round(100 * MIB * 2**power))
BLOCKS = st.sampled_from([8 * KIB, 64 * KIB, MIB, 16 * MIB])


def with_cells(cell_bytes: int, stored_bytes: int, block_bytes: int = 64 * KIB) -> Requirements:
    return with_workload(
        RELAXED,
        cell_bytes=cell_bytes,
        row_bytes=cell_bytes,
        block_bytes=block_bytes,
        stored_bytes=stored_bytes,
        regions=12,
        reads=Reads(load=OpenLoad(reads_per_second=1)),
    )


@cache
def demanded(cell_bytes: int, block_bytes: int = 64 * KIB) -> CacheDemand:
    """The demand of 1 TiB of such cells."""
    return SizingInputs.new(with_cells(cell_bytes, TIB, block_bytes), WORLD).demand


LENGTHS = spread_block_lengths(64 * KIB, 1_000)


def planned(requirements: Requirements) -> Plan | Infeasible:
    """The plan, or the error where nodes of that type cannot hold the data."""
    try:
        return plan(requirements, WORLD)
    except Infeasible as error:
        return error


@given(cell_bytes=CELLS, stored_bytes=STORED, block_bytes=BLOCKS)
def test_any_cell_and_any_store_have_a_plan_or_a_change_that_would_serve(
    cell_bytes: int, stored_bytes: int, block_bytes: int
) -> None:
    requirements = with_core(with_cells(cell_bytes, stored_bytes, block_bytes), type="r8g.4xlarge", count=5)
    sized = planned(requirements)
    if isinstance(sized, Infeasible):
        assert "RAM" in str(sized) or "hold this" in str(sized), "nothing but memory may be short"
        return
    assert sized.feasible or sized.nearest
    blocks, cache_bytes = sized.because["bucket_cache.size_mib"].inputs["blocks"].value, sized.cache.size_bytes
    allocator = BucketAllocator(capacity_bytes=cache_bytes, sizes=sized.cache.bucket_sizes)
    assert allocator.block_capacity(SizingInputs.new(requirements, WORLD).demand.blocks.lengths) == (
        sized.cache.blocks_held
    )
    if sized.hit_ratio.predicted == 1:
        assert sized.cache.blocks_held * sized.core.count >= float(blocks) * (1 - 1e-9)


@pytest.mark.parametrize(("cell_bytes", "stored_bytes"), [(256 * KIB, 100 * MIB), (2 * MIB, 2 * GIB), (15 * MIB, GIB)])
def test_small_stores_of_large_cells_are_cached_whole(cell_bytes: int, stored_bytes: int) -> None:
    sized = plan(with_core(with_cells(cell_bytes, stored_bytes), type="r8g.2xlarge", count=3), WORLD)
    assert sized.feasible
    assert sized.hit_ratio.predicted == 1
    survivors = 2
    blocks = SizingInputs.new(with_cells(cell_bytes, stored_bytes), WORLD).demand.blocks
    assert survivors * sized.cache.blocks_held >= RELAXED.targets.hit_ratio * blocks.count


def test_a_pinned_volume_too_small_for_fourteen_sizes_gets_fewer() -> None:
    pinned = with_core(
        with_cells(4 * MIB, 20 * GIB),
        type="r8g.2xlarge",
        count=3,
        volumes=(gp3_volume("cache", 5), gp3_volume("system", 64)),
    )
    sized = plan(pinned, WORLD)
    assert sized.cache.size_mib == 4 * 1024
    assert 1 < len(sized.cache.bucket_sizes) < 14
    assert sized.hit_ratio.predicted < 1


@given(cell_bytes=st.sampled_from([2 * KIB, 256 * KIB, MIB, 4 * MIB]), gib=st.integers(1, 300), more=st.integers(1, 9))
def test_more_cache_never_holds_fewer_blocks(cell_bytes: int, gib: int, more: int) -> None:
    demand = demanded(cell_bytes)
    less, greater = demand.effective_bytes(gib * 1024), demand.effective_bytes((gib + more) * 1024)
    assert 0 <= less <= greater * (1 + 1e-9)
    assert less <= gib * GIB


@given(cell_bytes=st.sampled_from([256 * KIB, MIB, 4 * MIB]), gib=st.integers(1, 60), servers=st.integers(1, 5))
def test_the_smallest_cache_that_holds_enough_is_the_smallest(cell_bytes: int, gib: int, servers: int) -> None:
    demand = demanded(cell_bytes)
    wanted = gib * GIB / servers
    size_mib = demand.least_size_mib(wanted)
    assert demand.effective_bytes(size_mib) >= wanted * (1 - 1e-6)
    assert size_mib == 1024 or demand.effective_bytes(size_mib - 1024) < wanted


@pytest.mark.parametrize(("cell_bytes", "gib", "least"), [(MIB, 5, 0.93), (2 * MIB, 20, 0.97), (256 * KIB, 1, 0.92)])
def test_a_short_list_holds_more_than_fourteen_sizes(cell_bytes: int, gib: int, least: float) -> None:
    """Fourteen sizes hold 71, 80 and 72 % of the blocks that are proportional to the cache's size."""
    lengths, longest = spread_block_lengths(64 * KIB, cell_bytes), cached_bytes(64 * KIB + 16 * cell_bytes)
    sizes = bucket_sizes(lengths, must_fit_bytes=longest)
    reference = BucketAllocator(capacity_bytes=TIB, sizes=sizes).block_capacity(lengths)
    fourteen = BucketAllocator(capacity_bytes=gib * GIB, sizes=sizes).block_capacity(lengths)
    proportional = reference * gib * GIB / TIB
    assert fourteen < 0.86 * proportional
    assert fullest_list(lengths, longest, sizes, gib * 1024)[1] > least * proportional


def test_a_large_cache_is_taken_in_proportion() -> None:
    demand = demanded(1_000)
    assert demand.proportional_bytes == PROPORTIONAL_BUCKETS * bucket_bytes(demand.sizes)


HISTOGRAMS = st.lists(st.tuples(st.integers(1, 40_000), st.integers(1, 99)), min_size=1, max_size=6).map(
    LengthHistogram.of
)


@given(histogram=HISTOGRAMS, count=st.integers(1, 5), must_fit=st.integers(0, 100_000))
@settings(max_examples=50)
def test_a_short_list_is_the_best_of_its_length(histogram: LengthHistogram, count: int, must_fit: int) -> None:
    [sizes] = short_lists(histogram, (count,), must_fit_bytes=must_fit)
    assert len(sizes) <= count
    assert sizes[-1] >= max(must_fit, histogram.largest_bytes) > sizes[-1] - 256
    claimed = bytes_claimed_per_block(histogram, sizes)
    slots = sorted({-(-length // 256) * 256 for length, _ in histogram.pairs} - {sizes[-1]})
    for chosen in _subsets(slots, count - 1):
        assert claimed <= bytes_claimed_per_block(histogram, (*chosen, sizes[-1])) * (1 + 1e-9)


def _subsets(slots: list[int], most: int) -> list[tuple[int, ...]]:
    every: list[tuple[int, ...]] = [()]
    for slot in slots:
        every += [(*chosen, slot) for chosen in every if len(chosen) < most]
    return every


@pytest.mark.parametrize("counts", [(), (0,), (3, 0)])
def test_a_list_has_a_size(counts: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput):
        short_lists(LENGTHS, counts)


@pytest.mark.parametrize(("mib", "length"), [(64 / 1024, 256), (1, 31), (8, 4), (15, 4)])
def test_write_queues_are_bounded_in_bytes(mib: float, length: int) -> None:
    demand = demanded(1_000, round(mib * MIB))
    assert demand.writer_queue_length == length
    waiting = 2 * WRITER_THREADS * length * demand.blocks.cached_bytes
    assert waiting <= max(512 * MIB, 2 * WRITER_THREADS * 4 * demand.blocks.cached_bytes)
