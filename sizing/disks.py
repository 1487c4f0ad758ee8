"""The data volumes of a core node: one for the cache, one for everything else.

HDFS, YARN and logs are kept off the cache volume, because YARN calls a disk over 90 % unhealthy and EMR then
replaces the node, cache and all. `files:` over several volumes is not striped, so the cache has one.
"""

from __future__ import annotations

import math
from typing import Final

from sizing import gp3
from sizing.bucket_cache import CacheDemand
from sizing.cluster import Volume
from sizing.persistence import COPIES_ON_DISK, INDEX_BYTES_PER_BLOCK
from sizing.units import GIB, MIB

__all__ = ["FILL_FRACTION", "cache_mib_within", "cache_volume_gib", "node_volumes"]

FILL_FRACTION: Final = 0.85  # cache file and index below 85 % of the volume, clear of every 90 % alarm
PINNED_FILL_FRACTION: Final = 0.95  # of a volume somebody else chose: the rest is the file system's own
# judgement: HBase keeps some 32 WALs of 128 MiB for each RegionServer, twice replicated, and EMR's logs and YARN's
# local files take as much again.
SYSTEM_GIB: Final = 64


def _index_fraction(demand: CacheDemand) -> float:
    """Room for the index and its temporary copy, for each byte of cache."""
    return COPIES_ON_DISK * INDEX_BYTES_PER_BLOCK / demand.claimed_bytes


def cache_volume_gib(cache_mib: int, demand: CacheDemand) -> int:
    """The volume for a cache of this size, its index and its temporary copy, 85 % full."""
    return math.ceil(cache_mib * MIB * (1 + _index_fraction(demand)) / FILL_FRACTION / GIB)


def cache_mib_within(volume: Volume, demand: CacheDemand) -> int:
    """The largest cache, in whole GiB, that a given volume takes with its index."""
    room_bytes = volume.count * volume.size_bytes * PINNED_FILL_FRACTION / (1 + _index_fraction(demand))
    return math.floor(room_bytes / GIB) * 1024


def node_volumes(size_gib: int, throughput_mib_s: int, iops: int) -> tuple[Volume, ...]:
    """A cache volume with at least these, and a system volume of another size: nodes tell them apart by it."""
    cache = gp3.gp3_volume("cache", size_gib, throughput_mib_s, iops)
    system_gib = SYSTEM_GIB + (1 if size_gib == SYSTEM_GIB else 0)
    return (cache, gp3.gp3_volume("system", system_gib, gp3.INCLUDED_MIB_S, gp3.INCLUDED_IOPS))
