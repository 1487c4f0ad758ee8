"""The section of an analytics cluster in an environment file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec.structs import replace
from pydantic import AfterValidator, Discriminator, Tag, WithJsonSchema

from warmbase.engines.trino.request import (
    CPU_SECONDS_PER_GIB,
    FILE_BYTES,
    READ_BYTES,
    QueryTargets,
    ScanWorkload,
    TrinoChoice,
)
from warmbase.environments.reader.cluster_schema import (
    Core,
    EngineSection,
    Families,
    InstanceType,
    PrimarySection,
    VolumeSection,
)
from warmbase.environments.reader.key import SKEWS, Bounds, Slider, size_text, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import (
    Auto,
    Duration,
    Growth,
    Refusal,
    Section,
    Share,
    Size,
    known_values,
    refuse,
)
from warmbase.environments.reader.workload_schema import (
    BUDGET,
    BUDGET_SLIDER,
    GROWTH,
    HIT_RATIO,
    HIT_RATIO_SLIDER,
    LOST_NODES,
    LOST_NODES_SLIDER,
    PIB,
    TIME,
    PopularitySection,
)
from warmbase.facts.releases import releases
from warmbase.ground.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB
from warmbase.sizing.workload.popularity import UNIFORM

if TYPE_CHECKING:
    from warmbase.environments.reader.schema import EnvironmentFile

ANY_TRINO: Final = "TRINO"
"""Stands for the name of an analytics cluster in the path of a key."""
LEAST_QUERY_SECONDS: Final = 1.0
"""COORDINATION_SECONDS of the model, which the reader of a file does not load; a test compares both."""
URL_FORM = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9!_.=/-]+/)?$"
WORKER_FAMILIES = ("m8g", "r8g", "r8gd", "i8g")

PER_HOUR = Bounds(most=1_000_000, reason="one coordinator starts no more")  # judgement
SCANNED = Bounds(least=MIB, most=PIB, text=size_text, reason="a query reads a file at least")  # judgement
"""The bounds of several keys; those of one key stand in its row."""


class QueriesSection(Section):
    """The rate of the queries: the mean of a month, and that of the busiest hour."""

    per_hour: float = yaml_key(
        "The mean number of queries in an hour. The bill for S3 is based on it.",
        bounds=PER_HOUR,
        examples=[60],
        effect="The mean time of a query, S3 requests and their price.",
        slider=Slider("Load", "Queries per hour", "count", 1, 5_000, is_scaled=True),
    )
    peak_per_hour: float | None = yaml_key(
        "The number of queries in the busiest hour, for which the cluster is sized.",
        None,
        bounds=PER_HOUR,
        examples=[180],
        effect="The number of workers and their disks' throughput.",
        slider=Slider("Load", "Queries in the busiest hour", "count", 1, 5_000, optional=True, is_scaled=True),
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse a peak below the mean."""
        with known_values:
            mean, peak = self.per_hour, self.peak_per_hour
            if peak is not None and peak < mean:
                yield Refusal(
                    at=("peak_per_hour",),
                    why=f"a peak of {peak:g} queries an hour is below the mean of {mean:g}",
                    fix="per_hour is the mean of a month; peak_per_hour is the rate of the busiest hour",
                )


class ScanSection(Section):
    """The files that queries read, and how often."""

    working_set: Size = yaml_key(
        "The size of all files, or columns of files, that should stay cached, because they are read again.",
        bounds=SCANNED,
        examples=["6 TiB"],
        effect="The size of the cache and its volumes.",
        slider=Slider("Data", "Working set", "size", 50 * GIB, 100 * TIB, is_scaled=True),
    )
    scanned: Size = yaml_key(
        "The compressed bytes that one query reads on average, without the partitions and columns that Trino skips."
        " Trino calls it the physical input of a query.",
        bounds=SCANNED,
        examples=["100 GiB"],
        effect="The time of a query, the number of workers, their disks' throughput.",
        slider=Slider("Data", "Bytes scanned by a query", "size", GIB, 2 * TIB, is_scaled=True),
    )
    queries: QueriesSection = yaml_key("The rate of the queries.", examples=[{"per_hour": 60}])
    file_format: Literal["parquet", "orc"] = yaml_key("The format of the files.", "parquet")
    file: Size = yaml_key(
        "The mean size of a file.",
        FILE_BYTES,
        bounds=Bounds(
            least=MIB, most=100 * GIB, text=size_text, reason="Trino reads files of that size in splits"
        ),  # judgement
        effect="The hit ratio, if some files are more popular than others.",
        slider=Slider("Data", "Size of a file", "size", 8 * MIB, 4 * GIB),
    )
    read: Size = yaml_key(
        "The mean length of one contiguous read of a file: a column chunk, or a run of neighbouring ones.",
        READ_BYTES,
        bounds=Bounds(
            least=64 * KIB, most=GIB, text=size_text, reason="it is one contiguous read of a file"
        ),  # judgement
        effect="The pages that a read touches, and so the size of the cache and bytes from S3.",
        slider=Slider("Data", "Length of one read", "size", 256 * KIB, 128 * MIB),
    )
    cpu_seconds_per_gib: float = yaml_key(
        "The CPU time of a query divided by its physical input, in core-seconds for each GiB.",
        CPU_SECONDS_PER_GIB,
        bounds=Bounds(most=10_000, reason="a core reads a GiB within three hours"),  # judgement
        effect="The number of workers, and the time of a query.",
        slider=Slider("Load", "Core-seconds per GiB scanned", "ratio", 1, 100, is_scaled=True),
    )
    popularity: Annotated[
        Annotated[Literal["uniform"], Tag("[name]")] | Annotated[PopularitySection, Tag("[spread]")],
        Discriminator(lambda value: "[name]" if isinstance(value, str) else "[spread]"),
    ] = yaml_key(
        "How the reads are distributed over files. `uniform`: every file is read equally often.",
        "uniform",
        examples=[{"zipf": 0.8}],
        effect="The hit ratio for each size of cache, and so the size of the cache.",
        slider=Slider("Load", "Skew of the files (Zipf exponent)", "skew", 0, 1.5, stops=SKEWS),
    )
    growth: Growth | None = yaml_key(
        "How much the working set and the rate of the queries grow each month, for `warmbase plan ENV --cluster NAME"
        " --months N`, which assumes 8 % a month by default. Without --months, a plan is for today.",
        None,
        bounds=GROWTH,
        examples=["8 % a month"],
    )

    def rules(self) -> Iterator[Refusal]:
        """Refuse a query that reads more than all queries together."""
        with known_values:
            if self.scanned > self.working_set:
                yield Refusal(
                    at=("scanned",),
                    why="one query reads more than all queries together",
                    fix="working_set is all that queries read, scanned is the mean of one query",
                )

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

    hit_ratio: Share = yaml_key(
        "The smallest share of page reads that warm caches must answer.",
        0.9,
        bounds=HIT_RATIO,
        effect="The smallest cache.",
        slider=HIT_RATIO_SLIDER,
    )
    query_time: Duration | None = yaml_key(
        "The longest mean time of a query in the busiest hour, with warm caches.",
        None,
        bounds=Bounds(
            above=LEAST_QUERY_SECONDS,
            most=TIME.most,
            text=TIME.text,
            reason="planning and starting a query takes a second",
        ),
        examples=["60 s"],
        effect="The number of workers, their caches and volumes.",
        slider=Slider(
            "Targets",
            "Maximum mean time of a query",
            "time",
            2,
            SECONDS_PER_HOUR,
            optional=True,
            stops=("15 s", "30 s", "2 min", "5 min"),
        ),
    )
    lost_nodes: int = yaml_key(
        "The number of workers that the cluster can lose and still meet its targets.",
        1,
        bounds=LOST_NODES,
        effect="The number of workers: targets hold on those that are left.",
        slider=replace(LOST_NODES_SLIDER, title="Workers that may be lost"),
    )
    budget_usd_per_month: float | None = yaml_key(
        "The most that the cluster may cost in a month, in US dollars.",
        None,
        bounds=BUDGET,
        examples=[9000],
        effect="Whether the cheapest cluster is acceptable.",
        slider=BUDGET_SLIDER,
    )

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

    type: Annotated[InstanceType | None, Auto] = yaml_key(
        "The instance type of the workers. By default, the calculator chooses it.",
        None,
        examples=["r8g.2xlarge"],
        effect="Everything about the workers.",
    )
    count: Annotated[int | None, Auto] = yaml_key(
        "How many workers the cluster has. By default, the calculator chooses it.",
        None,
        bounds=Bounds(least=1, most=10_000, reason="no EMR cluster has more core nodes"),  # judgement
        examples=[6],
        effect="Everything about the workers.",
    )
    families: Families = yaml_key(
        "The instance families from which the calculator chooses.",
        default_factory=lambda: list(WORKER_FAMILIES),
        examples=[list(WORKER_FAMILIES)],
        effect="Which instance types may be chosen.",
    )
    volumes: Annotated[list[VolumeSection] | None, Auto] = yaml_key(
        "The volumes of each worker. By default, the calculator chooses them.",
        None,
        examples=[[{"purpose": "cache", "size": "1420 GiB"}, {"purpose": "system", "size": "64 GiB"}]],
        effect="The size of the cache, throughput and price.",
    )


def _s3_url(url: str) -> str:
    if not re.fullmatch(URL_FORM, url):
        raise refuse(f"{quoted(url)} is not a prefix in S3", "write s3://BUCKET/PREFIX/")
    return url


S3Url = Annotated[str, AfterValidator(_s3_url), WithJsonSchema({"type": "string", "pattern": URL_FORM})]
"""The address of a prefix in S3."""


class TrinoSection(EngineSection):
    """An analytics cluster beside HBase: Trino, whose workers cache the files of S3 on their disks."""

    ENGINE = "trino"

    engine: Literal["trino"] = yaml_key(
        "trino: an analytics cluster whose workers cache files of S3. It neither reads nor writes the root."
    )
    catalog: Literal["hive", "iceberg", "delta"] = yaml_key(
        "The connector of the tables: Hive, Iceberg or Delta Lake. The files of one catalog are cached.", "hive"
    )
    preferred_hosts: int = yaml_key(
        "The number of workers on which Trino prefers to read a file. Each of them caches a copy of it: with two, the"
        " caches must be twice as large, and stay warm if a worker is lost.",
        1,
        bounds=Bounds(least=1, most=10, reason="each host that Trino prefers for a file has a copy of it"),  # judgement
        effect="The size of the cache, and how warm it is after a worker is lost.",
        slider=Slider("Cache", "Workers that cache a file", "count", 1, 4, stops=("1", "2")),
    )
    data: list[S3Url] = yaml_key(
        "The prefixes in S3 below which the tables lie, each s3://BUCKET/PREFIX/ in a bucket of this account. The nodes"
        " may read only what lies below them, and write nothing.",
        default_factory=list,
        examples=[["s3://our-lake/tables/"]],
    )
    workload: ScanSection = yaml_key(
        "The queries and the files that they read.",
        examples=[{"working_set": "6 TiB", "scanned": "100 GiB", "queries": {"per_hour": 60}}],
    )
    targets: QueryTargetsSection = yaml_key(
        "The targets that the plan of this cluster has to meet.",
        QueryTargetsSection.model_construct(),
        examples=[{"hit_ratio": 0.9}],
    )
    coordinator: PrimarySection = yaml_key(
        "The coordinator, on the primary node.",
        PrimarySection.model_construct(),
        examples=[{"type": "r8g.2xlarge"}],
        effect="The price of the coordinator.",
    )
    workers: Workers = yaml_key(
        "The workers, on the core nodes.", Workers.model_construct(), examples=[{"type": "i8g.2xlarge", "count": 6}]
    )

    def rules_in(self, file: EnvironmentFile, name: str) -> Iterator[Refusal]:
        """Refuse also a release with an unknown version of Trino, Kerberos, and data in the HBase root or the logs."""
        at = "clusters", name
        with known_values:
            release = releases()[file.release]
            if not release.version_of("trino"):
                known = [release.label for release in releases().values() if release.version_of("trino")]
                yield Refusal(
                    at=(*at, "engine"),
                    why=f"warmbase does not know which version of Trino {release.label} has",
                    fix=f"use one of {', '.join(known)}, or add its version to facts/releases.csv from the Release"
                    " Guide",
                )
        with known_values:
            if file.security.gives("kerberos"):
                yield Refusal(
                    at=(*at, "engine"),
                    why="warmbase does not set up Kerberos for Trino",
                    fix="leave security.kerberos out, or plan this cluster with an environment file of its own",
                )
        with known_values:
            root, own = file.storage.root, f"s3://warmbase-{file.name}-"
            near = f"{root.rstrip('/')}/"
            for number, url in enumerate(self.data):
                overlaps = root != "new" and (url.startswith(near) or near.startswith(url))
                if overlaps or url.startswith((f"{own}root-", f"{own}logs-")):
                    yield Refusal(
                        at=(*at, "data", number),
                        why="it is, contains or lies in the HBase root or the logs, which Trino must not read",
                        fix="keep exports below a prefix of their own, such as s3://our-lake/tables/",
                    )
        yield from super().rules_in(file, name)

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
