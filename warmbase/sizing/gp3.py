"""The limits and the price of a gp3 volume, and the volume that stands for an instance's own drive.

Sources: EBS User Guide, general-purpose volumes (3,000 IOPS and 125 MiB/s included; at most 80,000 IOPS and
2,000 MiB/s; 500 IOPS for each GiB; 0.25 MiB/s for each IOPS). EMR documents less for its VolumeSpecification:
1 to 1,024 GiB and 125 to 1,000 MiB/s. That is probably stale, so a pinned volume beyond it is a warning; what
the calculator chooses stays inside.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from warmbase.ground.instance import InstanceType
from warmbase.ground.prices import PriceTable
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.requirements import Volume

Floats = NDArray[np.float64]

INCLUDED_IOPS: Final = 3_000
INCLUDED_MIB_S: Final = 125
IOPS_PER_MIB_S: Final = 4
IOPS_PER_GIB: Final = 500
EMR_DOCUMENTED_GIB: Final = 1_024
EMR_DOCUMENTED_MIB_S: Final = 1_000
# judgement: EMR documents 25 volumes for an instance, but a DataNode has twelve disks at most in practice, and all of
# them are lost with its node; and a cache is lost with any one of its volumes.
EMR_MOST_VOLUMES: Final = 12
# judgement: a step costs a dollar a month; with finer steps, plans would differ for no reason.
THROUGHPUT_STEP_MIB_S: Final = 25
IOPS_STEP: Final = 500
MOST_IOPS: Final = 40_000  # judgement: half of what EBS documents; beyond it a second volume is cheaper

Provision = tuple[int, int]
"""Throughput in MiB/s, and IOPS."""


def most_iops(size_gib: int) -> int:
    """Return what a volume of that size may be provisioned with; what gp3 includes, it always has."""
    return max(INCLUDED_IOPS, IOPS_PER_GIB * size_gib)


def least_gib(iops: Floats | float) -> Floats:
    """Return the smallest volumes on which these IOPS can be provisioned; every volume has those that gp3 includes.

    Shape as iops.
    """
    return np.asarray(np.maximum(1.0, np.ceil(iops / IOPS_PER_GIB) * (iops > INCLUDED_IOPS)))


class Provisions(Struct, frozen=True, kw_only=True):
    """The most that is provisioned on a volume of an instance that sustains `mib_s` and `iops` to all its EBS volumes.

    The included amounts are always allowed. Beyond the instance's own limit, provisioning buys only bursts.
    """

    mib_s: int
    iops: int

    @classmethod
    def of(cls, instance: InstanceType) -> Provisions:
        """Return the limits of the instance, or those of EMR if they are lower."""
        iops = max(INCLUDED_IOPS, min(instance.ebs_sustained_iops, MOST_IOPS))
        mib_s = min(instance.ebs_sustained_bytes_per_second // MIB, EMR_DOCUMENTED_MIB_S, iops // IOPS_PER_MIB_S)
        return cls(mib_s=max(INCLUDED_MIB_S, mib_s), iops=iops)

    def sufficient(self, mib_s: Floats, iops: Floats) -> tuple[Floats, Floats]:
        """Return the least throughput and IOPS on sale that are enough, or else the most on sale; shapes as given."""
        throughput = np.maximum(INCLUDED_MIB_S, THROUGHPUT_STEP_MIB_S * np.ceil(mib_s / THROUGHPUT_STEP_MIB_S))
        throughput = np.minimum(throughput, self.mib_s)
        operations = np.maximum(np.maximum(INCLUDED_IOPS, iops), IOPS_PER_MIB_S * throughput)
        return throughput, np.minimum(IOPS_STEP * np.ceil(operations / IOPS_STEP), self.iops)


def gp3_volume(purpose: str, size_gib: int, provision: Provision, count: int = 1) -> Volume:
    """Return a volume of that size with that provision."""
    throughput_mib_s, iops = provision
    return Volume(
        purpose=purpose,
        type="gp3",
        count=count,
        size_gib=size_gib,
        iops=iops,
        throughput_mib_s=throughput_mib_s,
    )


def nvme_volume(instance: InstanceType) -> Volume:
    """The instance's own drive as a cache volume; what it does is a judgement of warmbase/facts/nvme-rates.csv."""
    return Volume(
        purpose="cache",
        type="nvme",
        count=1,
        size_gib=instance.nvme_disk_bytes // GIB,
        iops=instance.nvme_disk_iops,
        throughput_mib_s=instance.nvme_disk_bytes_per_second // MIB,
    )


def usd_per_month(volume: Volume, prices: PriceTable) -> float:
    """Size, and what is provisioned above that which is included, for all volumes of this kind on a node.

    An instance's own NVMe drives come with it.
    """
    if volume.type == "nvme":
        return 0.0
    one = volume.size_gib * prices.usd("gp3-gib-month")
    if volume.iops > INCLUDED_IOPS:
        one += (volume.iops - INCLUDED_IOPS) * prices.usd("gp3-iops-month")
    if volume.throughput_mib_s > INCLUDED_MIB_S:
        one += (volume.throughput_mib_s - INCLUDED_MIB_S) * prices.usd("gp3-mib-s-month")
    return one * volume.count
