"""The `workload` and `targets` sections of an environment file: the data, the load, and what a plan must meet.

A measured popularity is a CSV file of cumulative shares, hottest rows first. Its columns `rows` and `reads` go from 0
to 1 and rise: `0.1,0.9` says that the hottest tenth of the rows gets nine tenths of the reads.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Tag, WithJsonSchema

from warmbase.environments.reader.key import SKEWS, Bounds, Slider, size_text, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import (
    Duration,
    Growth,
    Multiple,
    PerSecond,
    Refusal,
    Section,
    Share,
    Size,
    known_values,
)
from warmbase.ground.errors import InvalidInput
from warmbase.ground.files import read_whole_file
from warmbase.ground.units import GIB, HOURS_PER_DAY, KIB, MIB, SECONDS_PER_HOUR, TIB, exact_size
from warmbase.sizing.requirements import Targets
from warmbase.sizing.workload.popularity import UNIFORM, Curve, RowPopularity, Zipf, hot_set
from warmbase.sizing.workload.workload import ClosedLoad, Load, OpenLoad, Reads, Workload

FILE = r"^[^\x00]+$"
# Names that HBase allows for namespaces and tables (TableName), and for families of the same letters.
TABLE_NAME: Final = r"^([A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?$"
TABLE_FORM: Final = "TABLE, NAMESPACE:TABLE or TABLE/FAMILY; names have letters, digits and . _ -"
TABLE: Final = {"stored": "2 TiB", "cell": "1 KiB", "row": "10 KiB", "reads": {"per_second": 500}, "regions": 80}
PIB: Final = 2**50

CELL = Bounds(most=16 * MIB, text=size_text, reason="the cell's block has to fit hbase.lru.max.block.size")
PER_SECOND = Bounds(most=100_000_000, reason="1,000 RegionServers serve 100,000 each")  # judgement
ZIPF = Bounds(most=3, reason="at 3 the hottest row already gets four fifths of all reads")
REGIONS = Bounds(
    least=1, most=1_000_000, reason="one HBase master assigns them all"
)  # HBase reference guide, HBASE-11165
GROWTH = Bounds(
    least=0, most=1, reason="data that doubles every month is 4,096 times as much after a year"
)  # judgement
HIT_RATIO = Bounds(most=1, reason="a cluster without a target hit ratio needs no cache (storage: {mode: s3-plain})")
TIME = Bounds(
    most=8_760 * SECONDS_PER_HOUR,
    text=lambda seconds: f"{seconds:,.0f} s",
    reason="a limit above one year has no effect",
)
LOST_NODES = Bounds(
    least=0, most=10, reason="if more nodes fail at once, the zone has failed, and more nodes do not help"
)  # judgement
BUDGET = Bounds(least=1, most=1_000_000_000, reason="the value is in US dollars per month")
"""The bounds of several keys; those of one key stand in its row."""

# judgement: the ends of all sliders; the values of common clusters on EMR lie between them.
HIT_RATIO_SLIDER: Final = Slider(
    "Targets", "Minimum hit ratio", "share", 0.5, 0.999, stops=("0.8", "0.9", "0.95", "0.99")
)
LOST_NODES_SLIDER: Final = Slider("Targets", "Nodes that may be lost", "count", 0, 4, stops=("0", "1", "2"))
BUDGET_SLIDER: Final = Slider("Targets", "Budget per month (USD)", "usd", 200, 100_000, optional=True)
"""The targets of every engine."""


class PopularitySection(Section):
    """How reads spread over rows: `uniform`, a zipf exponent, a hot set, or a measured curve; exactly one."""

    zipf: float | None = yaml_key(
        "The exponent of a Zipf distribution over rows, or over a Trino cluster's files, such as YCSB's 0.99.",
        None,
        bounds=ZIPF,
        examples=[0.99],
    )
    hot: Share | None = yaml_key(
        "The share of rows, or of a Trino cluster's files, in the hot set, such as 10 %. It needs `of_reads`.",
        None,
        bounds=Bounds(most=1, reason="an empty hot set gets no reads"),
    )
    of_reads: Share | None = yaml_key("The share of reads that go to the hot set, such as 90 %. It needs `hot`.", None)
    curve: str | None = yaml_key(
        "The CSV file with the measured popularity, relative to the environment file.",
        None,
        form="a CSV file, named from the environment's directory",
        examples=["trace.csv"],
        pattern=FILE,
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse more or less than one form, half of a hot set, and a cold set."""
        if self.gives("hot") != self.gives("of_reads"):
            yield Refusal(
                why="a hot set needs both `hot` and `of_reads`", fix="state both, such as {hot: 10 %, of_reads: 90 %}"
            )
        if sum((self.gives("zipf"), self.gives("hot") or self.gives("of_reads"), self.gives("curve"))) != 1:
            yield Refusal(
                why="state exactly one popularity",
                fix="use uniform, {zipf: 0.99}, {hot: …, of_reads: …} or {curve: FILE}",
            )
        with known_values:
            if self.hot is not None and self.of_reads is not None and self.of_reads < self.hot:
                yield Refusal(
                    why=f"{self.hot:.0%} of the rows with {self.of_reads:.0%} of the reads is a cold set, not a hot"
                    " set",
                    fix="swap the two",
                )

    def build(self, directory: Path) -> RowPopularity:
        """As the type the calculator uses. Raises InvalidInput for a curve file that cannot be read as one."""
        if self.zipf is not None:
            return Zipf(theta=self.zipf)
        if self.curve is not None:
            return read_curve(directory / self.curve)
        return hot_set(rows_fraction=self.hot or 0.0, reads_fraction=self.of_reads or 0.0)


class SpreadSection(Section):
    """How reads spread over regions, as a zipf exponent that fits the reads per region of a running cluster."""

    zipf: float = yaml_key(
        "The exponent of a Zipf distribution over regions that fits their reads on the HBase master's page.",
        bounds=ZIPF,
        examples=[0.6],
    )


class Compression(Section):
    """Codec of the store files, and bytes before it for each byte after."""

    codec: Literal["none", "gz", "snappy", "lz4", "zstd", "lzo", "bzip2"] = yaml_key(
        "The COMPRESSION of the column families.",
        "none",
        effect="CPU for each read: cached blocks stay compressed, and a hit decompresses its block.",
        decides="Compressed blocks take less space in S3 and in the cache.",
        assumed="HBase's default.",
        slider=Slider("Data", "Compression", "choice", choices=("none", "snappy", "lz4", "zstd", "gz")),
    )
    ratio: float = yaml_key(
        "The number of bytes before compression that become one byte in a store file.",
        1.0,
        bounds=Bounds(
            least=1, most=1_000, reason="no codec does better on data worth keeping"
        ),  # judgement: zstd's is 3 to 30
        effect="The length of a block in the cache, and bytes sent to clients.",
        assumed="without a codec nothing is compressed.",
        slider=Slider("Data", "Compression ratio", "ratio", 1, 10, needs="codec", without="1.0"),
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse a ratio where nothing is compressed."""
        with known_values:
            if self.codec == "none" and self.ratio > 1:
                why = f"a ratio of {self.ratio:g} without a codec"
                yield Refusal(why=why, fix="name the codec, or leave the ratio at 1.0")


class SeasonsSection(Section):
    """The busiest hours of every day: how many times the mean rate, and for how long."""

    peak: Multiple = yaml_key(
        "The rate in the busiest hours, as a multiple of the mean rate.",
        bounds=Bounds(
            least=1,
            most=1_000,
            text=lambda times: f"{times:g}x",
            reason="a peak is not below the mean, and at 1,000x all reads of a day fit into 86.4 seconds",
        ),  # judgement: no real load peaks higher
        examples=["2.5x"],
        effect="The number of nodes and their disks' throughput.",
        slider=Slider(
            "Load",
            "Reads in the busiest hours, as a multiple of the mean",
            "multiple",
            1,
            8,
            stops=("1x", "1.5x", "2x", "3x", "4x"),
        ),
    )
    hours: float = yaml_key(
        "The number of hours per day that the peak lasts.",
        bounds=Bounds(
            most=23,
            text=lambda hours: f"{hours:g} hours",
            reason="a peak lasts longer than 0 hours, and leaves at least one other hour of the day",
        ),
        examples=[3],
        effect="The rate in the other hours, the time of an export by a scan, and the note about a cold start before a"
        " peak.",
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse a peak that has more reads than the whole day."""
        with known_values:
            if self.peak * self.hours > HOURS_PER_DAY:
                longest = math.floor(10 * HOURS_PER_DAY / self.peak) / 10
                yield Refusal(
                    at=("hours",),
                    why=f"{self.hours:g} hours at {self.peak:g} times the mean rate have as many reads as"
                    f" {self.peak * self.hours:g} hours at the mean rate, but a day has only {HOURS_PER_DAY}",
                    fix=f"set hours to {longest:g} or less, or lower the peak; per_second is the mean over the whole"
                    " day",
                )


class ReadsSection(Section):
    """Open load (`per_second`) or closed load (`concurrency`), never both.

    The cluster is sized for the busiest hour (`peak_per_second` or `seasons`); `per_second` is the mean that is billed.
    """

    per_second: float | None = yaml_key(
        "The mean number of requests that clients send in a second. The bill is based on it. State this or"
        " `concurrency`.",
        None,
        bounds=PER_SECOND,
        examples=[900],
        effect="The number of nodes, their disks' throughput, S3 requests and their price.",
        slider=Slider("Load", "Reads per second", "count", 10, 100_000, is_scaled=True),
    )
    peak_per_second: float | None = yaml_key(
        "The number of requests per second in the busiest hour, for which the cluster is sized.",
        None,
        bounds=PER_SECOND,
        examples=[1600],
        effect="The number of nodes and their disks' throughput.",
        decides="The cluster is sized for the busiest hour.",
        slider=Slider("Load", "Reads per second in the busiest hour", "count", 10, 100_000, optional=True),
    )
    seasons: SeasonsSection | None = yaml_key(
        "The daily peak, for which the cluster is sized: its rate as a multiple of the mean, and its length. Do not"
        " state `peak_per_second` as well.",
        None,
        examples=[{"peak": "2.5x", "hours": 3}],
        effect="The number of nodes and their disks' throughput.",
    )
    concurrency: int | None = yaml_key(
        "The number of requests in flight, for a benchmark whose clients wait for each answer. State this or"
        " `per_second`.",
        None,
        bounds=Bounds(least=1, most=100_000, reason="each request in flight is a thread of some client"),  # judgement
        examples=[1000],
        effect="The rate that the cluster reaches, its latency, and the number of handlers.",
        slider=Slider("Load", "Reads in flight", "count", 1, 10_000, is_scaled=True),
    )
    kind: Literal["get", "multi-get", "scan"] = yaml_key(
        "get: one row. multi-get: several rows in one call. scan: several rows with neighbouring keys.",
        "get",
        effect="Blocks and RegionServers for each request.",
        assumed="each request reads one row.",
    )
    rows: int = yaml_key(
        "How many rows one request reads.",
        1,
        bounds=Bounds(least=1, most=100_000, reason="one request's rows are answered together"),  # judgement
        effect="Blocks for each request.",
        assumed="each request reads one row.",
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse more or less than one kind of load, a peak that cannot be, and a get of several rows."""
        is_open, is_closed = self.gives("per_second"), self.gives("concurrency")
        if is_open == is_closed:
            count = "both are given" if is_open else "neither is given"
            yield Refusal(
                why=f"a load is open (per_second) or closed (concurrency), and {count}",
                fix="keep per_second for a service with many users, concurrency for a benchmark's threads",
            )
        for peak in ("peak_per_second", "seasons"):
            if self.gives(peak) and is_closed:
                yield Refusal(
                    at=(peak,),
                    why="a closed load (concurrency) has no peak, because its rate depends on how fast the cluster"
                    " answers",
                    fix=f"state the load with per_second, or remove {peak}",
                )
        if self.gives("seasons") and self.gives("peak_per_second"):
            yield Refusal(
                at=("seasons",),
                why="the peak is a rate (peak_per_second) or a multiple of the mean (seasons), and both are given",
                fix="keep seasons if you know how long the peak lasts, and peak_per_second otherwise",
            )
        with known_values:
            mean, busiest = self.per_second, self.peak_per_second
            if mean is not None and busiest is not None and busiest < mean and not is_closed:
                yield Refusal(
                    at=("peak_per_second",),
                    why=f"a peak of {busiest:g} reads/s is below the mean of {mean:g}",
                    fix="per_second is the mean of a month; peak_per_second is the rate of the busiest hour",
                )
        with known_values:
            if self.kind == "get" and self.rows > 1:
                why = f"a get of {self.rows} rows"
                yield Refusal(why=why, fix="use kind: multi-get (rows here and there) or scan (neighbours)")

    def build(self) -> Reads:
        """Return the section as the type that the calculator uses."""
        load: Load = ClosedLoad(concurrency=self.concurrency or 1)
        if self.per_second is not None:
            peak, seasons = self.peak_per_second, self.seasons
            load = OpenLoad(
                reads_per_second=self.per_second,
                peak_reads_per_second=seasons.peak * self.per_second if seasons else peak,
                peak_hours=seasons.hours if seasons else None,
            )
        return Reads(load=load, kind=self.kind, rows=self.rows)


class Writes(Section):
    """The write load, in bytes of cell values. A client sends `cells_per_put` cells to a region in one call."""

    bytes_per_second: PerSecond = yaml_key(
        "The bytes of cell values that clients write in a second.",
        0,
        bounds=Bounds(least=0, most=100 * GIB, text=size_text, reason="no EMR cluster takes in more"),  # judgement
        examples=["5 MiB"],
        effect="Memstore, log, flush and compaction throughput, S3 PUTs.",
        decides="Writes take heap, disk and network from the reads, and compactions replace cached blocks.",
        assumed="nothing is written while the cluster serves.",
        slider=Slider("Load", "Bytes written per second", "size", KIB, 100 * MIB),
    )
    cells_per_put: int = yaml_key(
        "How many cells a client sends to a region in one call. Larger batches take less CPU.",
        1,
        bounds=Bounds(least=1, most=100_000, reason="a client sends no larger batch to one region"),  # judgement
        effect="CPU for each write.",
    )


class WorkloadSection(Section):
    """The stored data and how it is read. Sizes are means. An inspection replaces the figures of stored data."""

    stored: Size | None = yaml_key(
        "The size of the data under the HBase root, as stored (compressed). State this or `inspection`.",
        None,
        bounds=Bounds(most=100 * PIB, text=size_text, reason="no known HBase on S3 holds more"),  # judgement
        examples=["7.185 TiB"],
        effect="The size of the cache and its volumes, the number of nodes, warm-up, S3 storage.",
        slider=Slider("Data", "Stored data", "size", 50 * GIB, 100 * TIB, is_scaled=True),
    )
    inspection: str | None = yaml_key(
        "The file that `warmbase inspect` writes for real store files, relative to the environment file.",
        None,
        form="a JSON file, named from the environment's directory",
        examples=["inspections/prod.json"],
        pattern=FILE,
        effect="The same as `stored` and `regions`; also bucket sizes, indexes and Bloom filters.",
    )
    block_size: Size = yaml_key(
        "The BLOCKSIZE of the column families.",
        64 * KIB,
        bounds=Bounds(least=KIB, most=16 * MIB, text=size_text, reason="hbase.lru.max.block.size, and it is a mean"),
        effect="Blocks for each read, disk operations, bucket sizes, the heap for indexes.",
        decides="A read takes whole blocks from disk or S3. It decides disk operations and index sizes.",
        assumed="HBase's default.",
        slider=Slider(
            "Data", "Block size", "choice", choices=("8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB")
        ),
    )
    cell: Size = yaml_key(
        "The mean size of a cell's value.",
        bounds=CELL,
        examples=["425 B"],
        effect="The mean length of a block, the number of cells, CPU for writes and compactions.",
        decides="The size of a cell decides how many blocks a row has, and how much of them is keys.",
        slider=Slider("Data", "Size of a cell value", "size", 16, MIB),
    )
    row: Size = yaml_key(
        "The mean number of bytes that a read touches in one row, all cells together.",
        # judgement: of 31 GiB
        bounds=Bounds(most=GIB, text=size_text, reason="a RegionServer builds an answer in its heap"),
        examples=["10 KiB"],
        effect="Blocks for each read, disk and network throughput, the skew of block reads.",
        slider=Slider("Data", "Bytes read per row", "size", 128, 4 * MIB, is_scaled=True),
    )
    compression: Compression = yaml_key(
        "The codec of the store files and what it saves.",
        Compression.model_construct(),
        examples=[{"codec": "zstd", "ratio": 3.0}],
    )
    encoding: Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"] = yaml_key(
        "The DATA_BLOCK_ENCODING of the column families.",
        "NONE",
        effect="The length of an encoded block.",
        assumed="HBase's default.",
    )
    reads: ReadsSection = yaml_key("The rate and the kind of the reads.", examples=[{"per_second": 900}])
    writes: Writes = yaml_key(
        "The rate of the writes.", Writes.model_construct(), examples=[{"bytes_per_second": "5 MiB"}]
    )
    popularity: Annotated[
        Annotated[Literal["uniform"], Tag("[name]")] | Annotated[PopularitySection, Tag("[spread]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[spread]"),
    ] = yaml_key(
        "How the reads are distributed over rows. `uniform`: every row is read equally often.",
        "uniform",
        examples=[{"zipf": 0.99}],
        effect="The hit ratio for each size of cache, and so the size of the cache.",
        decides="The more reads go to few rows, the smaller a cache answers most of them. It decides the cache's size.",
        slider=Slider("Load", "Read skew (Zipf exponent)", "skew", 0, 1.5, stops=SKEWS),
    )
    regions: int | None = yaml_key(
        "The number of regions of all tables together.",
        None,
        bounds=REGIONS,
        examples=[240],
        effect="The split limit, the time to open regions, how evenly load spreads over nodes.",
        decides="The number of regions decides their size, the time of a compaction and how evenly servers are loaded.",
    )
    spread: Annotated[
        Annotated[Literal["hashed", "even"], Tag("[name]")] | Annotated[SpreadSection, Tag("[skew]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[skew]"),
    ] = yaml_key(
        "How the reads are distributed over regions. `hashed`: popular rows lie anywhere in the key space. `even`:"
        " every region is read equally often. {zipf: …}: popular rows have neighbouring keys.",
        "hashed",
        examples=["even"],
        effect="The load of the busiest RegionServer.",
        assumed="popular rows lie anywhere in the key space.",
    )
    cache: bool = yaml_key(
        "The BLOCKCACHE of the column families. `false`: every data block that a read needs comes from S3, and the"
        " blocks take no room in the cache. The target hit ratio then applies to the reads of the other tables.",
        default=True,
        effect="S3 requests and their price, the latency of the table, and the cache that the others need.",
    )
    growth: Growth | None = yaml_key(
        "How much data, reads and writes grow each month, for `warmbase plan ENV --months N`, which assumes 8 % a month"
        " by default. Without --months, a plan is for today.",
        None,
        bounds=GROWTH,
        examples=["8 % a month"],
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse data that is stated twice or not at all, and a row that cannot hold its cells."""
        if self.gives("stored") == self.gives("inspection"):
            count = "both are given" if self.gives("stored") else "neither is given"
            why = f"data is stated (stored) or inspected (inspection), and {count}"
            yield Refusal(why=why, fix="keep one, such as stored: 7 TiB")
        if not self.gives("regions") and not self.gives("inspection"):
            why = "the number of regions is neither stated (regions) nor counted (inspection)"
            yield Refusal(why=why, fix="state it, such as regions: 240")
        with known_values:
            if self.row < self.cell:
                yield Refusal(
                    at=("row",),
                    why=f"a row of {exact_size(self.row)} cannot hold a cell of {exact_size(self.cell)}",
                    fix="row is what one read touches: all its cells together",
                )

    def build(self, directory: Path, table: str = "") -> Workload:
        """Return the calculator's workload, of the whole HBase or of one table; file names are relative to `directory`.

        Raises InvalidInput for an inspection or a curve that cannot be used.
        """
        inspection = None
        if self.inspection:
            from warmbase.environments.reader.inspection import read_inspection  # noqa: PLC0415 - most environments name no inspection

            inspection = read_inspection(directory / self.inspection)
            try:
                inspection = inspection.of_table(table) if table else inspection
            except LookupError as error:
                raise InvalidInput.of(
                    where=str(directory / self.inspection),
                    what=f"workload.tables.{table}",
                    why=str(error),
                    fix="use the name that the table has in HBase",
                ) from None
        popularity = UNIFORM if isinstance(self.popularity, str) else self.popularity.build(directory)
        return Workload(
            stored_bytes=inspection.stored_bytes if inspection else self.stored or 0,
            block_bytes=self.block_size,
            cell_bytes=self.cell,
            row_bytes=self.row,
            codec=self.compression.codec,
            compression_ratio=self.compression.ratio,
            encoding=self.encoding,
            reads=self.reads.build(),
            write_bytes_per_second=self.writes.bytes_per_second,
            cells_per_put=self.writes.cells_per_put,
            popularity=popularity,
            regions=self.regions or (inspection.regions if inspection else 0),
            inspection=inspection,
            spread=self.spread if isinstance(self.spread, str) else self.spread.zipf,
            cached=self.cache,
            growth_per_month=self.growth,
            name=table,
        )


TableName = Annotated[str, WithJsonSchema({"type": "string", "pattern": TABLE_NAME})]


class TablesSection(Section):
    """Several tables that share one cluster and its cache, each with its own data and reads."""

    tables: dict[TableName, WorkloadSection] = yaml_key(
        "The tables by name, instead of one workload for all of them. TABLE/FAMILY is one family of a table. Each table"
        " has the keys of `workload`. All tables share the cache.",
        examples=[{"events": TABLE}],
        min_length=1,
        effect="What the keys of each table move, and the hit ratio of each table in the shared cache.",
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse names that HBase does not have, closed loads, and families that disagree about their table."""
        first = dict[str, tuple[str, int | None]]()
        with known_values:
            for name, table in self.tables.items():
                at, reads, regions = ("tables", name), vars(table).get("reads"), vars(table).get("regions")
                if not re.fullmatch(TABLE_NAME, name):
                    why = f"{quoted(name)} is not the name of a table or of a family"
                    yield Refusal(at=at, why=why, fix=f"write {TABLE_FORM}")
                if isinstance(reads, ReadsSection) and reads.gives("concurrency"):
                    yield Refusal(
                        at=(*at, "reads", "concurrency"),
                        why="a closed load (concurrency) does not say how many of its requests go to each table",
                        fix="state the reads of this table with per_second",
                    )
                # All families of a table share its regions, and a table is stated either as a whole or by family.
                whole = name.partition("/")[0]
                other, same = first.setdefault(whole, (name, regions))
                if other != name and whole in {name, other}:
                    yield Refusal(
                        at=at,
                        why=f"{quoted(name)} and {quoted(other)} overlap, because one is a table and the other is its"
                        " family",
                        fix="state the table as a whole, or each of its families",
                    )
                elif regions is not None and same is not None and regions != same:
                    yield Refusal(
                        at=(*at, "regions"),
                        why=f"{quoted(name)} has {regions} regions and {quoted(other)} has {same}, but they share all"
                        " regions",
                        fix="state the same number of regions for all families of the table",
                    )

    def build(self, directory: Path) -> Workload:
        """Return the tables as one workload of the calculator; file names are relative to `directory`."""
        return Workload.of([table.build(directory, name) for name, table in self.tables.items()])


def _form(value: object) -> str:
    is_tables = isinstance(value, TablesSection) or (isinstance(value, dict) and "tables" in value)
    return "[tables]" if is_tables else "[one]"


AnyWorkload = Annotated[
    Annotated[WorkloadSection, Tag("[one]")] | Annotated[TablesSection, Tag("[tables]")], Discriminator(_form)
]
"""One workload that is described by means, or several tables."""


class TargetsSection(Section):
    """The targets that a plan has to meet."""

    hit_ratio: Share = yaml_key(
        "The smallest share of block reads that warm caches must answer. Reads of tables with `cache: false` do not"
        " count.",
        0.95,
        bounds=HIT_RATIO,
        effect="The smallest cache.",
        decides="The cache is at least so large that this share of block reads comes from local disks.",
        slider=HIT_RATIO_SLIDER,
    )
    p99: Duration | None = yaml_key(
        "The longest time within which 99 % of the reads are answered.",
        None,
        bounds=TIME,
        examples=["1 s"],
        effect="Which instance types, caches and volumes are fast enough.",
        decides="A limit on the p99 buys more nodes, faster volumes or a larger cache where it binds.",
        slider=Slider("Targets", "Maximum p99 latency", "time", 0.002, 5, optional=True),
    )
    warm_up: Duration | None = yaml_key(
        "The longest time in which the cluster fills its cold caches.",
        None,
        bounds=TIME,
        examples=["12 h"],
        effect="The volumes' throughput, and the number of nodes.",
        slider=Slider(
            "Targets", "Maximum warm-up time", "time", SECONDS_PER_HOUR / 2, 72 * SECONDS_PER_HOUR, optional=True
        ),
    )
    carries_load_within: Duration | None = yaml_key(
        "The longest time until a cluster that starts with cold caches serves all its reads.",
        None,
        bounds=TIME,
        examples=["30 min"],
        effect="How many reads S3 may have to answer at first: cache, nodes and volumes.",
    )
    offline_after_crash: Duration | None = yaml_key(
        "The longest time for which the rows of a crashed RegionServer are offline.",
        None,
        bounds=TIME,
        examples=["15 min"],
        effect="The number of nodes, so that each has fewer regions.",
    )
    lost_nodes: int = yaml_key(
        "The number of core nodes that the cluster can lose and still meet its targets.",
        1,
        bounds=LOST_NODES,
        effect="The number of nodes: targets hold on those that are left.",
        decides="The targets are met even after so many nodes are lost.",
        slider=LOST_NODES_SLIDER,
    )
    budget_usd_per_month: float | None = yaml_key(
        "The most that the cluster may cost in a month, in US dollars.",
        None,
        bounds=BUDGET,
        examples=[9000],
        effect="Whether the cheapest cluster is acceptable.",
        slider=BUDGET_SLIDER,
    )

    def build(self) -> Targets:
        """Return the section as the type that the calculator uses."""
        return Targets(
            hit_ratio=self.hit_ratio,
            p99_seconds=self.p99,
            warm_up_seconds=self.warm_up,
            carries_load_within_seconds=self.carries_load_within,
            offline_after_crash_seconds=self.offline_after_crash,
            lost_nodes=self.lost_nodes,
            budget_usd_per_month=self.budget_usd_per_month,
        )


MOST_CURVE_BYTES: Final = 2**20  # judgement: a curve of a thousand points has 20 kB


def read_curve(path: Path) -> Curve:
    """Raises InvalidInput, with the line where there is one, for a file that is not such a curve."""
    where, points, why = str(path), [], "the file has no points"
    try:
        reader = csv.DictReader(io.StringIO(read_whole_file(path, MOST_CURVE_BYTES).decode("utf-8"), newline=""))
        for line, row in [(reader.line_num, row) for row in reader]:
            where = f"{path}:{line}"
            try:
                points.append((float(row["rows"]), float(row["reads"])))
            except (TypeError, ValueError, KeyError):
                # The author of an environment chooses the file, and its reader may post the answer: it is not quoted.
                raise ValueError("the line does not have the two numbers `rows` and `reads`") from None
        where = str(path)
        if points:
            return Curve(points=tuple(points))
    except InvalidInput as error:
        why = error.problems[0].why
    except UnicodeDecodeError:
        why = "it is not text in UTF-8"
    except (OSError, ValueError, csv.Error) as error:
        why = str(error)
    raise InvalidInput.of(
        where=where,
        what="popularity curve",
        why=why,
        fix="two columns, rows and reads: cumulative shares from 0 to 1, hottest rows first, such as 0.1,0.9",
    )
