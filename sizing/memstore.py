"""The memstore of a RegionServer, which holds the cells that clients write until they are flushed.

HBase counts the heap of a cell, and not only its bytes, towards the flush size of its region and the memstore of the
RegionServer. At the lower limit of the memstore, it flushes the largest region; at the upper limit, it blocks writes.

Source: HBase 2.6.2 HRegion.isFlushSize, MemStoreFlusher.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from sizing.cells import WriteShare
from sizing.file_writing import FileWriting
from sizing.inputs import UTILISATION
from sizing.units import GIB, MIB

__all__ = ["Memstore", "flush_room_bytes", "flush_size_bytes", "memstore_bytes"]

FLUSH_SIZE_BYTES: Final = 128 * MIB  # hbase.hregion.memstore.flush.size, HBase's default
# judgement: a region that is flushed more than once a minute makes more than a thousand files a day.
SHORTEST_FLUSH_SECONDS: Final = 60
BLOCK_MULTIPLIER: Final = 4  # hbase.hregion.memstore.block.multiplier
# judgement: HBase blocks a region at four flushes; beyond 2 GiB, replaying a region after a crash takes minutes.
MOST_FLUSH_BYTES: Final = 512 * MIB
# judgement: flushes every half hour make store files large enough to compact cheaply on S3.
FLUSH_INTERVAL_SECONDS: Final = 1_800
MINIMUM_MEMSTORE_BYTES: Final = GIB // 2  # judgement: room for bursts of a table that is hardly written to
FEWEST_REGIONS: Final = 1
# judgement: HBase's default of 0.95 leaves only 26 MiB of the smallest memstore for writes that arrive during a flush.
LOWER_LIMIT: Final = 0.85


class Memstore(Struct, frozen=True, kw_only=True):
    """The memstore of one RegionServer as it is configured, and the regions that share it."""

    size_bytes: float
    flush_size_bytes: int
    regions: float
    lower_limit: float = LOWER_LIMIT

    @property
    def room_bytes(self) -> float:
        """Return the room for writes while a flush runs: from the lower limit to the upper one, which blocks."""
        return (1 - self.lower_limit) * self.size_bytes

    @property
    def flush_heap_bytes(self) -> float:
        """Return the heap that one flush frees: the flush size, or less if the whole memstore fills first.

        Regions that fill at the same rate reach the lower limit together, each with an equal part.
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
    """Return room for half an hour of one RegionServer's writes, but no more than its regions hold before a flush.

    It is always large enough that writes are not blocked during a flush.
    """
    most_bytes = max(share.regions, FEWEST_REGIONS) * flush_size_bytes(share)
    wanted_bytes = share.heap_bytes_per_second * FLUSH_INTERVAL_SECONDS
    room_bytes = flush_room_bytes(share, files)
    return math.ceil(max(MINIMUM_MEMSTORE_BYTES, room_bytes, min(wanted_bytes, most_bytes)))
