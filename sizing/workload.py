"""The data and how it is read: everything the calculator needs to know of an HBase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sizing.block import key_value_bytes
from sizing.inspection import Inspection
from sizing.popularity import RowPopularity
from sizing.skew import Spread

__all__ = ["ClosedLoad", "Load", "OpenLoad", "Reads", "Workload"]

# judgement: nobody states the key in the environment file. 24 bytes of row key (YCSB's are 23), 2 of family
# and 8 of qualifier are 5 % of a 1 KiB cell; a shorter or longer key moves the cache size by less than that.
ROW_KEY_BYTES: Final = 24
FAMILY_BYTES: Final = 2
QUALIFIER_BYTES: Final = 8

# judgement: an encoding shortens keys and lengths, not values. PREFIX leaves about half of a key, DIFF and FAST_DIFF
# about a quarter; ROW_INDEX_V1 adds an offset to each row. An inspection replaces this.
ENCODED_KEY_FRACTION: Final = {"NONE": 1.0, "PREFIX": 0.5, "DIFF": 0.25, "FAST_DIFF": 0.25, "ROW_INDEX_V1": 1.05}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoad:
    """Reads arrive at their own pace, whatever the answer takes: a service with many users.

    `reads_per_second` is the mean of a month; `peak_reads_per_second` is the rate of the busiest hour, if it is known.
    """

    reads_per_second: float
    peak_reads_per_second: float | None = None
    of_peak: bool = False
    """True for a load that is the peak of another one."""

    @property
    def at_peak(self) -> OpenLoad:
        """Return the load of the busiest hour; the load itself if it has no peak."""
        if self.peak_reads_per_second is None:
            return self
        return OpenLoad(reads_per_second=self.peak_reads_per_second, of_peak=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoad:
    """A fixed number of requests is always in flight, each sent when one returns: a benchmark's threads."""

    concurrency: int


Load = OpenLoad | ClosedLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The load, and what one read asks for: `kind` is get, multi-get or scan, of `rows` rows."""

    load: Load
    kind: str = "get"
    rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Data and load of one HBase. Sizes are means.

    `stored_bytes` is what lies in the HBase root; `cell_bytes` the value of one cell; `row_bytes` what one row's read
    touches, contiguous in one store file; `compression_ratio` bytes before the codec for each byte after; `spread` how
    the reads are spread over the regions. Writes are of values; a client sends `cells_per_put` to a region in one call.
    """

    stored_bytes: int
    block_bytes: int
    cell_bytes: int
    row_bytes: int
    codec: str
    compression_ratio: float
    encoding: str
    reads: Reads
    write_bytes_per_second: int
    popularity: RowPopularity
    regions: int
    inspection: Inspection | None
    spread: Spread = "hashed"
    cells_per_put: int = 1

    @property
    def load(self) -> Load:
        """Return how reads arrive."""
        return self.reads.load

    @property
    def compressed(self) -> bool:
        """Return whether store files are compressed, and so the cache is, too: hits decompress, and more fits."""
        return self.codec != "none"

    @property
    def key_value_bytes(self) -> int:
        """One serialised cell: the value with its key, as it stands in a block without an encoding."""
        return key_value_bytes(
            value_bytes=self.cell_bytes,
            row_key_bytes=ROW_KEY_BYTES,
            family_bytes=FAMILY_BYTES,
            qualifier_bytes=QUALIFIER_BYTES,
        )

    @property
    def encoded_fraction(self) -> float:
        """Return the bytes of an encoded block over those of the plain one."""
        overhead_bytes = self.key_value_bytes - self.cell_bytes
        return (self.cell_bytes + overhead_bytes * ENCODED_KEY_FRACTION[self.encoding]) / self.key_value_bytes
