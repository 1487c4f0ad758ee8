"""How long rows are offline after a RegionServer crashes and does not return, as on a node that EMR replaces.

The lab's crash scenario measures the phases on HBase 2.6.2: ZooKeeper ends the session, the master splits the log and
waits for the server until the retention window ends, and survivors open the regions. If the server had `hbase:meta`,
the master first waits for that table in the same way, and assigns nothing else meanwhile.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from msgspec import Struct

from sizing.restart import S3_TRIPS_PER_REGION
from sizing.units import MIB

# judgement: the log is read from HDFS, sorted by region, written again and replayed, at tens of MiB/s in all.
SPLIT_BYTES_PER_SECOND: Final = 20 * MIB
SPLIT_START_SECONDS: Final = 2.0  # judgement: the log of a few seconds is split in a second or two


class Crash(Struct, frozen=True, kw_only=True):
    """The quantities of the dead server and of the others that decide how long rows are offline."""

    session_seconds: float
    retention_seconds: float
    unflushed_bytes: float
    regions_of_survivor: float
    open_region_threads: int
    s3_trip_seconds: float


class Offline(Struct, frozen=True, kw_only=True):
    """The phases during which the rows of a server that never returns are offline."""

    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    meta_seconds: float

    @property
    def seconds(self) -> float:
        """Return the sum of the phases, if `hbase:meta` was elsewhere."""
        return self.detection_seconds + self.split_seconds + self.retention_seconds + self.opening_seconds


def offline(crash: Crash) -> Offline:
    """Return the phases after a crash; if the server had `hbase:meta`, they last `meta_seconds` longer."""
    trips = S3_TRIPS_PER_REGION * crash.s3_trip_seconds
    return Offline(
        detection_seconds=crash.session_seconds,
        split_seconds=SPLIT_START_SECONDS + crash.unflushed_bytes / SPLIT_BYTES_PER_SECOND,
        retention_seconds=crash.retention_seconds,
        opening_seconds=ceil(crash.regions_of_survivor / crash.open_region_threads) * trips,
        meta_seconds=crash.retention_seconds + trips,
    )
