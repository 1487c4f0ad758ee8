"""The bucket sizes against brute force, against HBase's list, and against the clock."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.allocator import DEFAULT_BUCKET_SIZES, BucketAllocator
from sizing.block import LengthHistogram, block_lengths, cached_bytes
from sizing.bucket_sizes import bucket_sizes
from sizing.problem import InvalidInput
from tests.speed import loops

TIB = 2**40
SMALL = st.lists(st.tuples(st.integers(1, 2304), st.integers(1, 100)), min_size=1, max_size=6).map(LengthHistogram.of)
ANY = st.lists(st.tuples(st.integers(1, 525_312), st.integers(1, 1000)), min_size=1, max_size=40).map(
    LengthHistogram.of
)


def claimed(histogram: LengthHistogram, sizes: tuple[int, ...], capacity_bytes: int | None = None) -> float:
    """Capacity claimed by the blocks: for each, the reciprocal of what a cache of one length holds."""
    bucket, total = 4 * max(sizes), 0.0
    for length, blocks in histogram.pairs:
        slot = next((size for size in sorted(sizes) if length <= size), None)
        if slot is None:
            return math.inf
        if capacity_bytes is None:
            total += blocks * max(bucket / (bucket // slot), slot / 0.95)
        else:
            count = capacity_bytes // bucket
            if count < len(sizes):
                return math.inf
            held = min(0.95 * count * bucket / slot, (count - (len(sizes) - 1)) * (bucket // slot))
            total += blocks * capacity_bytes / held
    return total


def brute_force(histogram: LengthHistogram, k: int, largest: range, capacity_bytes: int | None) -> float:
    """Return the least claim over every list of at most k sizes with one of those largest."""
    lower = range(256, -(-histogram.largest_bytes // 256) * 256 + 1, 256)
    lists = ((*others, top) for top in largest for count in range(k) for others in combinations(lower, count))
    return min(claimed(histogram, sizes, capacity_bytes) for sizes in lists if sorted(set(sizes)) == list(sizes))


@given(histogram=SMALL, k=st.integers(1, 3))
@settings(deadline=None)
def test_the_list_is_the_best_of_all_lists(histogram: LengthHistogram, k: int) -> None:
    least = -(-histogram.largest_bytes // 256) * 256
    sizes = bucket_sizes(histogram, k)
    assert len(sizes) <= k
    best = brute_force(histogram, k, range(least, 7 * least + 1, 256), None)
    assert claimed(histogram, sizes) == pytest.approx(best, rel=1e-9)


@given(histogram=SMALL, k=st.integers(1, 3), steps=st.integers(0, 400))
@settings(deadline=None)
def test_the_list_is_the_best_for_its_capacity(histogram: LengthHistogram, k: int, steps: int) -> None:
    least = -(-histogram.largest_bytes // 256) * 256
    capacity = 4 * least + 777 * steps
    sizes = bucket_sizes(histogram, k, capacity_bytes=capacity)
    best = brute_force(histogram, k, range(least, min(capacity // 4, 7 * least) + 1, 256), capacity)
    assert claimed(histogram, sizes, capacity) <= best * (1 + 2e-4)
    BucketAllocator(capacity_bytes=capacity, sizes=sizes)


@given(histogram=ANY)
@settings(deadline=None)
def test_no_histogram_is_served_worse_than_by_hbase_itself(histogram: LengthHistogram) -> None:
    sizes = bucket_sizes(histogram)
    assert claimed(histogram, sizes) <= claimed(histogram, DEFAULT_BUCKET_SIZES) * (1 + 1e-9)
    ours = BucketAllocator(capacity_bytes=TIB, sizes=sizes).blocks_held(histogram)
    assert ours >= BucketAllocator(capacity_bytes=TIB).blocks_held(histogram) * (1 - 1e-4)


@pytest.mark.parametrize("cell_bytes", [60, 100, 500, 1000, 1500, 2000, 4000, 10_000, 50_000, 300_000])
@pytest.mark.parametrize("payload_ratio", [1.0, 0.6, 0.33, 0.2])
def test_cells_and_encodings_are_served_no_worse(cell_bytes: int, payload_ratio: float) -> None:
    histogram = block_lengths(65536, cell_bytes, payload_ratio=payload_ratio, ratio_spread_fraction=0.15)
    ours = BucketAllocator(capacity_bytes=TIB, sizes=bucket_sizes(histogram))
    default = BucketAllocator(capacity_bytes=TIB)
    assert ours.blocks_held(histogram) >= default.blocks_held(histogram)
    assert ours.slot_efficiency_fraction(histogram) >= 0.95


def test_two_kilobyte_cells_waste_a_fiftieth_instead_of_a_fifth() -> None:
    histogram = block_lengths(65536, 2000)
    payload = (histogram.mean_bytes - cached_bytes(0)) / histogram.mean_bytes
    ours = BucketAllocator(capacity_bytes=TIB, sizes=bucket_sizes(histogram))
    assert BucketAllocator(capacity_bytes=TIB).slot_efficiency_fraction(histogram) * payload == pytest.approx(
        0.80, abs=0.005
    )
    assert ours.slot_efficiency_fraction(histogram) * payload >= 0.98


@given(histogram=ANY, k=st.integers(1, 16), must_fit=st.integers(0, 10**6))
@settings(deadline=None)
def test_every_block_fits_and_every_size_is_legal(histogram: LengthHistogram, k: int, must_fit: int) -> None:
    sizes = bucket_sizes(histogram, k, must_fit_bytes=must_fit)
    assert len(sizes) <= k
    assert list(sizes) == sorted(set(sizes))
    assert all(size % 256 == 0 for size in sizes)
    assert sizes[-1] >= max(histogram.largest_bytes, must_fit)


@given(histogram=ANY, k=st.integers(1, 15))
@settings(deadline=None)
def test_a_further_size_never_claims_more(histogram: LengthHistogram, k: int) -> None:
    assert claimed(histogram, bucket_sizes(histogram, k + 1)) <= claimed(histogram, bucket_sizes(histogram, k)) * (
        1 + 1e-9
    )


@pytest.mark.speed
@pytest.mark.parametrize(("least", "greatest"), [(1000, 2_600_000), (1000, 1_000_000), (60_000, 75_000)])
@pytest.mark.parametrize("capacity_bytes", [None, TIB])
def test_ten_thousand_lengths_are_quick(least: int, greatest: int, capacity_bytes: int | None) -> None:
    """At most 1.7 loops as measured, a tenth of a second."""
    draw = random.Random(1)
    histogram = LengthHistogram.of(
        (length, draw.randint(1, 999)) for length in draw.sample(range(least, greatest), 10_000)
    )
    assert loops(lambda: bucket_sizes(histogram, capacity_bytes=capacity_bytes), attempts=3) < 3.5


def test_a_small_cache_gets_small_buckets() -> None:
    histogram = block_lengths(65536, 2000)
    capacity = 16 * 2**20
    sizes = bucket_sizes(histogram, capacity_bytes=capacity)
    held = BucketAllocator(capacity_bytes=capacity, sizes=sizes).blocks_held(histogram)
    assert held * histogram.mean_bytes > 0.85 * capacity
    assert len(sizes) < len(bucket_sizes(histogram))


@pytest.mark.parametrize(("k", "capacity_bytes"), [(0, None), (14, 4 * 67_840 - 1)])
def test_what_cannot_be_served_is_refused(k: int, capacity_bytes: int | None) -> None:
    with pytest.raises(InvalidInput, match="sizes serves these blocks"):
        bucket_sizes(block_lengths(65536, 2000), k, capacity_bytes=capacity_bytes)


def test_an_unused_largest_size_leaves_buckets_nearly_full() -> None:
    histogram = LengthHistogram.of([(66_422, 1)])
    sizes = bucket_sizes(histogram)
    allocator = BucketAllocator(capacity_bytes=TIB, sizes=sizes)
    assert all(np.array([allocator.waste_bytes(size) for size in sizes]) <= 0.001 * allocator.bucket_bytes)
