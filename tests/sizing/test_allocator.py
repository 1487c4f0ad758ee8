"""The allocator against what was measured on HBase 2.6.2, and its laws."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from warmbase.ground.block import LengthHistogram, block_lengths, cached_bytes
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES, BucketAllocator, minimum_capacity_bytes

TIB = 2**40
SIZES = st.lists(st.integers(1, 64), min_size=1, max_size=5, unique=True).map(
    lambda steps: tuple(256 * step for step in steps)
)
HISTOGRAMS = st.lists(st.tuples(st.integers(1, 16384), st.integers(1, 50)), min_size=1, max_size=6).map(
    LengthHistogram.of
)


def of(length: int) -> LengthHistogram:
    return LengthHistogram.of([(length, 1)])


@pytest.mark.parametrize(
    ("slot", "items", "waste_percent", "reachable"),
    [
        (5120, 410, 0.10, 0.999),
        (9216, 228, 0, 1),
        (17408, 120, 0.58, 0.994),
        (33792, 62, 0.29, 0.997),
        (41984, 50, 0.10, 0.999),
        (50176, 41, 2.10, 0.979),
        (58368, 36, 0, 1),
        (66560, 31, 1.80, 0.982),
        (99328, 21, 0.73, 0.993),
        (132096, 15, 5.70, 0.943),
        (197632, 10, 5.95, 0.941),
        (263168, 7, 12.33, 0.877),
        (394240, 5, 6.19, 0.938),
        (525312, 4, 0, 1),
    ],
)
def test_default_sizes_fill_buckets_as_measured(slot: int, items: int, waste_percent: float, reachable: float) -> None:
    allocator = BucketAllocator(capacity_bytes=TIB)
    assert slot in allocator.sizes
    assert allocator.items(slot) == items
    assert 100 * (allocator.bucket_bytes % slot) / allocator.bucket_bytes == pytest.approx(waste_percent, abs=0.006)
    assert items * slot / allocator.bucket_bytes == pytest.approx(reachable, abs=0.0006)


@pytest.mark.parametrize(
    ("cell_bytes", "default", "extended"),
    [
        (100, 0.986, None),
        (970, 0.993, None),
        (1000, 0.978, 0.992),
        (1500, 0.848, 0.991),
        (2000, 0.798, 0.992),
        (4000, 0.740, 0.989),
        (10000, 0.734, 0.966),
    ],
)
def test_efficiency_at_64_kib_by_cell(cell_bytes: int, default: float, extended: float | None) -> None:
    histogram = block_lengths(65536, cell_bytes)
    allocator = BucketAllocator(capacity_bytes=TIB)
    assert allocator.slot_efficiency_fraction(histogram) == pytest.approx(default, abs=0.002)
    if extended:
        longer = BucketAllocator(capacity_bytes=TIB, sizes=(*DEFAULT_BUCKET_SIZES, 67584, 69632, 73728, 81920))
        assert longer.slot_efficiency_fraction(histogram) == pytest.approx(extended, abs=0.002)


@pytest.mark.parametrize(
    ("block_kib", "millions", "payload_share"),
    [(16, 60.00, 0.894), (32, 30.91, 0.921), (64, 15.69, 0.935), (128, 7.85, 0.936), (256, 3.66, 0.873)],
)
def test_block_capacity_of_a_tebibyte(block_kib: int, millions: float, payload_share: float) -> None:
    capacity = BucketAllocator(capacity_bytes=TIB).block_capacity(of(cached_bytes(block_kib * 1024)))
    assert capacity / 1e6 == pytest.approx(millions, abs=0.006)
    assert capacity * block_kib * 1024 / TIB == pytest.approx(payload_share, abs=0.0006)


def test_default_sizes_need_29_mib() -> None:
    assert minimum_capacity_bytes(DEFAULT_BUCKET_SIZES) == 29_417_472
    assert BucketAllocator(capacity_bytes=29 * 2**20).buckets == 14
    with pytest.raises(InvalidInput, match=r"set hbase.bucketcache.size to 29 \(MiB\) or more"):
        BucketAllocator(capacity_bytes=28 * 2**20)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((), "the list is empty"),
        ((5000,), "not a positive multiple of 256"),
        ((0, 512), "not a positive multiple of 256"),
        ((-256,), "not a positive multiple of 256"),
        ((512 * 2**20 + 256,), "keep the largest size at 512 MiB or less"),
    ],
)
def test_a_list_that_hbase_refuses_is_refused(sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        BucketAllocator(capacity_bytes=TIB, sizes=sizes)


def test_every_problem_of_a_list_is_reported_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        BucketAllocator(capacity_bytes=TIB, sizes=(100, 200, 2**30))
    assert len(caught.value.problems) == 3


def test_a_block_longer_than_every_size_is_never_cached() -> None:
    allocator = BucketAllocator(capacity_bytes=TIB)
    assert allocator.claims(of(525_312)) == {525_312: 1}
    assert allocator.claims(of(525_313)) == {}
    assert allocator.block_capacity(of(525_313)) == 0


def test_accept_is_reckoned_in_32_bit_floats() -> None:
    allocator = BucketAllocator(capacity_bytes=TIB)
    assert allocator.accept_bytes % 2**16 == 0  # 24 bits of 2^40; the exact product ends in other digits
    assert allocator.accept_bytes == pytest.approx(0.95 * allocator.total_bytes, rel=1e-7)


@given(sizes=SIZES, buckets=st.integers(0, 200), spare=st.integers(0, 1023), length=st.integers(1, 16384))
def test_blocks_of_one_length_follow_the_closed_formula(
    sizes: tuple[int, ...], buckets: int, spare: int, length: int
) -> None:
    capacity = (len(sizes) + buckets) * 4 * max(sizes) + spare
    allocator = BucketAllocator(capacity_bytes=capacity, sizes=sizes)
    claims = allocator.claims(of(length))
    assume(claims)
    [slot] = claims
    whole = (allocator.buckets - (len(sizes) - 1)) * allocator.items(slot)
    assert allocator.block_capacity(of(length)) == min(allocator.accept_bytes // slot, whole)


@given(sizes=SIZES, histogram=HISTOGRAMS, buckets=st.integers(0, 60), more=st.integers(1, 60))
def test_more_capacity_never_holds_fewer_blocks(
    sizes: tuple[int, ...], histogram: LengthHistogram, buckets: int, more: int
) -> None:
    bucket = 4 * max(sizes)
    small = BucketAllocator(capacity_bytes=(len(sizes) + buckets) * bucket, sizes=sizes)
    large = BucketAllocator(capacity_bytes=(len(sizes) + buckets) * bucket + more * 1000, sizes=sizes)
    assert large.block_capacity(histogram) >= small.block_capacity(histogram)


@given(sizes=SIZES, histogram=HISTOGRAMS, buckets=st.integers(0, 60))
def test_blocks_without_eviction_claim_no_more_than_accept(
    sizes: tuple[int, ...], histogram: LengthHistogram, buckets: int
) -> None:
    allocator = BucketAllocator(capacity_bytes=(len(sizes) + buckets) * 4 * max(sizes), sizes=sizes)
    claims = allocator.claims(histogram)
    capacity = allocator.block_capacity(histogram)
    assert sum(slot * capacity * blocks // max(1, sum(claims.values())) for slot, blocks in claims.items()) <= (
        allocator.accept_bytes
    )
    assert 0 <= allocator.slot_efficiency_fraction(histogram) <= 1
