"""One RegionServer from the point of view of writes: how much of each resource a written cell takes.

A cell goes into the write-ahead log on as many nodes as HDFS keeps copies, into the memstore, and from there into store
files: once by its flush, and again by each compaction.

HBase hands its log to the DataNodes without an fsync (`hbase.wal.hsync` is off), so a sync is a trip over the network
and no disk operation; the kernel writes the pages later, in large pieces. S3A keeps each part of an upload in a file
beside the log until it is sent. The network and the copies of the log are arithmetic, not measured.

Source: HBase 2.6.2 AbstractFSWAL, HFileReaderImpl.readBlock (a compaction reads the cache, too), HDFS 3.4 DataNode.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.cells import CellSizes
from sizing.compaction import WriteSettings
from sizing.cost import PUT_BYTES
from sizing.file_writing import FileWriting
from sizing.memstore import Memstore
from sizing.page_reads import PAGE_BYTES, aligned_bytes
from sizing.read import RPC_CPU_SECONDS
from sizing.resource import PARTIAL_PAGES_PER_FILL, Disk, ios_per_fill

__all__ = ["Rates", "WritingServer"]

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


class Rates(Struct, frozen=True, kw_only=True):
    """The bytes and operations that a volume, or all EBS of an instance, sustains in a second."""

    bytes_per_second: float
    ios_per_second: float


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
    def downloaded_bytes(self) -> float:
        """Return the bytes of a cell that compactions read from S3, because the cache does not have them."""
        if self.data_copies:
            return 0.0
        return (self.settings.amplification - 1) * (1 - self.files.cached_fraction) * self.cells.stored_bytes

    @property
    def network_bytes(self) -> float:
        """Return the bytes of a cell in the busier direction of the network."""
        copied = max(0, self.log_copies - 1) * self.cells.log_bytes
        copied += max(0, self.data_copies - 1) * self.settings.amplification * self.cells.stored_bytes
        to_service = 0.0 if self.log_copies else self.cells.log_bytes
        return copied + max(self.cells.key_value_bytes + self.downloaded_bytes, self.uploaded_bytes + to_service)

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
        return self.log_volume_bytes + (self.disk_bytes if self._disk_on_ebs else 0.0)

    @property
    def ebs_ios(self) -> float:
        """Return the operations of a cell on all EBS volumes of a node."""
        return self.log_volume_bytes / LOG_IO_BYTES + (self.disk_ios if self._disk_on_ebs else 0.0)

    @property
    def _disk_on_ebs(self) -> bool:
        return self.disk is not None and self.disk.kind == "ebs"

    @property
    def puts(self) -> float:
        """Return the write requests of a cell to S3."""
        if self.data_copies:
            return 0.0
        files = FILES_PER_FLUSH * self.cells.heap_bytes / self.memstore.flush_heap_bytes
        return self.uploaded_bytes / PUT_BYTES + REQUESTS_PER_FILE * files

    @property
    def compaction_cells_per_second(self) -> float:
        """Return the cells that compactions rewrite in a second: as many as threads can, or HBase's own limit."""
        threads = self.settings.compactions / self.files.compaction_seconds(self.cells)
        return min(threads, self.settings.compaction_higher_bytes / self.cells.key_value_bytes)

    @property
    def flush_seconds(self) -> float:
        """Return how long the flush of one region takes."""
        return self.files.flush_seconds(self.cells, self.flush_cells)

    @property
    def flush_cells(self) -> float:
        """Return the cells of one flush."""
        return self.memstore.flush_heap_bytes / self.cells.heap_bytes
