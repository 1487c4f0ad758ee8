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
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from warmbase.environments.reader import bounds
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import (
    Duration,
    Growth,
    Multiple,
    PerSecond,
    RawSection,
    Refusal,
    Rule,
    Section,
    Share,
    Size,
    refuse,
)
from warmbase.environments.regular_file import read_regular_file
from warmbase.ground.block import Inspection
from warmbase.ground.errors import InvalidInput, Problem
from warmbase.ground.units import HOURS_PER_DAY, KIB, exact_size
from warmbase.sizing.requirements import Targets
from warmbase.sizing.workload.popularity import UNIFORM, Curve, RowPopularity, Zipf, hot_set
from warmbase.sizing.workload.workload import ClosedLoad, Load, OpenLoad, Reads, Workload

FILE = r"^[^\x00]+$"
# Names that HBase allows for namespaces and tables (TableName), and for families of the same letters.
TABLE_NAME: Final = r"^([A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?$"
TABLE_FORM: Final = "TABLE, NAMESPACE:TABLE or TABLE/FAMILY; names have letters, digits and . _ -"
TABLE: Final = {"stored": "2 TiB", "cell": "1 KiB", "row": "10 KiB", "reads": {"per_second": 500}, "regions": 80}


def _one_way(section: RawSection) -> Iterator[Refusal]:
    """Refuse more or less than one form, and a hot set that lacks one of its two shares."""
    if section.gives("hot") != section.gives("of_reads"):
        yield Refusal(
            why="a hot set needs both `hot` and `of_reads`", fix="state both, such as {hot: 10 %, of_reads: 90 %}"
        )
    if sum((section.gives("zipf"), section.gives("hot") or section.gives("of_reads"), section.gives("curve"))) != 1:
        yield Refusal(
            why="state exactly one popularity", fix="use uniform, {zipf: 0.99}, {hot: …, of_reads: …} or {curve: FILE}"
        )


def _hot_is_hotter(section: RawSection) -> Iterator[Refusal]:
    """The hot rows get more than their share."""
    hot, of_reads = section.share("hot"), section.share("of_reads")
    if hot is not None and of_reads is not None and of_reads < hot:
        yield Refusal(
            why=f"{hot:.0%} of the rows with {of_reads:.0%} of the reads is a cold set, not a hot set",
            fix="swap the two",
        )


class PopularitySection(Section):
    """How reads spread over rows: `uniform`, a zipf exponent, a hot set, or a measured curve; exactly one."""

    rules: ClassVar[tuple[Rule, ...]] = (_one_way, _hot_is_hotter)

    zipf: Annotated[Annotated[float, bounds.ZIPF] | None, Field(examples=[0.99])] = None
    hot: Annotated[Share, bounds.HOT] | None = None
    of_reads: Share | None = None
    curve: Annotated[
        str | None,
        Field(pattern=FILE, examples=["trace.csv"], description="a CSV file, named from the environment's directory"),
    ] = None

    def build(self, directory: Path) -> RowPopularity:
        """As the type the calculator uses. Raises InvalidInput for a curve file that cannot be read as one."""
        if self.zipf is not None:
            return Zipf(theta=self.zipf)
        if self.curve is not None:
            return read_curve(directory / self.curve)
        return hot_set(rows_fraction=self.hot or 0.0, reads_fraction=self.of_reads or 0.0)


class SpreadSection(Section):
    """How reads spread over regions, as a zipf exponent that fits the reads per region of a running cluster."""

    zipf: Annotated[float, bounds.ZIPF, Field(examples=[0.6])]


def _ratio_needs_a_codec(section: RawSection) -> Iterator[Refusal]:
    """Nothing is compressed without a codec."""
    ratio = section.number("ratio", 1.0)
    if section.text("codec", "none") == "none" and ratio is not None and 1 < ratio <= bounds.RATIO.most:
        yield Refusal(why=f"a ratio of {ratio} without a codec", fix="name the codec, or leave the ratio at 1.0")


class Compression(Section):
    """Codec of the store files, and bytes before it for each byte after."""

    rules: ClassVar[tuple[Rule, ...]] = (_ratio_needs_a_codec,)

    codec: Literal["none", "gz", "snappy", "lz4", "zstd", "lzo", "bzip2"] = "none"
    ratio: Annotated[float, bounds.RATIO] = 1.0


def _one_load(section: RawSection) -> Iterator[Refusal]:
    """Refuse both kinds of load together, and neither."""
    if section.gives("per_second") == section.gives("concurrency"):
        count = "both are given" if section.gives("per_second") else "neither is given"
        yield Refusal(
            why=f"a load is open (per_second) or closed (concurrency), and {count}",
            fix="keep per_second for a service with many users, concurrency for a benchmark's threads",
        )


def _peak_is_above_mean(section: RawSection) -> Iterator[Refusal]:
    """The busiest hour of an open load has at least its mean rate."""
    mean, peak = section.number("per_second"), section.number("peak_per_second")
    if section.gives("peak_per_second") and section.gives("concurrency"):
        yield Refusal(
            at=("peak_per_second",),
            why="a closed load (concurrency) has no peak, because its rate depends on how fast the cluster answers",
            fix="state the load with per_second, or remove peak_per_second",
        )
    elif mean is not None and peak is not None and peak < mean:
        yield Refusal(
            at=("peak_per_second",),
            why=f"a peak of {peak:g} reads/s is below the mean of {mean:g}",
            fix="per_second is the mean of a month; peak_per_second is the rate of the busiest hour",
        )


def _a_get_is_of_one_row(section: RawSection) -> Iterator[Refusal]:
    """Several rows are a multi-get or a scan."""
    rows = section.whole("rows", 1)
    if section.text("kind", "get") == "get" and rows is not None and 1 < rows <= bounds.ROWS.most:
        yield Refusal(why=f"a get of {rows} rows", fix="use kind: multi-get (rows here and there) or scan (neighbours)")


def _one_peak(section: RawSection) -> Iterator[Refusal]:
    """Refuse a peak that is stated twice, or for a closed load."""
    if not section.gives("seasons"):
        return
    if section.gives("peak_per_second"):
        yield Refusal(
            at=("seasons",),
            why="the peak is a rate (peak_per_second) or a multiple of the mean (seasons), and both are given",
            fix="keep seasons if you know how long the peak lasts, and peak_per_second otherwise",
        )
    if section.gives("concurrency"):
        yield Refusal(
            at=("seasons",),
            why="a closed load (concurrency) has no peak, because its rate depends on how fast the cluster answers",
            fix="state the load with per_second, or remove seasons",
        )


def _peak_leaves_reads(section: RawSection) -> Iterator[Refusal]:
    """Refuse a peak that has more reads than the whole day."""
    peak, hours = section.multiple("peak"), section.number("hours")
    if peak is None or hours is None or not 0 < hours < HOURS_PER_DAY or peak * hours <= HOURS_PER_DAY:
        return
    longest = math.floor(10 * HOURS_PER_DAY / peak) / 10
    yield Refusal(
        at=("hours",),
        why=f"{hours:g} hours at {peak:g} times the mean rate have as many reads as {peak * hours:g} hours at the mean"
        f" rate, but a day has only {HOURS_PER_DAY}",
        fix=f"set hours to {longest:g} or less, or lower the peak; per_second is the mean over the whole day",
    )


class SeasonsSection(Section):
    """The busiest hours of every day: how many times the mean rate, and for how long."""

    rules: ClassVar[tuple[Rule, ...]] = (_peak_leaves_reads,)

    peak: Annotated[Multiple, bounds.PEAK, Field(examples=["2.5x"])]
    hours: Annotated[float, bounds.PEAK_HOURS, Field(examples=[3])]


class ReadsSection(Section):
    """Open load (`per_second`) or closed load (`concurrency`), never both.

    The cluster is sized for the busiest hour (`peak_per_second` or `seasons`); `per_second` is the mean that is billed.
    """

    rules: ClassVar[tuple[Rule, ...]] = (_one_load, _peak_is_above_mean, _one_peak, _a_get_is_of_one_row)

    per_second: Annotated[Annotated[float, bounds.PER_SECOND] | None, Field(examples=[900])] = None
    peak_per_second: Annotated[Annotated[float, bounds.PER_SECOND] | None, Field(examples=[1600])] = None
    seasons: Annotated[SeasonsSection | None, Field(examples=[{"peak": "2.5x", "hours": 3}])] = None
    concurrency: Annotated[Annotated[int, bounds.CONCURRENCY] | None, Field(examples=[1000])] = None
    kind: Literal["get", "multi-get", "scan"] = "get"
    rows: Annotated[int, bounds.ROWS] = 1

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

    bytes_per_second: Annotated[PerSecond, bounds.WRITES, Field(examples=["5 MiB"])] = 0
    cells_per_put: Annotated[int, bounds.CELLS_PER_PUT] = 1


def _stored_or_inspected(section: RawSection) -> Iterator[Refusal]:
    """How much is stored comes from one place."""
    if section.gives("stored") == section.gives("inspection"):
        count = "both are given" if section.gives("stored") else "neither is given"
        yield Refusal(
            why=f"data is stated (stored) or inspected (inspection), and {count}",
            fix="keep one, such as stored: 7 TiB",
        )


def _check_regions(section: RawSection) -> Iterator[Refusal]:
    """An inspection has counted them."""
    if not section.gives("regions") and not section.gives("inspection"):
        yield Refusal(
            why="the number of regions is neither stated (regions) nor counted (inspection)",
            fix="state it, such as regions: 240",
        )


def _row_holds_a_cell(section: RawSection) -> Iterator[Refusal]:
    """A row is made of cells."""
    row, cell = section.size("row"), section.size("cell")
    if row and cell and row < cell:
        yield Refusal(
            at=("row",),
            why=f"a row of {exact_size(row)} cannot hold a cell of {exact_size(cell)}",
            fix="row is what one read touches: all its cells together",
        )


def _inspection(path: Path, table: str) -> Inspection:
    from warmbase.environments.reader.inspection import read_inspection  # noqa: PLC0415 - most environments name no inspection

    inspection = read_inspection(path)
    try:
        return inspection.of_table(table) if table else inspection
    except LookupError as error:
        raise InvalidInput.of(
            where=str(path),
            what=f"workload.tables.{table}",
            why=str(error),
            fix="use the name that the table has in HBase",
        ) from None


class WorkloadSection(Section):
    """The stored data and how it is read. Sizes are means. An inspection replaces the figures of stored data."""

    rules: ClassVar[tuple[Rule, ...]] = (_stored_or_inspected, _check_regions, _row_holds_a_cell)

    stored: Annotated[Annotated[Size, bounds.STORED] | None, Field(examples=["7.185 TiB"])] = None
    inspection: Annotated[
        str | None,
        Field(
            pattern=FILE,
            examples=["inspections/prod.json"],
            description="a JSON file, named from the environment's directory",
        ),
    ] = None
    block_size: Annotated[Size, bounds.BLOCK] = 64 * KIB
    cell: Annotated[Size, bounds.CELL, Field(examples=["425 B"])]
    row: Annotated[Size, bounds.ROW, Field(examples=["10 KiB"])]
    compression: Annotated[Compression, Field(examples=[{"codec": "zstd", "ratio": 3.0}])] = (
        Compression.model_construct()
    )
    encoding: Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"] = "NONE"
    reads: Annotated[ReadsSection, Field(examples=[{"per_second": 900}])]
    writes: Annotated[Writes, Field(examples=[{"bytes_per_second": "5 MiB"}])] = Writes.model_construct()
    popularity: Annotated[
        Annotated[Literal["uniform"], Tag("[name]")] | Annotated[PopularitySection, Tag("[spread]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[spread]"),
        Field(examples=[{"zipf": 0.99}]),
    ] = "uniform"
    regions: Annotated[Annotated[int, bounds.REGIONS] | None, Field(examples=[240])] = None
    spread: Annotated[
        Annotated[Literal["hashed", "even"], Tag("[name]")] | Annotated[SpreadSection, Tag("[skew]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[skew]"),
        Field(examples=["even"]),
    ] = "hashed"
    cache: bool = True
    growth: Annotated[Annotated[Growth, bounds.GROWTH] | None, Field(examples=["8 % a month"])] = None

    def build(self, directory: Path, table: str = "") -> Workload:
        """Return the calculator's workload, of the whole HBase or of one table; file names are relative to `directory`.

        Raises InvalidInput for an inspection or a curve that cannot be used.
        """
        inspection = _inspection(directory / self.inspection, table) if self.inspection else None
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


def _table_name(name: str) -> str:
    if not re.fullmatch(TABLE_NAME, name):
        raise refuse(f"{quoted(name)} is not the name of a table or of a family", f"write {TABLE_FORM}")
    return name


TableName = Annotated[str, AfterValidator(_table_name), WithJsonSchema({"type": "string", "pattern": TABLE_NAME})]


def _open_loads(section: RawSection) -> Iterator[Refusal]:
    """A table cannot have a closed load, because `concurrency` does not say how many requests go to each table."""
    for name, table in section.section("tables").sections():
        if table.section("reads").gives("concurrency"):
            yield Refusal(
                at=("tables", name, "reads", "concurrency"),
                why="a closed load (concurrency) does not say how many of its requests go to each table",
                fix="state the reads of this table with per_second",
            )


def _families_share_regions(section: RawSection) -> Iterator[Refusal]:
    """All families of a table share its regions, and a table is stated either as a whole or by family."""
    first = dict[str, tuple[str, int | None]]()
    for name, table in section.section("tables").sections():
        whole, regions = name.partition("/")[0], table.whole("regions")
        other, same = first.setdefault(whole, (name, regions))
        if other != name and whole in {name, other}:
            yield Refusal(
                at=("tables", name),
                why=f"{quoted(name)} and {quoted(other)} overlap, because one is a table and the other is its family",
                fix="state the table as a whole, or each of its families",
            )
        elif regions is not None and same is not None and regions != same:
            yield Refusal(
                at=("tables", name, "regions"),
                why=f"{quoted(name)} has {regions} regions and {quoted(other)} has {same}, but they share all regions",
                fix="state the same number of regions for all families of the table",
            )


class TablesSection(Section):
    """Several tables that share one cluster and its cache, each with its own data and reads."""

    rules: ClassVar[tuple[Rule, ...]] = (_open_loads, _families_share_regions)

    tables: Annotated[dict[TableName, WorkloadSection], Field(min_length=1, examples=[{"events": TABLE}])]

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

    hit_ratio: Annotated[Share, bounds.HIT_RATIO] = 0.95
    p99: Annotated[Annotated[Duration, bounds.TIME] | None, Field(examples=["1 s"])] = None
    warm_up: Annotated[Annotated[Duration, bounds.TIME] | None, Field(examples=["12 h"])] = None
    carries_load_within: Annotated[Annotated[Duration, bounds.TIME] | None, Field(examples=["30 min"])] = None
    offline_after_crash: Annotated[Annotated[Duration, bounds.TIME] | None, Field(examples=["15 min"])] = None
    lost_nodes: Annotated[int, bounds.LOST_NODES] = 1
    budget_usd_per_month: Annotated[Annotated[float, bounds.BUDGET] | None, Field(examples=[9000])] = None

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


def read_curve(path: Path) -> Curve:
    """Raises InvalidInput, with the line where there is one, for a file that is not such a curve."""
    points = []
    for line, row in _rows(path):
        try:
            points.append((float(row["rows"]), float(row["reads"])))
        except (TypeError, ValueError, KeyError):
            raise InvalidInput(
                [_problem(f"{path}:{line}", f"{row} does not have the two numbers `rows` and `reads`")]
            ) from None
    if not points:
        raise InvalidInput([_problem(str(path), "the file has no points")])
    try:
        return Curve(points=tuple(points))
    except InvalidInput as error:
        raise InvalidInput([_problem(str(path), error.problems[0].why)]) from None


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        reader = csv.DictReader(io.StringIO(read_regular_file(path).decode("utf-8"), newline=""))
        return [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput([_problem(str(path), str(error))]) from None


def _problem(where: str, why: str) -> Problem:
    return Problem(
        where=where,
        what="popularity curve",
        why=why,
        fix="two columns, rows and reads: cumulative shares from 0 to 1, hottest rows first, such as 0.1,0.9",
    )
