"""The threads and limits with which flushes and compactions keep up with the writes; they cost nothing.

HBase does not flush a store with more than `hbase.hstore.blockingStoreFiles` files, and then its region blocks. HBase
limits compactions to a throughput that rises with the number of files from a lower to a higher bound, in bytes of cells
that are neither encoded nor compressed. It lifts the limit only when flushes already wait.

Source: HBase 2.6.2 PressureAwareCompactionThroughputController, CompactSplit, ExploringCompactionPolicy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sizing.cells import WriteShare
from sizing.file_writing import FileWriting
from sizing.inputs import LEAST_AMPLIFICATION, UTILISATION
from sizing.memstore import Memstore
from sizing.pins import NO_PINS, Pins
from sizing.units import GIB, MIB, SECONDS_PER_HOUR

__all__ = ["WriteSettings", "amplification", "day_limit", "write_settings"]

# These terms are within 15 % of the amplification of HBase's own selection, simulated for flushes of 2 to 480 MiB and
# regions of 5 to 30 GiB: a flush, merges by a ratio, and a quarter for each flush below the least size.
FIRST_WRITES: Final = 0.87
WRITES_PER_E_FOLD: Final = 0.89
FLUSHES_OF_A_MERGE: Final = 4
NIGHT_WRITES: Final = 1  # cells that wait for the night are written once more

LOWER_BOUND_BYTES: Final = 50 * MIB  # hbase.hstore.compaction.throughput.lower.bound, HBase's default
HIGHER_BOUND_FACTOR: Final = 2  # hbase.hstore.compaction.throughput.higher.bound, the ratio of HBase's defaults
FEWEST_FLUSHERS: Final = 2  # hbase.hstore.flusher.count, HBase's default
MOST_FLUSHERS: Final = 16  # judgement: each holds four parts of 64 MiB on the way to S3
LARGE_COMPACTIONS: Final = 1
FEWEST_COMPACTIONS: Final = 2  # one small and one large, HBase's default
MOST_COMPACTIONS_PER_VCPU: Final = 2  # judgement: a compaction uses a core a third of the time; two keep it busy
# judgement: enough for flushes of 128 MiB and a few rounds of merging them; larger files wait for the night.
DAY_LIMIT_BYTES: Final = 2 * GIB
NIGHT_SECONDS: Final = 4 * SECONDS_PER_HOUR
"""The hours in which large compactions run, one at a time on a RegionServer."""
DAY_SECONDS: Final = 24 * SECONDS_PER_HOUR
# judgement: in a simulation of HBase's selection, a store has 11 files at most if the limit is a fifth of a day's
# writes. With a tenth it reaches 15, counts as stuck, and merges the smallest files again and again.
FILES_OF_A_DAY: Final = 5
BLOCKING_STORE_FILES: Final = 16  # HBase's default; EMR documents 10, and stores reach 11 without any trouble
COPIES_OF_A_REGION: Final = 2  # judgement: the files of one compaction hold a cell at most twice


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """The settings of a RegionServer that decide which writes it carries, as they are rendered.

    `amplification` is how often a byte is written to store files with these settings.
    """

    flush_size_bytes: int
    lower_limit: float
    flushers: int
    small_compactions: int
    large_compactions: int
    compaction_lower_bytes: int
    compaction_higher_bytes: int
    night_bytes: int
    day_limit_bytes: int
    blocking_store_files: int
    amplification: float

    @property
    def compactions(self) -> int:
        """Return the number of threads that compact; the one for large compactions takes small ones, too."""
        return self.small_compactions + self.large_compactions


def amplification(flush_bytes: float, flush_size_bytes: float, largest_bytes: float) -> float:
    """How often a byte is written to store files until it lies in one of the largest.

    `flush_bytes` is the store file of one flush. Files that together are smaller than the flush size are merged
    whatever their ratio (`hbase.hstore.compaction.min.size`), and so small flushes are written many times.
    """
    first = max(flush_bytes, flush_size_bytes)
    merges = WRITES_PER_E_FOLD * math.log(max(1.0, largest_bytes / first))
    small = max(0.0, flush_size_bytes / flush_bytes - 1) / FLUSHES_OF_A_MERGE
    return max(LEAST_AMPLIFICATION, FIRST_WRITES + merges + small)


def write_settings(
    share: WriteShare, memstore: Memstore, files: FileWriting, vcpus: int, pins: Pins = NO_PINS
) -> WriteSettings:
    """Return the settings that keep flushes and compactions below the planned utilisation; pins stay as stated."""
    cells, arriving = share.cells, share.cells_per_second / UTILISATION
    flush_cells = memstore.flush_heap_bytes / cells.heap_bytes
    day_limit_bytes, night = day_limit(share, files)
    day_limit_bytes = pins.day_limit_bytes or day_limit_bytes
    written = night + amplification(
        flush_cells * cells.stored_bytes, memstore.flush_size_bytes, min(share.region_bytes, day_limit_bytes)
    )
    flushers = math.ceil(arriving * files.flush_seconds(cells, flush_cells) / flush_cells)
    compactions = math.ceil(arriving * (written - 1) * files.compaction_seconds(cells))
    most = max(FEWEST_COMPACTIONS, MOST_COMPACTIONS_PER_VCPU * vcpus)
    needed_bytes = arriving * (written - 1) * cells.key_value_bytes
    lower = pins.compaction_lower_bytes or max(LOWER_BOUND_BYTES, MIB * math.ceil(needed_bytes / MIB))
    return WriteSettings(
        flush_size_bytes=memstore.flush_size_bytes,
        lower_limit=memstore.lower_limit,
        flushers=pins.flushers or max(FEWEST_FLUSHERS, min(MOST_FLUSHERS, flushers)),
        small_compactions=pins.small_compactions or max(FEWEST_COMPACTIONS, min(most, compactions)) - LARGE_COMPACTIONS,
        large_compactions=pins.large_compactions or LARGE_COMPACTIONS,
        compaction_lower_bytes=lower,
        compaction_higher_bytes=pins.compaction_higher_bytes or HIGHER_BOUND_FACTOR * lower,
        night_bytes=pins.night_bytes or lower,
        day_limit_bytes=day_limit_bytes,
        blocking_store_files=pins.blocking_store_files or BLOCKING_STORE_FILES,
        amplification=written,
    )


def day_limit(share: WriteShare, files: FileWriting) -> tuple[int, int]:
    """Return the largest compaction by day, in whole GiB, and how often cells are written again at night.

    If one compaction at a time cannot merge a day's writes in a night, no cells wait for the night.
    """
    day_cells = share.cells_per_second * DAY_SECONDS
    most = max(DAY_LIMIT_BYTES, GIB * math.ceil(COPIES_OF_A_REGION * share.region_bytes / GIB))
    if day_cells * files.compaction_seconds(share.cells) > NIGHT_SECONDS:
        return most, 0
    day_bytes = day_cells * share.cells.stored_bytes / max(1.0, share.regions)
    return min(most, max(DAY_LIMIT_BYTES, GIB * math.ceil(day_bytes / FILES_OF_A_DAY / GIB))), NIGHT_WRITES
