"""How large regions are, and at which size HBase splits them.

Before HBase 2.6.3, a split drops the cached blocks of the region that splits, so the limit is well above the mean
region.
Source: HBase 2.6.2 SteppingSplitPolicy and ConstantSizeRegionSplitPolicy (read in the jar): the limit is 10 GiB by
default, and each region draws its own, up to an eighth above or below it.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from sizing.units import GIB
from sizing.workload import Workload

DEFAULT_SPLIT_BYTES: Final = 10 * GIB  # hbase.hregion.max.filesize
JITTER_FRACTION: Final = 0.125  # hbase.hregion.max.filesize.jitter is 0.25, from an eighth below to an eighth above
# judgement: a region of 1.75 times the mean does not split, and the daughters of a region at the limit have mean size.
SPLIT_GROWTH: Final = 2.0
# judgement: with five, the fullest server has at most a fifth more than the mean
LEAST_REGIONS: Final = 5


def usual_regions(stored_bytes: int, servers: int) -> int:
    """Return how many regions data usually has: as many as HBase's default limit demands, and enough for the servers.

    The means of fewer regions would be above the limit, so that they would split.
    """
    return max(math.ceil(stored_bytes / DEFAULT_SPLIT_BYTES), servers * LEAST_REGIONS)


class Regions(Struct, frozen=True, kw_only=True):
    """The regions of all tables, with their mean size and the size at which they split.

    If the workload has several tables, the mean is that of the table with the largest regions.
    """

    count: int
    mean_bytes: int
    split_bytes: int

    @classmethod
    def of(cls, workload: Workload, pinned_split_bytes: int | None) -> Regions:
        """Return the regions of a workload; the limit is pinned, or large enough for regions to double."""
        mean_bytes = max(math.ceil(part.stored_bytes / part.regions) for part in workload.parts)
        chosen = max(DEFAULT_SPLIT_BYTES, GIB * math.ceil(SPLIT_GROWTH * mean_bytes / GIB))
        return cls(count=workload.regions, mean_bytes=mean_bytes, split_bytes=pinned_split_bytes or chosen)

    @property
    def first_split_bytes(self) -> float:
        """Return the size from which a region may split: the lowest limit that a region can draw."""
        return self.split_bytes * (1 - JITTER_FRACTION)
