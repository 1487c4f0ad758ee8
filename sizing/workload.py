"""What is stored and how it is read: everything the calculator needs to know of an HBase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sizing.block import key_value_bytes

__all__ = ["ClosedLoad", "Load", "OpenLoad", "Workload"]

# judgement: nobody states the key in the environment file. 24 bytes of row key (YCSB's are 23), 2 of family
# and 8 of qualifier are 5 % of a 1 KiB cell; a shorter or longer key moves the cache size by less than that.
ROW_KEY_BYTES = 24
FAMILY_BYTES = 2
QUALIFIER_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoad:
    """Reads arrive at their own pace, whatever the answer takes: a service with many users."""

    reads_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoad:
    """A fixed number of requests is always in flight, each sent when one returns: a benchmark's threads."""

    concurrency: int


Load = OpenLoad | ClosedLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Data and load of one HBase. Sizes are means.

    `stored_bytes` is what lies in the HBase root in S3; `cell_bytes` the value of one cell; `row_bytes` what
    one read touches, contiguous in one store file.
    """

    stored_bytes: int
    block_bytes: int
    cell_bytes: int
    row_bytes: int
    load: Load
    write_bytes_per_second: int
    regions: int

    @property
    def key_value_bytes(self) -> int:
        """One serialised cell: the value with its key, as it stands in a block."""
        return key_value_bytes(
            value_bytes=self.cell_bytes,
            row_key_bytes=ROW_KEY_BYTES,
            family_bytes=FAMILY_BYTES,
            qualifier_bytes=QUALIFIER_BYTES,
        )

    def described(self) -> Mapping[str, tuple[float | str, str]]:
        """The load as name, value and unit, for reasons and tables."""
        if isinstance(self.load, OpenLoad):
            return {"offered": (self.load.reads_per_second, "reads/s")}
        return {"concurrency": (self.load.concurrency, "requests in flight")}
