"""The inputs that all candidates share: the requirements, the world, the blocks, the read, and the cells of the writes.

`CellSizes` are the sizes of a cell in each place where HBase keeps it; `WriteShare` is what one RegionServer receives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.values import memoized
from warmbase.sizing.cache.bucket_cache import CacheDemand
from warmbase.sizing.modes import Mode
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.workload.popularity import Imbalance, RegionLoads, imbalance
from warmbase.sizing.workload.read import BlockRead, Read, Timings, block_cpu_seconds, mean_block_read
from warmbase.sizing.workload.workload import OpenLoad, Regions, StoredBlocks, Workload, stored_blocks, written_cells

# Measured with HBase 2.6.2 and references of 8 bytes: 102 to 106 bytes beside its key and value, by HBase's own count
# and on the heap: the cell, its buffer's slice, a node of the skip list and its share of the list's index.
CELL_HEAP_BYTES: Final = 106
# Measured with HBase 2.6.2: a log of single cells has 55 bytes for each beside key and value, one of batches of 100
# cells 4.5: 51 bytes for an edit, and 4 for a cell.
LOG_EDIT_BYTES: Final = 51
LOG_CELL_BYTES: Final = 4


class CellSizes(Struct, frozen=True, kw_only=True):
    """The mean cell that is written: its value, and its bytes as a KeyValue, in a store file, and in the cache.

    A client writes `per_put` cells in one call to a region.
    """

    value_bytes: float
    key_value_bytes: float
    stored_bytes: float
    cached_bytes: float
    per_put: float = 1

    @classmethod
    def of(cls, blocks: StoredBlocks) -> CellSizes:
        """Return the cells of a workload; written cells are encoded and compressed as the stored ones are.

        For several tables, the sizes are means over the written cells, or over the stored cells if nothing is written.
        """
        workload, cells = blocks.workload, list(map(cls.of, blocks.tables))
        if cells:
            counts = written_cells(workload.tables)
            return cls(
                value_bytes=_mean(counts, [cell.value_bytes for cell in cells]),
                key_value_bytes=_mean(counts, [cell.key_value_bytes for cell in cells]),
                stored_bytes=_mean(counts, [cell.stored_bytes for cell in cells]),
                cached_bytes=_mean(counts, [cell.cached_bytes for cell in cells]),
                per_put=1 / _mean(counts, [1 / cell.per_put for cell in cells]),
            )
        blocks_per_cell = workload.key_value_bytes / blocks.payload_bytes
        return cls(
            value_bytes=workload.cell_bytes,
            key_value_bytes=workload.key_value_bytes,
            stored_bytes=blocks_per_cell * blocks.on_disk_bytes,
            cached_bytes=blocks_per_cell * blocks.cached_bytes,
            per_put=workload.cells_per_put,
        )

    @property
    def heap_bytes(self) -> float:
        """Return the heap that the memstore counts for a cell."""
        return self.key_value_bytes + CELL_HEAP_BYTES

    @property
    def log_bytes(self) -> float:
        """Return the bytes of one copy of the cell in the write-ahead log."""
        return self.key_value_bytes + LOG_CELL_BYTES + LOG_EDIT_BYTES / self.per_put


class WriteShare(Struct, frozen=True, kw_only=True):
    """One RegionServer's share of the writes, in cells per second, spread evenly over its regions.

    `region_bytes` is what one region stores.
    """

    cells: CellSizes
    cells_per_second: float
    regions: float
    region_bytes: float

    @classmethod
    def of(cls, blocks: StoredBlocks, bytes_per_second: float, regions: float) -> WriteShare:
        """Return the share of a RegionServer that receives this many bytes a second in this many regions."""
        workload, cells = blocks.workload, CellSizes.of(blocks)
        return cls(
            cells=cells,
            cells_per_second=bytes_per_second / cells.value_bytes,
            regions=regions,
            region_bytes=max(part.stored_bytes / part.regions for part in workload.parts),
        )

    @property
    def heap_bytes_per_second(self) -> float:
        """Return how fast the memstore fills."""
        return self.cells_per_second * self.cells.heap_bytes


LEAST_AMPLIFICATION: Final = 2.0
"""judgement: a cell is written at least by its flush and by one compaction, even in a table of a few megabytes."""

UTILISATION: Final = 0.70
"""judgement: an M/M/1 queue at 70 % answers in 3.3 times its service time; above that latency runs away."""


class TableRead(Struct, frozen=True, kw_only=True):
    """One read of a table: its `share` of all requests, what it reads, and its CPU time.

    `name` is empty if the workload has no tables. `kind` is get, multi-get or scan, of `rows` rows.
    """

    name: str
    share: float
    read: Read
    kind: str
    rows: int
    timings: Timings


class SizingInputs(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """The requirements, with what every candidate shares. They are compared by identity, as a fast key of a cache."""

    requirements: Requirements
    world: World
    demand: CacheDemand

    @classmethod
    def new(cls, requirements: Requirements, world: World) -> SizingInputs:
        """Count the blocks of the workload, and choose the bucket sizes that suit them.

        Without a BucketCache, `cache: false` makes no difference, so all tables are then treated alike.
        """
        if not requirements.mode.has_bucket_cache:
            workload = requirements.workload.changed(lambda table: replace(table, cached=True))
            requirements = replace(requirements, workload=workload)
        demand = CacheDemand.of(stored_blocks(requirements.workload), world.release)
        return cls(requirements=requirements, world=world, demand=demand)

    @property
    def mode(self) -> Mode:
        """Return the storage mode of the cluster."""
        return self.requirements.mode

    @property
    def regions(self) -> Regions:
        """Return the regions, with the size at which they split."""
        return Regions.of(self.requirements.workload, self.requirements.pins.split_bytes)

    @property
    def written_bytes_per_second(self) -> float:
        """Return the least that flushes and compactions write to all cache volumes, or to HDFS."""
        cells = CellSizes.of(self.demand.blocks)
        written = self.requirements.workload.write_bytes_per_second / cells.value_bytes
        return written * cells.stored_bytes * LEAST_AMPLIFICATION * self.mode.data_copies

    @cached_property
    def read(self) -> Read:
        """Return one read of the workload; for several tables, the mean request.

        A block that misses the cache has the mean length in S3 of the blocks that miss at the target hit ratio.
        """
        blocks, tables = self.demand.blocks, self.table_reads
        if len(tables) == 1:
            return tables[0].read
        ratios = self.table_hit_ratios(self.requirements.targets.hit_ratio if self.mode.has_bucket_cache else 0.0)
        missing = [share * (1 - ratio) for share, ratio in zip(blocks.read_shares, ratios, strict=True)]
        missing = missing if sum(missing) > 0 else list(blocks.read_shares)
        disk = [table.read.of_disk for table in tables]
        cached = [share * table.read.cacheable for share, table in zip(blocks.read_shares, tables, strict=True)]
        cacheable = sum(cached) if any(table.read.cacheable == 0 for table in tables) else 1.0
        cached = cached if cacheable else list(blocks.read_shares)
        return Read(
            blocks=blocks.per_read,
            cached_length_bytes=round(_mean(cached, [table.read.cached_length_bytes for table in tables])),
            on_disk_length_bytes=round(_mean(missing, [table.read.on_disk_length_bytes for table in tables])),
            answer_bytes=round(_mean(blocks.request_shares, [table.read.answer_bytes for table in tables])),
            runs=_mean(blocks.request_shares, [table.read.runs for table in tables]),
            of_lengths=BlockRead(
                bytes=_mean(cached, [read.bytes for read in disk]),
                ios=_mean(cached, [read.ios for read in disk]),
            ),
            cacheable=cacheable,
        )

    @cached_property
    def table_reads(self) -> tuple[TableRead, ...]:
        """Return the read of each table, or that of the workload if it has no tables."""
        blocks, in_s3 = self.demand.blocks, self.mode.keeps_data_in_s3
        tables = []
        for share, part in zip(blocks.request_shares, blocks.parts, strict=True):
            workload, reads = part.workload, part.workload.reads
            read = Read(
                blocks=part.per_read,
                # A block that is read from the disks of HDFS has its on-disk length.
                cached_length_bytes=round(part.cached_bytes if in_s3 else part.on_disk_bytes),
                on_disk_length_bytes=round(part.on_disk_bytes),
                answer_bytes=workload.row_bytes * reads.rows,
                runs=min(part.per_read, reads.rows if reads.kind == "multi-get" else 1),
                of_lengths=mean_block_read(part.lengths.pairs) if in_s3 else None,
                cacheable=float(workload.cached),
            )
            # Compressed blocks are decompressed on every read.
            seconds = block_cpu_seconds(part.payload_bytes, compressed=workload.compressed)
            table = TableRead(
                name=workload.name,
                share=share,
                read=read,
                kind=reads.kind,
                rows=reads.rows,
                timings=Timings(block_cpu_seconds=seconds),
            )
            tables.append(table)
        return tuple(tables)

    def table_hit_ratios(self, hit_ratio: float) -> tuple[float, ...]:
        """Return the hit ratio of each table, given that of all cached tables; 0 for a table that is not cached."""
        if len(self.table_reads) == 1:
            return (hit_ratio * self.table_reads[0].read.cacheable,)
        return tuple(ratio for ratio, _ in self.tables_in_cache(hit_ratio))

    def tables_in_cache(self, hit_ratio: float) -> tuple[tuple[float, float], ...]:
        """Return the hit ratio and the cached blocks of each table, given the hit ratio of all cached tables."""
        curves, in_cache = self.demand.table_curves, []
        columns = zip(curves.tables.T, curves.cached.T, strict=True)
        for table in self.table_reads:
            if table.read.cacheable:
                ratios, cached = next(columns)
                at = np.interp(hit_ratio, curves.ratios, ratios), np.interp(hit_ratio, curves.ratios, cached)
                in_cache.append((float(at[0]), float(at[1])))
            else:
                in_cache.append((0.0, 0.0))
        return tuple(in_cache)

    @cached_property
    def timings(self) -> Timings:
        """Return the mean CPU time of a block that is read, over all tables."""
        if len(self.table_reads) == 1:
            return self.table_reads[0].timings
        seconds = [table.timings.block_cpu_seconds for table in self.table_reads]
        return Timings(block_cpu_seconds=_mean(self.demand.blocks.read_shares, seconds))

    @memoized
    def imbalance(self, servers: int) -> Imbalance:
        """Return how much more the busiest of this many RegionServers serves than the mean."""
        blocks, tables = self.demand.blocks, []
        for part, requests, reads in zip(blocks.parts, blocks.request_shares, blocks.read_shares, strict=True):
            regions = RegionLoads(
                regions=part.workload.regions,
                spread=part.workload.spread,
                popularity=part.workload.popularity,
                rows=part.rows,
                # Without cached blocks, even the hottest rows of a table come from S3 each time.
                row_bytes=(1 + part.count / part.rows) * part.cached_bytes if part.workload.cached else math.inf,
            )
            tables.append((regions, requests, reads))
        return imbalance(tuple(tables), servers)

    @cached_property
    def at_peak(self) -> SizingInputs:
        """Return the same inputs for the peak hour, which decides capacity; money follows from the mean load."""
        workload = self.requirements.workload
        return self if workload.at_peak is workload else self._with_load_of(workload.at_peak)

    @cached_property
    def outside_peak(self) -> SizingInputs:
        """Return the same inputs for the hours outside the peak, or for the peak if its length is unknown."""
        workload = self.requirements.workload
        return self if workload.outside_peak is workload else self._with_load_of(workload.outside_peak)

    def _with_load_of(self, workload: Workload) -> SizingInputs:
        # The tables' shares of the load may differ from those of the mean load.
        demand = replace(self.demand, blocks=stored_blocks(workload)) if workload.tables else self.demand
        return replace(self, requirements=replace(self.requirements, workload=workload), demand=demand)

    @cached_property
    def without_writes(self) -> SizingInputs:
        """Return the same inputs for reads alone."""
        workload = self.requirements.workload.changed(lambda table: replace(table, write_bytes_per_second=0))
        return replace(self, requirements=replace(self.requirements, workload=workload))

    @property
    def offered_reads_per_second(self) -> float | None:
        """Return the mean rate of an open load, or None for a closed one."""
        load = self.requirements.workload.load
        return load.reads_per_second if isinstance(load, OpenLoad) else None


def _mean(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)
