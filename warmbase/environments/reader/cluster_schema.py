"""The `clusters` section of an environment file; the calculator chooses every value that the file leaves out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from warmbase.environments.reader import bounds
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import (
    Auto,
    Rate,
    RawSection,
    Refusal,
    Rule,
    Section,
    Size,
    not_a_switch,
    refuse,
)
from warmbase.environments.reader.workload_schema import ReadsSection, TargetsSection
from warmbase.facts.ec2 import instance_types
from warmbase.ground.units import GIB, MIB
from warmbase.sizing import gp3
from warmbase.sizing.cost import EMR_ROOT_VOLUME
from warmbase.sizing.requirements import ClusterChoice, CoreChoice, Volume
from warmbase.sizing.search.disks import nvme_volume

GP3: Final = "gp3"
INCLUDED_BYTES_PER_SECOND: Final = gp3.INCLUDED_MIB_S * MIB


def _whole_units(section: RawSection) -> Iterator[Refusal]:
    """EBS sells whole GiB and whole MiB/s, and the node knows its disks by whole GiB."""
    size, throughput = section.size("size"), section.rate("throughput", 0)
    if size is not None and size > GIB and size % GIB:
        yield Refusal(at=("size",), why="EBS sells whole GiB", fix=f"write {math.ceil(size / GIB)} GiB")
    if throughput is not None and throughput % MIB:
        yield Refusal(at=("throughput",), why="EBS sells whole MiB/s", fix=f"write {math.ceil(throughput / MIB)} MiB/s")


def _not_as_the_root_disk(section: RawSection) -> Iterator[Refusal]:
    """Every node has a root disk of EMR's beside its volumes."""
    if section.text("type", GP3) == GP3 and section.size("size") == EMR_ROOT_VOLUME.size_bytes:
        yield Refusal(
            at=("size",),
            why=f"the node identifies its disks by size, and the root disk has {EMR_ROOT_VOLUME.size_gib} GiB",
            fix=f"write {EMR_ROOT_VOLUME.size_gib + 1} GiB",
        )


def _gp3_iops(section: RawSection) -> Iterator[Refusal]:
    """At most 500 IOPS for each GiB; the included ones come with any size."""
    size, iops = section.size("size"), section.whole("iops", gp3.INCLUDED_IOPS)
    if section.text("type", GP3) != GP3 or size is None or iops is None:
        return
    most = max(gp3.INCLUDED_IOPS, gp3.IOPS_PER_GIB * (size // GIB))
    if most < iops <= bounds.IOPS.most:
        least_gib = -(-iops // gp3.IOPS_PER_GIB)
        yield Refusal(
            at=("iops",),
            why=f"gp3 takes at most {gp3.IOPS_PER_GIB} IOPS per GiB, {most:,} for this size, not {iops:,}",
            fix=f"use at most {most}, or a volume of {least_gib} GiB",
        )


def _gp3_throughput(section: RawSection) -> Iterator[Refusal]:
    """Refuse more than 0.25 MiB/s for each provisioned IOPS."""
    throughput, iops = section.rate("throughput", INCLUDED_BYTES_PER_SECOND), section.whole("iops", gp3.INCLUDED_IOPS)
    if section.text("type", GP3) != GP3 or throughput is None or iops is None or iops < gp3.INCLUDED_IOPS:
        return
    mib_s, most = throughput // MIB, iops // gp3.IOPS_PER_MIB_S
    if most < mib_s <= bounds.THROUGHPUT.most // MIB:
        yield Refusal(
            at=("throughput",),
            why=f"gp3 takes at most 0.25 MiB/s per IOPS, {most} MiB/s with {iops:,} IOPS, not {mib_s} MiB/s",
            fix=f"provision {gp3.IOPS_PER_MIB_S * mib_s} IOPS, or {most} MiB/s",
        )


def _several_volumes(section: RawSection) -> Iterator[Refusal]:
    """Refuse several volumes where only a cache on EBS may have them."""
    count = section.whole("count", 1)
    if count is None or count <= 1:
        return
    if section.text("type", GP3) != GP3:
        yield Refusal(at=("count",), why="an NVMe cache lies on a single instance drive", fix="write 1, or use gp3")
    elif section.text("purpose") == "system":
        yield Refusal(at=("count",), why="a node has one system volume", fix="write 1, and state a larger size")


class VolumeSection(Section):
    """One kind of data volume on each core node. The defaults are gp3's own: 3,000 IOPS and 125 MiB/s."""

    rules: ClassVar[tuple[Rule, ...]] = (
        _whole_units,
        _not_as_the_root_disk,
        _gp3_iops,
        _gp3_throughput,
        _several_volumes,
    )

    purpose: Literal["cache", "system"]
    type: Literal["gp3", "nvme"] = "gp3"
    count: Annotated[int, bounds.VOLUMES, Field(examples=[1])] = 1
    size: Annotated[Size, bounds.VOLUME, Field(examples=["500 GiB"])]
    iops: Annotated[int, bounds.IOPS] = gp3.INCLUDED_IOPS
    throughput: Annotated[Rate, bounds.THROUGHPUT] = INCLUDED_BYTES_PER_SECOND

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


GRAVITON_MEMORY_FAMILIES = ("r8g", "r8gd", "i8g")


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


Families = Annotated[list[str], AfterValidator(_check_families)]
"""Families of instance types that the price list and the table have."""


def _check_volume_purposes(section: RawSection) -> Iterator[Refusal]:
    """Yield one cache volume and one system volume, of different sizes."""
    volumes = section.entries("volumes")
    purposes = [volume.text("purpose") for volume in volumes]
    sizes = [volume.size("size") for volume in volumes]
    if not isinstance(section.values.get("volumes"), list) or {*purposes, *sizes} & {None}:
        return
    if sorted(map(str, purposes)) != ["cache", "system"]:
        yield Refusal(
            at=("volumes",), why="a node needs one cache volume and one system volume", fix="state both, or auto"
        )
    elif sizes[0] == sizes[1]:
        yield Refusal(
            at=("volumes",),
            why="the node identifies its volumes by size, and two volumes have the same size",
            fix="make the system volume 1 GiB larger",
        )


def _a_drive_of_the_type(section: RawSection) -> Iterator[Refusal]:
    """An nvme volume is the one drive of a type that has one; the node knows it by its whole size."""
    drives = [
        (number, volume) for number, volume in enumerate(section.entries("volumes")) if volume.text("type") == "nvme"
    ]
    if not drives:
        return
    name = section.text("type", "auto")
    instance = instance_types().get(name or "")
    if name == "auto" or (instance and instance.nvme_disks != 1):
        has = f"{name} has {instance.nvme_disks}" if instance else "the calculator chooses the type"
        yield Refusal(
            at=("volumes",),
            why=f"an nvme volume is the one drive of its instance, and {has}",
            fix="pin a type with one drive, such as r8gd.4xlarge, or use gp3",
        )
    elif len(drives) > 1:
        yield Refusal(at=("volumes",), why=f"{name} has one drive, and two volumes are nvme", fix="make one gp3")
    elif instance:
        yield from _whole_drive(*drives[0], instance.nvme_disk_bytes // GIB, instance.name)


def _whole_drive(number: int, volume: RawSection, drive_gib: int, name: str) -> Iterator[Refusal]:
    size = volume.size("size")
    if size is not None and size != drive_gib * GIB:
        yield Refusal(
            at=("volumes", number, "size"),
            why=f"the drive of {name} has {drive_gib} GiB, and the node identifies it by that size",
            fix=f"write {drive_gib} GiB",
        )


class PrimarySection(Section):
    """The primary nodes of a cluster, as the file states them."""

    type: Annotated[
        Annotated[str, AfterValidator(_check_instance_type)] | None, Auto, Field(examples=["r8g.2xlarge"])
    ] = None


class Core(Section):
    """The core nodes: what is not stated, the calculator chooses."""

    rules: ClassVar[tuple[Rule, ...]] = (_check_volume_purposes, _a_drive_of_the_type)

    type: Annotated[
        Annotated[str, AfterValidator(_check_instance_type)] | None, Auto, Field(examples=["r8g.2xlarge"])
    ] = None
    count: Annotated[Annotated[int, AfterValidator(_two_at_least), bounds.NODES] | None, Auto, Field(examples=[6])] = (
        None
    )
    families: Families = Field(
        default_factory=lambda: list(GRAVITON_MEMORY_FAMILIES), examples=[list(GRAVITON_MEMORY_FAMILIES)]
    )
    volumes: Annotated[list[VolumeSection] | None, Auto] = Field(
        default=None,
        examples=[[{"purpose": "cache", "size": "1420 GiB"}, {"purpose": "system", "size": "64 GiB"}]],
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

    reads: Annotated[ReadsSection | None, Field(examples=[{"per_second": 50}])] = None


def _known_engine(engine: object) -> object:
    if engine != "hbase":
        raise refuse(f"{quoted(engine)} is not an engine that warmbase knows", "use hbase or trino")
    return engine


class ClusterSection(Section):
    """One named cluster over the environment's root. If it has its own reads or targets, they replace the file's."""

    engine: Annotated[Literal["hbase"], BeforeValidator(_known_engine)] = "hbase"
    role: Literal["active", "replica"] = "active"
    primaries: Annotated[Literal[1, 3], BeforeValidator(not_a_switch), BeforeValidator(_primaries)] = 1
    primary: Annotated[PrimarySection, Field(examples=[{"type": "r8g.2xlarge"}])] = PrimarySection.model_construct()
    core: Annotated[Core, Field(examples=[{"type": "r8g.2xlarge", "count": 6}])] = Core.model_construct()
    workload: Annotated[ClusterWorkload, Field(examples=[{"reads": {"per_second": 50}}])] = (
        ClusterWorkload.model_construct()
    )
    targets: Annotated[TargetsSection | None, Field(examples=[{"hit_ratio": 0.5, "lost_nodes": 0}])] = None

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
