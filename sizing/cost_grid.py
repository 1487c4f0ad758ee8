"""Every cache size and volume speed of a number of nodes of one type, with the monthly cost of each cluster.

The costs of a whole grid are computed as arrays, in a fraction of a millisecond. `Candidate` decides whether a point
meets the targets. That takes longer, and only happens for points that could win.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from sizing import gp3
from sizing.candidate import FEWEST_SURVIVORS, Candidate
from sizing.cures import WARM_UP
from sizing.disks import Storage, VolumeChoice, cache_volumes_gib, layout, planned_cache_mib
from sizing.fitting_cache import with_fitting_cache, within_memory
from sizing.inputs import SizingInputs
from sizing.instance import InstanceType
from sizing.region_server import ServerShare, has_room
from sizing.resource import ios_per_fill
from sizing.shortfalls import misses_hit_ratio, shortfalls
from sizing.system_volume import SERVERS
from sizing.units import GIB, HOURS_PER_MONTH, MIB, SECONDS_PER_MONTH
from sizing.volume_counts import NodeVolumes, data_volumes, fewest_cache_volumes, may_carry

__all__ = ["CostGrid", "NodeChoice", "cost_grid", "instances_usd", "least_storage_usd"]

Floats = NDArray[np.float64]

SIZE_STEP: Final = 1.005  # judgement: nodes are half of a bill, so a cache 0.5 % too large adds at most 0.25 %
SPEED_STEP: Final = 1.1  # judgement: a volume a tenth too fast costs each node a dollar or two
SPEEDS: Final = SPEED_STEP ** np.arange(24.0)
"""The speed of a volume as a multiple of what the load needs: up to nine times, for a target of latency or warm-up."""
ONE: Final = np.ones((1, 1))
EBS_CACHES: Final[frozenset[Storage]] = frozenset({"gp3", "gp3-iops", "gp3-throughput"})


class NodeChoice(Struct, frozen=True, kw_only=True):
    """A number of core nodes of one type, with one kind of storage."""

    question: SizingInputs
    instance: InstanceType
    storage: Storage
    count: int

    @property
    def survivors(self) -> int:
        """Return the number of nodes left after losing as many as may be lost."""
        return max(FEWEST_SURVIVORS, self.count - self.question.requirements.targets.lost_nodes)

    @property
    def instances_usd(self) -> float:
        """Return what the nodes cost a month without their volumes."""
        return instances_usd(self.question, self.instance, self.count)


def instances_usd(question: SizingInputs, instance: InstanceType, count: int) -> float:
    """Return what this many nodes cost a month without their volumes."""
    return count * question.world.prices.compute[instance.name].usd_per_hour * HOURS_PER_MONTH


class CostGrid(Struct, frozen=True, kw_only=True):
    """The clusters of one choice of nodes: rows are cache sizes, ascending; columns are volume speeds, ascending.

    `cache_mib` and the number of `volumes` have shape (sizes,); `throughput_mib_s`, `iops` and `usd` have shape (sizes,
    speeds). `usd` leaves out the cost that all points have in common, and is infinite where no volumes on sale carry
    the offered reads. `has_own_fastest` is false if the fastest volumes are also in the grid of another storage.
    """

    nodes: NodeChoice
    cache_mib: Floats
    volumes: Floats
    throughput_mib_s: Floats
    iops: Floats
    usd: Floats
    has_own_fastest: bool = True

    def candidate(self, size: int, speed: int) -> Candidate:
        """Return the cluster at that row and column."""
        nodes = self.nodes
        choice = VolumeChoice(
            instance=nodes.instance,
            cache_mib=int(self.cache_mib[size]),
            volumes=int(self.volumes[size]),
            throughput_mib_s=int(self.throughput_mib_s[size, speed]),
            iops=int(self.iops[size, speed]),
        )
        volumes = layout(nodes.question, nodes.storage, choice, nodes.survivors)
        candidate = Candidate(question=nodes.question, instance=nodes.instance, count=nodes.count, layout=volumes)
        if nodes.storage != "pinned":
            return candidate
        in_memory = within_memory(nodes.question, nodes.instance, nodes.survivors, volumes)
        smaller = replace(candidate, layout=in_memory)
        if not misses_hit_ratio(smaller):
            candidate = smaller
        planned_mib = planned_cache_mib(volumes.volumes, nodes.question.demand)
        return with_fitting_cache(candidate, shortfalls(candidate, WARM_UP), planned_mib)

    def fits_memory(self, size: int) -> bool:
        """Return whether the instance has room for the heap and the index of the cache in that row."""
        nodes = self.nodes
        share = ServerShare.of(nodes.question.demand, int(self.cache_mib[size]), nodes.survivors)
        return has_room(nodes.instance, share, nodes.question)


def cost_grid(nodes: NodeChoice) -> CostGrid | None:
    """Return the grid of these nodes; None if no volume is large or fast enough, or if another grid has all points."""
    if nodes.storage in {"pinned", "none"}:
        return CostGrid(nodes=nodes, cache_mib=np.zeros(1), volumes=ONE[0], throughput_mib_s=ONE, iops=ONE, usd=0 * ONE)
    if nodes.storage == "data":
        return _hdfs(nodes)
    if nodes.storage in EBS_CACHES and not may_carry(nodes.question, nodes.instance, nodes.survivors):
        return None
    if nodes.storage == "nvme":
        return _on_drives(nodes, _cache_sizes_mib(nodes.question, nodes.survivors))
    return _provisioned(nodes, _cache_volumes(nodes.question, nodes.instance, nodes.survivors))


@lru_cache(maxsize=SERVERS)
def _cache_volumes(question: SizingInputs, instance: InstanceType, survivors: int) -> NodeVolumes:
    """Return the volumes for the caches that they can hold."""
    volumes = fewest_cache_volumes(question, instance, _cache_sizes_mib(question, survivors), survivors)
    return volumes.where(volumes.count > 0)


def _on_drives(nodes: NodeChoice, sizes: Floats) -> CostGrid | None:
    """Return the grid of the instances' own drives, which have one speed and no price."""
    volume_gib = cache_volumes_gib(sizes, nodes.question.demand, 1)
    sizes = sizes[volume_gib <= nodes.instance.nvme_disk_bytes // GIB]
    if not len(sizes):
        return None
    speeds = np.ones((len(sizes), 1))
    usd = _gets_usd(nodes, sizes)[:, None] * speeds
    return CostGrid(nodes=nodes, cache_mib=sizes, volumes=speeds[:, 0], throughput_mib_s=speeds, iops=speeds, usd=usd)


def _hdfs(nodes: NodeChoice) -> CostGrid | None:
    volumes = data_volumes(nodes.question, nodes.instance, nodes.survivors)
    return _provisioned(nodes, volumes) if volumes.count.all() else None


def _provisioned(nodes: NodeChoice, volumes: NodeVolumes) -> CostGrid | None:
    """Return the grid of gp3 volumes at every speed from the least that carries the offered reads."""
    question, prices = nodes.question, nodes.question.world.prices
    if not volumes.carries.any():
        return None
    mib_per_second = np.maximum(volumes.bytes_per_second / MIB, gp3.INCLUDED_MIB_S)[:, None] * SPEEDS
    provisions, read_ios = gp3.Provisions.of(nodes.instance), volumes.ios_per_second[:, None]
    throughput, proportional = provisions.sufficient(mib_per_second, read_ios * SPEEDS)
    operations = proportional
    if nodes.storage == "gp3-iops":
        written_ios = _written_ios_per_second(question) / nodes.survivors / volumes.count[:, None]
        if (written_ios < (SPEED_STEP - 1) * read_ios).all():
            return None  # less than a step of speeds
        _, operations = provisions.sufficient(mib_per_second, (read_ios + written_ios) * SPEEDS)
    elif nodes.storage == "gp3-throughput":
        _, operations = provisions.sufficient(mib_per_second, read_ios)
    size_gib = np.maximum(volumes.size_gib[:, None], gp3.least_gib(operations))
    provisioned_usd = (
        (throughput - gp3.INCLUDED_MIB_S) * prices.usd("gp3-mib-s-month")
        + (operations - gp3.INCLUDED_IOPS) * prices.usd("gp3-iops-month")
        + size_gib * prices.usd("gp3-gib-month")
    )
    gets_usd = _gets_usd(nodes, volumes.cache_mib)[:, None] if question.mode.keeps_data_in_s3 else 0.0
    usd = gets_usd + nodes.count * volumes.count[:, None] * provisioned_usd
    # A speed that is not on sale becomes the fastest one again.
    again = np.zeros_like(usd, dtype=bool)
    again[:, 1:] = np.diff(throughput) + np.diff(operations) == 0
    in_other_grid = (operations == proportional) & (nodes.storage in {"gp3-iops", "gp3-throughput"})
    usd[again | in_other_grid | ~volumes.carries[:, None]] = np.inf
    if not np.isfinite(usd).any():
        return None
    return CostGrid(
        nodes=nodes,
        cache_mib=volumes.cache_mib,
        volumes=volumes.count,
        throughput_mib_s=throughput,
        iops=operations,
        usd=usd,
        has_own_fastest=not in_other_grid[:, -1].all(),
    )


def _written_ios_per_second(question: SizingInputs) -> float:
    """Return the least operations a second with which flushes and compactions write blocks to all cache volumes."""
    length_bytes = question.read.cached_length_bytes
    return question.written_bytes_per_second / length_bytes * ios_per_fill(length_bytes, "ebs")


@lru_cache(maxsize=SERVERS)
def _cache_sizes_mib(question: SizingInputs, survivors: int) -> Floats:
    """Return a node's caches, from the smallest that meets the hit ratio to one that holds all data; shape (sizes,).

    The steps go down from the largest cache, so that a lower target adds sizes and moves none.
    """
    demand = question.demand
    everything = demand.everything_bytes
    least = min(everything, max(demand.capacity_bytes(question.requirements.targets.hit_ratio), survivors * GIB))
    steps = math.ceil(math.log(everything / least) / math.log(SIZE_STEP))
    totals = np.append(least, everything / SIZE_STEP ** np.arange(steps)[::-1])
    return demand.least_sizes_mib(totals / survivors + demand.compaction_bytes)


def _gets_usd(nodes: NodeChoice, sizes: Floats) -> Floats:
    """Return the price of a month's GETs with all nodes warm, where the load is open; shape (sizes,)."""
    question = nodes.question
    hits = question.demand.estimated_hit_ratios(question.demand.effective_sizes_mib(sizes), nodes.count)
    gets_per_second = (
        (question.offered_reads_per_second or 0.0) * question.read.blocks * (1 - question.read.cacheable * hits)
    )
    return gets_per_second * SECONDS_PER_MONTH * question.world.prices.usd("s3-get")


def least_storage_usd(question: SizingInputs, storage: Storage) -> float:
    """Return the least monthly cost of volumes and GETs on any number of nodes."""
    if storage not in EBS_CACHES:
        return 0.0
    prices = question.world.prices
    sizes, hit_ratios = question.demand.corners(question.requirements.targets.hit_ratio)
    missing = question.read.blocks * (1 - question.read.cacheable * hit_ratios)
    gets = (question.offered_reads_per_second or 0.0) * missing * SECONDS_PER_MONTH
    # Both costs are straight lines between two corners, so their sum is lowest at one of them.
    return float((sizes / GIB * prices.usd("gp3-gib-month") + gets * prices.usd("s3-get")).min())
