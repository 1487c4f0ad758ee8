"""A read request: the blocks that it touches, the share of them in the cache, and the disk, CPU and time of its parts.

For a cached block, Linux reads whole pages and ahead, HBase in pieces. HBase reads at most 64 KiB of a file at once
(`ByteBuff.NIO_BUFFER_LIMIT`, HBase 2.6), so a block of more takes several calls. The first finds nothing and reads its
own pages. Where a later one begins on a new page, Linux reads on: as much again as lies before it, where reads of other
blocks came between (context read-ahead, in mm/readahead.c of Linux 6.1 and 6.18), else 16 KiB. So a block of 66 kB
costs an eighth more IOs than one of 65.5 kB and a twelfth more bytes, and one of 70 kB twice the IOs. Blocks that fit
64 KiB cost their own pages and nothing else.

Checked on a disk that counts, read as HBase reads: IOs within 1 % up to 128 KiB; bytes exact up to 64 KiB, within 2 %
to 66 kB, a fifth too many at 70 kB and an eighth too few at 100 kB, a sixth to a third too few from 128 KiB on.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import ceil
from typing import Final

from msgspec import Struct

# Linux reads a file through its page cache in whole pages: a FileIOEngine has no O_DIRECT (HBase 2.6 source).
PAGE_BYTES: Final = 4096
# Slots start at multiples of 256 bytes (BucketCache stores offsets shifted by 8: HBase 2.6 source).
SLOT_STEP_BYTES: Final = 256
# HBase 2.6 source: ByteBuff.NIO_BUFFER_LIMIT.
PIECE_BYTES: Final = 64 * 1024
# Linux reads ahead at most 128 KiB of a file, unless a device says otherwise (read_ahead_kb).
MOST_PAGES: Final = 32
# What it reads where a stream seems to begin, of up to four pages (get_init_ra_size).
FIRST_PAGES: Final = 4
# judgement: of reads, those between whose pieces others read the file: fitted to a disk's counters under HBase with 64
# clients (75.3 kB for a block of 66 kB, of 69.6 to 78.3 possible).
MIXED_SHARE: Final = 0.6
LENGTHS: Final = 4_096  # whose results are cached
HISTOGRAMS: Final = 16  # whose results are cached: a plan asks at the mean load, at the peak and without writes
# Once Linux reads ahead as far as it ever does, which is after half a MiB, the reads repeat every 32 pages.
STEADY_STEPS: Final = 512 * 1024 // SLOT_STEP_BYTES
PERIOD_STEPS: Final = MOST_PAGES * PAGE_BYTES // SLOT_STEP_BYTES


class BlockRead(Struct, frozen=True, kw_only=True):
    """Bytes and IOs of the disk for one block, in the mean over where its slot starts."""

    bytes: float
    ios: float


def aligned_bytes(length_bytes: int) -> int:
    """Mean bytes of the whole pages under a block whose slot starts at any multiple of 256 bytes.

    Before it lie 0, 256, … 3840 bytes of its first page, after it as many of its last: 1920 each in the mean.
    """
    return ceil(length_bytes / SLOT_STEP_BYTES) * SLOT_STEP_BYTES + PAGE_BYTES - SLOT_STEP_BYTES


def block_read(length_bytes: int) -> BlockRead:
    """Return what a read of a block of that length takes from the disk when none of its pages is in the page cache."""
    # Slots, pieces and pages all end at multiples of 256: lengths between two of them need the same.
    steps = ceil(length_bytes / SLOT_STEP_BYTES)
    periods = max(0, ceil((steps - STEADY_STEPS) / PERIOD_STEPS))
    begin = _of_steps(steps - periods * PERIOD_STEPS)
    if not periods:
        return begin
    less, more = _of_steps(STEADY_STEPS - PERIOD_STEPS), _of_steps(STEADY_STEPS)
    return BlockRead(
        bytes=begin.bytes + periods * (more.bytes - less.bytes), ios=begin.ios + periods * (more.ios - less.ios)
    )


@lru_cache(maxsize=HISTOGRAMS)
def mean_block_read(lengths: tuple[tuple[int, int], ...]) -> BlockRead:
    """The same for blocks of several lengths, as (bytes, blocks). Raises ValueError where there is none."""
    steps: Counter[int] = Counter()
    for length_bytes, blocks in lengths:
        steps[ceil(length_bytes / SLOT_STEP_BYTES)] += blocks
    total = steps.total()
    if not total:
        raise ValueError("there are no blocks to read")
    all_bytes = all_ios = 0.0
    for step, blocks in steps.items():
        read = block_read(step * SLOT_STEP_BYTES)
        all_bytes, all_ios = all_bytes + read.bytes * blocks, all_ios + read.ios * blocks
    return BlockRead(bytes=all_bytes / total, ios=all_ios / total)


@lru_cache(maxsize=LENGTHS)
def _of_steps(steps: int) -> BlockRead:
    starts = range(0, PAGE_BYTES, SLOT_STEP_BYTES)
    mean_pages = mean_ios = 0.0
    for mixed, share in ((True, MIXED_SHARE), (False, 1 - MIXED_SHARE)):
        for start in starts:
            # The block starts this many bytes after the beginning of a page.
            pages = ios = 0
            for position in range(0, steps * SLOT_STEP_BYTES, PIECE_BYTES):
                piece_end = start + min(steps * SLOT_STEP_BYTES, position + PIECE_BYTES)
                missing = ceil(piece_end / PAGE_BYTES) - pages
                if missing > 0:
                    ahead = 0
                    if pages > missing:
                        ahead = pages if mixed else max(0, FIRST_PAGES - missing)
                    pages += min(missing + ahead, MOST_PAGES)
                    ios += 1
            mean_pages, mean_ios = mean_pages + share * pages, mean_ios + share * ios
    return BlockRead(bytes=mean_pages * PAGE_BYTES / len(starts), ios=mean_ios / len(starts))


# judgement: 15,344 cached reads a second of one 64 KiB block, on two cores that also ran the client, is 130
# µs a read (measured with HBase 2.6.4, JDK 21, ZGC); 50 of them for the call and 80 for the block is a guess.
RPC_CPU_SECONDS: Final = 50e-6
BLOCK_CPU_SECONDS_PER_BYTE: Final = 80e-6 / 65_536
# judgement: decompressing and checking 64 KiB takes 60-200 µs of a core, and this is the middle.
DECOMPRESS_CPU_SECONDS_PER_BYTE: Final = 130e-6 / 65_536
# judgement: measured, 1.82-1.89 ms of RegionServer CPU for each GET through open-source S3A without TLS;
# EMR's own S3A is said to need less, and TLS needs more.
S3_GET_CPU_SECONDS: Final = 1.85e-3
# judgement: the Amazon S3 User Guide gives roughly 100-200 ms for a small object or first byte; this is the middle.
S3_FIRST_BYTE_SECONDS: Final = 0.15
# judgement: one stream reads 40-90 MB/s, and this is the low end, because the plan must hold on a bad day.
S3_STREAM_BYTES_PER_SECOND: Final = 40e6


class Read(Struct, frozen=True, kw_only=True):
    """One request: `blocks` data blocks in `runs` stretches of neighbouring slots, and the bytes answered.

    The blocks of a row are cached one after the other and share their edge pages: one run. Where many writer
    threads interleave files, runs tend to blocks, and a 64 KiB block costs 6 to 19 % more EBS bytes (`block_read`).
    """

    blocks: float
    cached_length_bytes: int
    on_disk_length_bytes: int
    answer_bytes: int
    runs: float = 1.0
    cacheable: float = 1.0
    """The share of its blocks that may be in the cache; 0 for a table that is not cached."""
    of_lengths: BlockRead | None = None
    """The mean bytes and operations of one block over all lengths; None for a block of the mean length."""

    @property
    def of_disk(self) -> BlockRead:
        """Return what one block takes from the disk."""
        return self.of_lengths or block_read(self.cached_length_bytes)


class Hits(Struct, frozen=True, kw_only=True):
    """The share of cacheable blocks that are in the BucketCache, and the share of those that the page cache answers.

    `tables` has the first of these shares for each table; it is empty if they follow from `ratio`.
    judgement: a plan that counts on the page cache breaks when the heap grows, so it counts on none.
    """

    ratio: float
    page_cache_fraction: float = 0.0
    tables: tuple[float, ...] = ()

    @property
    def from_disk(self) -> float:
        """Share of blocks that are read from the cache's disk."""
        return self.ratio * (1 - self.page_cache_fraction)


class Timings(Struct, frozen=True, kw_only=True):
    """The CPU and waiting times of the parts of a read when nothing queues; `block_cpu_seconds` is for one block."""

    rpc_cpu_seconds: float = RPC_CPU_SECONDS
    block_cpu_seconds: float = BLOCK_CPU_SECONDS_PER_BYTE * 65_536
    get_cpu_seconds: float = S3_GET_CPU_SECONDS
    s3_first_byte_seconds: float = S3_FIRST_BYTE_SECONDS
    s3_stream_bytes_per_second: float = S3_STREAM_BYTES_PER_SECOND


def blocks_per_row(row_bytes: float, cell_bytes: float, payload_bytes: float) -> float:
    """Return the blocks that a contiguous row touches when it starts anywhere: 1 + (row - cell) / payload, at least 1.

    Blocks end at cells: of the row's (row / cell - 1) inner cell ends, a share cell / payload ends a block.
    """
    return 1 + max(0.0, row_bytes - cell_bytes) / payload_bytes


def missing_blocks(read: Read, hits: Hits) -> float:
    """Return how many blocks of a read come from S3."""
    return read.blocks * (1 - read.cacheable * hits.ratio)


def block_cpu_seconds(payload_bytes: float, *, compressed: bool) -> float:
    """Return the CPU to serve one block from the cache; compressed blocks are decompressed on every hit."""
    decompressing = DECOMPRESS_CPU_SECONDS_PER_BYTE if compressed else 0.0
    return payload_bytes * (BLOCK_CPU_SECONDS_PER_BYTE + decompressing)
