"""One RegionServer from the point of view of writes: how much of each resource a written cell takes.

A cell goes into the write-ahead log on as many nodes as HDFS keeps copies, into the memstore, and from there into store
files: once by its flush, and again by each compaction. `FileWriting` is how long a thread takes to write a store file
for either.

HBase hands its log to the DataNodes without an fsync (`hbase.wal.hsync` is off), so a sync is a trip over the network
and no disk operation; the kernel writes the pages later, in large pieces. S3A keeps each part of an upload in a file
beside the log until it is sent. The network and the copies of the log are arithmetic, not measured. Source: HBase 2.6.2
AbstractFSWAL, HFileReaderImpl.readBlock (a compaction reads the cache, too), HDFS 3.4 DataNode.

The memstore holds the cells until they are flushed. HBase counts the heap of a cell, and not only its bytes, towards
the flush size of its region and the memstore of the RegionServer. At the lower limit of the memstore, it flushes the
largest region; at the upper limit, it blocks writes. Source: HBase 2.6.2 HRegion.isFlushSize, MemStoreFlusher.

Threads and limits of flushes and compactions cost nothing, so they are chosen to keep up with the writes. HBase does
not flush a store with more than `hbase.hstore.blockingStoreFiles` files, and then its region blocks. HBase limits
compactions to a throughput that rises with the number of files from a lower to a higher bound, in bytes of cells that
are neither encoded nor compressed. It lifts the limit only when flushes already wait. HBase merges files that together
are smaller than `hbase.hstore.compaction.min.size` whatever their ratio. That does not follow the flush size:
`hbase-default.xml` says 128 MiB, so the default in the code of CompactionConfiguration, which is the flush size, never
applies. Source: HBase 2.6.2 PressureAwareCompactionThroughputController, CompactSplit, ExploringCompactionPolicy.

Writes use up resources, and HBase blocks them beyond some rate. The bound of compactions is the rate at which they fall
behind. HBase blocks only later, in the lab at twice that rate, because one compaction merges more files when more of
them wait.

Every demand is for one byte of values, with sustained limits only, so the limit of a resource is its capacity divided
by its demand. Reads get what the offered writes leave, and writes get what the offered reads leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing.requirements import NO_PINS, Pins
from warmbase.sizing.service.inputs import LEAST_AMPLIFICATION, UTILISATION, CellSizes, WriteShare
from warmbase.sizing.service.resource import (
    DISK_LATENCY_SECONDS,
    DISK_RESOURCES,
    PARTIAL_PAGES_PER_FILL,
    PUT_BYTES,
    Disk,
    Rates,
    Resource,
    ServingCluster,
    bottleneck,
    ios_per_fill,
)
from warmbase.sizing.workload.read import (
    PAGE_BYTES,
    RPC_CPU_SECONDS,
    S3_FIRST_BYTE_SECONDS,
    S3_STREAM_BYTES_PER_SECOND,
    aligned_bytes,
)

# Measured with HBase 2.6.2: a flush to a local disk takes 1 to 3 µs of a core for a cell and 2 to 4 ns for a byte.
# judgement: a compaction also reads, and S3 requires TLS and checksums, so these are the upper ends of both.
CELL_CPU_SECONDS: Final = 2e-6
BYTE_CPU_SECONDS: Final = 5e-9
CODEC_CPU_SECONDS: Final = 5e-9  # judgement: for a byte; zstd compresses some 300 MB/s and decompresses 600 MB/s
# judgement: S3A sends up to four parts of a file at a time (fs.s3a.fast.upload.active.blocks), each at a stream's rate.
UPLOAD_STREAMS: Final = 4
# judgement: to begin and end an upload, to write the tracker's list of files, and to open the new file.
S3_TRIPS_PER_FILE: Final = 5
# A published system lost some 30 % of its write rate to caching on write.
CACHE_ON_WRITE_FACTOR: Final = 0.7


class FileWriting(Struct, frozen=True, kw_only=True):
    """How one thread of a RegionServer writes store files: where it reads, and what it waits for.

    `cached_fraction` is the share of a compaction's input that is in the BucketCache; `caches` is true if its output
    goes there, too. The lab states the rates of its own machine.
    """

    cached_fraction: float
    caches: bool
    first_byte_seconds: float = S3_FIRST_BYTE_SECONDS
    stream_bytes_per_second: float = S3_STREAM_BYTES_PER_SECOND
    disk_seconds_per_byte: float = DISK_LATENCY_SECONDS / 65_536
    compresses: bool = False

    def cpu_seconds(self, cells: CellSizes) -> float:
        """Return the CPU to write one cell to a store file."""
        codec = CODEC_CPU_SECONDS if self.compresses else 0.0
        return CELL_CPU_SECONDS + (BYTE_CPU_SECONDS + codec) * cells.key_value_bytes

    def flush_seconds(self, cells: CellSizes, count: float) -> float:
        """Return how long one thread takes to flush this many cells; it sends their bytes meanwhile."""
        sending = cells.stored_bytes / (UPLOAD_STREAMS * self.stream_bytes_per_second)
        of_cell = max(sending, self.cpu_seconds(cells)) / (CACHE_ON_WRITE_FACTOR if self.caches else 1.0)
        return S3_TRIPS_PER_FILE * self.first_byte_seconds + count * of_cell

    def compaction_seconds(self, cells: CellSizes) -> float:
        """Return how long one thread takes to compact a cell: it reads the cell's block, then writes the cell."""
        from_disk = self.cached_fraction * cells.cached_bytes * self.disk_seconds_per_byte
        from_s3 = (1 - self.cached_fraction) * cells.stored_bytes / self.stream_bytes_per_second
        reading = from_disk + from_s3
        return (reading + self.cpu_seconds(cells)) / (CACHE_ON_WRITE_FACTOR if self.caches else 1.0)


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
MEMSTORES: Final = 1_024  # whose sizes are cached: a search asks for each with every cache


class Memstore(Struct, frozen=True, kw_only=True):
    """The memstore of one RegionServer as it is configured, and the regions that share it."""

    size_bytes: float
    flush_size_bytes: int
    regions: float
    lower_limit: float = LOWER_LIMIT

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


@lru_cache(maxsize=MEMSTORES)
def memstore_bytes(share: WriteShare, files: FileWriting) -> int:
    """Return room for half an hour of one RegionServer's writes, but no more than its regions hold before a flush.

    It is always large enough that writes are not blocked during a flush.
    """
    most_bytes = max(share.regions, FEWEST_REGIONS) * flush_size_bytes(share)
    wanted_bytes = share.heap_bytes_per_second * FLUSH_INTERVAL_SECONDS
    room_bytes = flush_room_bytes(share, files)
    return math.ceil(max(MINIMUM_MEMSTORE_BYTES, room_bytes, min(wanted_bytes, most_bytes)))


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


def night_limit(share: WriteShare, files: FileWriting) -> int | None:
    """Return the size of the largest compaction by day, if larger ones wait for the night; None if none waits.

    One compaction at a time merges what waits, so nothing waits if that would not end in time.
    """
    sizes = store_writes(share, 1.0, 1)
    limit = max(DAY_LIMIT_BYTES, GIB * math.ceil(sizes.day_bytes / FILES_OF_A_DAY / GIB))
    writes = max(1.0, sizes.night_writes(limit))
    seconds = share.cells_per_second * DAY_SECONDS * writes * files.compaction_seconds(share.cells)
    return limit if seconds <= UTILISATION * NIGHT_SECONDS else None


def day_limit(share: WriteShare, files: FileWriting) -> int:
    """Return the largest compaction by day, in whole GiB."""
    whole = max(DAY_LIMIT_BYTES, GIB * math.ceil(COPIES_OF_A_REGION * share.region_bytes / GIB))
    return min(whole, night_limit(share, files) or whole)


# Measured with HBase 2.6.2: a put of one cell takes 28 µs in the region and its log; in batches of a hundred, a cell
# takes 7 µs, and 1 ns for each byte.
EDIT_CPU_SECONDS: Final = 21e-6
PUT_CELL_CPU_SECONDS: Final = 7e-6
PUT_BYTE_CPU_SECONDS: Final = 1e-9
# Measured with HBase 2.6.4 on Hadoop 3.4.2 and AES instructions, docs/lab-hdfs-encryption.md: what encryption adds to a
# byte of each copy, in client and DataNodes together; 0.6 to 1.6 ns by HBase's log writer and by HDFS's pipeline. For
# a sync of 2 KiB, the cost is within the spread of the measurements, so the plan has no constant for it.
ENCRYPTED_BYTE_CPU_SECONDS: Final = 1e-9
CHECKSUM_CHUNK_BYTES: Final = 512  # dfs.bytes-per-checksum
CHECKSUM_FRACTION: Final = 4 / CHECKSUM_CHUNK_BYTES  # HDFS adds 4 bytes to each chunk
# judgement: half of what EBS takes as one operation, because the log's checksums are in a second file.
LOG_IO_BYTES: Final = 128 * 1024
# Measured with this kernel's settings, and scaled: parts exist twice as long as the log's pages may wait in memory, and
# 86 % of them reach the disk before they are deleted.
UPLOADS_ON_DISK: Final = 0.86
# judgement: to begin and end an upload, two for the tracker, and a copy and a delete when the file goes to the archive.
REQUESTS_PER_FILE: Final = 6
FILES_PER_FLUSH: Final = 1.5  # a compaction makes one file of at least three, and a file of these again


class WritingServer(Struct, frozen=True, kw_only=True):
    """One RegionServer from the point of view of writes. The lab states the rates of its own machine.

    `log` is the volume that holds the log but no data, or None; the cluster's volumes hold `log_copies` of the log,
    none if a service keeps it. `data_copies` is 0 for store files in S3. `disk` holds the cache or the data; if it is
    on EBS, it shares the rates of `ebs`, which the instance sustains, with the log.
    """

    cells: CellSizes
    memstore: Memstore
    settings: WriteSettings
    files: FileWriting
    vcpus: float
    network_bytes_per_second: float
    ebs: Rates
    disk: Disk | None
    log: Rates | None
    log_copies: int
    data_copies: int = 0
    block_bytes: int = 65_536
    encrypts_hdfs: bool = False

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU that a cell takes: its put, its flush and its compactions."""
        cells = self.cells
        call = (RPC_CPU_SECONDS + EDIT_CPU_SECONDS) / cells.per_put
        put = PUT_CELL_CPU_SECONDS + PUT_BYTE_CPU_SECONDS * cells.key_value_bytes
        return call + put + self.settings.amplification * self.files.cpu_seconds(cells) + self.encryption_cpu_seconds

    @property
    def encryption_cpu_seconds(self) -> float:
        """Return the CPU that encrypts and decrypts a cell on its way to the copies of log and store files in HDFS."""
        if not self.encrypts_hdfs:
            return 0.0
        written = self.data_copies * self.settings.amplification * self.cells.stored_bytes
        return (self.log_copies * self.cells.log_bytes + written) * ENCRYPTED_BYTE_CPU_SECONDS

    @property
    def uploaded_bytes(self) -> float:
        """Return the bytes of a cell that go to S3, in its flush and its compactions."""
        return 0.0 if self.data_copies else self.settings.amplification * self.cells.stored_bytes

    @property
    def network_bytes(self) -> float:
        """Return the bytes of a cell in the busier direction of the network."""
        copied = max(0, self.log_copies - 1) * self.cells.log_bytes
        copied += max(0, self.data_copies - 1) * self.settings.amplification * self.cells.stored_bytes
        to_service = 0.0 if self.log_copies else self.cells.log_bytes
        # Compactions read the blocks that are not in the cache from S3.
        compacted = 0.0 if self.data_copies else self.settings.amplification - 1
        downloaded = compacted * (1 - self.files.cached_fraction) * self.cells.stored_bytes
        return copied + max(self.cells.key_value_bytes + downloaded, self.uploaded_bytes + to_service)

    @property
    def log_bytes(self) -> float:
        """Return the bytes of a cell in all copies of the log on this cluster."""
        return self.log_copies * self.cells.log_bytes * (1 + CHECKSUM_FRACTION)

    @property
    def log_volume_bytes(self) -> float:
        """Return the bytes of a cell that go to the volume of the log: its copies, and the parts of uploads."""
        uploads = UPLOADS_ON_DISK * self.uploaded_bytes
        return uploads + (self.log_bytes if self.log is not None else 0.0)

    @property
    def disk_bytes(self) -> float:
        """Return the bytes of a cell that are read from and written to the disk of cache or data."""
        written, compacted = self.settings.amplification, self.settings.amplification - 1
        if self.data_copies:
            return (written * self.data_copies + compacted) * self.cells.stored_bytes + self.log_bytes
        fill = (aligned_bytes(self.block_bytes) + PARTIAL_PAGES_PER_FILL * PAGE_BYTES) / self.block_bytes
        return self.cells.cached_bytes * (written * self.files.caches * fill + compacted * self.files.cached_fraction)

    @property
    def disk_ios(self) -> float:
        """Return the operations of a cell on that disk: whole blocks in the cache, long stretches in HDFS."""
        if self.disk is None or self.data_copies:
            return self.disk_bytes / LOG_IO_BYTES
        fill = ios_per_fill(self.block_bytes, self.disk.kind)
        written, compacted = self.settings.amplification, self.settings.amplification - 1
        read = compacted * self.files.cached_fraction * (fill - PARTIAL_PAGES_PER_FILL)
        return self.cells.cached_bytes / self.block_bytes * (written * self.files.caches * fill + read)

    @property
    def ebs_bytes(self) -> float:
        """Return the bytes of a cell on all EBS volumes of a node."""
        return self.log_volume_bytes + (self.disk_bytes if self.disk and self.disk.kind == "ebs" else 0.0)

    @property
    def ebs_ios(self) -> float:
        """Return the operations of a cell on all EBS volumes of a node."""
        of_disk = self.disk_ios if self.disk and self.disk.kind == "ebs" else 0.0
        return self.log_volume_bytes / LOG_IO_BYTES + of_disk

    @property
    def flush_cells(self) -> float:
        """Return the cells of one flush."""
        return self.memstore.flush_heap_bytes / self.cells.heap_bytes


# Amazon S3 User Guide, "Optimizing performance": at least 3,500 PUT, COPY, POST or DELETE a second for each prefix.
S3_PUTS_PER_SECOND_PER_PREFIX: Final = 3_500
LEAST_FREE_FRACTION: Final = 0.01  # the share that is left at least, so that none is negative


class WriteResource(Struct, frozen=True, kw_only=True):
    """One thing that writes use up: the reads leave `capacity` of it, and each byte takes its demand."""

    name: str
    capacity: float
    unit: str
    demand_per_byte: float

    @property
    def max_bytes_per_second(self) -> float:
        """Return the bytes of values a second that use up this resource; infinite if writes need none."""
        return self.capacity / self.demand_per_byte if self.demand_per_byte > 0 else inf


class Writes(Struct, frozen=True, kw_only=True):
    """The offered writes, in bytes of values, and the writes that the cluster carries beside its reads."""

    offered_bytes_per_second: float
    saturation_bytes_per_second: float
    bottleneck: str
    settings: WriteSettings
    resources: tuple[WriteResource, ...]
    encryption_cpu_fraction: float = 0.0
    """The share of the CPU of a written cell that encrypts what HDFS transfers of it."""


def write_resources(
    server: WritingServer, servers: int, reads: Mapping[str, float] | None = None
) -> tuple[WriteResource, ...]:
    """Return every resource that writes to this many servers use, in the order in which a cell reaches them.

    `reads` is how much of a shared resource the reads use, by name.
    """

    def row(name: str, per_server: float, unit: str, demand_of_cell: float) -> WriteResource:
        capacity = servers * per_server - (reads or {}).get(name, 0.0)
        return WriteResource(
            name=name, capacity=max(0.0, capacity), unit=unit, demand_per_byte=demand_of_cell / server.cells.value_bytes
        )

    rows = [
        row("cpu", server.vcpus, "core", server.cpu_seconds),
        row("network", server.network_bytes_per_second, "B/s", server.network_bytes),
    ]
    if server.log is not None:
        rows += [
            row("log-throughput", server.log.bytes_per_second, "B/s", server.log_volume_bytes),
            row("log-iops", server.log.ios_per_second, "IO/s", server.log_volume_bytes / LOG_IO_BYTES),
        ]
    if server.disk is not None:
        throughput, iops = DISK_RESOURCES[server.disk.kind]
        rows += [
            row(throughput, server.disk.bytes_per_second, "B/s", server.disk_bytes),
            row(iops, server.disk.ios_per_second, "IO/s", server.disk_ios),
        ]
    settings, memstore, cells = server.settings, server.memstore, server.cells
    # A flush frees the heap of its cells. From the lower limit of the memstore to the upper one, which blocks, there is
    # room for the writes that arrive meanwhile.
    flush_seconds = server.files.flush_seconds(cells, server.flush_cells)
    room_bytes = (1 - memstore.lower_limit) * memstore.size_bytes
    # Compactions rewrite as many cells as their threads can, or HBase's own limit; the thread for large ones takes
    # small ones, too.
    threads = (settings.small_compactions + settings.large_compactions) / server.files.compaction_seconds(cells)
    compacted = min(threads, settings.compaction_higher_bytes / cells.key_value_bytes)
    rows += [
        row("instance-ebs-throughput", server.ebs.bytes_per_second, "B/s", server.ebs_bytes),
        row("instance-ebs-iops", server.ebs.ios_per_second, "IO/s", server.ebs_ios),
        row("memstore", room_bytes, "B", cells.heap_bytes * flush_seconds),
        row("flushes", settings.flushers * server.flush_cells / flush_seconds, "cells/s", 1.0),
        row("compactions", compacted, "cells/s", settings.amplification - 1),
    ]
    if not server.data_copies:
        files = FILES_PER_FLUSH * cells.heap_bytes / memstore.flush_heap_bytes
        requests = server.uploaded_bytes / PUT_BYTES + REQUESTS_PER_FILE * files
        rows.append(row("s3-puts", S3_PUTS_PER_SECOND_PER_PREFIX / servers, "PUT/s", requests))
    return tuple(rows)


def blocking_resource(resources: Iterable[WriteResource]) -> WriteResource:
    """Return the resource with the lowest limit, at which HBase begins to block writes; the first of equals."""
    return min(resources, key=attrgetter("max_bytes_per_second"))


def write_load(
    server: WritingServer, servers: int, bytes_per_second: float, reads: Sequence[Resource], reads_per_second: float
) -> Writes:
    """Return the writes on this many servers, which also serve the offered reads, or as many as the writes leave."""
    served = min(reads_per_second, bottleneck(reads).max_reads_per_second)
    used = dict[str, float]()
    for resource in reads:
        used[resource.name] = served * resource.demand_per_read
        if resource.name.startswith("ebs-"):
            used[f"instance-{resource.name}"] = used[resource.name]
    resources = write_resources(server, servers, used)
    limit = blocking_resource(resources)
    return Writes(
        offered_bytes_per_second=bytes_per_second,
        saturation_bytes_per_second=limit.max_bytes_per_second,
        bottleneck=limit.name,
        settings=server.settings,
        resources=resources,
        encryption_cpu_fraction=server.encryption_cpu_seconds / server.cpu_seconds,
    )


def without_writes(cluster: ServingCluster, server: WritingServer, bytes_per_second: float) -> ServingCluster:
    """Return the cluster that is left for reads after this many bytes of values a second in the whole cluster.

    Its disk lacks the cache's writes, and has no more than the log leaves of the instance's EBS throughput.
    """
    cells, disk = bytes_per_second / server.cells.value_bytes / cluster.servers, cluster.disk
    if disk is not None:
        most_bytes = most_ios = math.inf
        if disk.kind == "ebs":
            most_bytes = rest(server.ebs.bytes_per_second, cells * server.ebs_bytes)
            most_ios = rest(server.ebs.ios_per_second, cells * server.ebs_ios)
        written_bytes, written_ios = cells * server.disk_bytes, cells * server.disk_ios
        disk = replace(
            disk,
            bytes_per_second=min(rest(disk.bytes_per_second, written_bytes), most_bytes),
            ios_per_second=min(rest(disk.ios_per_second, written_ios), most_ios),
            one_bytes_per_second=min(rest(disk.one_bytes_per_second, written_bytes), most_bytes),
            one_ios_per_second=min(rest(disk.one_ios_per_second, written_ios), most_ios),
        )
    return replace(
        cluster,
        vcpus=rest(cluster.vcpus, cells * server.cpu_seconds),
        network_gbit_per_second=rest(1.0, cells * server.network_bytes / server.network_bytes_per_second)
        * cluster.network_gbit_per_second,
        disk=disk,
    )


def rest(whole: float, used: float) -> float:
    """Return the part of a resource that writes leave, which is never nothing."""
    return max(LEAST_FREE_FRACTION * whole, whole - used)
