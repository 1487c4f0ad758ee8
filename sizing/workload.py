"""The data and how it is read: everything the calculator needs to know of an HBase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.block import key_value_bytes
from sizing.inspection import Inspection
from sizing.popularity import BY_TABLE, RowPopularity
from sizing.skew import Spread
from sizing.units import HOURS_PER_DAY

__all__ = ["ClosedLoad", "Load", "OpenLoad", "Reads", "Workload"]

# judgement: nobody states the key in the environment file. 24 bytes of row key (YCSB's are 23), 2 of family
# and 8 of qualifier are 5 % of a 1 KiB cell; a shorter or longer key moves the cache size by less than that.
ROW_KEY_BYTES: Final = 24
FAMILY_BYTES: Final = 2
QUALIFIER_BYTES: Final = 8

LEAST_QUIET: Final = 1e-6  # of the mean rate, because the mixture of tables without any reads is undefined

# judgement: an encoding shortens keys and lengths, not values. PREFIX leaves about half of a key, DIFF and FAST_DIFF
# about a quarter; ROW_INDEX_V1 adds an offset to each row. An inspection replaces this.
ENCODED_KEY_FRACTION: Final = {"NONE": 1.0, "PREFIX": 0.5, "DIFF": 0.25, "FAST_DIFF": 0.25, "ROW_INDEX_V1": 1.05}


class OpenLoad(Struct, frozen=True, kw_only=True):
    """Reads arrive at their own pace, whatever the answer takes: a service with many users.

    `reads_per_second` is the mean of a month; `peak_reads_per_second` is the rate of the busiest hour, if it is known,
    and `peak_hours` is the number of hours per day at that rate.
    """

    reads_per_second: float
    peak_reads_per_second: float | None = None
    peak_hours: float | None = None
    of_peak: bool = False
    """True for a load that is the peak of another one."""

    @property
    def at_peak(self) -> OpenLoad:
        """Return the load of the busiest hour; the load itself if it has no peak."""
        if self.peak_reads_per_second is None:
            return self
        return OpenLoad(reads_per_second=self.peak_reads_per_second, of_peak=True)

    @property
    def quiet_reads_per_second(self) -> float | None:
        """Return the mean rate outside the peak, or the mean if there is no peak; None if its length is unknown."""
        if self.peak_reads_per_second is None:
            return self.reads_per_second
        if self.peak_hours is None:
            return None
        reads = HOURS_PER_DAY * self.reads_per_second - self.peak_hours * self.peak_reads_per_second
        return max(LEAST_QUIET * self.reads_per_second, reads / (HOURS_PER_DAY - self.peak_hours))

    @property
    def outside_peak(self) -> OpenLoad:
        """Return the load outside the peak hours, or that of the busiest hour if its length is unknown."""
        quiet = self.quiet_reads_per_second
        return self.at_peak if quiet is None else OpenLoad(reads_per_second=quiet)


class ClosedLoad(Struct, frozen=True, kw_only=True):
    """A fixed number of requests is always in flight, each sent when one returns: a benchmark's threads."""

    concurrency: int


Load = OpenLoad | ClosedLoad
DIFFERENT: Final = "different"
"""The value of a setting that is not the same in all tables."""


class Reads(Struct, frozen=True, kw_only=True):
    """The load, and what one read asks for: `kind` is get, multi-get or scan, of `rows` rows."""

    load: Load
    kind: str = "get"
    rows: int = 1


class Workload(Struct, frozen=True, kw_only=True):
    """Data and load of one HBase, or of one of its tables. Sizes are means.

    `stored_bytes` is what lies in the HBase root; `cell_bytes` the value of one cell; `row_bytes` what one row's read
    touches, contiguous in one store file; `compression_ratio` bytes before the codec for each byte after; `spread` how
    the reads are spread over the regions. Writes are of values; a client sends `cells_per_put` to a region in one call.
    If there are `tables`, the other values are sums and means over them (`Workload.of`).
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
    cells_per_put: float = 1
    cached: bool = True
    """False for a table whose data blocks HBase does not cache (BLOCKCACHE => 'false')."""
    growth_per_month: float | None = None
    """The fraction by which data, reads and writes grow each month; None if nobody stated it."""
    name: str = ""
    """The name of the table, or `table/family` for one of its families; empty for a workload that is not one table."""
    tables: tuple[Workload, ...] = ()

    @classmethod
    def of(cls, tables: Sequence[Workload]) -> Workload:
        """Return several tables with open loads as one workload: sums of bytes, loads and regions, and means of sizes.

        The mean cell and put are those of the written cells, or of the stored cells if nothing is written. The mean row
        is what a request asks for on average. Each table keeps its own popularity.
        """
        rates = [_mean_rate(table.load) for table in tables]
        stored_bytes = sum(table.stored_bytes for table in tables)
        plain_bytes = sum(table.stored_bytes * table.compression_ratio for table in tables)
        cells = written_cells(tables)
        answer_bytes = sum(
            rate * table.row_bytes * table.reads.rows for rate, table in zip(rates, tables, strict=True)
        ) / sum(rates)
        return cls(
            stored_bytes=stored_bytes,
            block_bytes=round(sum(table.stored_bytes * table.block_bytes for table in tables) / stored_bytes),
            cell_bytes=round(
                sum(table.cell_bytes * count for table, count in zip(tables, cells, strict=True)) / sum(cells)
            ),
            row_bytes=round(answer_bytes),
            codec=_common({table.codec for table in tables}),
            compression_ratio=plain_bytes / stored_bytes,
            encoding=_common({table.encoding for table in tables}),
            reads=Reads(load=_sum_of_loads(tables), kind=_common({table.reads.kind for table in tables})),
            write_bytes_per_second=sum(table.write_bytes_per_second for table in tables),
            popularity=BY_TABLE,
            regions=_regions(tables),
            inspection=None,
            cached=any(table.cached for table in tables),
            cells_per_put=sum(cells)
            / sum(count / table.cells_per_put for table, count in zip(tables, cells, strict=True)),
            tables=tuple(tables),
        )

    @property
    def parts(self) -> tuple[Workload, ...]:
        """Return the tables, or the workload itself if it has none."""
        return self.tables or (self,)

    @property
    def all_cached(self) -> bool:
        """Return whether HBase caches the data blocks of every table."""
        return all(part.cached for part in self.parts)

    @property
    def inspections(self) -> tuple[Inspection, ...]:
        """Return the inspections of all tables that have one."""
        return tuple(part.inspection for part in self.parts if part.inspection is not None)

    @property
    def has_names(self) -> bool:
        """Return whether tables are named, by the environment file or by an inspection."""
        return bool(self.tables or self.inspection)

    def with_load(self, load: OpenLoad) -> Workload:
        """Return the workload with this open load; each table keeps its present share of it."""
        if not self.tables or not isinstance(self.load, OpenLoad):
            return replace(self, reads=replace(self.reads, load=load))
        mean = load.reads_per_second / self.load.reads_per_second
        loads = [table.load for table in self.tables if isinstance(table.load, OpenLoad)]
        peaking = [own for own in loads if own.peak_reads_per_second is not None] or loads
        steady = sum(own.reads_per_second for own in loads if own not in peaking)
        peak = (load.at_peak.reads_per_second - mean * steady) / sum(own.at_peak.reads_per_second for own in peaking)

        def scaled(table: Workload) -> Workload:
            own = table.load
            if not isinstance(own, OpenLoad):
                return table
            rates = own.reads_per_second * mean, own.at_peak.reads_per_second * peak
            has_peak = load.peak_reads_per_second is not None and own in peaking
            own = replace(own, reads_per_second=rates[0], peak_reads_per_second=max(rates) if has_peak else None)
            return replace(table, reads=replace(table.reads, load=own))

        return self.changed(scaled)

    def changed(self, change: Callable[[Workload], Workload]) -> Workload:
        """Return the workload with each of its tables changed."""
        return Workload.of([change(table) for table in self.tables]) if self.tables else change(self)

    @property
    def at_peak(self) -> Workload:
        """Return the workload of the busiest hour, the same one for all tables; the workload itself without a peak."""
        if not isinstance(self.load, OpenLoad) or self.load.at_peak is self.load:
            return self
        return self.changed(_at_peak)

    @property
    def outside_peak(self) -> Workload:
        """Return the workload outside the peaks; a table whose peak has no stated length keeps its peak load."""
        return self.changed(_outside_peak)

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


def _at_peak(table: Workload) -> Workload:
    load = table.load
    return replace(table, reads=replace(table.reads, load=load.at_peak if isinstance(load, OpenLoad) else load))


def _outside_peak(table: Workload) -> Workload:
    load = table.load
    return replace(table, reads=replace(table.reads, load=load.outside_peak if isinstance(load, OpenLoad) else load))


def _mean_rate(load: Load) -> float:
    if isinstance(load, ClosedLoad):
        raise TypeError(
            "several tables can have open loads only, because a closed load does not say which tables it reads"
        )
    return load.reads_per_second


def _sum_of_loads(tables: Sequence[Workload]) -> OpenLoad:
    loads = [table.load for table in tables if isinstance(table.load, OpenLoad)]
    hours = {load.peak_hours for load in loads if load.peak_reads_per_second is not None}
    peaks = [load.at_peak.reads_per_second for load in loads]
    return OpenLoad(
        reads_per_second=sum(load.reads_per_second for load in loads),
        peak_reads_per_second=sum(peaks) if any(load.at_peak is not load for load in loads) else None,
        peak_hours=hours.pop() if len(hours) == 1 else None,
        of_peak=any(load.of_peak for load in loads),
    )


def written_cells(tables: Sequence[Workload]) -> list[float]:
    """Return the cells written to each table per second, or those stored in each if nothing is written to any."""
    if any(table.write_bytes_per_second for table in tables):
        return [table.write_bytes_per_second / table.cell_bytes for table in tables]
    return [table.stored_bytes * table.compression_ratio / table.key_value_bytes for table in tables]


def _regions(tables: Sequence[Workload]) -> int:
    """Return the number of regions of all tables; all families of a table are in the same regions."""
    regions = dict[str, int]()
    for table in tables:
        name, _, _ = table.name.partition("/")
        regions[name] = max(regions.get(name, 0), table.regions)
    return sum(regions.values())


def _common(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else DIFFERENT
