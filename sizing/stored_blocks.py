"""The data blocks of a whole HBase: how many there are, how long, how popular, and how many one read touches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sizing.block import HEADER_BYTES, LengthHistogram, cached_bytes, spread_block_lengths
from sizing.inspection import Inspection
from sizing.popularity import Popularity, block_popularity, mixed_popularity
from sizing.read import blocks_per_row
from sizing.workload import FAMILY_BYTES, QUALIFIER_BYTES, ROW_KEY_BYTES, OpenLoad, Workload

__all__ = ["StoredBlocks", "stored_blocks"]

CHECKSUM_BYTES: Final = 4  # CRC32C of each chunk of `hbase.hstore.bytes.per.checksum`
CHECKSUM_CHUNK_BYTES: Final = 16_384  # hbase.hstore.bytes.per.checksum
INDEX_KEY_BYTES: Final = ROW_KEY_BYTES + FAMILY_BYTES + QUALIFIER_BYTES + 12
"""A key as an index names it: row, family and qualifier with their lengths, time stamp and type."""
LEAF_INDEX_ENTRY_BYTES: Final = 16  # offset, size and length before each key in a leaf index block
BLOOM_ERROR_RATE: Final = 0.01  # io.storefile.bloom.error.rate
BLOOM_BYTES_PER_ROW: Final = 1.2  # ROW Bloom filter at that error rate
LARGEST_CELL_MULTIPLE: Final = 16  # judgement: a cell that long is rarer than one in a million if sizes are exponential
MOST_LENGTHS: Final = 400  # judgement: of all tables; bucket sizes for more take seconds, and differ by a percent
COUNTS_PER_BLOCK: Final = 1_000  # keeps the proportions of the lengths in a table of few blocks
COMPRESSION_SPREAD: Final = 0.2  # judgement: blocks compress within a fifth of the mean ratio; an inspection says more


class StoredBlocks(Struct, frozen=True, kw_only=True, dict=True):
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
    tables: tuple[StoredBlocks, ...] = ()
    """The blocks of each table; empty if the workload has no tables."""

    @property
    def compaction_blocks(self) -> float:
        """Return the blocks that a RegionServer caches twice while it compacts one region; 0 without writes.

        For several tables, this is the largest of their figures.
        """
        if self.tables:
            return max(table.compaction_blocks for table in self.tables)
        return self.count / self.workload.regions if self.workload.write_bytes_per_second else 0.0

    @cached_property
    def cacheable(self) -> StoredBlocks:
        """Return the blocks of the tables that HBase caches, or all blocks if it caches every table or none."""
        cached = tuple(table for table in self.tables if table.workload.cached)
        if len(cached) in {0, len(self.tables)}:
            return self
        return _mixed(Workload.of([table.workload for table in cached]), cached)

    @property
    def parts(self) -> tuple[StoredBlocks, ...]:
        """Return the blocks of each table, or all blocks if the workload has no tables."""
        return self.tables or (self,)

    @cached_property
    def request_shares(self) -> tuple[float, ...]:
        """Return the share of the requests that each table receives."""
        loads = [table.workload.load for table in self.tables]
        rates = [load.reads_per_second for load in loads if isinstance(load, OpenLoad)] or [1.0]
        return tuple(rate / sum(rates) for rate in rates)

    @cached_property
    def read_shares(self) -> tuple[float, ...]:
        """Return the share of the block reads that each table receives."""
        reads = [share * part.per_read for share, part in zip(self.request_shares, self.parts, strict=True)]
        return tuple(read / sum(reads) for read in reads)

    @cached_property
    def cached_bytes(self) -> float:
        """Mean length of a block in the cache."""
        return self.lengths.mean_bytes

    @cached_property
    def popularity(self) -> Popularity:
        """Return how reads spread over the blocks."""
        if self.tables:
            return mixed_popularity(
                [table.popularity for table in self.tables],
                self.read_shares,
                [table.cached_bytes for table in self.tables],
            )
        return block_popularity(self.workload.popularity, self.count, self.rows / self.count)


def stored_blocks(workload: Workload) -> StoredBlocks:
    """Return the blocks of a workload, from its tables or its inspection if it has any, or else from its settings."""
    if workload.tables:
        return _mixed(workload, tuple(map(stored_blocks, workload.tables)))
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


def _mixed(workload: Workload, tables: tuple[StoredBlocks, ...]) -> StoredBlocks:
    """Return the blocks of all tables together, which share every cache."""
    count = sum(table.count for table in tables)
    mixed = StoredBlocks(
        count=count,
        rows=sum(table.rows for table in tables),
        lengths=_at_most(MOST_LENGTHS, LengthHistogram.of(pair for table in tables for pair in _counted(table))),
        longest_bytes=max(table.longest_bytes for table in tables),
        payload_bytes=sum(table.count * table.payload_bytes for table in tables) / count,
        on_disk_bytes=sum(table.count * table.on_disk_bytes for table in tables) / count,
        per_read=0.0,
        l1_bytes=sum(table.l1_bytes for table in tables),
        workload=workload,
        tables=tables,
    )
    per_read = sum(share * table.per_read for share, table in zip(mixed.request_shares, tables, strict=True))
    return replace(mixed, per_read=per_read)


def _counted(blocks: StoredBlocks) -> Iterator[tuple[int, int]]:
    """Yield each cached length with a count in proportion to the number of blocks of that length in the table."""
    factor = COUNTS_PER_BLOCK * blocks.count / blocks.lengths.blocks
    return ((length, max(1, round(factor * counted))) for length, counted in blocks.lengths.pairs)


def _at_most(most: int, lengths: LengthHistogram) -> LengthHistogram:
    """Return no more than so many lengths: neighbours become the longest of them, where there are more."""
    if len(lengths.pairs) <= most:
        return lengths
    longest = np.array([length for length, _ in lengths.pairs])
    steps = np.floor(np.log(longest / longest[0]) / np.log(longest[-1] / longest[0]) * (most - 1)).tolist()
    ends = {step: length for step, (length, _) in zip(steps, lengths.pairs, strict=True)}
    return LengthHistogram.of((ends[step], blocks) for step, (_, blocks) in zip(steps, lengths.pairs, strict=True))


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
