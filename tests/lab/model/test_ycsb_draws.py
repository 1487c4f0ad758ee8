"""YCSB's own draws, and where they fall: keys that everybody who ran it has seen, and what cannot be otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.prediction import drawn_below, hashed, hot_set_drawn, zipfian_drawn
from warmbase.sizing.workload.popularity import UNIFORM, YCSB_RANKS, Zipf, block_popularity, hot_set


def test_the_keys_are_those_that_ycsb_writes() -> None:
    result = hashed(np.arange(2, dtype=np.uint64))
    assert [f"user{item}" for item in result] == ["user6284781860667377211", "user8517097267634966620"]


@given(rows=st.integers(1_000, 20_000), blocks=st.integers(10, 300), share=st.sampled_from([0.05, 0.1, 0.5]))
def test_reads_of_all_blocks_are_all_reads(rows: int, blocks: int, share: float) -> None:
    for drawn in (hot_set_drawn(rows, blocks, rows_fraction=share, reads_fraction=0.9), zipfian_drawn(rows, blocks)):
        assert drawn.weights.sum() == pytest.approx(1)
        assert drawn.blocks.sum() == blocks
        assert (np.diff(drawn.weights) <= 0).all()
        assert (drawn.weights > 0).all()


def test_draws_are_a_distribution_that_favours_the_hottest_a_little() -> None:
    ranks = np.concatenate((np.arange(200.0), np.geomspace(200, YCSB_RANKS, 50)))
    below = drawn_below(ranks)
    assert below[0] == 0
    assert below[-1] == pytest.approx(1)
    assert (np.diff(below) > 0).all()
    [reads] = Zipf(theta=0.99, ranks=YCSB_RANKS).reads_of_hottest(np.array([100.0]), YCSB_RANKS)
    [drawn] = drawn_below(np.array([100.0]))
    assert reads == pytest.approx(0.200, abs=0.001)
    assert drawn == pytest.approx(0.207, abs=0.001)


def test_hashes_scatter_a_hot_set_less_evenly_than_chance() -> None:
    rows, blocks = 559_241, 4_090
    drawn = hot_set_drawn(rows, blocks, rows_fraction=0.1, reads_fraction=0.9)
    assert drawn.weights.std() / drawn.weights.mean() == pytest.approx(0.313, abs=0.001)
    chance = block_popularity(hot_set(rows_fraction=0.1, reads_fraction=0.9), blocks, rows / blocks)
    mean = 1 / blocks
    spread = np.sqrt((chance.blocks * (chance.weights - mean) ** 2).sum() / blocks) / mean
    assert spread == pytest.approx(0.228, abs=0.005)


def test_a_hot_set_that_is_no_hotter_is_even() -> None:
    drawn = hot_set_drawn(50_000, 100, rows_fraction=0.5, reads_fraction=0.5)
    [even] = block_popularity(UNIFORM, 100, 500).weights
    assert drawn.weights == pytest.approx(np.full(100, even))
