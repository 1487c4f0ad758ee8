"""The arithmetic of the pages in which Trino's file-system cache stores parts of objects.

The cache (`fs.cache.enabled`) is Alluxio's local cache inside each worker. It stores whole pages of an object; only the
last page of an object is shorter. A read takes pages from the cache until the first that is missing, and fetches the
rest of its range from S3 with one GET, rounded outwards to whole pages, including pages that are cached further on.

Source: Trino 476, lib/trino-filesystem-cache-alluxio (AlluxioInput, AlluxioInputHelper, AlluxioFileSystemCacheConfig);
Alluxio 2.9.6, LocalPageStoreDir and PageStoreType.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from math import ceil
from typing import Final

from msgspec import Struct

from sizing.units import MIB

__all__ = ["PAGE_BYTES", "ByteRange", "PagedRead", "bytes_of_pages", "paged_read", "pages_of", "usable_bytes"]

PAGE_BYTES: Final = MIB
"""The default of `fs.cache.page-size`: `1MB`, which Trino reads as 1 MiB."""
STORE_OVERHEAD_FRACTION: Final = 0.05
"""The allowance of Alluxio's page store for the file system below it (PageStoreType.LOCAL_OVERHEAD_RATIO)."""


class ByteRange(Struct, frozen=True):
    """The bytes of an object from `begin` up to, but not including, `end`."""

    begin: int
    end: int

    @property
    def bytes(self) -> int:
        """Return the length."""
        return self.end - self.begin

    @property
    def pages(self) -> range:
        """Return the indices of the pages that it touches."""
        return range(self.begin // PAGE_BYTES, ceil(self.end / PAGE_BYTES)) if self.bytes else range(0)


class PagedRead(Struct, frozen=True, kw_only=True):
    """One read through the cache: the bytes that it takes from cached pages, and the range that one GET fetches."""

    cached_bytes: int
    fetched: ByteRange | None
    """None where every page is cached."""


def usable_bytes(max_size_bytes: int) -> int:
    """Return the bytes of pages that a cache directory holds when `fs.cache.max-sizes` gives it so many bytes."""
    return int(max_size_bytes / (1 + STORE_OVERHEAD_FRACTION))


def pages_of(ranges: Iterable[ByteRange]) -> frozenset[int]:
    """Return the indices of all pages of an object that the ranges touch."""
    return frozenset(page for touched in ranges for page in touched.pages)


def bytes_of_pages(pages: Iterable[int], object_bytes: int) -> int:
    """Return the length of these pages together; the last page of an object ends with the object."""
    return sum(min(PAGE_BYTES, object_bytes - page * PAGE_BYTES) for page in pages)


def paged_read(wanted: ByteRange, object_bytes: int, cached: Container[int]) -> PagedRead:
    """Return what one read of a range takes from the cached pages and what it fetches from S3.

    Pages behind the first missing one are fetched again, even those that are cached.
    """
    missing = next((page for page in wanted.pages if page not in cached), None)
    if missing is None:
        return PagedRead(cached_bytes=wanted.bytes, fetched=None)
    return PagedRead(
        cached_bytes=max(0, missing * PAGE_BYTES - wanted.begin),
        fetched=ByteRange(missing * PAGE_BYTES, min(wanted.pages.stop * PAGE_BYTES, object_bytes)),
    )
