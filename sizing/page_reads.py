"""The disk's work for one read of a cached block: Linux reads whole pages and ahead, HBase in pieces.

HBase reads at most 64 KiB of a file at once (`ByteBuff.NIO_BUFFER_LIMIT`, HBase 2.6), so a block of more takes several
calls. The first finds nothing and reads its own pages. Where a later one begins on a new page, Linux reads on: as much
again as lies before it, where reads of other blocks came between (context read-ahead, in mm/readahead.c of Linux 6.1
and 6.18), else 16 KiB. So a block of 66 kB costs an eighth more IOs than one of 65.5 kB and a twelfth more bytes, and
one of 70 kB twice the IOs. Blocks that fit 64 KiB cost their own pages and nothing else.

Checked on a disk that counts, read as HBase reads: IOs within 1 % up to 128 KiB; bytes exact up to 64 KiB, within 2 %
to 66 kB, a fifth too many at 70 kB and an eighth too few at 100 kB, a sixth to a third too few from 128 KiB on.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import ceil
from typing import Final

from msgspec import Struct

__all__ = [
    "PAGE_BYTES",
    "PIECE_BYTES",
    "SLOT_STEP_BYTES",
    "BlockRead",
    "aligned_bytes",
    "block_read",
    "mean_block_read",
]

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
    counted = [(block_read(step * SLOT_STEP_BYTES), blocks) for step, blocks in steps.items()]
    total = steps.total()
    if not total:
        raise ValueError("there are no blocks to read")
    return BlockRead(
        bytes=sum(read.bytes * blocks for read, blocks in counted) / total,
        ios=sum(read.ios * blocks for read, blocks in counted) / total,
    )


@lru_cache(maxsize=LENGTHS)
def _of_steps(steps: int) -> BlockRead:
    length_bytes = steps * SLOT_STEP_BYTES
    starts = range(0, PAGE_BYTES, SLOT_STEP_BYTES)
    pages = ios = 0.0
    for mixed, share in ((True, MIXED_SHARE), (False, 1 - MIXED_SHARE)):
        for start in starts:
            of_one = _read(start, length_bytes, mixed=mixed)
            pages, ios = pages + share * of_one[0], ios + share * of_one[1]
    return BlockRead(bytes=pages * PAGE_BYTES / len(starts), ios=ios / len(starts))


def _read(start: int, length_bytes: int, *, mixed: bool) -> tuple[int, int]:
    """The pages and IOs of a block that starts this many bytes after the beginning of a page."""
    pages = ios = 0
    for position in range(0, length_bytes, PIECE_BYTES):
        piece_end = start + min(length_bytes, position + PIECE_BYTES)
        needed = ceil(piece_end / PAGE_BYTES)
        while pages < needed:
            missing = needed - pages
            ahead = 0
            if pages > missing:
                ahead = pages if mixed else max(0, FIRST_PAGES - missing)
            pages += min(missing + ahead, MOST_PAGES)
            ios += 1
    return pages, ios
