"""How long the rows of a RegionServer are offline that crashes and does not return, as a replaced node never does.

The lab's crash scenario measures the phases on HBase 2.6.2: ZooKeeper ends the session, the master splits the log and
waits for the server as long as retention says, and survivors open the regions. If `hbase:meta` was there, the master
first waits for it in the same way, and assigns nothing else meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from sizing.restart import S3_TRIPS_PER_REGION
from sizing.units import MIB

# judgement: a log is read from HDFS, sorted by region, written again and replayed: tens of MiB/s for all of that.
SPLIT_BYTES_PER_SECOND: Final = 20 * MIB
SPLIT_START_SECONDS: Final = 2.0  # judgement: a log of seconds is split in a second or two


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The quantities that decide how long rows are offline: of the dead server, and of one that opens its regions."""

    session_seconds: float
    retention_seconds: float
    unflushed_bytes: float
    regions_of_survivor: float
    open_region_threads: int
    s3_trip_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Offline:
    """The phases in which the rows of a server that never comes back are offline."""

    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    meta_seconds: float

    @property
    def seconds(self) -> float:
        """Return all phases, one after the other, where `hbase:meta` was elsewhere."""
        return self.detection_seconds + self.split_seconds + self.retention_seconds + self.opening_seconds


def offline(crash: Crash) -> Offline:
    """Return the phases after a crash; `meta_seconds` come on top where `hbase:meta` was on the server."""
    trips = S3_TRIPS_PER_REGION * crash.s3_trip_seconds
    return Offline(
        detection_seconds=crash.session_seconds,
        split_seconds=SPLIT_START_SECONDS + crash.unflushed_bytes / SPLIT_BYTES_PER_SECOND,
        retention_seconds=crash.retention_seconds,
        opening_seconds=ceil(crash.regions_of_survivor / crash.open_region_threads) * trips,
        meta_seconds=crash.retention_seconds + trips,
    )
