"""The replayed BucketCache against what HBase 2.6.2 does."""

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sizing.replay import Replay
from warmbase.ground.block import LengthHistogram
from warmbase.sizing.cache.bucket_sizes import BucketAllocator

SIZES = (1024, 2048, 4096)


def filled(*, inserts_single: bool, blocks: int = 320) -> Replay:
    """Return a cache of 160 slots of 1 KiB after so many first reads."""
    cached = Replay(BucketAllocator(capacity_bytes=160 * 1024, sizes=(1024,)), inserts_single=inserts_single)
    cached.replay(range(blocks), [1024] * blocks)
    return cached


def test_the_cache_has_exactly_the_predicted_blocks_without_eviction() -> None:
    allocator = BucketAllocator(capacity_bytes=100 * 16384, sizes=SIZES)
    cached, capacity = (
        Replay(allocator, inserts_single=False),
        allocator.block_capacity(LengthHistogram.of([(1000, 1)])),
    )
    cached.replay(range(capacity), [1000] * capacity)
    assert (len(cached), cached.evictions) == (capacity, 0)
    cached.read(capacity, 1000)
    assert cached.evictions == 1


def test_eviction_frees_to_the_min_factor() -> None:
    cached = filled(inserts_single=False, blocks=153)  # 0.95 of 160 are 152
    assert cached.swings == [(153, 136)]  # 0.15 of 160 are 24 free
    assert cached.used_bytes == 136 * 1024


def test_the_least_recently_read_go_first() -> None:
    cached = filled(inserts_single=False, blocks=150)
    assert all(cached.read(block, 1024) for block in range(10))
    cached.replay(range(150, 153), [1024] * 153)
    assert all(cached.read(block, 1024) for block in range(10))
    assert not cached.read(10, 1024)


def test_one_scan_flushes_all_before_2_6_5_and_spares_blocks_read_twice_since() -> None:
    for inserts_single, survivors in ((False, 0), (True, 40)):
        cached = filled(inserts_single=inserts_single, blocks=40)
        cached.replay(range(40), [1024] * 40)
        cached.replay(range(1000, 2000), [1024] * 2000)
        cached.forget()
        assert sum(block in cached for block in range(40)) == survivors


def test_blocks_of_a_family_in_memory_outlive_others() -> None:
    cached = filled(inserts_single=False, blocks=0)
    for block in range(30):
        cached.read(block, 1024, in_memory=True)
    cached.replay(range(1000, 2000), [1024] * 2000)
    assert all(block in cached for block in range(30))


def test_a_block_longer_than_every_size_is_never_cached() -> None:
    cached = filled(inserts_single=False, blocks=0)
    assert not cached.read(1, 1025)
    assert not cached.read(1, 1025)
    assert len(cached) == 0


def test_a_size_that_starves_gets_buckets_of_others() -> None:
    cached = Replay(BucketAllocator(capacity_bytes=10 * 16384, sizes=SIZES), inserts_single=False)
    cached.replay(range(200), [1000] * 200)
    cached.replay(range(200, 260), [4000] * 260)
    assert sum(block in cached for block in range(200, 260)) > 20


@given(
    reads=st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=400),
    lengths=st.lists(st.integers(1, 4200), min_size=61, max_size=61),
    inserts_single=st.booleans(),
)
def test_books_always_balance(reads: list[tuple[int, bool]], lengths: list[int], *, inserts_single: bool) -> None:
    allocator = BucketAllocator(capacity_bytes=6 * 16384, sizes=SIZES)
    cached = Replay(allocator, inserts_single=inserts_single)
    for block, in_memory in reads:
        before = block in cached
        assert cached.read(block, lengths[block], in_memory=in_memory) == before
    capacity = [lengths[block] for block in range(61) if block in cached]
    assert len(cached) == len(capacity)
    assert cached.used_bytes == sum(SIZES[bisect_left(SIZES, length)] for length in capacity)
    assert cached.used_bytes <= allocator.accept_bytes
    assert cached.hits + cached.misses == len(reads)


def test_the_same_reads_give_the_same_cache() -> None:
    reads = np.random.default_rng(5).zipf(1.3, 5000) % 500
    ratios = {filled(inserts_single=True).replay(reads.tolist(), [900] * 500) for _ in range(2)}
    assert len(ratios) == 1


@pytest.mark.parametrize("inserts_single", [False, True])
def test_what_fits_is_never_evicted(*, inserts_single: bool) -> None:
    cached = filled(inserts_single=inserts_single, blocks=152)
    cached.replay(list(range(152)) * 3, [1024] * 152)
    assert (cached.misses, cached.evictions) == (152, 0)
