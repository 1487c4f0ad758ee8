"""The bytes of one block in the cache, and how lengths are spread."""

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.ground.block import (
    LengthHistogram,
    block_lengths,
    cached_bytes,
    key_value_bytes,
    payload_range,
    spread_block_lengths,
)
from warmbase.ground.errors import InvalidInput
from warmbase.sizing.cache.bucket_sizes import BucketAllocator, bucket_sizes

PAIRS = st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 1000)), min_size=1, max_size=20)


def test_a_measured_block_of_hbase_2_6_2_is_reproduced() -> None:
    cell = key_value_bytes(value_bytes=1000, row_key_bytes=10, family_bytes=1, qualifier_bytes=5)
    assert cell == 1037  # 28 bytes of key, as the file's index says
    assert -(-65536 // cell) * cell == 66368  # its uncompressed payload
    assert cached_bytes(66368) == 66422
    assert cached_bytes(66368, persistent=False) == 66414


@pytest.mark.parametrize(
    ("block_bytes", "cell_bytes", "expected"),
    [
        (65536, 100, (65536, 65635)),
        (65536, 1, (65536, 65536)),
        (65536, 65535, (65536, 131070)),
        (65536, 65536, (65536, 65536)),
        (65536, 850_000, (850_000, 850_000)),
    ],
)
def test_a_block_overshoots_by_less_than_a_cell(block_bytes: int, cell_bytes: int, expected: tuple[int, int]) -> None:
    assert payload_range(block_bytes, cell_bytes) == expected
    lengths = block_lengths(block_bytes, cell_bytes).pairs
    assert (lengths[0][0], lengths[-1][0]) == tuple(cached_bytes(payload) for payload in expected)


@given(block=st.integers(1024, 10**6), cell=st.integers(1, 10**6), ratio=st.floats(0.05, 1.2))
def test_the_mean_length_is_half_a_cell_above_the_block(block: int, cell: int, ratio: float) -> None:
    histogram = block_lengths(block, cell, payload_ratio=ratio)
    least, greatest = payload_range(block, cell)
    assert histogram.mean_bytes == pytest.approx(cached_bytes(0) + ratio * (least + greatest) / 2, abs=1)


def test_a_spread_of_ratios_widens_the_lengths_and_keeps_the_mean() -> None:
    narrow = block_lengths(65536, 500, payload_ratio=0.33)
    wide = block_lengths(65536, 500, payload_ratio=0.33, ratio_spread_fraction=0.2)
    assert wide.pairs[0][0] < narrow.pairs[0][0]
    assert wide.largest_bytes > narrow.largest_bytes
    assert wide.mean_bytes == pytest.approx(narrow.mean_bytes, abs=1)


@given(rest=PAIRS, right=PAIRS)
def test_histograms_sort_merge_and_add_up(rest: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    both = LengthHistogram.of(rest) + LengthHistogram.of(right)
    assert both == LengthHistogram.of([*right, *rest])
    assert [length for length, _ in both.pairs] == sorted({length for length, _ in rest + right})
    assert both.blocks == sum(blocks for _, blocks in rest + right)
    assert both.total_bytes == sum(length * blocks for length, blocks in rest + right)


@pytest.mark.parametrize("pairs", [(), ((0, 1),), ((5, 0),), ((5, 1), (5, 1)), ((6, 1), (5, 1))])
def test_an_impossible_histogram_is_refused(pairs: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(InvalidInput, match="histogram of cached lengths"):
        LengthHistogram(pairs=pairs)


@pytest.mark.parametrize(
    ("block_bytes", "cell_bytes", "ratio", "spread"),
    [(0, 1, 1.0, 0.0), (1, 0, 1.0, 0.0), (65536, 100, 0.0, 0.0), (65536, 100, 1.0, 1.0)],
)
def test_an_impossible_shape_is_refused(block_bytes: int, cell_bytes: int, ratio: float, spread: float) -> None:
    with pytest.raises(InvalidInput, match="no block has these dimensions"):
        block_lengths(block_bytes, cell_bytes, payload_ratio=ratio, ratio_spread_fraction=spread)


def drawn_lengths(kind: str, cell_bytes: int, blocks: int = 1500) -> LengthHistogram:
    """Fill blocks cell by cell until they reach 64 KiB, with cells of that mean."""
    rng = random.Random(7)
    draws: dict[str, Callable[[], float]] = {
        "alike": lambda: cell_bytes,
        "exponential": lambda: rng.expovariate(1 / cell_bytes),
        "lognormal": lambda: rng.lognormvariate(math.log(cell_bytes) - 0.125, 0.5),
        "uniform": lambda: rng.uniform(0, 2 * cell_bytes),
    }
    payloads = []
    for _ in range(blocks):
        payload = 0.0
        while payload < 65_536:
            payload += max(60, draws[kind]())
        payloads.append(round(payload))
    return LengthHistogram.of((cached_bytes(payload), 1) for payload in payloads)


@pytest.mark.parametrize("kind", ["alike", "exponential", "lognormal", "uniform"])
@pytest.mark.parametrize("cell_bytes", [480, 1_079, 2_100, 10_000])
def test_sizes_chosen_from_a_mean_hold_no_fewer_blocks_than_the_default_list(kind: str, cell_bytes: int) -> None:
    """Whatever spread of cells the mean stands for."""
    longest = cached_bytes(65_536 + 16 * cell_bytes)
    sizes = bucket_sizes(spread_block_lengths(65_536, cell_bytes), must_fit_bytes=longest)
    real = drawn_lengths(kind, cell_bytes)
    ours = BucketAllocator(capacity_bytes=2**38, sizes=sizes).block_capacity(real)
    assert ours >= BucketAllocator(capacity_bytes=2**38).block_capacity(real)
