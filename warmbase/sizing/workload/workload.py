"""The data and how it is read: everything the calculator needs to know of an HBase.

`StoredBlocks` are its data blocks: how many there are, how long, how popular, and how many one read touches.

`Regions` says how large regions are, and at which size HBase splits them. Before HBase 2.6.3, a split drops the cached
blocks of the region that splits, so the limit is well above the mean region. Source: HBase 2.6.2 SteppingSplitPolicy
and ConstantSizeRegionSplitPolicy (read in the jar): the limit is 10 GiB by default, and each region draws its own, up
to an eighth above or below it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.block import (
    HEADER_BYTES,
    Inspection,
    LengthHistogram,
    cached_bytes,
    key_value_bytes,
    spread_block_lengths,
)
from warmbase.ground.units import GIB, HOURS_PER_DAY
from warmbase.sizing.workload.popularity import (
    BY_TABLE,
    Popularity,
    RowPopularity,
    Spread,
    block_popularity,
    mixed_popularity,
)
from warmbase.sizing.workload.read import blocks_per_row

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
        loads = [table.load for table in tables if isinstance(table.load, OpenLoad)]
        if len(loads) < len(tables):
            raise TypeError(
                "several tables can have open loads only, because a closed load does not say which tables it reads"
            )
        rates = [load.reads_per_second for load in loads]
        hours = {load.peak_hours for load in loads if load.peak_reads_per_second is not None}
        load = OpenLoad(
            reads_per_second=sum(rates),
            peak_reads_per_second=sum(load.at_peak.reads_per_second for load in loads) if hours else None,
            peak_hours=hours.pop() if len(hours) == 1 else None,
            of_peak=any(load.of_peak for load in loads),
        )
        # All families of a table are in the same regions.
        regions = dict[str, int]()
        for table in tables:
            name, _, _ = table.name.partition("/")
            regions[name] = max(regions.get(name, 0), table.regions)
        stored_bytes = sum(table.stored_bytes for table in tables)
        cells = list(zip(tables, written_cells(tables), strict=True))
        all_cells = sum(count for _, count in cells)
        answers = (rate * table.row_bytes * table.reads.rows for rate, table in zip(rates, tables, strict=True))
        return cls(
            stored_bytes=stored_bytes,
            block_bytes=round(sum(table.stored_bytes * table.block_bytes for table in tables) / stored_bytes),
            cell_bytes=round(sum(table.cell_bytes * count for table, count in cells) / all_cells),
            row_bytes=round(sum(answers) / sum(rates)),
            codec=_common({table.codec for table in tables}),
            compression_ratio=sum(table.stored_bytes * table.compression_ratio for table in tables) / stored_bytes,
            encoding=_common({table.encoding for table in tables}),
            reads=Reads(load=load, kind=_common({table.reads.kind for table in tables})),
            write_bytes_per_second=sum(table.write_bytes_per_second for table in tables),
            popularity=BY_TABLE,
            regions=sum(regions.values()),
            inspection=None,
            cached=any(table.cached for table in tables),
            cells_per_put=all_cells / sum(count / table.cells_per_put for table, count in cells),
            tables=tuple(tables),
        )

    @property
    def parts(self) -> tuple[Workload, ...]:
        """Return the tables, or the workload itself if it has none."""
        return self.tables or (self,)

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

    def _with_loads(self, change: Callable[[OpenLoad], OpenLoad]) -> Workload:
        """Return the workload with each open load changed."""
        return self.changed(
            lambda table: (
                replace(table, reads=replace(table.reads, load=change(table.load)))
                if isinstance(table.load, OpenLoad)
                else table
            )
        )

    @property
    def at_peak(self) -> Workload:
        """Return the workload of the busiest hour, the same one for all tables; the workload itself without a peak."""
        if not isinstance(self.load, OpenLoad) or self.load.at_peak is self.load:
            return self
        return self._with_loads(lambda load: load.at_peak)

    @property
    def outside_peak(self) -> Workload:
        """Return the workload outside the peaks; the workload itself without a peak.

        A table whose peak has no stated length keeps its peak load.
        """
        if not isinstance(self.load, OpenLoad) or self.load.peak_reads_per_second is None:
            return self
        return self._with_loads(lambda load: load.outside_peak)

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


def written_cells(tables: Sequence[Workload]) -> list[float]:
    """Return the cells written to each table per second, or those stored in each if nothing is written to any."""
    if any(table.write_bytes_per_second for table in tables):
        return [table.write_bytes_per_second / table.cell_bytes for table in tables]
    return [table.stored_bytes * table.compression_ratio / table.key_value_bytes for table in tables]


def _common(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else DIFFERENT


CHECKSUM_BYTES: Final = 4  # CRC32C of each chunk of `hbase.hstore.bytes.per.checksum`
CHECKSUM_CHUNK_BYTES: Final = 16_384  # hbase.hstore.bytes.per.checksum
INDEX_KEY_BYTES: Final = ROW_KEY_BYTES + FAMILY_BYTES + QUALIFIER_BYTES + 12
"""A key as an index names it: row, family and qualifier with their lengths, time stamp and type."""
LEAF_INDEX_ENTRY_BYTES: Final = 16  # offset, size and length before each key in a leaf index block
BLOOM_ERROR_RATE: Final = 0.01  # io.storefile.bloom.error.rate
BLOOM_BYTES_PER_ROW: Final = 1.2  # ROW Bloom filter at that error rate
LARGEST_CELL_MULTIPLE: Final = 16  # judgement: a cell that long is rarer than one in a million if sizes are exponential
MOST_LENGTHS: Final = 400  # judgement: of all tables; bucket sizes for more take seconds, and differ by a percent
COUNTS_PER_BLOCK: Final = 1_000  # keeps the proportions of the lengths in a table of few blocks
COMPRESSION_SPREAD: Final = 0.2  # judgement: blocks compress within a fifth of the mean ratio; an inspection says more


class StoredBlocks(Struct, frozen=True, kw_only=True, dict=True):
    """All data blocks under one HBase root, cluster-wide.

    `lengths` are cached lengths (only their proportions count), `longest_bytes` what the largest slot must hold even
    where no block of that length was counted, `payload_bytes` the mean unencoded payload, `on_disk_bytes` the mean
    length in the store file with checksums, `per_read` the mean number of blocks that one read touches, `l1_bytes`
    the indexes and Bloom chunks that go with the blocks.
    """

    count: int
    rows: int
    lengths: LengthHistogram
    longest_bytes: int
    payload_bytes: float
    on_disk_bytes: float
    per_read: float
    l1_bytes: int
    workload: Workload
    tables: tuple[StoredBlocks, ...] = ()
    """The blocks of each table; empty if the workload has no tables."""

    @cached_property
    def cacheable(self) -> StoredBlocks:
        """Return the blocks of the tables that HBase caches, or all blocks if it caches every table or none."""
        if not self.tables:
            return self
        cached = tuple(table for table in self.tables if table.workload.cached)
        if len(cached) in {0, len(self.tables)}:
            return self
        return _mixed(Workload.of([table.workload for table in cached]), cached)

    @property
    def parts(self) -> tuple[StoredBlocks, ...]:
        """Return the blocks of each table, or all blocks if the workload has no tables."""
        return self.tables or (self,)

    @cached_property
    def request_shares(self) -> tuple[float, ...]:
        """Return the share of the requests that each table receives."""
        if not self.tables:
            return (1.0,)
        loads = [table.workload.load for table in self.tables]
        rates = [load.reads_per_second for load in loads if isinstance(load, OpenLoad)]
        return tuple(rate / sum(rates) for rate in rates)

    @cached_property
    def read_shares(self) -> tuple[float, ...]:
        """Return the share of the block reads that each table receives."""
        if not self.tables:
            return (1.0,)
        reads = [share * part.per_read for share, part in zip(self.request_shares, self.tables, strict=True)]
        return tuple(read / sum(reads) for read in reads)

    @cached_property
    def cached_bytes(self) -> float:
        """Mean length of a block in the cache."""
        return self.lengths.mean_bytes

    @cached_property
    def popularity(self) -> Popularity:
        """Return how reads spread over the blocks."""
        if self.tables:
            return mixed_popularity(
                [table.popularity for table in self.tables],
                self.read_shares,
                [table.cached_bytes for table in self.tables],
            )
        return block_popularity(self.workload.popularity, self.count, self.rows / self.count)


def stored_blocks(workload: Workload) -> StoredBlocks:
    """Return the blocks of a workload, from its tables or its inspection if it has any, or else from its settings."""
    if workload.tables:
        return _mixed(workload, tuple(map(stored_blocks, workload.tables)))
    inspection, key_value_bytes = workload.inspection, workload.key_value_bytes
    if inspection is not None:
        plain = inspection.lengths(compressed=False)
        lengths = inspection.lengths(compressed=workload.compressed)
        count, longest_bytes, l1_bytes = plain.blocks, plain.largest_bytes, inspection.l1_bytes
        rows, on_disk_bytes = max(1, inspection.rows), inspection.stored_bytes / count
        payload_bytes = plain.mean_bytes - cached_bytes(0)
    else:
        # This is the ratio of the bytes of an encoded block to those of the plain block.
        encoded_key_bytes = (key_value_bytes - workload.cell_bytes) * ENCODED_KEY_FRACTION[workload.encoding]
        encoded_fraction = (workload.cell_bytes + encoded_key_bytes) / key_value_bytes
        payload_bytes = spread_block_lengths(workload.block_bytes, key_value_bytes).mean_bytes - cached_bytes(0)
        with_header = HEADER_BYTES + payload_bytes * encoded_fraction / workload.compression_ratio
        on_disk_bytes = with_header + CHECKSUM_BYTES * math.ceil(with_header / CHECKSUM_CHUNK_BYTES)
        count = math.ceil(workload.stored_bytes / on_disk_bytes)
        rows = max(1, round(workload.stored_bytes * workload.compression_ratio / workload.row_bytes))
        lengths = spread_block_lengths(
            workload.block_bytes,
            key_value_bytes,
            payload_ratio=encoded_fraction / (workload.compression_ratio if workload.compressed else 1),
            ratio_spread_fraction=COMPRESSION_SPREAD if workload.compressed else 0.0,
        )
        longest_bytes = cached_bytes(workload.block_bytes + LARGEST_CELL_MULTIPLE * key_value_bytes)
        l1_bytes = math.ceil(count * (LEAF_INDEX_ENTRY_BYTES + INDEX_KEY_BYTES) + rows * BLOOM_BYTES_PER_ROW)
    # A read is of one row, of separate rows (multi-get), or of consecutive rows (scan).
    stretches, in_stretch = (1, workload.reads.rows) if workload.reads.kind == "scan" else (workload.reads.rows, 1)
    return StoredBlocks(
        count=count,
        rows=rows,
        lengths=lengths,
        longest_bytes=longest_bytes,
        payload_bytes=payload_bytes,
        on_disk_bytes=on_disk_bytes,
        per_read=stretches * blocks_per_row(workload.row_bytes * in_stretch, key_value_bytes, payload_bytes),
        l1_bytes=l1_bytes,
        workload=workload,
    )


def _mixed(workload: Workload, tables: tuple[StoredBlocks, ...]) -> StoredBlocks:
    """Return the blocks of all tables together, which share every cache."""
    count = sum(table.count for table in tables)
    # Each cached length counts in proportion to the number of blocks of that length in its table.
    counted = Counter[int]()
    for table in tables:
        factor = COUNTS_PER_BLOCK * table.count / table.lengths.blocks
        for length, blocks in table.lengths.pairs:
            counted[length] += max(1, round(factor * blocks))
    lengths = LengthHistogram.of(counted.items())
    if len(lengths.pairs) > MOST_LENGTHS:
        # Neighbouring lengths are merged into the longest of them.
        longest = np.array([length for length, _ in lengths.pairs])
        logs = np.log(longest / longest[0]) / np.log(longest[-1] / longest[0])
        steps = np.floor(logs * (MOST_LENGTHS - 1)).tolist()
        ends = {step: length for step, (length, _) in zip(steps, lengths.pairs, strict=True)}
        pairs = zip(steps, lengths.pairs, strict=True)
        lengths = LengthHistogram.of((ends[step], blocks) for step, (_, blocks) in pairs)
    mixed = StoredBlocks(
        count=count,
        rows=sum(table.rows for table in tables),
        lengths=lengths,
        longest_bytes=max(table.longest_bytes for table in tables),
        payload_bytes=sum(table.count * table.payload_bytes for table in tables) / count,
        on_disk_bytes=sum(table.count * table.on_disk_bytes for table in tables) / count,
        per_read=0.0,
        l1_bytes=sum(table.l1_bytes for table in tables),
        workload=workload,
        tables=tables,
    )
    per_read = sum(share * table.per_read for share, table in zip(mixed.request_shares, tables, strict=True))
    return replace(mixed, per_read=per_read)


DEFAULT_SPLIT_BYTES: Final = 10 * GIB  # hbase.hregion.max.filesize
JITTER_FRACTION: Final = 0.125  # hbase.hregion.max.filesize.jitter is 0.25, from an eighth below to an eighth above
# judgement: a region of 1.75 times the mean does not split, and the daughters of a region at the limit have mean size.
SPLIT_GROWTH: Final = 2.0
# judgement: with five, the fullest server has at most a fifth more than the mean
LEAST_REGIONS: Final = 5


def usual_regions(stored_bytes: int, servers: int) -> int:
    """Return how many regions data usually has: as many as HBase's default limit demands, and enough for the servers.

    The means of fewer regions would be above the limit, so that they would split.
    """
    return max(math.ceil(stored_bytes / DEFAULT_SPLIT_BYTES), servers * LEAST_REGIONS)


class Regions(Struct, frozen=True, kw_only=True):
    """The regions of all tables, with their mean size and the size at which they split.

    If the workload has several tables, the mean is that of the table with the largest regions.
    """

    count: int
    mean_bytes: int
    split_bytes: int

    @classmethod
    def of(cls, workload: Workload, pinned_split_bytes: int | None) -> Regions:
        """Return the regions of a workload; the limit is pinned, or large enough for regions to double."""
        mean_bytes = max(math.ceil(part.stored_bytes / part.regions) for part in workload.parts)
        chosen = max(DEFAULT_SPLIT_BYTES, GIB * math.ceil(SPLIT_GROWTH * mean_bytes / GIB))
        return cls(count=workload.regions, mean_bytes=mean_bytes, split_bytes=pinned_split_bytes or chosen)
