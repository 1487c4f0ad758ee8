"""Pages of Trino's cache: which a read touches, and what it fetches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.engines.trino.cached_scan import (
    PAGE_BYTES,
    ByteRange,
    PagedRead,
    bytes_of_pages,
    paged_read,
    pages_of,
    usable_bytes,
)

OBJECT_BYTES = 3 * PAGE_BYTES + 1000


@pytest.mark.parametrize(
    ("begin", "end", "pages"),
    [
        (0, 0, set()),
        (0, 1, {0}),
        (0, PAGE_BYTES, {0}),
        (PAGE_BYTES - 1, PAGE_BYTES + 1, {0, 1}),
        (PAGE_BYTES, 2 * PAGE_BYTES + 1, {1, 2}),
    ],
)
def test_a_range_touches_every_page_with_a_byte_of_it(begin: int, end: int, pages: set[int]) -> None:
    assert pages_of([ByteRange(begin, end)]) == pages


def test_last_page_ends_with_the_object() -> None:
    assert bytes_of_pages({2, 3}, OBJECT_BYTES) == PAGE_BYTES + 1000


@pytest.mark.parametrize(
    ("wanted", "cached", "read"),
    [
        (ByteRange(10, 20), set(), PagedRead(cached_bytes=0, fetched=ByteRange(0, PAGE_BYTES))),
        (ByteRange(10, 20), {0}, PagedRead(cached_bytes=10, fetched=None)),
        (
            ByteRange(10, OBJECT_BYTES),
            {0, 2},
            PagedRead(cached_bytes=PAGE_BYTES - 10, fetched=ByteRange(PAGE_BYTES, OBJECT_BYTES)),
        ),
        (ByteRange(10, 2 * PAGE_BYTES), {1}, PagedRead(cached_bytes=0, fetched=ByteRange(0, 2 * PAGE_BYTES))),
    ],
)
def test_a_read_fetches_whole_pages_from_the_first_missing_one(
    wanted: ByteRange, cached: set[int], read: PagedRead
) -> None:
    assert paged_read(wanted, OBJECT_BYTES, cached) == read


@given(
    begin=st.integers(0, OBJECT_BYTES),
    length=st.integers(0, OBJECT_BYTES),
    cached=st.frozensets(st.integers(0, 3)),
)
def test_cached_and_fetched_bytes_cover_the_range(begin: int, length: int, cached: frozenset[int]) -> None:
    wanted = ByteRange(begin, min(begin + length, OBJECT_BYTES))
    read = paged_read(wanted, OBJECT_BYTES, cached)
    fetched = read.fetched or ByteRange(wanted.end, wanted.end)
    assert read.cached_bytes == max(0, fetched.begin - wanted.begin)
    assert fetched.end >= wanted.end
    assert fetched.bytes == bytes_of_pages(fetched.pages, OBJECT_BYTES)


def test_pages_take_the_size_without_the_allowance_for_the_file_system() -> None:
    assert usable_bytes(105 * PAGE_BYTES) == 100 * PAGE_BYTES
