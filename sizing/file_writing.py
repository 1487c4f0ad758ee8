"""How long a thread of a RegionServer takes to write a store file, for a flush or for a compaction."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.cells import CellSizes
from sizing.read import S3_FIRST_BYTE_SECONDS, S3_STREAM_BYTES_PER_SECOND
from sizing.resource import DISK_LATENCY_SECONDS

__all__ = ["FileWriting"]

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
        of_cell = max(sending, self.cpu_seconds(cells)) / self._speed
        return S3_TRIPS_PER_FILE * self.first_byte_seconds + count * of_cell

    def compaction_seconds(self, cells: CellSizes) -> float:
        """Return how long one thread takes to compact a cell: it reads the cell's block, then writes the cell."""
        from_disk = self.cached_fraction * cells.cached_bytes * self.disk_seconds_per_byte
        from_s3 = (1 - self.cached_fraction) * cells.stored_bytes / self.stream_bytes_per_second
        return (from_disk + from_s3 + self.cpu_seconds(cells)) / self._speed

    @property
    def _speed(self) -> float:
        return CACHE_ON_WRITE_FACTOR if self.caches else 1.0
