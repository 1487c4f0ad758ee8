"""The disk's work for one read of a cached block."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.sizing.workload import read
from warmbase.sizing.workload.read import (
    PAGE_BYTES,
    PIECE_BYTES,
    SLOT_STEP_BYTES,
    aligned_bytes,
    block_read,
    mean_block_read,
)


@given(st.integers(1, 1_000_000))
def test_aligned_bytes_is_the_mean_over_every_slot_start(length_bytes: int) -> None:
    pages = [ceil((start + length_bytes) / 4096) * 4096 for start in range(0, 4096, 256)]
    assert aligned_bytes(length_bytes) == pytest.approx(sum(pages) / len(pages))


@given(st.integers(1, PIECE_BYTES))
def test_a_block_that_hbase_reads_at_once_costs_its_own_pages(length_bytes: int) -> None:
    result = block_read(length_bytes)
    assert (result.bytes, result.ios) == pytest.approx((aligned_bytes(length_bytes), 1))


@given(st.integers(PIECE_BYTES + 1, 1_000_000))
def test_a_longer_one_costs_more_than_its_pages_and_at_most_an_io_per_piece_and_128_kib_more(
    length_bytes: int,
) -> None:
    result = block_read(length_bytes)
    assert aligned_bytes(length_bytes) < result.bytes <= aligned_bytes(length_bytes) + 32 * PAGE_BYTES
    assert 1 < result.ios <= ceil(length_bytes / PIECE_BYTES) + 1


# The disk's own counters: 8 threads read random blocks of a file of 300 MiB in pieces of 64 KiB, its pages dropped
# 50 times a second (Linux 6.18, read_ahead_kb 128).
@pytest.mark.parametrize(
    ("length_bytes", "kilobytes", "ios"),
    [
        (20_000, 24.1, 1.001),
        (65_500, 69.4, 1.001),
        (65_700, 72.1, 1.061),
        (66_000, 74.5, 1.125),
        (70_000, 98.4, 2.001),
        (100_000, 166.0, 2.001),
    ],
)
def test_it_is_what_a_disk_counted(length_bytes: int, kilobytes: float, ios: float) -> None:
    result = block_read(length_bytes)
    assert result.ios == pytest.approx(ios, rel=0.01)
    assert 0.8 <= 1000 * kilobytes / result.bytes <= 1.15


@given(st.lists(st.tuples(st.integers(1, 200_000), st.integers(1, 1_000)), min_size=1, max_size=8))
def test_of_several_lengths_it_is_the_mean(lengths: list[tuple[int, int]]) -> None:
    one_by_one = [block_read(length_bytes) for length_bytes, blocks in lengths for _ in range(blocks)]
    result = mean_block_read(tuple(lengths))
    assert result.bytes == pytest.approx(sum(item.bytes for item in one_by_one) / len(one_by_one))
    assert result.ios == pytest.approx(sum(item.ios for item in one_by_one) / len(one_by_one))


def test_of_none_there_is_no_mean() -> None:
    with pytest.raises(ValueError, match="no blocks"):
        mean_block_read(())


@given(steps=st.integers(1_500, 12_000))
def test_the_reads_of_a_long_block_repeat(steps: int) -> None:
    long, counted = block_read(steps * SLOT_STEP_BYTES), read._of_steps(steps)
    assert long.bytes == pytest.approx(counted.bytes)
    assert long.ios == pytest.approx(counted.ios)
