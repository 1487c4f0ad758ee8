"""A table that is read by row and a table that is scanned, in one cache: the hit ratio of each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.admin import TableFamily
from lab.hbase.bench import FRESH_SECONDS
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult, at_most, within, within_difference
from lab.hbase.result import Measurement
from lab.hbase.ycsb import YcsbLoad, YcsbResult, YcsbTable
from lab.prediction import zipfian_drawn
from warmbase.configurations.metrics import MISSES_FOR_ONE
from warmbase.ground.block import LengthHistogram
from warmbase.ground.units import KIB, MIB
from warmbase.sizing.cache.bucket_cache import CacheDemand
from warmbase.sizing.cache.bucket_sizes import BucketAllocator
from warmbase.sizing.cache.hit_ratio import OccupancyRange, table_curves
from warmbase.sizing.recovery.export import GETS_TO_OPEN
from warmbase.sizing.workload.popularity import UNIFORM, mixed_popularity
from warmbase.sizing.workload.workload import OpenLoad, Reads, StoredBlocks, Workload, stored_blocks

TITLE: Final = "A hot table and a scanned table"
EXPORTED: Final = varied(
    {"fs.s3a.experimental.input.fadvise": "sequential"}, "for the export, the policy that warmbase renders"
)
QUESTION: Final = (
    "Does the hit ratio of each table agree with the calculator if a hot and a scanned table share a cache?"
)
SHARES: Final = (0.35, 0.65)
HOT_FRACTION: Final = 1 / 3
"""The fraction of the rows that are in the hot table."""
SCANNED_BLOCK_BYTES: Final = 128 * KIB
ROWS_PER_SCAN: Final = 300
READS_PER_SECOND: Final = 150.0
SCANS_PER_SECOND: Final = 40.0
THREADS: Final = 2
"""Clients of each table: two reads of one store file at once cost S3A one more GET, and two clients seldom collide."""
SETTLING_SECONDS: Final = 45.0
WINDOWS: Final = 4
"""Windows of the experiment's length: one has too few scans for a hit ratio that is exact to one percentage point."""


class TwoTables(Struct, frozen=True, kw_only=True):
    """A table that is read by row and one that is scanned, their blocks, and the bucket sizes that a plan chooses."""

    hot: YcsbTable
    scanned: YcsbTable
    blocks: tuple[StoredBlocks, StoredBlocks]
    """The blocks of the hot table, and those of the scanned one."""
    bucket_sizes: tuple[int, ...]
    everything_bytes: float
    """The cache that would hold all blocks, by the plan."""

    @classmethod
    def filled(cls, lab: Experiment) -> TwoTables:
        """Fill two tables with the environment's cells, together as large as the lab's own table; return them.

        The plan knows only how large cells are; the blocks are those of the store files.
        """
        one, rows = lab.miniature.workload, round(lab.miniature.rows * HOT_FRACTION)
        whole_bytes = lab.miniature.workload.stored_bytes
        plain = replace(one, codec="none", compression_ratio=1.0, encoding="NONE")
        hot = replace(
            plain,
            name="hot",
            stored_bytes=round(whole_bytes * HOT_FRACTION),
            reads=Reads(load=OpenLoad(reads_per_second=READS_PER_SECOND)),
        )
        scanned = replace(
            plain,
            name="scanned",
            stored_bytes=whole_bytes - hot.stored_bytes,
            block_bytes=SCANNED_BLOCK_BYTES,
            popularity=UNIFORM,
            reads=Reads(load=OpenLoad(reads_per_second=SCANS_PER_SECOND), kind="scan", rows=ROWS_PER_SCAN),
        )
        demand = CacheDemand.of(stored_blocks(Workload.of([hot, scanned])), lab.release)
        table = partial(YcsbTable, value_bytes=lab.table.value_bytes)
        tables = [table(name="hot", rows=rows), table(name="scanned", rows=lab.miniature.rows - rows)]
        files = lab.bench.tables(
            {
                table: TableFamily(name=table.family, compression="NONE", block_bytes=part.block_bytes)
                for table, part in zip(tables, (hot, scanned), strict=True)
            }
        )
        of_hot, of_scanned = (
            replace(planned, count=stored.lengths.blocks, lengths=stored.lengths)
            for planned, stored in zip(demand.blocks.tables, files, strict=True)
        )
        return cls(
            hot=tables[0],
            scanned=tables[1],
            blocks=(of_hot, of_scanned),
            bucket_sizes=demand.sizes,
            everything_bytes=demand.everything_bytes,
        )

    def in_cache(self, cache_mib: int, window: SharedWindow, *, promotes: bool) -> tuple[tuple[float, float], ...]:
        """Return the hit ratio of each table, and the share of it that is cached, under the measured load."""
        hot, scanned = self.blocks
        lookups = [window.rows.reads * hot.per_read, window.scans.reads * scanned.per_read]
        popularity = mixed_popularity(
            [zipfian_drawn(self.hot.rows, hot.count), scanned.popularity],
            [count / sum(lookups) for count in lookups],
            [hot.cached_bytes, scanned.cached_bytes],
        )
        allocator = BucketAllocator(capacity_bytes=cache_mib * MIB, sizes=self.bucket_sizes)
        lengths = LengthHistogram.of((*hot.lengths.pairs, *scanned.lengths.pairs))
        swing = OccupancyRange.of(allocator, lengths, promotes=promotes)
        curves = table_curves(popularity, swing, np.ones(1))
        # The curves count cached blocks in units of the mean length over both tables.
        mean_bytes = (hot.count * hot.cached_bytes + scanned.count * scanned.cached_bytes) / (hot.count + scanned.count)
        return tuple(
            (float(ratio), float(cached * mean_bytes / (table.count * table.cached_bytes)))
            for ratio, cached, table in zip(curves.tables[0], curves.cached[0], self.blocks, strict=True)
        )


class SharedWindow(Struct, frozen=True, kw_only=True):
    """A window in which both tables were read, and the misses of each table."""

    rows: YcsbResult
    scans: YcsbResult
    hits: int
    misses: float
    gets: Counter[str]

    def hit_ratio(self, table: str, lookups: float) -> float:
        """Return the hit ratio of a table, given how many of its blocks were read.

        HBase counts the misses of all tables together. They are divided in proportion to the tables' GETs, because
        each miss sends one, except for a few that two clients send at once.
        """
        return 1 - self.misses * self.gets[table] / self.gets.total() / lookups


def run(lab: Experiment) -> ScenarioResult:
    """Read both tables at once with two sizes of the cache; in the short form, with the smaller one."""
    tables = TwoTables.filled(lab)
    shares = SHARES[:1] if lab.short else SHARES
    return ScenarioResult(
        figures=tuple(figure for share in shares for figure in _figures(lab, tables, share)),
        limits=(
            (
                "S3 has no added latency here, so that there are many misses; latency does not change which blocks "
                "are cached."
            ),
            "HBase has no counters for each table, so the misses are divided by the GETs of each table's store files.",
        ),
    )


def _figures(lab: Experiment, tables: TwoTables, share: float) -> Iterator[Measurement]:
    bench, (hot, scanned) = lab.bench, tables.blocks
    cache_mib = round(share * tables.everything_bytes / MIB)
    settings = {
        "hbase.bucketcache.size": str(cache_mib),
        "hbase.bucketcache.bucket.sizes": ",".join(map(str, tables.bucket_sizes)),
        "hbase.rs.prefetchblocksonopen": "false",
    }
    served = varied(settings, "the two tables of this scenario")
    bench.serve(LabServer(varied=served), cold=True)
    _read(lab, tables, SETTLING_SECONDS, seed=lab.seed + 1000)
    window = _read(lab, tables, WINDOWS * lab.seconds, seed=lab.seed)
    bench.serve(LabServer(varied=served | EXPORTED), cold=False)
    before, gets = bench.sample(0.0).cache, bench.store.table_gets()
    bench.admin.scan(tables.scanned.name)
    time.sleep(FRESH_SECONDS)
    after, gets = bench.sample(0.0).cache, bench.store.table_gets() - gets
    predicted = tables.in_cache(cache_mib, window, promotes=lab.release.promotes_on_second_read)
    figure = partial(Measurement, case=f"cache of {share:g} of the data")
    for table, blocks, ratio, count in (
        ("hot", hot, predicted[0][0], window.rows.reads),
        ("scanned", scanned, predicted[1][0], window.scans.reads),
    ):
        yield figure(
            name=f"hit ratio of the {table} table",
            measured=window.hit_ratio(table, count * blocks.per_read),
            predicted=ratio,
            because="Che's approximation with one characteristic time for the blocks of both tables",
            target=within_difference(0.02),
        )
    lookups = window.hits + window.misses - window.rows.reads * (hot.per_read + hot.count / hot.rows)
    yield figure(
        name="blocks looked up by one scan",
        measured=lookups / max(1, window.scans.reads),
        predicted=scanned.per_read,
        because=f"the blocks that {ROWS_PER_SCAN} neighbouring rows lie in",
        target=within(0.05),
    )
    yield figure(
        name="share of an export's blocks that come from the cache",
        measured=(after.l2_hits - before.l2_hits) / scanned.count,
        predicted=predicted[1][1],
        because="the share of the scanned table that is cached; the export scans it with setCacheBlocks(false)",
        target=within_difference(0.05),
    )
    most_gets = scanned.count * predicted[1][1] * (1 - predicted[1][1]) + GETS_TO_OPEN * lab.miniature.regions
    yield figure(
        name="GETs of an export",
        unit="GETs",
        measured=gets[tables.scanned.name],
        predicted=most_gets,
        because="at most one for each run of neighbours that are not cached, and two to open each region's file",
        target=at_most(most_gets),
    )
    yield figure(
        name="blocks that the export adds to the cache",
        measured=after.l2_blocks - before.l2_blocks,
        predicted=0,
        because="such a scan caches no block, but HBase may cache a few blocks of its own tables in the meantime",
        target=at_most(5),
    )


def _read(lab: Experiment, tables: TwoTables, seconds: float, seed: int) -> SharedWindow:
    bench = lab.bench
    rows = YcsbLoad(
        seconds=seconds,
        threads=THREADS,
        distribution="zipfian",
        target_per_second=READS_PER_SECOND,
        seed=seed,
    )
    scans = YcsbLoad(
        seconds=seconds,
        threads=THREADS,
        rows_per_scan=ROWS_PER_SCAN,
        target_per_second=SCANS_PER_SECOND,
        seed=seed + 1,
    )
    before, gets = bench.sample(0.0).cache, bench.store.table_gets()
    running = [bench.ycsb.start(tables.hot, rows, "ycsb-rows"), bench.ycsb.start(tables.scanned, scans, "ycsb-scans")]
    of_rows, of_scans = (bench.ycsb.finish(one, load) for one, load in zip(running, (rows, scans), strict=True))
    bench.say(
        f"  {of_rows.reads / seconds:,.0f} rows/s and {of_scans.reads / seconds:,.0f} scans/s for {seconds:.0f} s"
    )
    time.sleep(FRESH_SECONDS)
    after = bench.sample(0.0).cache
    return SharedWindow(
        rows=of_rows,
        scans=of_scans,
        hits=after.l2_hits - before.l2_hits,
        misses=(after.l2_misses - before.l2_misses) / MISSES_FOR_ONE,
        gets=bench.store.table_gets() - gets,
    )
