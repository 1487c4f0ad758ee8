"""The cost of keeping the index of a BucketCache on disk, so that a restart finds its blocks again.

HBase rewrites the whole index every `hbase.bucketcache.persist.intervalinmillis` if anything changed, so the
interval trades what a crash forgets against the share of time and of the cache volume that dumping takes.
"""

from enum import Enum
from math import ceil
from typing import Final

from msgspec import Struct

from sizing.index_file import FILE_NAME_CHARACTERS, INDEX_BYTES_PER_BLOCK

# From 2.6.5 an entry also carries region and family: about 36 bytes more.
REGION_AND_FAMILY_BYTES_PER_BLOCK: Final = 36
# Measured with HBase 2.6.2: 0.5 to 2.4 µs a block, by collector and load.
DUMP_SECONDS_PER_BLOCK: Final = 2.4e-6
# Measured with HBase 2.6.2: heap of one chunk while it is serialised.
CHUNK_HEAP_BYTES_PER_BLOCK: Final = 200
# The default of 10,000,000 blocks would hold 2 GB of heap; a tenth holds 200 MB.
CHUNK_BLOCKS: Final = 1_000_000
# The default of 1,000 ms makes the dump of a large cache continuous; five to fifteen minutes do not.
SHORTEST_INTERVAL_MS: Final = 300_000
LONGEST_INTERVAL_MS: Final = 900_000
MINUTE_MS: Final = 60_000
# judgement: dumping keeps one thread busy; one minute in twenty of one core among eight or more is not
# noticed.
DUMP_TIME_FRACTION: Final = 0.05
# HBase's own HBASE_STOP_TIMEOUT, after which hbase-daemon.sh kills: for flushing and closing regions.
STOP_SECONDS: Final = 1_200
# A stop writes the index before it closes regions, and may find another dump at work.
DUMPS_OF_STOP: Final = 2
# HBase writes a temporary file beside the old index and renames it.
COPIES_ON_DISK: Final = 2


class IndexFormat(Enum):
    """How an HBase version writes the index; neither reads the other, so crossing them starts cold."""

    UNTIL_2_6_4 = "until-2.6.4"
    FROM_2_6_5 = "from-2.6.5"


class Persistence(Struct, frozen=True, kw_only=True):
    """The persisted index of one RegionServer; `dump_seconds` at worst, `dump_fraction` = its share of time.

    `stop_timeout_seconds`: how long a stop may take before the server is killed, and what it had cached is lost.
    `dump_fraction` is above what was asked for when the longest interval is still too short: that wants a
    warning. `file_bytes` is what the disk must have room for, `write_bytes_per_second` what dumping takes
    from the volume.
    """

    interval_ms: int
    chunk_blocks: int
    chunk_heap_bytes: int
    index_bytes: int
    file_bytes: int
    dump_seconds: float
    dump_fraction: float
    write_bytes_per_second: float
    stop_timeout_seconds: int


def index_bytes(blocks: int, index_format: IndexFormat, name_characters: int = FILE_NAME_CHARACTERS) -> int:
    """Size of the index file of that many cached blocks, for store file names of that many characters."""
    return ceil(blocks * index_bytes_per_block(index_format, name_characters))


def index_bytes_per_block(index_format: IndexFormat, name_characters: int = FILE_NAME_CHARACTERS) -> float:
    """Mean length of one entry of the index file."""
    per_block = INDEX_BYTES_PER_BLOCK + max(0, name_characters - FILE_NAME_CHARACTERS)
    return per_block + (REGION_AND_FAMILY_BYTES_PER_BLOCK if index_format is IndexFormat.FROM_2_6_5 else 0)


def dump_seconds(blocks: int, file_bytes: int, disk_bytes_per_second: float) -> float:
    """Time of one dump at worst: serialising, or writing when the volume is slower."""
    return max(blocks * DUMP_SECONDS_PER_BLOCK, file_bytes / disk_bytes_per_second)


def chunk_heap_bytes(blocks: int) -> int:
    """Return the heap that one chunk of a dump takes."""
    return CHUNK_HEAP_BYTES_PER_BLOCK * min(blocks, CHUNK_BLOCKS)


def interval_ms(seconds: float) -> int:
    """Whole minutes between dumps such that dumping takes a twentieth of the time at most."""
    wanted_ms = ceil(seconds * 1000 / DUMP_TIME_FRACTION / MINUTE_MS) * MINUTE_MS
    return min(LONGEST_INTERVAL_MS, max(SHORTEST_INTERVAL_MS, wanted_ms))


def persistence(blocks: int, disk_bytes_per_second: float, index_format: IndexFormat) -> Persistence:
    """Return settings and cost of the persisted index of one RegionServer that caches `blocks` blocks."""
    size = index_bytes(blocks, index_format)
    seconds = dump_seconds(blocks, size, disk_bytes_per_second)
    interval = interval_ms(seconds)
    return Persistence(
        interval_ms=interval,
        chunk_blocks=CHUNK_BLOCKS,
        chunk_heap_bytes=chunk_heap_bytes(blocks),
        index_bytes=size,
        file_bytes=COPIES_ON_DISK * size,
        dump_seconds=seconds,
        dump_fraction=seconds * 1000 / interval,
        write_bytes_per_second=size * 1000 / interval,
        stop_timeout_seconds=STOP_SECONDS + ceil(DUMPS_OF_STOP * seconds),
    )
