"""How long it takes to copy HBase's data to files that Trino reads, and what that costs.

Hive's HBaseStorageHandler reads the store files of a snapshot in S3 and writes a Parquet or Iceberg table with one
INSERT, without a RegionServer. A cluster of its own does that, so that HBase's caches and CPUs are left alone.
Source: Apache Hive manual, HBaseIntegration (hive.hbase.snapshot.name); HBase reference guide,
TableSnapshotInputFormat.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.engines.trino.workers import Workers
from sizing.prices import PriceTable
from sizing.units import SECONDS_PER_HOUR

__all__ = ["Export", "export"]

# judgement: a core decodes the cells of store files and writes them as Parquet at this rate; nobody measured it here.
EXPORT_BYTES_PER_CORE_SECOND: Final = 20e6


class Export(Struct, frozen=True, kw_only=True):
    """A copy of HBase's data as Parquet, read from a snapshot by a cluster of as many nodes of the workers' type."""

    stored_bytes: int
    hours: float
    usd: float


def export(stored_bytes: int, workers: Workers, prices: PriceTable) -> Export:
    """Return the time and the price of the nodes that copy so many bytes of store files."""
    cores = workers.count * workers.instance.vcpus
    hours = stored_bytes / (cores * EXPORT_BYTES_PER_CORE_SECOND) / SECONDS_PER_HOUR
    usd = hours * workers.count * prices.compute[workers.instance.name].usd_per_hour
    return Export(stored_bytes=stored_bytes, hours=hours, usd=usd)
