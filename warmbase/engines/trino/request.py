"""The question about an analytics cluster: the scans of its queries, its targets, and what a person has decided."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from msgspec import Struct

from warmbase.ground.units import GIB, MIB
from warmbase.sizing.requirements import CoreChoice
from warmbase.sizing.workload.popularity import RowPopularity

__all__ = ["CATALOGS", "CPU_SECONDS_PER_GIB", "Catalog", "QueryTargets", "ScanWorkload", "TrinoChoice"]

Catalog = Literal["hive", "iceberg", "delta"]
"""The connector whose files are cached. Trino before 480 has a cache of its own for each catalog."""
CATALOGS: Final[tuple[Catalog, ...]] = ("hive", "iceberg", "delta")
CPU_SECONDS_PER_GIB: Final = 10.0
"""judgement: a core reads and filters 100 MiB of a compressed columnar file in a second. Trino's own statistics of a
query, CPU time and physical input, give the real value."""
READ_BYTES: Final = 8 * MIB
"""judgement: a column chunk of a row group of 128 MiB with 16 columns."""
FILE_BYTES: Final = 256 * MIB
"""judgement: the usual size to which writers compact; Iceberg's default is 512 MiB."""


class ScanWorkload(Struct, frozen=True, kw_only=True):
    """The queries of an analytics cluster.

    `scanned_bytes` is what a query reads on average, after partitions, files and columns are left out. All queries
    together read `working_set_bytes` over the days for which these should stay cached. Both are bytes of compressed
    files.
    `popularity` is that of the files, of `file_bytes` each. `read_bytes` is the mean length of one contiguous read.
    `peak_queries_per_second` is the rate of the busiest hour. `growth_per_month`, a fraction, is the growth of the
    working set and of the rate of the queries; None if it is not stated.
    """

    working_set_bytes: int
    scanned_bytes: int
    queries_per_second: float
    peak_queries_per_second: float
    popularity: RowPopularity
    file_format: str
    file_bytes: int = FILE_BYTES
    read_bytes: int = READ_BYTES
    cpu_seconds_per_gib: float = CPU_SECONDS_PER_GIB
    growth_per_month: float | None = None

    @property
    def cpu_seconds(self) -> float:
        """Return the core-seconds of one query."""
        return self.scanned_bytes / GIB * self.cpu_seconds_per_gib


class QueryTargets(Struct, frozen=True, kw_only=True):
    """The targets in the busiest hour, which must hold after losing `lost_nodes` workers; None is no target.

    `query_seconds` limits the mean time of a query.
    """

    hit_ratio: float
    query_seconds: float | None
    lost_nodes: int
    budget_usd_per_month: float | None


class TrinoChoice(Struct, frozen=True, kw_only=True):
    """One analytics cluster of an environment, with what a person decided about it.

    `preferred_hosts` is the number of workers that Trino prefers for a file; each of them comes to hold a copy.
    """

    ENGINE: ClassVar[str] = "trino"

    name: str
    workload: ScanWorkload
    targets: QueryTargets
    workers: CoreChoice
    coordinator_type: str | None
    catalog: Catalog
    preferred_hosts: int
    data: tuple[str, ...] = ()
    """The S3 URLs below which the workers read; nothing else of S3 is open to them."""
