"""What a gp3 volume can be, and the cheapest one that carries a load.

Sources: EBS User Guide, general-purpose volumes (3,000 IOPS and 125 MiB/s included; at most 80,000 IOPS and
2,000 MiB/s; 500 IOPS for each GiB; 0.25 MiB/s for each IOPS). EMR documents less for its VolumeSpecification:
1 to 1,024 GiB and 125 to 1,000 MiB/s. That is probably stale, so a pinned volume beyond it is a warning; what
the calculator chooses stays inside.
"""

from __future__ import annotations

import math
from typing import Final

from sizing.cluster import Volume
from sizing.prices import PriceTable
from sizing.units import MIB

__all__ = ["gp3_volume", "provisioned_throughput_mib_s", "usd_per_month"]

INCLUDED_IOPS: Final = 3_000
INCLUDED_MIB_S: Final = 125
IOPS_PER_MIB_S: Final = 4
EMR_DOCUMENTED_GIB: Final = 1_024
EMR_DOCUMENTED_MIB_S: Final = 1_000
STEP_MIB_S: Final = 25  # judgement: a dollar a month; finer steps only make plans differ for nothing


def provisioned_throughput_mib_s(bytes_per_second: float) -> int:
    """What to provision for a load: at least what is included, in whole steps above."""
    return max(INCLUDED_MIB_S, STEP_MIB_S * math.ceil(bytes_per_second / MIB / STEP_MIB_S))


def gp3_volume(purpose: str, size_gib: int, throughput_mib_s: int, iops: int) -> Volume:
    """A volume with at least these; IOPS are raised where the throughput needs more of them."""
    return Volume(
        purpose=purpose,
        type="gp3",
        count=1,
        size_gib=size_gib,
        iops=max(INCLUDED_IOPS, iops, IOPS_PER_MIB_S * throughput_mib_s),
        throughput_mib_s=throughput_mib_s,
    )


def usd_per_month(volume: Volume, prices: PriceTable) -> float:
    """Size, and what is provisioned above that which is included, for all volumes of this kind on a node."""
    one = (
        volume.size_gib * prices.usd("gp3-gib-month")
        + max(0, volume.iops - INCLUDED_IOPS) * prices.usd("gp3-iops-month")
        + max(0, volume.throughput_mib_s - INCLUDED_MIB_S) * prices.usd("gp3-mib-s-month")
    )
    return one * volume.count
