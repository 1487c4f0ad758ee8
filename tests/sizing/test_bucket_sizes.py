"""The bucket sizes against brute force, against HBase's list, and against the clock."""

import math
import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speed import loops
from warmbase.ground.block import LengthHistogram, block_lengths, cached_bytes
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.cache.bucket_sizes import (
    DEFAULT_BUCKET_SIZES,
    BucketAllocator,
    bucket_sizes,
    bytes_claimed_per_block,
)

TIB = 2**40
SMALL = st.lists(st.tuples(st.integers(1, 2304), st.integers(1, 100)), min_size=1, max_size=6).map(LengthHistogram.of)
ANY = st.lists(st.tuples(st.integers(1, 525_312), st.integers(1, 1000)), min_size=1, max_size=40).map(
    LengthHistogram.of
)


def claimed(histogram: LengthHistogram, sizes: tuple[int, ...]) -> float:
    """The capacity that the blocks claim: for each, the reciprocal of what a cache of one length holds."""
    bucket, total = 4 * max(sizes), 0.0
    for length, blocks in histogram.pairs:
        slot = next((size for size in sorted(sizes) if length <= size), None)
        if slot is None:
            return math.inf
        total += blocks * max(bucket / (bucket // slot), slot / 0.95)
    return total


def brute_force(histogram: LengthHistogram, k: int, largest: range) -> float:
    """Return the least claim over every list of at most k sizes with one of those largest."""
    lower = range(256, -(-histogram.largest_bytes // 256) * 256 + 1, 256)
    lists = ((*others, top) for top in largest for count in range(k) for others in combinations(lower, count))
    return min(claimed(histogram, sizes) for sizes in lists if sorted(set(sizes)) == list(sizes))


@given(histogram=SMALL, k=st.integers(1, 3))
@settings(deadline=None)
def test_the_list_is_the_best_of_all_lists(histogram: LengthHistogram, k: int) -> None:
    least = -(-histogram.largest_bytes // 256) * 256
    sizes = bucket_sizes(histogram, k)
    assert len(sizes) <= k
    best = brute_force(histogram, k, range(least, 7 * least + 1, 256))
    assert claimed(histogram, sizes) == pytest.approx(best, rel=1e-9)


@given(histogram=ANY)
@settings(deadline=None)
def test_the_claim_of_a_block_is_the_mean_over_all_blocks(histogram: LengthHistogram) -> None:
    sizes = bucket_sizes(histogram)
    expected = claimed(histogram, sizes) / histogram.blocks
    assert bytes_claimed_per_block(histogram, sizes) == pytest.approx(expected)


def test_thirteen_lengths_of_long_blocks_waste_nothing_beyond_the_accept_factor() -> None:
    """Only buckets of many items serve all of them well, and those need a largest size far beyond every block."""
    slots = range(300_032, 600_065, 25_088)
    histogram = LengthHistogram.of((slot, 1) for slot in slots)
    assert len(histogram.pairs) == 12
    assert claimed(histogram, bucket_sizes(histogram)) == pytest.approx(sum(slots) / 0.95)


@given(histogram=ANY)
@settings(deadline=None)
def test_no_histogram_is_served_worse_than_by_hbase_itself(histogram: LengthHistogram) -> None:
    sizes = bucket_sizes(histogram)
    assert claimed(histogram, sizes) <= claimed(histogram, DEFAULT_BUCKET_SIZES) * (1 + 1e-9)
    ours = BucketAllocator(capacity_bytes=TIB, sizes=sizes).block_capacity(histogram)
    assert ours >= BucketAllocator(capacity_bytes=TIB).block_capacity(histogram) * (1 - 1e-4)


@pytest.mark.parametrize("cell_bytes", [60, 100, 500, 1000, 1500, 2000, 4000, 10_000, 50_000, 300_000])
@pytest.mark.parametrize("payload_ratio", [1.0, 0.6, 0.33, 0.2])
def test_cells_and_encodings_are_served_no_worse(cell_bytes: int, payload_ratio: float) -> None:
    histogram = block_lengths(65536, cell_bytes, payload_ratio=payload_ratio, ratio_spread_fraction=0.15)
    ours = BucketAllocator(capacity_bytes=TIB, sizes=bucket_sizes(histogram))
    default = BucketAllocator(capacity_bytes=TIB)
    assert ours.block_capacity(histogram) >= default.block_capacity(histogram)
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


@pytest.mark.bench
@pytest.mark.parametrize(("least", "greatest"), [(1000, 2_600_000), (1000, 1_000_000), (60_000, 75_000)])
def test_ten_thousand_lengths_are_quick(least: int, greatest: int) -> None:
    """It takes at most 1.7 loops as measured, a tenth of a second."""
    draw = random.Random(1)
    histogram = LengthHistogram.of(
        (length, draw.randint(1, 999)) for length in draw.sample(range(least, greatest), 10_000)
    )
    assert loops(lambda: bucket_sizes(histogram), attempts=3) < 3.5


@pytest.mark.parametrize(("k", "must_fit_bytes"), [(0, 0), (14, 512 * 2**20 + 1)])
def test_blocks_without_any_list_are_refused(k: int, must_fit_bytes: int) -> None:
    with pytest.raises(InvalidInput, match="sizes serves these blocks"):
        bucket_sizes(block_lengths(65536, 2000), k, must_fit_bytes=must_fit_bytes)


def test_an_unused_largest_size_leaves_buckets_nearly_full() -> None:
    histogram = LengthHistogram.of([(66_422, 1)])
    sizes = bucket_sizes(histogram)
    allocator = BucketAllocator(capacity_bytes=TIB, sizes=sizes)
    assert all(allocator.bucket_bytes % np.array(sizes) <= 0.001 * allocator.bucket_bytes)
