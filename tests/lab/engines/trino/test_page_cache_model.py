"""A query's reads of a file, and the LRU cache of its pages that they go through."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.trino.prediction import (
    BUFFER_BYTES,
    FOOTER_BYTES,
    ColumnChunk,
    PageCache,
    ParquetLayout,
    QueryBytes,
    StoredObject,
    reads,
)
from warmbase.engines.trino.cached_scan import PAGE_BYTES, ByteRange, usable_bytes
from warmbase.ground.units import MIB

FOOTER = 2_035
LINEITEM = {
    "orderkey": 1_021_498,
    "partkey": 1_773_365,
    "suppkey": 1_244_416,
    "linenumber": 141_443,
    "quantity": 673_390,
    "extendedprice": 3_646_092,
    "discount": 394_700,
    "tax": 364_990,
    "returnflag": 156_784,
    "linestatus": 96_269,
    "shipdate": 1_348_475,
    "commitdate": 1_347_076,
    "receiptdate": 1_348_838,
    "shipinstruct": 227_823,
    "shipmode": 333_324,
    "comment": 7_217_056,
}
"""The column chunks of TPC-H's lineitem at scale 0.15, as Trino 476 wrote them in one file."""


def layout_of(chunks: dict[str, int]) -> ParquetLayout:
    ends = [4, *accumulate(chunks.values(), initial=4)][1:]
    ranges = [ByteRange(begin, end) for begin, end in pairwise(ends)]
    return ParquetLayout(
        object_bytes=ends[-1] + FOOTER,
        footer_bytes=FOOTER,
        chunks=tuple(ColumnChunk(column=name, range=where) for name, where in zip(chunks, ranges, strict=True)),
    )


FILE = StoredObject(name="lineitem", layout=layout_of(LINEITEM))


def test_scans_through_too_small_a_cache_read_what_a_real_trino_read() -> None:
    cache = PageCache(usable_bytes(12 * MIB))
    scans = [cache.query([FILE], LINEITEM) for _ in range(3)]
    again = QueryBytes(cached_bytes=1_373_903, fetched_bytes=21_337_578, gets=4)
    assert scans == [QueryBytes(cached_bytes=1_324_751, fetched_bytes=21_703_636, gets=5), again, again]


def test_large_cache_serves_the_second_query_alone() -> None:
    cache = PageCache(1000 * MIB)
    cold, warm = (cache.query([FILE], LINEITEM) for _ in range(2))
    assert cold.gets > 0
    assert (warm.fetched_bytes, warm.gets, warm.hit_ratio) == (0, 0, 1.0)


def test_a_query_of_other_columns_fetches_pages_again_behind_the_first_missing_one() -> None:
    cache = PageCache(1000 * MIB)
    cache.query([FILE], ["quantity"])
    pages = len(ByteRange(0, FILE.layout.object_bytes).pages)
    everything = cache.query([FILE], LINEITEM)
    assert everything.fetched_bytes > FILE.layout.object_bytes - 3 * PAGE_BYTES
    assert cache.pages == pages


def test_small_file_is_read_whole() -> None:
    assert reads(layout_of({"a": 10, "b": 20}), ["a"]) == (ByteRange(0, 34 + FOOTER),)


@pytest.mark.parametrize(
    ("chunks", "columns", "lengths"),
    [
        # Near chunks are one read, with the gap between them.
        ({"a": 2 * MIB, "gap": MIB, "b": 2 * MIB}, "ab", [5 * MIB]),
        ({"a": 2 * MIB, "gap": MIB + 1, "b": 2 * MIB}, "ab", [2 * MIB, 2 * MIB]),
        # A read is at most 8 MiB: longer chunks are split, others not merged.
        ({"a": 5 * MIB, "b": 4 * MIB}, "ab", [5 * MIB, 4 * MIB]),
        ({"a": 17 * MIB}, "a", [BUFFER_BYTES, BUFFER_BYTES, MIB]),
    ],
)
def test_chunks_are_merged_and_split_into_reads(chunks: dict[str, int], columns: str, lengths: list[int]) -> None:
    footer, *others = reads(layout_of(chunks), [name for name in chunks if name in columns])
    assert footer.bytes == FOOTER_BYTES
    assert [read.bytes for read in others] == lengths


def test_longer_footer_is_read_twice() -> None:
    layout = ParquetLayout(object_bytes=4 * MIB, footer_bytes=FOOTER_BYTES + 1, chunks=())
    assert [read.bytes for read in reads(layout, [])] == [FOOTER_BYTES, FOOTER_BYTES + 1]


@given(
    capacity=st.integers(PAGE_BYTES, 30 * MIB),
    queries=st.lists(st.sets(st.sampled_from(sorted(LINEITEM)), min_size=1), max_size=4),
)
def test_cache_never_holds_more_than_fits_and_more_capacity_never_fetches_more(
    capacity: int, queries: list[set[str]]
) -> None:
    small, large = PageCache(capacity), PageCache(1000 * MIB)
    for columns in queries:
        fetched = small.query([FILE], columns).fetched_bytes
        assert large.query([FILE], columns).fetched_bytes <= fetched
        assert (small.pages - 1) * PAGE_BYTES < capacity
