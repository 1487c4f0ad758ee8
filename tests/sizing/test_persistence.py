from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import WORLD
from warmbase.ground.release import Release
from warmbase.sizing.server.restart import DUMP_SECONDS_PER_BLOCK, dump_seconds, persistence

# Blocks of 64 KiB that a TiB of cache holds before it evicts, with HBase's default bucket sizes.
BLOCKS_PER_TIB = 15_690_000
GP3_BYTES_PER_SECOND = 125 * 1024**2
OLD, NEW = WORLD.release, replace(WORLD.release, hbase=(2, 6, 5))


@pytest.mark.parametrize(("release", "bytes_per_block"), [(OLD, 83.9), (NEW, 119.9)])
def test_an_entry_from_2_6_5_on_also_names_region_and_family(release: Release, bytes_per_block: float) -> None:
    assert persistence(1_000_000, inf, release).index_bytes == pytest.approx(bytes_per_block * 1_000_000)


@pytest.mark.parametrize(
    ("seconds", "expected_ms"),
    [(0.1, 300_000), (14.9, 300_000), (15.1, 360_000), (37.7, 780_000), (45.0, 900_000), (400.0, 900_000)],
)
def test_the_interval_is_whole_minutes_from_five_to_fifteen(seconds: float, expected_ms: int) -> None:
    assert persistence(round(seconds / DUMP_SECONDS_PER_BLOCK), inf, OLD).interval_ms == expected_ms


def test_a_slow_volume_makes_the_dump_as_long_as_writing_it() -> None:
    assert dump_seconds(1_000_000, 81_500_000, disk_bytes_per_second=1e6) == pytest.approx(81.5)
    assert dump_seconds(1_000_000, 81_500_000, disk_bytes_per_second=1e9) == pytest.approx(2.4)


def test_a_tebibyte_on_gp3() -> None:
    index = persistence(BLOCKS_PER_TIB, GP3_BYTES_PER_SECOND, OLD)
    assert index.index_bytes == pytest.approx(1.3e9, rel=0.03)
    assert 8 <= index.dump_seconds <= 38
    assert index.interval_ms == 780_000
    assert index.chunk_blocks == 1_000_000
    assert index.chunk_heap_bytes == 200_000_000
    assert index.file_bytes == 2 * index.index_bytes
    assert index.write_bytes_per_second == pytest.approx(1.69e6, rel=0.01)


@given(st.integers(0, 10**9), st.floats(1e6, 4e9), st.sampled_from([OLD, NEW]))
def test_dumping_takes_at_most_a_twentieth_unless_the_interval_is_the_longest(
    blocks: int, disk: float, release: Release
) -> None:
    index = persistence(blocks, disk, release)
    assert 300_000 <= index.interval_ms <= 900_000
    assert index.dump_fraction <= 0.05 * (1 + 1e-9) or index.interval_ms == 900_000
    assert index.chunk_heap_bytes <= 200 * 1_000_000


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_blocks_never_cost_less(one: int, other: int) -> None:
    fewer, more = (persistence(blocks, GP3_BYTES_PER_SECOND, NEW) for blocks in sorted((one, other)))
    assert more.index_bytes >= fewer.index_bytes
    assert more.dump_seconds >= fewer.dump_seconds
    assert more.interval_ms >= fewer.interval_ms
