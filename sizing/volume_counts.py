"""The fewest EBS volumes that carry the cache of a node, for each size of the cache; more would only add faults.

One volume carries what EMR documents, and what the instance sustains. Where that is too little, the cache lies on more
volumes, whose busiest one limits them (`cache_volumes`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from sizing import gp3
from sizing.cache_volumes import useful_volumes_of
from sizing.disks import cache_volumes_gib, hdfs_volumes, volume_load, whole_files_mib
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.popularity import Floats
from sizing.read import Hits
from sizing.system_volume import SERVERS
from sizing.units import MIB

NEARLY: Final = 1 - 1e-9  # the rounding of an interpolated load
Switches = NDArray[np.bool_]

__all__ = ["NodeVolumes", "data_volumes", "fewest_cache_volumes", "may_carry"]


class NodeVolumes(Struct, frozen=True, kw_only=True):
    """The EBS volumes of a node for each cache size: how large they are, how many, and the load of the busiest one.

    Every field has shape (sizes,). `cache_mib` is a whole number of GiB in each file. `count` is 0 where the volumes
    would be too large, and `carries` is true where volumes on sale are fast enough.
    """

    cache_mib: Floats
    size_gib: Floats
    count: Floats
    bytes_per_second: Floats
    ios_per_second: Floats
    carries: Switches

    def where(self, rows: Switches) -> NodeVolumes:
        """Return the volumes for some of the sizes."""
        return NodeVolumes(
            cache_mib=self.cache_mib[rows],
            size_gib=self.size_gib[rows],
            count=self.count[rows],
            bytes_per_second=self.bytes_per_second[rows],
            ios_per_second=self.ios_per_second[rows],
            carries=self.carries[rows],
        )


def data_volumes(question: SizingInputs, instance: InstanceType, servers: int) -> NodeVolumes:
    """Return the volumes for the data in HDFS, which share the load evenly; a single row."""
    (size_gib, count), most = hdfs_volumes(question, servers), gp3.Provisions.of(instance)
    bytes_per_second, ios_per_second = (
        np.array([load / count]) for load in volume_load(question, servers, Hits(ratio=1.0))
    )
    return NodeVolumes(
        cache_mib=np.zeros(1),
        size_gib=np.array([float(size_gib)]),
        count=np.array([count if count <= gp3.EMR_MOST_VOLUMES else 0]),
        bytes_per_second=bytes_per_second,
        ios_per_second=ios_per_second,
        carries=(bytes_per_second <= most.mib_s * MIB) & (ios_per_second <= most.iops),
    )


def may_carry(question: SizingInputs, instance: InstanceType, servers: int) -> bool:
    """Return false if even the least load of any hit ratio is more than the instance or a single volume sustains."""
    single = gp3.Provisions.of(instance)
    least_bytes, least_ios = (NEARLY * min(loads) for loads in zip(*_loads(question, servers), strict=True))
    return least_bytes <= max(single.mib_s * MIB, instance.ebs_sustained_bytes_per_second) and least_ios <= max(
        single.iops, instance.ebs_sustained_iops
    )


@lru_cache(maxsize=SERVERS)
def _loads(question: SizingInputs, servers: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bytes and operations a second of each server's volumes without hits, and with nothing but hits."""
    none, every = (volume_load(question, servers, Hits(ratio=ratio)) for ratio in (0.0, 1.0))
    return none, every


def fewest_cache_volumes(
    question: SizingInputs, instance: InstanceType, sizes_mib: Floats, servers: int
) -> NodeVolumes:
    """Return the fewest volumes that hold caches of these sizes and carry the offered reads.

    If no number of volumes carries them, return the fewest that hold the cache.
    """
    demand, most = question.demand, gp3.Provisions.of(instance)
    effective_mib = demand.effective_sizes_mib(sizes_mib)
    hits = demand.estimated_hit_ratios(effective_mib, servers)
    none, every = _loads(question, servers)
    node_bytes, node_ios = (low + (high - low) * hits for low, high in zip(none, every, strict=True))
    sustained = (node_bytes <= instance.ebs_sustained_bytes_per_second) & (node_ios <= instance.ebs_sustained_iops)
    size_gib, numbers, busy, cache_mib = np.zeros_like(hits), np.zeros_like(hits), np.ones_like(hits), sizes_mib
    carried = np.zeros_like(hits, dtype=bool)
    for count in range(1, gp3.EMR_MOST_VOLUMES + 1):
        useful = useful_volumes_of(demand, effective_mib, servers, count) if count > 1 else busy
        whole_mib = whole_files_mib(sizes_mib, count)
        sizes_gib = cache_volumes_gib(whole_mib, demand, count)
        holds = sizes_gib <= gp3.EMR_DOCUMENTED_GIB
        fast = (node_bytes / useful <= most.mib_s * MIB) & (node_ios / useful <= most.iops)
        carries = holds & fast & (sustained if count > 1 else True)
        chosen = ~carried & (carries | (holds & (numbers == 0)))
        size_gib, numbers = np.where(chosen, sizes_gib, size_gib), np.where(chosen, count, numbers)
        cache_mib = np.where(chosen, whole_mib, cache_mib)
        busy, carried = np.where(chosen, useful, busy), carried | carries
        if np.all(carried | ((numbers > 0) & ~sustained)):
            break
    return NodeVolumes(
        cache_mib=cache_mib,
        size_gib=size_gib,
        count=numbers,
        bytes_per_second=node_bytes / busy,
        ios_per_second=node_ios / busy,
        carries=carried,
    )
