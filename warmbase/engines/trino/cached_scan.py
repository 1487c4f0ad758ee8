"""A scan through Trino's file-system cache: its pages, and the CPU, disk, network and S3 requests that it needs.

The cache (`fs.cache.enabled`) is Alluxio's local cache inside each worker. It stores whole pages of an object; only the
last page of an object is shorter. A read takes pages from the cache until the first that is missing, and fetches the
rest of its range from S3 with one GET, rounded outwards to whole pages, including pages that are cached further on.

A contiguous read of r bytes begins anywhere in a page, so it touches 1 + (r - 1) / page pages on average: more bytes
come from S3, and are kept, than queries read. Pages that are read together are cached together.

Source: Trino 476, lib/trino-filesystem-cache-alluxio (AlluxioInput, AlluxioInputHelper, AlluxioFileSystemCacheConfig);
Alluxio 2.9.6, LocalPageStoreDir and PageStoreType.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cached_property
from math import ceil
from typing import Final

from msgspec import Struct

from warmbase.engines.trino.request import ScanWorkload
from warmbase.ground.units import MIB
from warmbase.ground.values import memoized
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio
from warmbase.sizing.service.resource import EBS_IO_BYTES, NVME_IO_BYTES, DiskKind
from warmbase.sizing.workload.popularity import Popularity, block_popularity

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


STEPS: Final = 40  # of a bisection, which leave 10^-12 of the pages


class Demand(Struct, frozen=True, kw_only=True):
    """The resources that one query takes from the whole cluster. `network_bytes` arrive from S3, in `gets` requests."""

    cpu_seconds: float
    disk_bytes: float
    disk_ios: float
    network_bytes: float
    gets: float


class CachedScan(Struct, frozen=True, kw_only=True, dict=True, eq=False):
    """The pages of a workload: how many there are, how many a query reads, and how popular they are."""

    workload: ScanWorkload

    @property
    def amplification(self) -> float:
        """Return the bytes of the pages that a read touches, for each byte that it reads."""
        return 1 + (PAGE_BYTES - 1) / self.workload.read_bytes

    @property
    def pages(self) -> float:
        """Return the pages of the working set."""
        return self.workload.working_set_bytes * self.amplification / PAGE_BYTES

    @property
    def pages_of_query(self) -> float:
        """Return the pages that one query touches."""
        return self.workload.scanned_bytes * self.amplification / PAGE_BYTES

    @cached_property
    def popularity(self) -> Popularity:
        """Return how reads spread over pages; those of one file are equally popular."""
        files_per_page = PAGE_BYTES / self.workload.file_bytes
        return block_popularity(self.workload.popularity, self.pages, files_per_page)

    @memoized
    def hit_ratio(self, pages: float) -> float:
        """Return the hit ratio of a warm cache with this many distinct pages. Alluxio evicts by LRU."""
        return hit_ratio(self.popularity, OccupancyRange(full_blocks=pages, blocks_after_eviction=pages))

    def pages_for(self, ratio: float) -> float:
        """Return the fewest distinct pages with this hit ratio."""
        low, high = 0.0, self.popularity.total_blocks
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.hit_ratio(middle) >= ratio else (middle, high)
        return high


def demand(scan: CachedScan, ratio: float, kind: DiskKind) -> Demand:
    """Return what one query needs at this hit ratio: hits are read from the disks, and missed pages written to them."""
    workload, missing = scan.workload, (1 - ratio) * scan.pages_of_query
    moved = ratio * workload.scanned_bytes + missing * PAGE_BYTES
    io_bytes = EBS_IO_BYTES if kind == "ebs" else NVME_IO_BYTES
    reads = workload.scanned_bytes / workload.read_bytes
    return Demand(
        cpu_seconds=workload.cpu_seconds,
        disk_bytes=moved,
        disk_ios=ratio * reads * ceil(workload.read_bytes / io_bytes) + missing * ceil(PAGE_BYTES / io_bytes),
        network_bytes=missing * PAGE_BYTES,
        gets=(1 - ratio) * reads,
    )


def uncached_demand(scan: CachedScan) -> Demand:
    """Return what one query needs without a cache: it fetches only what it reads, and no whole pages."""
    workload = scan.workload
    return Demand(
        cpu_seconds=workload.cpu_seconds,
        disk_bytes=0.0,
        disk_ios=0.0,
        network_bytes=workload.scanned_bytes,
        gets=workload.scanned_bytes / workload.read_bytes,
    )
