"""The limits of a gp3 volume, and its price.

Sources: EBS User Guide, general-purpose volumes (3,000 IOPS and 125 MiB/s included; at most 80,000 IOPS and
2,000 MiB/s; 500 IOPS for each GiB; 0.25 MiB/s for each IOPS). EMR documents less for its VolumeSpecification:
1 to 1,024 GiB and 125 to 1,000 MiB/s. That is probably stale, so a pinned volume beyond it is a warning; what
the calculator chooses stays inside.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from sizing.cluster import Volume
from sizing.prices import PriceTable

__all__ = ["Provision", "gp3_volume", "least_gib", "most_iops", "provisions", "usd_per_month"]

INCLUDED_IOPS: Final = 3_000
INCLUDED_MIB_S: Final = 125
IOPS_PER_MIB_S: Final = 4
IOPS_PER_GIB: Final = 500
EMR_DOCUMENTED_GIB: Final = 1_024
EMR_DOCUMENTED_MIB_S: Final = 1_000
EMR_MOST_VOLUMES: Final = 24  # 25 for an instance, one of them for the system
# judgement: steps of a few dollars; finer ones make plans differ for nothing.
THROUGHPUTS_MIB_S: Final = (125, 150, 175, 200, 250, 300, 350, 400, 500, 600, 700, 800, 900, 1_000)
IOPS: Final = (3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 16_000, 20_000, 30_000, 40_000)

Provision = tuple[int, int]
"""Throughput in MiB/s, and IOPS."""


def most_iops(size_gib: int) -> int:
    """Return what a volume of that size may be provisioned with; what gp3 includes, it always has."""
    return max(INCLUDED_IOPS, IOPS_PER_GIB * size_gib)


def least_gib(iops: int) -> int:
    """The smallest volume that may be provisioned with so many; what gp3 includes, each has."""
    return 1 if iops <= INCLUDED_IOPS else -(-iops // IOPS_PER_GIB)


@cache
def provisions(most_mib_s: int, most_iops: int) -> tuple[Provision, ...]:
    """Return what may be provisioned on an instance that sustains so much; the included amounts always may.

    The instance's own limit is one of the steps, for provisioning beyond it buys bursts only.
    """
    most = max(INCLUDED_MIB_S, min(most_mib_s, EMR_DOCUMENTED_MIB_S))
    throughputs = (*(step for step in THROUGHPUTS_MIB_S if step < most), most)
    return tuple(
        (throughput_mib_s, iops)
        for throughput_mib_s in throughputs
        for iops in IOPS
        if IOPS_PER_MIB_S * throughput_mib_s <= iops <= max(INCLUDED_IOPS, most_iops)
    )


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


def usd_per_month(volume: Volume, prices: PriceTable) -> float:
    """Size, and what is provisioned above that which is included, for all volumes of this kind on a node.

    An instance's own NVMe drives come with it.
    """
    if volume.type == "nvme":
        return 0.0
    one = (
        volume.size_gib * prices.usd("gp3-gib-month")
        + max(0, volume.iops - INCLUDED_IOPS) * prices.usd("gp3-iops-month")
        + max(0, volume.throughput_mib_s - INCLUDED_MIB_S) * prices.usd("gp3-mib-s-month")
    )
    return one * volume.count
