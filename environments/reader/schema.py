"""The schema of an environment file: everything a person decides and nothing a machine can work out.

The whole schema stands here from the first day; a value that nothing honours yet is refused as such, never
ignored. `build` turns each part into the type that the rest of the project uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from environments.environment import Access, Environment
from environments.reader.scalars import Auto, Rate, Share, Size, only, refuse
from facts.instance_types import instance_types
from facts.prices import priced_regions
from facts.releases import releases
from sizing.cluster import ClusterChoice, CoreChoice, Volume
from sizing.targets import Targets
from sizing.units import GIB, MIB
from sizing.workload import ClosedLoad, Load, OpenLoad, Workload

GRAVITON_MEMORY_FAMILIES = ("r8g", "r8gd", "i8g")


class Section(BaseModel):
    """One mapping of the file. Unknown keys are errors; texts and numbers are not mixed up."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Storage(Section):
    """Where the data lives."""

    mode: Annotated[Literal["s3-cached", "s3-plain", "hdfs"], only("s3-cached")] = "s3-cached"
    root: Annotated[str, Field(pattern=r"^(new|s3://.+/)$", examples=["new"]), only("new")] = "new"
    wal: Annotated[Literal["hdfs", "emr-wal"], only("hdfs")] = "hdfs"


class Network(Section):
    """The network to use, or `new`."""

    vpc: Annotated[str, Field(pattern=r"^(new|vpc-[0-9a-f]+)$"), only("new")] = "new"
    subnet: Annotated[str | None, only(None)] = None
    route_table: Annotated[str | None, only(None)] = None
    availability_zone: Annotated[str, Field(examples=["us-east-1a"])]


class AccessSection(Section):
    """Who may reach ZooKeeper, master and RegionServers."""

    security_groups: list[Annotated[str, Field(pattern=r"^sg-[0-9a-f]+$")]] = []
    cidrs: list[Annotated[str, Field(pattern=r"^[0-9.]+/[0-9]+$")]] = []

    def build(self) -> Access:
        """As the type the stacks use."""
        return Access(security_groups=tuple(self.security_groups), cidrs=tuple(self.cidrs))


class Security(Section):
    """Encryption beside that of S3, which is always on."""

    in_transit: Annotated[dict[str, str] | None, only(None)] = None
    local_disks: bool = True


class Compression(Section):
    """Codec of the store files, and bytes before it for each byte after."""

    codec: Annotated[Literal["none", "gz", "snappy", "lz4", "zstd", "lzo", "bzip2"], only("none")] = "none"
    ratio: Annotated[float, Field(ge=1), only(1.0)] = 1.0


class Reads(Section):
    """Open load (`per_second`) or closed load (`concurrency`), never both."""

    per_second: Annotated[float | None, Field(gt=0, examples=[900])] = None
    concurrency: Annotated[int | None, Field(ge=1, examples=[1000])] = None
    kind: Annotated[Literal["get", "multi-get", "scan"], only("get")] = "get"
    rows: Annotated[int, Field(ge=1), only(1)] = 1

    @model_validator(mode="after")
    def one_load(self) -> Self:
        """Exactly one of the two kinds of load."""
        if (self.per_second is None) == (self.concurrency is None):
            said = "both are given" if self.per_second else "neither is given"
            raise refuse(
                f"a load is open (per_second) or closed (concurrency), and {said}",
                "keep per_second for a service with many users, concurrency for a benchmark's threads",
            )
        return self

    def build(self) -> Load:
        """As the type the calculator uses."""
        if self.per_second is not None:
            return OpenLoad(reads_per_second=self.per_second)
        return ClosedLoad(concurrency=self.concurrency or 1)


class Writes(Section):
    """What is written, as bytes of cells."""

    bytes_per_second: Size = 0


class WorkloadSection(Section):
    """What is stored and how it is read. Sizes are means."""

    stored: Size
    inspection: Annotated[str | None, only(None)] = None
    block_size: Size = 64 * 2**10
    cell: Size
    row: Size
    compression: Compression = Compression()
    encoding: Annotated[Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"], only("NONE")] = "NONE"
    reads: Reads
    writes: Writes = Writes()
    popularity: Annotated[str | dict[str, float | str], only("uniform")] = "uniform"
    regions: Annotated[int, Field(ge=1, examples=[240])]

    @field_validator("stored", "block_size", "cell", "row")
    @classmethod
    def not_nothing(cls, size_bytes: int) -> int:
        """A size of nothing is a slip."""
        if not size_bytes:
            raise refuse("is 0 bytes", "state the mean size, such as 64 KiB")
        return size_bytes

    @model_validator(mode="after")
    def row_holds_a_cell(self) -> Self:
        """A row is made of cells."""
        if self.row < self.cell:
            raise refuse(
                f"a row of {self.row} bytes cannot hold a cell of {self.cell} bytes",
                "row is what one read touches: all its cells together",
            )
        return self

    def build(self) -> Workload:
        """As the type the calculator uses."""
        return Workload(
            stored_bytes=self.stored,
            block_bytes=self.block_size,
            cell_bytes=self.cell,
            row_bytes=self.row,
            load=self.reads.build(),
            write_bytes_per_second=self.writes.bytes_per_second,
            regions=self.regions,
        )


class TargetsSection(Section):
    """What the cluster must do."""

    hit_ratio: Share = 0.95
    p99: Annotated[str | None, only(None)] = None
    warm_up: Annotated[str | None, only(None)] = None
    lost_nodes: Annotated[int, Field(ge=0)] = 1
    budget_usd_per_month: Annotated[float | None, Field(gt=0)] = None

    def build(self) -> Targets:
        """As the type the calculator uses."""
        return Targets(
            hit_ratio=self.hit_ratio,
            lost_nodes=self.lost_nodes,
            budget_usd_per_month=self.budget_usd_per_month,
        )


class VolumeSection(Section):
    """One kind of data volume on each core node. The defaults are gp3's own: 3,000 IOPS and 125 MiB/s."""

    purpose: Literal["cache", "system"]
    type: Literal["gp3"] = "gp3"
    count: Annotated[int, Field(ge=1), only(1)] = 1
    size: Size
    iops: Annotated[int, Field(ge=3000, le=80000)] = 3000
    throughput: Rate = 125 * MIB

    @model_validator(mode="after")
    def as_ebs_sells_it(self) -> Self:
        """Whole GiB, whole MiB/s, and at most 0.25 MiB/s for each provisioned IOPS."""
        if self.size % GIB or self.throughput % MIB:
            raise refuse("EBS sells whole GiB and whole MiB/s", "round the size and the throughput up")
        throughput_mib_s = self.throughput // MIB
        if not 125 <= throughput_mib_s <= min(2000, self.iops // 4):  # noqa: PLR2004 - gp3's limits
            raise refuse(
                f"gp3 takes 125 to 2000 MiB/s and at most 0.25 MiB/s per IOPS, not {throughput_mib_s} MiB/s "
                f"with {self.iops} IOPS",
                f"provision {4 * throughput_mib_s} IOPS, or less throughput",
            )
        return self

    def build(self) -> Volume:
        """As the type the calculator uses."""
        return Volume(
            purpose=self.purpose,
            type=self.type,
            count=self.count,
            size_gib=self.size // GIB,
            iops=self.iops,
            throughput_mib_s=self.throughput // MIB,
        )


def _known_type(name: str | None) -> str | None:
    if name is not None and name not in instance_types():
        raise refuse(f"no instance type {name!r} in the table", "see facts/instance-types.csv, or use auto")
    return name


class Primary(Section):
    """The primary nodes."""

    type: Annotated[str | None, Auto] = None

    @field_validator("type")
    @classmethod
    def known(cls, name: str | None) -> str | None:
        """A type of the table."""
        return _known_type(name)


class Core(Section):
    """The core nodes: what is not stated, the calculator chooses."""

    type: Annotated[str | None, Auto] = None
    count: Annotated[int | None, Auto] = None
    families: list[str] = list(GRAVITON_MEMORY_FAMILIES)
    volumes: Annotated[list[VolumeSection] | None, Auto] = None

    @field_validator("type")
    @classmethod
    def known(cls, name: str | None) -> str | None:
        """A type of the table."""
        return _known_type(name)

    @field_validator("count")
    @classmethod
    def two_at_least(cls, count: int | None) -> int | None:
        """HDFS keeps the write-ahead log twice."""
        if count is not None and count < 2:  # noqa: PLR2004 - two copies
            raise refuse(f"{count} core node cannot keep the write-ahead log twice", "use 2 or more, or auto")
        return count

    @field_validator("families")
    @classmethod
    def known_families(cls, families: list[str]) -> list[str]:
        """Families of the table."""
        known = {instance_type.family for instance_type in instance_types().values()}
        for family in families:
            if family not in known:
                raise refuse(f"no family {family!r} in the table", f"known: {', '.join(sorted(known))}")
        return families

    @field_validator("volumes")
    @classmethod
    def one_of_each(cls, volumes: list[VolumeSection] | None) -> list[VolumeSection] | None:
        """One cache volume and one system volume, of different sizes."""
        if volumes is None:
            return None
        if sorted(volume.purpose for volume in volumes) != ["cache", "system"]:
            raise refuse("a node needs one cache volume and one system volume", "state both, or auto")
        if len({volume.size for volume in volumes}) < len(volumes):
            raise refuse(
                "the node tells its volumes apart by size, and two have the same",
                "make the system volume 1 GiB larger",
            )
        return volumes

    def build(self) -> CoreChoice:
        """As the type the calculator uses."""
        return CoreChoice(
            type=self.type,
            count=self.count,
            families=tuple(self.families),
            volumes=None if self.volumes is None else tuple(volume.build() for volume in self.volumes),
        )


class Cluster(Section):
    """One named cluster over the environment's root."""

    role: Annotated[Literal["active", "replica"], only("active")] = "active"
    primaries: Literal[1, 3] = 1
    primary: Primary = Primary()
    core: Core = Core()

    def build(self, colour: str) -> ClusterChoice:
        """As the type the calculator uses."""
        return ClusterChoice(
            colour=colour,
            role=self.role,
            primaries=self.primaries,
            primary_type=self.primary.type,
            core=self.core.build(),
        )


class Alarms(Section):
    """Who hears of an alarm."""

    email: Annotated[str | None, Field(pattern=r"^[^@\s]+@[^@\s]+$")] = None


class EnvironmentFile(Section):
    """One environment: one HBase root, and the clusters over it."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,14}$", examples=["prod"])]
    account: Annotated[str | None, Field(pattern=r"^[0-9]{12}$")] = None
    region: Annotated[str, Field(examples=["us-east-1"])]
    release: Annotated[str, Field(examples=["emr-7.12.0"])]
    storage: Storage = Storage()
    network: Network
    access: AccessSection = AccessSection()
    security: Security = Security()
    tags: dict[str, str] = {}
    workload: WorkloadSection
    targets: TargetsSection = TargetsSection()
    clusters: Annotated[dict[Annotated[str, Field(pattern=r"^[a-z]{1,12}$")], Cluster], Field(min_length=1)]
    alarms: Alarms = Alarms()
    overrides: Annotated[dict[str, dict[str, str]], only({})] = {}

    @field_validator("region")
    @classmethod
    def priced(cls, region: str) -> str:
        """A region with a price list."""
        if region not in priced_regions():
            raise refuse(f"there are no prices for {region!r}", f"use one of: {', '.join(priced_regions())}")
        return region

    @field_validator("release")
    @classmethod
    def known_release(cls, label: str) -> str:
        """A release whose HBase keeps its cache over a restart."""
        if label not in releases():
            raise refuse(
                f"{label!r} is not a release whose HBase can keep its cache over a restart",
                f"use one of: {', '.join(releases())}",
            )
        return label

    @field_validator("clusters")
    @classmethod
    def one_writer(cls, clusters: Mapping[str, Cluster]) -> Mapping[str, Cluster]:
        """Two active clusters on one root corrupt it."""
        active = [colour for colour, cluster in clusters.items() if cluster.role == "active"]
        if len(active) != 1:
            raise refuse(
                f"one cluster writes to the root, and {len(active)} are active ({', '.join(active)})",
                "keep one of them",
            )
        return clusters

    def build(self, source: str) -> Environment:
        """As the type the rest of the project uses."""
        return Environment(
            source=source,
            name=self.name,
            account=self.account,
            region=self.region,
            availability_zone=self.network.availability_zone,
            release=self.release,
            mode=self.storage.mode,
            access=self.access.build(),
            encrypt_local_disks=self.security.local_disks,
            tags=self.tags,
            workload=self.workload.build(),
            targets=self.targets.build(),
            clusters={colour: cluster.build(colour) for colour, cluster in self.clusters.items()},
            alarm_email=self.alarms.email,
        )
