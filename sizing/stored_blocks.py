"""The data blocks of a whole HBase: how many there are, how long, how popular, and how many one read touches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sizing.block import HEADER_BYTES, LengthHistogram, cached_bytes, spread_block_lengths
from sizing.inspection import Inspection
from sizing.popularity import Popularity, block_popularity
from sizing.read import blocks_per_row
from sizing.workload import FAMILY_BYTES, QUALIFIER_BYTES, ROW_KEY_BYTES, Workload

__all__ = ["StoredBlocks", "stored_blocks"]

CHECKSUM_BYTES: Final = 4  # CRC32C of each chunk of `hbase.hstore.bytes.per.checksum`
CHECKSUM_CHUNK_BYTES: Final = 16_384  # its default
INDEX_KEY_BYTES: Final = ROW_KEY_BYTES + FAMILY_BYTES + QUALIFIER_BYTES + 12
"""A key as an index names it: row, family and qualifier with their lengths, time stamp and type."""
LEAF_INDEX_ENTRY_BYTES: Final = 16  # offset, size and length before each key in a leaf index block
BLOOM_BYTES_PER_ROW: Final = 1.2  # ROW Bloom filter at HBase's default error rate of 1 %
LARGEST_CELL_MULTIPLE: Final = 16  # judgement: a cell that long is rarer than one in a million if sizes are exponential
COMPRESSION_SPREAD: Final = 0.2  # judgement: blocks compress within a fifth of the mean ratio; an inspection says more


@dataclass(frozen=True, kw_only=True)
class StoredBlocks:
    """All data blocks under one HBase root, cluster-wide.

    `lengths` are cached lengths (only their proportions count), `longest_bytes` what the largest slot must hold even
    where no block of that length was counted, `payload_bytes` the mean unencoded payload, `on_disk_bytes` the mean
    length in the store file with checksums, `per_read` the mean number of blocks that one read touches, `l1_bytes`
    the indexes and Bloom chunks that go with the blocks.
    """

    count: int
    rows: int
    lengths: LengthHistogram
    longest_bytes: int
    payload_bytes: float
    on_disk_bytes: float
    per_read: float
    l1_bytes: int
    workload: Workload

    @property
    def compaction_blocks(self) -> float:
        """Return the blocks that a RegionServer caches twice while it compacts one region; 0 without writes."""
        return self.count / self.workload.regions if self.workload.write_bytes_per_second else 0.0

    @cached_property
    def cached_bytes(self) -> float:
        """Mean length of a block in the cache."""
        return self.lengths.mean_bytes

    @cached_property
    def popularity(self) -> Popularity:
        """Return how reads spread over the blocks."""
        return block_popularity(self.workload.popularity, self.count, self.rows / self.count)


def stored_blocks(workload: Workload) -> StoredBlocks:
    """The blocks of a workload, from its inspection where there is one, else from its settings."""
    if workload.inspection is not None:
        return _inspected(workload, workload.inspection)
    plain = spread_block_lengths(workload.block_bytes, workload.key_value_bytes)
    payload_bytes = plain.mean_bytes - cached_bytes(0)
    encoded_bytes = payload_bytes * workload.encoded_fraction
    on_disk_bytes = _on_disk_bytes(encoded_bytes / workload.compression_ratio)
    count = math.ceil(workload.stored_bytes / on_disk_bytes)
    rows = max(1, round(workload.stored_bytes * workload.compression_ratio / workload.row_bytes))
    return StoredBlocks(
        count=count,
        rows=rows,
        lengths=_cached_lengths(workload),
        longest_bytes=cached_bytes(workload.block_bytes + LARGEST_CELL_MULTIPLE * workload.key_value_bytes),
        payload_bytes=payload_bytes,
        on_disk_bytes=on_disk_bytes,
        per_read=_per_read(workload, payload_bytes),
        l1_bytes=math.ceil(count * (LEAF_INDEX_ENTRY_BYTES + INDEX_KEY_BYTES) + rows * BLOOM_BYTES_PER_ROW),
        workload=workload,
    )


def _cached_lengths(workload: Workload) -> LengthHistogram:
    ratio = workload.encoded_fraction / (workload.compression_ratio if workload.compressed else 1)
    return spread_block_lengths(
        workload.block_bytes,
        workload.key_value_bytes,
        payload_ratio=ratio,
        ratio_spread_fraction=COMPRESSION_SPREAD if workload.compressed else 0.0,
    )


def _inspected(workload: Workload, inspection: Inspection) -> StoredBlocks:
    plain = inspection.lengths(compressed=False)
    payload_bytes = plain.mean_bytes - cached_bytes(0)
    return StoredBlocks(
        count=plain.blocks,
        rows=max(1, inspection.rows),
        lengths=inspection.lengths(compressed=workload.compressed),
        longest_bytes=plain.largest_bytes,
        payload_bytes=payload_bytes,
        on_disk_bytes=inspection.stored_bytes / plain.blocks,
        per_read=_per_read(workload, payload_bytes),
        l1_bytes=inspection.l1_bytes,
        workload=workload,
    )


def _per_read(workload: Workload, payload_bytes: float) -> float:
    """Blocks of one read: of one row, of rows here and there (multi-get), or of rows in a stretch (scan)."""
    reads = workload.reads
    if reads.kind == "scan":
        return blocks_per_row(workload.row_bytes * reads.rows, workload.key_value_bytes, payload_bytes)
    return reads.rows * blocks_per_row(workload.row_bytes, workload.key_value_bytes, payload_bytes)


def _on_disk_bytes(payload_bytes: float) -> float:
    with_header = HEADER_BYTES + payload_bytes
    return with_header + CHECKSUM_BYTES * math.ceil(with_header / CHECKSUM_CHUNK_BYTES)
