"""The memstore of a RegionServer, which holds the cells that clients write until they are flushed.

HBase counts the heap of a cell, and not its bytes alone, against the flush size of its region and against the memstore
of the RegionServer. At the lower limit of that memstore it flushes the largest region, at the upper limit it blocks
writes.

Source: HBase 2.6.2 HRegion.isFlushSize, MemStoreFlusher.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sizing.cells import WriteShare
from sizing.file_writing import FileWriting
from sizing.inputs import UTILISATION
from sizing.units import GIB, MIB

__all__ = ["Memstore", "flush_room_bytes", "flush_size_bytes", "memstore_bytes"]

FLUSH_SIZE_BYTES: Final = 128 * MIB  # hbase.hregion.memstore.flush.size, HBase's default
# judgement: a region that is flushed more than once a minute makes a thousand files and more in a day.
SHORTEST_FLUSH_SECONDS: Final = 60
# judgement: HBase blocks a region at four flushes; beyond 2 GiB a region's replay after a crash takes minutes.
MOST_FLUSH_BYTES: Final = 512 * MIB
# judgement: flushes every half hour make store files large enough to compact cheaply on S3.
FLUSH_INTERVAL_SECONDS: Final = 1_800
MINIMUM_MEMSTORE_BYTES: Final = GIB // 2  # judgement: bursts of a table that is hardly written to
FEWEST_REGIONS: Final = 1
# judgement: HBase's own 0.95 leaves 26 MiB of the smallest memstore for the writes that arrive during a flush.
LOWER_LIMIT: Final = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class Memstore:
    """The memstore of one RegionServer as it is configured, and the regions that share it."""

    size_bytes: float
    flush_size_bytes: int
    regions: float
    lower_limit: float = LOWER_LIMIT

    @property
    def room_bytes(self) -> float:
        """Return what writes may fill while a flush runs: from the lower limit to the one that blocks."""
        return (1 - self.lower_limit) * self.size_bytes

    @property
    def flush_heap_bytes(self) -> float:
        """Return the heap that one flush frees: the flush size, or less where the whole memstore fills first.

        Regions that fill at the same pace reach the lower limit together, each with its part of it.
        """
        part = self.lower_limit * self.size_bytes / max(self.regions, FEWEST_REGIONS)
        return min(self.flush_size_bytes, part)


def flush_size_bytes(share: WriteShare) -> int:
    """`hbase.hregion.memstore.flush.size`: HBase's default, or what a region takes in a minute of faster writes."""
    minute_bytes = share.heap_bytes_per_second / max(share.regions, FEWEST_REGIONS) * SHORTEST_FLUSH_SECONDS
    steps = math.ceil(minute_bytes / FLUSH_SIZE_BYTES)
    return min(MOST_FLUSH_BYTES, max(1, steps) * FLUSH_SIZE_BYTES)


def flush_room_bytes(share: WriteShare, files: FileWriting) -> float:
    """Return the memstore whose room above the lower limit takes the writes that arrive during a flush."""
    seconds = files.flush_seconds(share.cells, flush_size_bytes(share) / share.cells.heap_bytes)
    return share.heap_bytes_per_second * seconds / UTILISATION / (1 - LOWER_LIMIT)


def memstore_bytes(share: WriteShare, files: FileWriting) -> int:
    """Room for half an hour of one RegionServer's writes, and no more than its regions hold before they are flushed.

    It is never so small that the writes which arrive during a flush are blocked.
    """
    most_bytes = max(share.regions, FEWEST_REGIONS) * flush_size_bytes(share)
    wanted_bytes = share.heap_bytes_per_second * FLUSH_INTERVAL_SECONDS
    room_bytes = flush_room_bytes(share, files)
    return math.ceil(max(MINIMUM_MEMSTORE_BYTES, room_bytes, min(wanted_bytes, most_bytes)))
