"""The `volumes` of a core node in an environment file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from environments.reader import bounds
from environments.reader.raw_section import RawSection
from environments.reader.scalars import Rate, Size, only
from environments.reader.section import Refusal, Rule, Section
from sizing import gp3
from sizing.cluster import Volume
from sizing.cost import EMR_ROOT_VOLUME
from sizing.units import GIB, MIB

__all__ = ["VolumeSection"]

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
            why=f"the node tells its disks apart by size, and the root disk has {EMR_ROOT_VOLUME.size_gib} GiB",
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


class VolumeSection(Section):
    """One kind of data volume on each core node. The defaults are gp3's own: 3,000 IOPS and 125 MiB/s."""

    rules: ClassVar[tuple[Rule, ...]] = (_whole_units, _not_as_the_root_disk, _gp3_iops, _gp3_throughput)

    purpose: Literal["cache", "system"]
    type: Literal["gp3", "nvme"] = "gp3"
    count: Annotated[int, only(1)] = 1
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
