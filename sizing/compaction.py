"""The threads and limits with which flushes and compactions keep up with the writes; they cost nothing.

HBase does not flush a store with more than `hbase.hstore.blockingStoreFiles` files, and then its region blocks. HBase
limits compactions to a throughput that rises with the number of files from a lower to a higher bound, in bytes of cells
that are neither encoded nor compressed. It lifts the limit only when flushes already wait.

HBase merges files that together are smaller than `hbase.hstore.compaction.min.size` whatever their ratio. That does not
follow the flush size: `hbase-default.xml` says 128 MiB, so the default in the code of CompactionConfiguration, which is
the flush size, never applies.

Source: HBase 2.6.2 PressureAwareCompactionThroughputController, CompactSplit, ExploringCompactionPolicy.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from sizing.cells import WriteShare
from sizing.file_writing import FileWriting
from sizing.inputs import LEAST_AMPLIFICATION, UTILISATION
from sizing.memstore import Memstore
from sizing.pins import NO_PINS, Pins
from sizing.units import GIB, MIB, SECONDS_PER_HOUR

__all__ = ["StoreWrites", "WriteSettings", "day_limit", "has_night", "store_writes", "write_settings"]

# These terms are within 15 % of the amplification of HBase's own selection, simulated for flushes of 1 to 480 MiB and
# regions of 1 to 60 GiB (20 flushes or more) whose cells are overwritten evenly: a flush, and merges by a ratio of 1.2.
FIRST_WRITES: Final = 0.87
WRITES_PER_E_FOLD: Final = 0.89
# Up to four flushes are merged anyway. Below the least size, each flush is then written a quarter of a time for each
# flush that fits.
FLUSHES_OF_A_MERGE: Final = 4
RATIO: Final = 1.2  # hbase.hstore.compaction.ratio of that simulation
FEWEST_FILES: Final = 3  # hbase.hstore.compaction.min of that simulation; EMR's own default is said to be 8
MOST_FILES: Final = 10  # hbase.hstore.compaction.max of that simulation
LARGE_COMPACTION_BYTES: Final = 2_684_354_560
"""`hbase.regionserver.thread.compaction.throttle`: larger compactions run in the threads for large ones."""
NIGHT_WRITES: Final = 0.5  # simulated: the files of a day are merged half a time more at night

LOWER_BOUND_BYTES: Final = 50 * MIB  # hbase.hstore.compaction.throughput.lower.bound, HBase's default
HIGHER_BOUND_FACTOR: Final = 2  # hbase.hstore.compaction.throughput.higher.bound, the ratio of HBase's defaults
FEWEST_FLUSHERS: Final = 2  # hbase.hstore.flusher.count, HBase's default
MOST_FLUSHERS: Final = 16  # judgement: each holds four parts of 64 MiB on the way to S3
LARGE_COMPACTIONS: Final = 1
FEWEST_COMPACTIONS: Final = 2  # one of hbase.regionserver.thread.compaction.small, one of .large
MOST_COMPACTIONS_PER_VCPU: Final = 2  # judgement: a compaction uses a core a third of the time; two keep it busy
# judgement: enough for flushes of 128 MiB and a few rounds of merging them; larger files wait for the night.
DAY_LIMIT_BYTES: Final = 2 * GIB
NIGHT_SECONDS: Final = 4 * SECONDS_PER_HOUR
"""The hours in which large compactions run, one at a time on a RegionServer (HBase 2.6.2, HStore)."""
DAY_SECONDS: Final = 24 * SECONDS_PER_HOUR
# judgement: in a simulation of HBase's selection, a store has 14 files at most if the limit is a quarter of a day's
# writes. With a tenth it reaches 16, counts as stuck, and merges the smallest files again and again.
FILES_OF_A_DAY: Final = 4
BLOCKING_STORE_FILES: Final = 16  # hbase.hstore.blockingStoreFiles; EMR documents 10, and stores reach 14
MOST_MIN_SIZE_BYTES: Final = 128 * MIB  # hbase.hstore.compaction.min.size, HBase's default
# simulated: a store has a third of a file more on average for each file more that a compaction waits for.
FILES_PER_MIN_FILE: Final = 1 / 3
COPIES_OF_A_REGION: Final = 2  # judgement: the files of one compaction hold a cell at most twice


class WriteSettings(Struct, frozen=True, kw_only=True):
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
    min_size_bytes: int
    blocking_store_files: int
    amplification: float

    @property
    def compactions(self) -> int:
        """Return the number of threads that compact; the one for large compactions takes small ones, too."""
        return self.small_compactions + self.large_compactions


class StoreWrites(Struct, frozen=True, kw_only=True):
    """The sizes that decide how often HBase writes a byte to the store files of one region.

    `flush_bytes` is the store file of one flush, `min_size_bytes` is `hbase.hstore.compaction.min.size`, and
    `day_bytes` is what the region receives in a day.
    """

    flush_bytes: float
    min_size_bytes: float
    region_bytes: float
    day_bytes: float = 0.0

    def amplification(self, largest_bytes: float) -> float:
        """Return how often a byte is written to store files until it lies in one of the largest."""
        flushes = max(FLUSHES_OF_A_MERGE, min(self.min_size_bytes, largest_bytes) / self.flush_bytes)
        merged_bytes = self.flush_bytes * flushes / FLUSHES_OF_A_MERGE
        merges = WRITES_PER_E_FOLD * math.log(max(1.0, largest_bytes / merged_bytes))
        return max(LEAST_AMPLIFICATION, FIRST_WRITES + merges + flushes / FLUSHES_OF_A_MERGE - 1)

    def amplification_with_nights(self, day_limit_bytes: float) -> float:
        """Return the same where compactions above the limit wait for the night.

        A night merges what a region has received by day at once, which is less writing than merging it all along.
        """
        whole = self.amplification(self.region_bytes)
        by_day = self.amplification(min(self.region_bytes, day_limit_bytes))
        return min(whole, by_day + self.night_writes(day_limit_bytes))

    def night_writes(self, day_limit_bytes: float) -> float:
        """Return how often a night writes a byte that waited for it."""
        levels = math.log(max(1.0, self.region_bytes / max(self.day_bytes, day_limit_bytes)))
        return NIGHT_WRITES + WRITES_PER_E_FOLD * levels


def more_store_files(min_files: int) -> float:
    """Return how many files more a store has on average if a compaction waits for this many files."""
    return FILES_PER_MIN_FILE * (min_files - FEWEST_FILES)


def write_settings(
    share: WriteShare, memstore: Memstore, files: FileWriting, vcpus: int, pins: Pins = NO_PINS
) -> WriteSettings:
    """Return the settings that keep flushes and compactions below the planned utilisation; pins stay as stated."""
    cells, arriving = share.cells, share.cells_per_second / UTILISATION
    flush_cells = memstore.flush_heap_bytes / cells.heap_bytes
    stored_bytes = flush_cells * cells.stored_bytes
    day_limit_bytes = pins.day_limit_bytes or day_limit(share, files)
    min_size_bytes = pins.min_size_bytes or min(MOST_MIN_SIZE_BYTES, MIB * math.ceil(stored_bytes / MIB))
    written = store_writes(share, stored_bytes, min_size_bytes).amplification_with_nights(day_limit_bytes)
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
        min_size_bytes=min_size_bytes,
        blocking_store_files=pins.blocking_store_files or BLOCKING_STORE_FILES,
        amplification=written,
    )


def store_writes(share: WriteShare, flush_bytes: float, min_size_bytes: int) -> StoreWrites:
    """Return the sizes of the writes to one region of this share."""
    return StoreWrites(
        flush_bytes=flush_bytes,
        min_size_bytes=min_size_bytes,
        region_bytes=share.region_bytes,
        day_bytes=share.cells_per_second * DAY_SECONDS * share.cells.stored_bytes / max(1.0, share.regions),
    )


def has_night(share: WriteShare, files: FileWriting) -> bool:
    """Return whether one compaction at a time merges what waits for a night in time; otherwise nothing waits."""
    writes = max(1.0, store_writes(share, 1.0, 1).night_writes(_night_limit(share)))
    seconds = share.cells_per_second * DAY_SECONDS * writes * files.compaction_seconds(share.cells)
    return seconds <= UTILISATION * NIGHT_SECONDS


def day_limit(share: WriteShare, files: FileWriting) -> int:
    """Return the largest compaction by day, in whole GiB."""
    whole = max(DAY_LIMIT_BYTES, GIB * math.ceil(COPIES_OF_A_REGION * share.region_bytes / GIB))
    return min(whole, _night_limit(share)) if has_night(share, files) else whole


def _night_limit(share: WriteShare) -> int:
    """Return the largest compaction by day where larger ones wait for the night."""
    day_bytes = store_writes(share, 1.0, 1).day_bytes
    return max(DAY_LIMIT_BYTES, GIB * math.ceil(day_bytes / FILES_OF_A_DAY / GIB))
