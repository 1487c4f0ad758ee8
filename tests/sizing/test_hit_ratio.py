"""The hit ratio's laws, its agreement with a cache replayed read by read, and its speed."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sizing.replay import Replay
from tests.speed import loops
from tests.tiers import quick_where
from warmbase.ground.block import LengthHistogram, block_lengths
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES, BucketAllocator, bucket_sizes
from warmbase.sizing.cache.hit_ratio import OccupancyRange, cold_misses, hit_ratio, hit_ratio_curve, missing_shares
from warmbase.sizing.workload.popularity import UNIFORM, Popularity, RowPopularity, Zipf, block_popularity, hot_set

BLOCKS = 4_000
READS = 20_000
WARMING_READS = 50_000  # a cold block of the hot set is read once in 36,000
ROWS: dict[str, RowPopularity] = {
    "uniform": UNIFORM,
    "zipf 0.7": Zipf(theta=0.7),
    "zipf 0.99": Zipf(theta=0.99),
    "hot set": hot_set(rows_fraction=0.1, reads_fraction=0.9),
}
ONE_LENGTH = LengthHistogram.of([(66_000, 1)])
TEN_KILOBYTES = block_lengths(65536, 10_000)
LISTS = {
    "one size": (ONE_LENGTH, (66_048, 132_096)),
    "one size, the largest": (ONE_LENGTH, (66_048,)),
    "ours": (TEN_KILOBYTES, bucket_sizes(TEN_KILOBYTES, 6)),
    "HBase's": (block_lengths(65536, 2000), DEFAULT_BUCKET_SIZES),
}
READ_AS = [("uniform", 1), ("zipf 0.7", 8), ("zipf 0.99", 1), ("zipf 0.99", 8), ("hot set", 1), ("hot set", 8)]
POPULARITIES = st.builds(
    block_popularity,
    st.sampled_from(list(ROWS.values())),
    st.floats(1e3, 1e9),
    st.floats(0.01, 500),
)


@cache
def trace(rows_name: str, rows_per_block: int) -> list[int]:
    """Reads of blocks whose rows lie anywhere."""
    rng = np.random.default_rng(7)
    stored = BLOCKS * rows_per_block
    item = np.diff(ROWS[rows_name].reads_of_hottest(np.arange(stored + 1.0), stored))
    weights = rng.permutation(item).reshape(BLOCKS, rows_per_block).sum(axis=1)
    read: list[int] = rng.choice(BLOCKS, size=WARMING_READS + READS, p=weights / weights.sum()).tolist()
    return read


@pytest.mark.parametrize("promotes", [False, True], ids=["2.6.0-2.6.4", "2.6.5+"])
@pytest.mark.parametrize("list_name", LISTS)
@pytest.mark.parametrize("share", quick_where(lambda share: share == 0.6, [0.3, 0.6, 0.9]))
@pytest.mark.parametrize(("rows_name", "rows_per_block"), READ_AS)
def test_prediction_agrees_with_the_replayed_cache(
    rows_name: str, rows_per_block: int, share: float, list_name: str, *, promotes: bool
) -> None:
    histogram, sizes = LISTS[list_name]
    allocator = BucketAllocator(capacity_bytes=int(share * BLOCKS * histogram.mean_bytes), sizes=sizes)
    lengths = np.random.default_rng(3).choice([length for length, _ in histogram.pairs], size=BLOCKS).tolist()
    reads, cached = trace(rows_name, rows_per_block), Replay(allocator, inserts_single=promotes)
    cached.replay(reads[:WARMING_READS], lengths)
    cached.forget()
    measured = cached.replay(reads[WARMING_READS:], lengths)
    popularity = block_popularity(ROWS[rows_name], BLOCKS, rows_per_block)
    predicted = hit_ratio(popularity, OccupancyRange.of(allocator, histogram, promotes=promotes))
    assert 100 * predicted == pytest.approx(100 * measured, abs=1.5)


@given(popularity=POPULARITIES, share=st.floats(1e-6, 1 - 1e-6))
def test_the_characteristic_time_fills_the_cache(popularity: Popularity, share: float) -> None:
    size = share * popularity.total_blocks
    missing = missing_shares(popularity, np.array([size]))
    held = (1 - missing) @ popularity.claims[popularity.weights > 0]
    assert held[0] == pytest.approx(size, abs=3e-8 * popularity.total_blocks)


@given(popularity=POPULARITIES, share=st.floats(0.001, 1.2), more=st.floats(1, 3), promotes=st.booleans())
def test_more_cache_never_misses_more(popularity: Popularity, share: float, more: float, *, promotes: bool) -> None:
    full = share * popularity.total_blocks
    swing = OccupancyRange(
        full_blocks=full, blocks_after_eviction=0.85 * full, room_blocks=full / 0.95, promotes=promotes
    )
    tolerance = 1e-4 if promotes else 1e-7  # the times of promotion are found to 0.05 %
    assert hit_ratio(popularity, swing.scaled(more)) >= hit_ratio(popularity, swing) - tolerance


@given(popularity=POPULARITIES, promotes=st.booleans(), share=st.floats(1, 10))
def test_a_cache_of_everything_always_hits(popularity: Popularity, share: float, *, promotes: bool) -> None:
    full = popularity.total_blocks * share
    assert (
        hit_ratio(popularity, OccupancyRange(full_blocks=full, blocks_after_eviction=0.8 * full, promotes=promotes))
        == 1
    )


@given(blocks=st.floats(10, 1e9), share=st.floats(0.001, 0.99))
def test_uniform_reads_hit_the_share_in_the_cache(blocks: float, share: float) -> None:
    capacity = OccupancyRange(full_blocks=share * blocks, blocks_after_eviction=share * blocks)
    assert hit_ratio(block_popularity(UNIFORM, blocks, 1), capacity) == pytest.approx(share, abs=1e-6)


@given(popularity=POPULARITIES, share=st.floats(0.001, 0.99))
def test_a_hit_ratio_is_between_a_random_and_the_best_choice(popularity: Popularity, share: float) -> None:
    remaining = share * popularity.total_blocks
    best = np.interp(
        remaining,
        np.cumsum(popularity.blocks),
        np.cumsum(popularity.blocks * popularity.weights),
        left=float(popularity.weights[0]) * remaining,
    )
    ratio = hit_ratio(popularity, OccupancyRange(full_blocks=remaining, blocks_after_eviction=remaining))
    assert share - 1e-6 <= ratio <= best + 1e-6


@pytest.mark.parametrize(
    ("sizes", "full", "remaining"),
    [
        # A size that is not the largest loses 15 % of its own full buckets, the largest has the spare ones too.
        ((66_048, 132_096), 0.95, 0.95 * 0.85),
        ((66_048,), 0.95, 0.85),
    ],
)
def test_an_eviction_frees_a_share_of_every_size(sizes: tuple[int, ...], full: float, remaining: float) -> None:
    allocator = BucketAllocator(capacity_bytes=2**40, sizes=sizes)
    swing = OccupancyRange.of(allocator, LengthHistogram.of([(66_048, 1)]))
    assert swing.full_blocks * 66_048 / allocator.total_bytes == pytest.approx(full, abs=1e-4)
    assert swing.blocks_after_eviction * 66_048 / allocator.total_bytes == pytest.approx(remaining, abs=1e-3)


@given(popularity=POPULARITIES, share=st.floats(0.01, 2))
def test_the_curve_runs_from_nothing_to_everything(popularity: Popularity, share: float) -> None:
    full = share * popularity.total_blocks
    curve = hit_ratio_curve(popularity, OccupancyRange(full_blocks=full, blocks_after_eviction=0.85 * full), 10**12)
    sizes, ratios = zip(*curve.points, strict=True)
    assert list(sizes) == sorted(sizes)
    assert np.all(np.diff(ratios) >= -1e-7)
    assert sizes[0] == 0
    assert ratios[0] == pytest.approx(0, abs=1e-12)
    assert sizes[-1] == pytest.approx(10**12 / full * popularity.total_blocks, abs=1)
    assert ratios[-1] == 1
    assert curve.knee_bytes in sizes


def test_skewed_reads_have_a_knee_and_uniform_ones_have_none() -> None:
    swing = OccupancyRange(full_blocks=1e5, blocks_after_eviction=9e4)
    assert hit_ratio_curve(block_popularity(UNIFORM, 1e6, 1), swing, 10**9).knee_bytes == 10**10
    knee = hit_ratio_curve(block_popularity(Zipf(theta=0.99), 1e6, 1), swing, 10**9).knee_bytes
    assert 0.02 * 10**10 < knee < 0.2 * 10**10


@given(popularity=POPULARITIES, reads=st.floats(0, 1e12), more=st.floats(1, 100))
def test_cold_misses_fade(popularity: Popularity, reads: float, more: float) -> None:
    assert cold_misses(popularity, 0) == pytest.approx(1)
    assert cold_misses(popularity, reads * more) <= cold_misses(popularity, reads) + 1e-12
    assert cold_misses(popularity, 1e3 / float(popularity.weights[-1])) == 0


@pytest.mark.bench
@pytest.mark.parametrize("promotes", [False, True])
def test_a_point_and_a_curve_are_quick(*, promotes: bool) -> None:
    """They take at most 0.02 and 0.23 loops as measured, of 60 ms each."""
    popularity = block_popularity(Zipf(theta=0.99), 1e9, 30)
    swing = OccupancyRange(full_blocks=3e8, blocks_after_eviction=2.6e8, room_blocks=3.2e8, promotes=promotes)
    assert loops(lambda: hit_ratio(popularity, swing)) < 0.04
    assert loops(lambda: hit_ratio_curve(popularity, swing, 10**12)) < 0.5


@pytest.mark.parametrize("promotes", [False, True])
def test_no_cache_has_no_hits(*, promotes: bool) -> None:
    swing = OccupancyRange(full_blocks=1e6, blocks_after_eviction=8e5, room_blocks=1.1e6, promotes=promotes)
    popularity = block_popularity(Zipf(theta=0.99), 1e5, 8)
    assert hit_ratio(popularity, swing.scaled(0)) == 0
    assert hit_ratio_curve(popularity, swing, 10**9).points[0] == (0, 0)
