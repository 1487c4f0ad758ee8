"""The section of an analytics cluster in an environment file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from warmbase.engines.trino.request import (
    CPU_SECONDS_PER_GIB,
    FILE_BYTES,
    READ_BYTES,
    QueryTargets,
    ScanWorkload,
    TrinoChoice,
)
from warmbase.engines.trino.workers import COORDINATION_SECONDS
from warmbase.environments.reader import bounds
from warmbase.environments.reader.bounds import Bounds, size_text
from warmbase.environments.reader.cluster_schema import Core, Families, PrimarySection
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import (
    Auto,
    Duration,
    Growth,
    RawSection,
    Refusal,
    Rule,
    Section,
    Share,
    Size,
    refuse,
)
from warmbase.environments.reader.workload_schema import PopularitySection
from warmbase.ground.units import GIB, KIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing.workload.popularity import UNIFORM

URL_FORM = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9!_.=/-]+/)?$"
WORKER_FAMILIES = ("m8g", "r8g", "r8gd", "i8g")

PER_HOUR = Bounds(most=1_000_000, reason="one coordinator starts no more")  # judgement
SCANNED = Bounds(least=MIB, most=bounds.PIB, text=size_text, reason="a query reads a file at least")  # judgement
FILE = Bounds(least=MIB, most=100 * GIB, text=size_text, reason="Trino reads files of that size in splits")  # judgement
READ = Bounds(least=64 * KIB, most=GIB, text=size_text, reason="it is one contiguous read of a file")  # judgement
QUERY_TIME = Bounds(
    above=COORDINATION_SECONDS,
    most=bounds.TIME.most,
    text=bounds.TIME.text,
    reason="planning and starting a query takes a second",
)
CPU = Bounds(most=10_000, reason="a core reads a GiB within three hours")  # judgement
HOSTS = Bounds(least=1, most=10, reason="each host that Trino prefers for a file has a copy of it")  # judgement
WORKERS = Bounds(least=1, most=10_000, reason="no EMR cluster has more core nodes")  # judgement


def _peak_is_above_mean(section: RawSection) -> Iterator[Refusal]:
    mean, peak = section.number("per_hour"), section.number("peak_per_hour")
    if mean is not None and peak is not None and peak < mean:
        yield Refusal(
            at=("peak_per_hour",),
            why=f"a peak of {peak:g} queries an hour is below the mean of {mean:g}",
            fix="per_hour is the mean of a month; peak_per_hour is the rate of the busiest hour",
        )


class QueriesSection(Section):
    """The rate of the queries: the mean of a month, and that of the busiest hour."""

    rules: ClassVar[tuple[Rule, ...]] = (_peak_is_above_mean,)

    per_hour: Annotated[float, PER_HOUR, Field(examples=[60])]
    peak_per_hour: Annotated[Annotated[float, PER_HOUR] | None, Field(examples=[180])] = None


def _a_query_reads_the_working_set(section: RawSection) -> Iterator[Refusal]:
    scanned, working_set = section.size("scanned"), section.size("working_set")
    if scanned and working_set and scanned > working_set:
        yield Refusal(
            at=("scanned",),
            why="one query reads more than all queries together",
            fix="working_set is all that queries read, scanned is the mean of one query",
        )


class ScanSection(Section):
    """The files that queries read, and how often."""

    rules: ClassVar[tuple[Rule, ...]] = (_a_query_reads_the_working_set,)

    working_set: Annotated[Size, SCANNED, Field(examples=["6 TiB"])]
    scanned: Annotated[Size, SCANNED, Field(examples=["100 GiB"])]
    queries: Annotated[QueriesSection, Field(examples=[{"per_hour": 60}])]
    file_format: Literal["parquet", "orc"] = "parquet"
    file: Annotated[Size, FILE] = FILE_BYTES
    read: Annotated[Size, READ] = READ_BYTES
    cpu_seconds_per_gib: Annotated[float, CPU] = CPU_SECONDS_PER_GIB
    popularity: Annotated[
        Annotated[Literal["uniform"], Tag("[name]")] | Annotated[PopularitySection, Tag("[spread]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[spread]"),
        Field(examples=[{"zipf": 0.8}]),
    ] = "uniform"
    growth: Annotated[Annotated[Growth, bounds.GROWTH] | None, Field(examples=["8 % a month"])] = None

    def build(self, directory: Path) -> ScanWorkload:
        """Return the section as the type that the calculator uses. Raises InvalidInput for a curve it cannot read."""
        popularity = UNIFORM if isinstance(self.popularity, str) else self.popularity.build(directory)
        peak = self.queries.peak_per_hour or self.queries.per_hour
        return ScanWorkload(
            working_set_bytes=self.working_set,
            scanned_bytes=self.scanned,
            queries_per_second=self.queries.per_hour / SECONDS_PER_HOUR,
            peak_queries_per_second=peak / SECONDS_PER_HOUR,
            popularity=popularity,
            file_format=self.file_format,
            file_bytes=self.file,
            read_bytes=self.read,
            cpu_seconds_per_gib=self.cpu_seconds_per_gib,
            growth_per_month=self.growth,
        )


class QueryTargetsSection(Section):
    """The targets that the plan of an analytics cluster has to meet."""

    hit_ratio: Annotated[Share, bounds.HIT_RATIO] = 0.9
    query_time: Annotated[Annotated[Duration, QUERY_TIME] | None, Field(examples=["60 s"])] = None
    lost_nodes: Annotated[int, bounds.LOST_NODES] = 1
    budget_usd_per_month: Annotated[Annotated[float, bounds.BUDGET] | None, Field(examples=[9000])] = None

    def build(self) -> QueryTargets:
        """Return the section as the type that the calculator uses."""
        return QueryTargets(
            hit_ratio=self.hit_ratio,
            query_seconds=self.query_time,
            lost_nodes=self.lost_nodes,
            budget_usd_per_month=self.budget_usd_per_month,
        )


class Workers(Core):
    """The workers, on the core nodes: what is not stated, the calculator chooses."""

    count: Annotated[Annotated[int, WORKERS] | None, Auto, Field(examples=[6])] = None
    families: Families = Field(default_factory=lambda: list(WORKER_FAMILIES), examples=[list(WORKER_FAMILIES)])


def _s3_url(url: str) -> str:
    if not re.fullmatch(URL_FORM, url):
        raise refuse(f"{quoted(url)} is not a prefix in S3", "write s3://BUCKET/PREFIX/")
    return url


class TrinoSection(Section):
    """An analytics cluster beside HBase: Trino, whose workers cache the files of S3 on their disks."""

    engine: Literal["trino"]
    catalog: Literal["hive", "iceberg", "delta"] = "hive"
    preferred_hosts: Annotated[int, HOSTS] = 1
    data: list[Annotated[str, AfterValidator(_s3_url), WithJsonSchema({"type": "string", "pattern": URL_FORM})]] = (
        Field(default_factory=list, examples=[["s3://our-lake/tables/"]])
    )
    workload: Annotated[
        ScanSection,
        Field(examples=[{"working_set": "6 TiB", "scanned": "100 GiB", "queries": {"per_hour": 60}}]),
    ]
    targets: Annotated[QueryTargetsSection, Field(examples=[{"hit_ratio": 0.9}])] = (
        QueryTargetsSection.model_construct()
    )
    coordinator: Annotated[PrimarySection, Field(examples=[{"type": "r8g.2xlarge"}])] = PrimarySection.model_construct()
    workers: Annotated[Workers, Field(examples=[{"type": "i8g.2xlarge", "count": 6}])] = Workers.model_construct()

    def build(self, cluster_name: str, directory: Path) -> TrinoChoice:
        """Return the section as the type that the calculator uses."""
        return TrinoChoice(
            name=cluster_name,
            workload=self.workload.build(directory),
            targets=self.targets.build(),
            workers=self.workers.build(),
            coordinator_type=self.coordinator.type,
            catalog=self.catalog,
            preferred_hosts=self.preferred_hosts,
            data=tuple(self.data),
        )
