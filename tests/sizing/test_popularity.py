"""Block popularity against rows drawn one by one, and its laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speed import loops
from tests.tiers import quick_where
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio
from warmbase.sizing.workload.popularity import (
    UNIFORM,
    YCSB_RANKS,
    Curve,
    Popularity,
    RowPopularity,
    Zipf,
    block_popularity,
    hot_set,
)

BLOCKS = 20_000
ROWS: dict[str, tuple[RowPopularity, float]] = {
    "uniform": (UNIFORM, 0.01),
    "zipf 0.5": (Zipf(theta=0.5), 0.15),
    "zipf 0.8": (Zipf(theta=0.8), 0.15),
    "zipf 0.99": (Zipf(theta=0.99), 0.15),
    "zipf 1": (Zipf(theta=1.0), 0.15),
    "zipf 1.2": (Zipf(theta=1.2), 0.15),
    "ycsb": (Zipf(theta=0.99, ranks=10**7), 0.15),
    "hot set": (hot_set(rows_fraction=0.1, reads_fraction=0.9), 1.0),
    "curve": (Curve(points=((0.01, 0.3), (0.1, 0.7), (0.5, 0.95))), 0.3),
}
KINDS = st.sampled_from([kind for kind, _ in ROWS.values()])


def drawn(rows: RowPopularity, rows_per_block: int) -> Popularity:
    """Return every block with the popularity of the rows that fell to it."""
    rng = np.random.default_rng(1)
    stored = BLOCKS * rows_per_block
    ranks = int(rows.ranks_of(stored))
    item = np.diff(rows.reads_of_hottest(np.arange(ranks + 1.0), ranks))
    if ranks > stored:
        weights = np.bincount(rng.integers(0, BLOCKS, ranks), weights=item, minlength=BLOCKS).astype(np.float64)
    else:
        weights = rng.permutation(item).reshape(BLOCKS, rows_per_block).sum(axis=1)
    return Popularity(weights=weights, blocks=np.ones(BLOCKS))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("rows_per_block", quick_where(lambda rows: rows in {1, 8}, [1, 2, 8, 30, 200]))
def test_classes_answer_as_blocks_drawn_one_by_one(name: str, rows_per_block: int) -> None:
    rows, points = ROWS[name]
    classes, blocks = block_popularity(rows, BLOCKS, rows_per_block), drawn(rows, rows_per_block)
    for share in (0.05, 0.3, 0.6, 0.9):
        swing = OccupancyRange(full_blocks=share * BLOCKS, blocks_after_eviction=0.85 * share * BLOCKS)
        assert 100 * hit_ratio(classes, swing) == pytest.approx(100 * hit_ratio(blocks, swing), abs=points)


@given(rows=KINDS, blocks=st.floats(1, 1e9), rows_per_block=st.floats(1e-3, 1e4))
def test_chances_sum_to_one_and_blocks_to_all(rows: RowPopularity, blocks: float, rows_per_block: float) -> None:
    popularity = block_popularity(rows, blocks, rows_per_block)
    assert float(popularity.weights @ popularity.blocks) == pytest.approx(1)
    assert float(popularity.blocks.sum()) == pytest.approx(blocks)
    assert np.all(np.diff(popularity.weights) < 0)
    assert np.all(popularity.blocks > 0)


@given(rows_per_block=st.floats(1e-3, 1e4))
def test_uniform_rows_make_uniform_blocks(rows_per_block: float) -> None:
    assert len(block_popularity(UNIFORM, 1e6, rows_per_block).weights) == 1


@pytest.mark.parametrize("name", [name for name in ROWS if name != "uniform"])
def test_more_rows_in_a_block_flatten_the_skew(name: str) -> None:
    swing = OccupancyRange(full_blocks=1e5, blocks_after_eviction=9e4)
    ratios = [hit_ratio(block_popularity(ROWS[name][0], 1e6, count), swing) for count in (1, 4, 16, 64, 256)]
    assert ratios == sorted(ratios, reverse=True)


def test_a_row_of_ten_blocks_shares_its_popularity_among_them() -> None:
    rows = hot_set(rows_fraction=0.1, reads_fraction=0.9)
    popularity = block_popularity(rows, 1e6, 0.1)
    assert popularity.blocks.tolist() == pytest.approx([1e5, 9e5])
    assert popularity.weights.tolist() == pytest.approx([0.9 / 1e5, 0.1 / 9e5])


def test_rows_that_are_never_read_need_no_cache() -> None:
    popularity = block_popularity(Curve(points=((0.5, 1.0),)), 1000, 1)
    assert popularity.total_blocks == pytest.approx(500)
    assert hit_ratio(popularity, OccupancyRange(full_blocks=501, blocks_after_eviction=450)) == 1


def test_ycsb_is_flatter_than_a_zipf_over_its_rows() -> None:
    swing = OccupancyRange(full_blocks=1e5, blocks_after_eviction=9e4)
    over_rows = hit_ratio(block_popularity(Zipf(theta=0.99), 1e6, 1), swing)
    assert hit_ratio(block_popularity(Zipf(theta=0.99, ranks=YCSB_RANKS), 1e6, 1), swing) < over_rows - 0.1


@pytest.mark.parametrize(
    "points",
    [((0.5, 0.4),), ((0.1, 0.5), (0.1, 0.6)), ((0.2, 1.1),), ((1.2, 0.9),), ((0.5, 0.9), (0.2, 0.5)), ((-0.1, 0.2),)],
)
def test_a_curve_that_is_no_popularity_is_refused(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InvalidInput, match="the curve cannot be a popularity"):
        Curve(points=points)


@pytest.mark.parametrize(("blocks", "rows_per_block"), [(0, 1), (1, 0), (-1, 1)])
def test_nothing_read_is_refused(blocks: float, rows_per_block: float) -> None:
    with pytest.raises(InvalidInput, match="nothing is read"):
        block_popularity(UNIFORM, blocks, rows_per_block)


@pytest.mark.bench
def test_a_billion_rows_are_quick() -> None:
    assert loops(lambda: block_popularity(Zipf(theta=0.99), 1e9, 30)) < 0.02
