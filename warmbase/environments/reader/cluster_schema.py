"""The `clusters` section of an environment file; the calculator chooses every value that the file leaves out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator

from warmbase.environments.reader.key import Bounds, size_text, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import Auto, Rate, Refusal, Rule, Section, Size, not_a_switch, refuse
from warmbase.environments.reader.workload_schema import ReadsSection, TargetsSection
from warmbase.facts.ec2 import instance_types
from warmbase.ground.units import GIB, MIB, TIB
from warmbase.sizing import gp3
from warmbase.sizing.cost import EMR_ROOT_VOLUME
from warmbase.sizing.requirements import ClusterChoice, CoreChoice, Volume
from warmbase.sizing.search.disks import nvme_volume

GRAVITON_MEMORY_FAMILIES = ("r8g", "r8gd", "i8g")


def _whole_gib(section: VolumeSection) -> Iterator[Refusal]:
    """EBS sells whole GiB, and the node knows its disks by whole GiB."""
    if section.size % GIB:
        yield Refusal(at=("size",), why="EBS sells whole GiB", fix=f"write {math.ceil(section.size / GIB)} GiB")


def _whole_mib_s(section: VolumeSection) -> Iterator[Refusal]:
    if section.throughput % MIB:
        fix = f"write {math.ceil(section.throughput / MIB)} MiB/s"
        yield Refusal(at=("throughput",), why="EBS sells whole MiB/s", fix=fix)


def _not_as_the_root_disk(section: VolumeSection) -> Iterator[Refusal]:
    """Every node has a root disk of EMR's beside its volumes."""
    if section.type == "gp3" and section.size == EMR_ROOT_VOLUME.size_bytes:
        yield Refusal(
            at=("size",),
            why=f"the node identifies its disks by size, and the root disk has {EMR_ROOT_VOLUME.size_gib} GiB",
            fix=f"write {EMR_ROOT_VOLUME.size_gib + 1} GiB",
        )


def _gp3_iops(section: VolumeSection) -> Iterator[Refusal]:
    """At most 500 IOPS for each GiB; the included ones come with any size."""
    most = max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * (section.size // GIB))
    if section.type == "gp3" and section.iops > most:
        least_gib = -(-section.iops // gp3.IOPS_PER_GIB)
        yield Refusal(
            at=("iops",),
            why=f"gp3 takes at most {gp3.IOPS_PER_GIB} IOPS per GiB, {most:,} for this size, not {section.iops:,}",
            fix=f"use at most {most}, or a volume of {least_gib} GiB",
        )


def _gp3_throughput(section: VolumeSection) -> Iterator[Refusal]:
    """Refuse more than 0.25 MiB/s for each provisioned IOPS."""
    mib_s, most = section.throughput // MIB, section.iops // gp3.IOPS_PER_MIB_S
    if section.type == "gp3" and mib_s > most:
        yield Refusal(
            at=("throughput",),
            why=f"gp3 takes at most 0.25 MiB/s per IOPS, {most} MiB/s with {section.iops:,} IOPS, not {mib_s} MiB/s",
            fix=f"provision {gp3.IOPS_PER_MIB_S * mib_s} IOPS, or {most} MiB/s",
        )


def _several_volumes(section: VolumeSection) -> Iterator[Refusal]:
    """Refuse several volumes where only a cache on EBS may have them."""
    if section.count == 1:
        return
    if section.type != "gp3":
        yield Refusal(at=("count",), why="an NVMe cache lies on a single instance drive", fix="write 1, or use gp3")
    elif section.purpose == "system":
        yield Refusal(at=("count",), why="a node has one system volume", fix="write 1, and state a larger size")


class VolumeSection(Section):
    """One kind of data volume on each core node. The defaults are gp3's own: 3,000 IOPS and 125 MiB/s."""

    rules: ClassVar[tuple[Rule, ...]] = (
        _whole_gib,
        _whole_mib_s,
        _not_as_the_root_disk,
        _gp3_iops,
        _gp3_throughput,
        _several_volumes,
    )

    purpose: Literal["cache", "system"] = yaml_key(
        "cache: a volume for the BucketCache, or Trino's file-system cache, alone. system: a volume for HDFS, YARN and"
        " logs."
    )
    type: Literal["gp3", "nvme"] = yaml_key("gp3: an EBS volume. nvme: the instance's own NVMe drive.", "gp3")
    count: int = yaml_key(
        "The number of volumes of this kind on each core node.",
        1,
        bounds=Bounds(least=1, most=gp3.EMR_MOST_VOLUMES, reason="a core node has at most 12 volumes for one purpose"),
        examples=[1],
    )
    size: Size = yaml_key(
        "The size of each volume, in whole GiB.",
        bounds=Bounds(
            least=5 * GIB,
            most=64 * TIB,
            text=size_text,
            reason="EMR offers no smaller volume for core nodes, and EBS no larger one",
        ),
        examples=["500 GiB"],
    )
    iops: int = yaml_key(
        "The IOPS of a gp3 volume; 3,000 are included in its price.",
        gp3.INCLUDED_IOPS,
        bounds=Bounds(
            least=gp3.INCLUDED_IOPS, most=80_000, reason="gp3 includes 3,000 IOPS and takes no more than 80,000"
        ),
    )
    throughput: Rate = yaml_key(
        "The throughput of a gp3 volume; 125 MiB/s are included in its price.",
        gp3.INCLUDED_MIB_S * MIB,
        bounds=Bounds(
            least=gp3.INCLUDED_MIB_S * MIB,
            most=2_000 * MIB,
            text=lambda rate: f"{size_text(rate)}/s",
            reason="gp3 includes 125 MiB/s and takes no more than 2,000",
        ),
    )

    def build(self) -> Volume:
        """Return the section as the type that the calculator uses."""
        return Volume(
            purpose=self.purpose,
            type=self.type,
            count=self.count,
            size_gib=self.size // GIB,
            iops=self.iops,
            throughput_mib_s=self.throughput // MIB,
        )


def _primaries(count: object) -> object:
    """Return the count. Raises a refusal for two primary nodes, which EMR does not have."""
    if count == 2:  # noqa: PLR2004 - the one number between
        raise refuse("EMR launches one primary node or three, because two cannot outvote a lost one", "use 1 or 3")
    return count


def _check_instance_type(name: str) -> str:
    if name not in instance_types():
        raise refuse(
            f"no instance type {quoted(name)} in the table", "see warmbase/facts/instance-types.csv, or use auto"
        )
    return name


def _two_at_least(count: int) -> int:
    """HDFS keeps the write-ahead log twice."""
    if count < 2:  # noqa: PLR2004 - two copies
        raise refuse(f"{quoted(count)} core node cannot keep the write-ahead log twice", "use 2 or more, or auto")
    return count


def _check_families(families: list[str]) -> list[str]:
    catalogued = sorted({instance_type.family for instance_type in instance_types().values()})
    unknown = [family for family in families if family not in catalogued]
    if not families:
        raise refuse("an empty list leaves nothing to choose from", f"known: {', '.join(catalogued)}")
    if unknown:
        raise refuse(f"no family {', '.join(map(quoted, unknown))} in the table", f"known: {', '.join(catalogued)}")
    return families


InstanceType = Annotated[str, AfterValidator(_check_instance_type)]
"""An instance type that the price list and the table have."""
Families = Annotated[list[str], AfterValidator(_check_families)]
"""Families of instance types that the price list and the table have."""


def _check_volume_purposes(section: Core) -> Iterator[Refusal]:
    """Yield one cache volume and one system volume, of different sizes."""
    if section.volumes is None:
        return
    purposes = sorted(volume.purpose for volume in section.volumes)
    sizes = [volume.size for volume in section.volumes]
    if purposes != ["cache", "system"]:
        yield Refusal(
            at=("volumes",), why="a node needs one cache volume and one system volume", fix="state both, or auto"
        )
    elif sizes[0] == sizes[1]:
        yield Refusal(
            at=("volumes",),
            why="the node identifies its volumes by size, and two volumes have the same size",
            fix="make the system volume 1 GiB larger",
        )


def _a_drive_of_the_type(section: Core) -> Iterator[Refusal]:
    """An nvme volume is the one drive of a type that has one; the node knows it by its whole size."""
    drives = [(number, volume) for number, volume in enumerate(section.volumes or ()) if volume.type == "nvme"]
    if not drives:
        return
    instance = None if section.type is None else instance_types()[section.type]
    if instance is None or instance.nvme_disks != 1:
        has = f"{instance.name} has {instance.nvme_disks}" if instance else "the calculator chooses the type"
        yield Refusal(
            at=("volumes",),
            why=f"an nvme volume is the one drive of its instance, and {has}",
            fix="pin a type with one drive, such as r8gd.4xlarge, or use gp3",
        )
        return
    (number, volume), drive_gib = drives[0], instance.nvme_disk_bytes // GIB
    if len(drives) > 1:
        why = f"{instance.name} has one drive, and two volumes are nvme"
        yield Refusal(at=("volumes",), why=why, fix="make one gp3")
    elif volume.size != drive_gib * GIB:
        yield Refusal(
            at=("volumes", number, "size"),
            why=f"the drive of {instance.name} has {drive_gib} GiB, and the node identifies it by that size",
            fix=f"write {drive_gib} GiB",
        )


class PrimarySection(Section):
    """The primary nodes of a cluster, as the file states them."""

    type: Annotated[InstanceType | None, Auto] = yaml_key(
        "The instance type of the primary nodes. By default, the calculator chooses it.", None, examples=["r8g.2xlarge"]
    )


class Core(Section):
    """The core nodes: what is not stated, the calculator chooses."""

    rules: ClassVar[tuple[Rule, ...]] = (_check_volume_purposes, _a_drive_of_the_type)

    type: Annotated[InstanceType | None, Auto] = yaml_key(
        "The instance type of the core nodes. By default, the calculator chooses it.",
        None,
        examples=["r8g.2xlarge"],
        effect="Everything about the core nodes.",
    )
    count: Annotated[
        Annotated[
            int,
            AfterValidator(_two_at_least),
            Bounds(least=2, most=10_000, reason="no EMR cluster has more core nodes"),  # judgement
        ]
        | None,
        Auto,
    ] = yaml_key(
        "How many core nodes the cluster has. By default, the calculator chooses it.",
        None,
        examples=[6],
        effect="Everything about the core nodes.",
    )
    families: Families = yaml_key(
        "The instance families from which the calculator chooses.",
        default_factory=lambda: list(GRAVITON_MEMORY_FAMILIES),
        examples=[list(GRAVITON_MEMORY_FAMILIES)],
        effect="Which instance types may be chosen.",
    )
    volumes: Annotated[list[VolumeSection] | None, Auto] = yaml_key(
        "The volumes of each core node. By default, the calculator chooses them.",
        None,
        examples=[[{"purpose": "cache", "size": "1420 GiB"}, {"purpose": "system", "size": "64 GiB"}]],
        effect="The size of the cache, throughput, warm-up and price.",
    )

    def build(self) -> CoreChoice:
        """Return the section as the type that the calculator uses."""
        return CoreChoice(
            type=self.type,
            count=self.count,
            families=tuple(self.families),
            volumes=None if self.volumes is None else tuple(self._volume(volume) for volume in self.volumes),
        )

    def _volume(self, volume: VolumeSection) -> Volume:
        """A drive of the instance does what that drive does; IOPS and throughput are bought for EBS only."""
        if volume.type == "nvme" and self.type is not None:
            return nvme_volume(instance_types()[self.type])
        return volume.build()


class ClusterWorkload(Section):
    """The part of the workload that one cluster has of its own; all clusters over the root share the rest."""

    reads: ReadsSection | None = yaml_key("The reads of this cluster.", None, examples=[{"per_second": 50}])


def _known_engine(engine: object) -> object:
    if engine != "hbase":
        raise refuse(f"{quoted(engine)} is not an engine that warmbase knows", "use hbase or trino")
    return engine


class ClusterSection(Section):
    """One named cluster over the environment's root. If it has its own reads or targets, they replace the file's."""

    engine: Annotated[Literal["hbase"], BeforeValidator(_known_engine)] = yaml_key(
        "hbase: an HBase cluster over the root. trino: an analytics cluster, which has its own keys.", "hbase"
    )
    role: Literal["active", "replica"] = yaml_key(
        "active: the cluster that writes to the root. replica: a cluster that only reads it.",
        "active",
        effect="A replica writes nothing and is planned for its own reads and targets.",
    )
    primaries: Annotated[Literal[1, 3], BeforeValidator(not_a_switch), BeforeValidator(_primaries)] = yaml_key(
        "The number of primary nodes: 1 or 3. With three, HBase stays available if one fails.",
        1,
        effect="The price of the primary nodes.",
        decides="With one primary node, its loss ends the cluster; with three, EMR replaces it.",
    )
    primary: PrimarySection = yaml_key(
        "The primary nodes.",
        PrimarySection.model_construct(),
        examples=[{"type": "r8g.2xlarge"}],
        effect="The price of the primary nodes.",
    )
    core: Core = yaml_key(
        "The core nodes, on which the RegionServers run.",
        Core.model_construct(),
        examples=[{"type": "r8g.2xlarge", "count": 6}],
    )
    workload: ClusterWorkload = yaml_key(
        "The replica's own load, where it differs from that of the environment.",
        ClusterWorkload.model_construct(),
        examples=[{"reads": {"per_second": 50}}],
    )
    targets: TargetsSection | None = yaml_key(
        "The replica's own targets, where they differ from those of the environment.",
        None,
        examples=[{"hit_ratio": 0.5, "lost_nodes": 0}],
        effect="The plan of this cluster alone.",
    )

    def build(self, cluster_name: str) -> ClusterChoice:
        """Return the section as the type that the calculator uses."""
        return ClusterChoice(
            name=cluster_name,
            role=self.role,
            primaries=self.primaries,
            primary_type=self.primary.type,
            core=self.core.build(),
            reads=self.workload.reads.build() if self.workload.reads else None,
            targets=self.targets.build() if self.targets else None,
        )
