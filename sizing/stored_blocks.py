"""The data blocks of a whole HBase: how many there are, how long, and how many one read touches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sizing.block import HEADER_BYTES, LengthHistogram, block_lengths, cached_bytes
from sizing.workload import FAMILY_BYTES, QUALIFIER_BYTES, ROW_KEY_BYTES, Workload

__all__ = ["StoredBlocks", "stored_blocks"]

CHECKSUM_BYTES: Final = 4  # CRC32C of each chunk of `hbase.hstore.bytes.per.checksum`
CHECKSUM_CHUNK_BYTES: Final = 16_384  # its default
INDEX_KEY_BYTES: Final = ROW_KEY_BYTES + FAMILY_BYTES + QUALIFIER_BYTES + 12
"""A key as an index names it: row, family and qualifier with their lengths, time stamp and type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlocks:
    """All data blocks under one HBase root, cluster-wide.

    `lengths` are cached lengths (only their proportions count), `on_disk_bytes` the mean length in the store
    file with checksums, `per_read` the mean number of blocks that one read touches.
    """

    count: int
    rows: int
    on_disk_bytes: float
    lengths: LengthHistogram
    per_read: float


def stored_blocks(workload: Workload) -> StoredBlocks:
    """The blocks of a workload whose store files are neither compressed nor encoded.

    A row that begins anywhere in a block touches 1 + (row - cell) / payload blocks on average; a row of one
    cell touches one.
    """
    lengths = block_lengths(workload.block_bytes, workload.key_value_bytes)
    payload_bytes = lengths.mean_bytes - cached_bytes(0)
    on_disk_bytes = _on_disk_bytes(payload_bytes)
    spanned_bytes = max(0, workload.row_bytes - workload.key_value_bytes)
    return StoredBlocks(
        count=math.ceil(workload.stored_bytes / on_disk_bytes),
        rows=max(1, round(workload.stored_bytes / workload.row_bytes)),
        on_disk_bytes=on_disk_bytes,
        lengths=lengths,
        per_read=1 + spanned_bytes / payload_bytes,
    )


def _on_disk_bytes(payload_bytes: float) -> float:
    with_header = HEADER_BYTES + payload_bytes
    return with_header + CHECKSUM_BYTES * math.ceil(with_header / CHECKSUM_CHUNK_BYTES)
