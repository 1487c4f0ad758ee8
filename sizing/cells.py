"""The cells that clients write: their sizes in each place, and how many of them one RegionServer receives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from sizing.stored_blocks import StoredBlocks
from sizing.workload import written_cells

__all__ = ["CellSizes", "WriteShare"]

# Measured with HBase 2.6.2 and references of 8 bytes: 102 to 106 bytes beside its key and value, by HBase's own count
# and on the heap: the cell, its buffer's slice, a node of the skip list and its share of the list's index.
CELL_HEAP_BYTES: Final = 106
# Measured with HBase 2.6.2: a log of single cells has 55 bytes for each beside key and value, one of batches of 100
# cells 4.5: 51 bytes for an edit, and 4 for a cell.
LOG_EDIT_BYTES: Final = 51
LOG_CELL_BYTES: Final = 4


class CellSizes(Struct, frozen=True, kw_only=True):
    """The mean cell that is written: its value, and its bytes as a KeyValue, in a store file, and in the cache.

    A client writes `per_put` cells in one call to a region.
    """

    value_bytes: float
    key_value_bytes: float
    stored_bytes: float
    cached_bytes: float
    per_put: float = 1

    @classmethod
    def of(cls, blocks: StoredBlocks) -> CellSizes:
        """Return the cells of a workload; written cells are encoded and compressed as the stored ones are.

        For several tables, the sizes are means over the written cells, or over the stored cells if nothing is written.
        """
        workload = blocks.workload
        if blocks.tables:
            return _mean_cells(blocks)
        blocks_per_cell = workload.key_value_bytes / blocks.payload_bytes
        return cls(
            value_bytes=workload.cell_bytes,
            key_value_bytes=workload.key_value_bytes,
            stored_bytes=blocks_per_cell * blocks.on_disk_bytes,
            cached_bytes=blocks_per_cell * blocks.cached_bytes,
            per_put=workload.cells_per_put,
        )

    @property
    def heap_bytes(self) -> float:
        """Return the heap that the memstore counts for a cell."""
        return self.key_value_bytes + CELL_HEAP_BYTES

    @property
    def log_bytes(self) -> float:
        """Return the bytes of one copy of the cell in the write-ahead log."""
        return self.key_value_bytes + LOG_CELL_BYTES + LOG_EDIT_BYTES / self.per_put


def _mean_cells(blocks: StoredBlocks) -> CellSizes:
    cells = [CellSizes.of(table) for table in blocks.tables]
    counts = written_cells(blocks.workload.tables)

    def mean(values: Iterable[float]) -> float:
        return sum(value * count for value, count in zip(values, counts, strict=True)) / sum(counts)

    return CellSizes(
        value_bytes=mean(cell.value_bytes for cell in cells),
        key_value_bytes=mean(cell.key_value_bytes for cell in cells),
        stored_bytes=mean(cell.stored_bytes for cell in cells),
        cached_bytes=mean(cell.cached_bytes for cell in cells),
        per_put=1 / mean(1 / cell.per_put for cell in cells),
    )


class WriteShare(Struct, frozen=True, kw_only=True):
    """One RegionServer's share of the writes, in bytes of values a second, which are spread evenly over its regions.

    `region_bytes` is what one region stores.
    """

    cells: CellSizes
    bytes_per_second: float
    regions: float
    region_bytes: float

    @classmethod
    def of(cls, blocks: StoredBlocks, bytes_per_second: float, regions: float) -> WriteShare:
        """Return the share of a RegionServer that receives this many bytes a second in this many regions."""
        workload = blocks.workload
        return cls(
            cells=CellSizes.of(blocks),
            bytes_per_second=bytes_per_second,
            regions=regions,
            region_bytes=max(part.stored_bytes / part.regions for part in workload.parts),
        )

    @property
    def cells_per_second(self) -> float:
        """Return the number of cells that arrive in a second."""
        return self.bytes_per_second / self.cells.value_bytes

    @property
    def heap_bytes_per_second(self) -> float:
        """Return how fast the memstore fills."""
        return self.cells_per_second * self.cells.heap_bytes
