"""A read request: the blocks that it touches, the share of them in the cache, and the CPU and time of its parts."""

from typing import Final

from msgspec import Struct

from sizing.page_reads import BlockRead, block_read

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
    threads interleave files, runs tend to blocks, and a 64 KiB block costs 6 to 19 % more EBS bytes (`page_reads`).
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


def call_cpu_seconds(read: Read, timings: Timings) -> float:
    """Return the CPU of a call and of its blocks, wherever they come from."""
    return timings.rpc_cpu_seconds + read.blocks * timings.block_cpu_seconds


def get_cpu_seconds(read: Read, hits: Hits, timings: Timings) -> float:
    """Return the CPU of the GETs for a read's missing blocks."""
    return missing_blocks(read, hits) * timings.get_cpu_seconds
