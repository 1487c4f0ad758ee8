"""Every cache size and volume speed of a number of nodes of one type, with the monthly cost of each cluster.

The costs of a whole grid are computed as arrays, in a fraction of a millisecond. `Candidate` decides whether a point
meets the targets. That takes longer, and only happens for points that could win. Laws rule out many caches at once
(`may_serve_reads`, `within_memory` …), and `cures` are the changes of a cluster that may meet a target that it misses.

`with_fitting_cache` sizes the cache on volumes that somebody else chose. A larger cache has more hits, and volumes that
are paid for cost no more with it. But its index takes memory, some of it from the buffers of handlers, and it takes
longer to fill and to restart. So the cache is as large as volumes and memory allow, or else the largest that misses no
target for these reasons. A cache between two that serve may still miss a target, because disks answer more reads of a
larger cache. So the cache for which a plan buys such volumes is tried, too: a plan whose layout is pinned serves as
before.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, HOURS_PER_MONTH, MIB, SECONDS_PER_MONTH
from warmbase.ground.values import memoized
from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_cache import useful_volumes_of
from warmbase.sizing.requirements import Layout
from warmbase.sizing.search.candidate import (
    FEWEST_SURVIVORS,
    ROUNDING,
    Candidate,
    Shortfall,
    misses_hit_ratio,
    shortfalls,
)
from warmbase.sizing.search.disks import (
    NodeVolumes,
    Storage,
    VolumeChoice,
    cache_volume_gib,
    cache_volumes_gib,
    data_volumes,
    everything_mib,
    fewest_cache_volumes,
    hdfs_node_gib,
    layout,
    may_carry,
    planned_cache_mib,
    volume_load,
)
from warmbase.sizing.server.memory import most_handlers
from warmbase.sizing.server.region_server import ServerShare, has_room
from warmbase.sizing.server.system_volume import SERVERS
from warmbase.sizing.server.writes import write_load
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.resource import DISK_RESOURCES, bottleneck, ios_per_fill
from warmbase.sizing.workload.read import Hits

Cure = Literal["larger cache", "smaller cache", "another cache", "no cache"]
SMALLER_CACHE_TARGETS: Final = frozenset({"memory", "warm_up", "offline_after_crash"})
"""Targets that a cluster may meet with a smaller cache, but never with a larger one."""
CACHE_INDEPENDENT_RESOURCES: Final = frozenset({"log-throughput", "log-iops"})
"""Resources of which writes take the same whatever the cache is: the log is written once."""
SPEED_INDEPENDENT_TARGETS: Final = frozenset({"memory", "offline_after_crash"})
"""Targets that do not depend on the speed of the volumes."""
CONTESTED_RESOURCES: Final = frozenset(
    [
        "handlers",
        "instance-ebs-throughput",
        "instance-ebs-iops",
        *(name for names in DISK_RESOURCES.values() for name in names),
    ]
)
"""A larger cache needs less of these resources for reads, but it also leaves less, because its index takes memory."""
WARM_UP: Final = frozenset({"warm_up"})


def cures(candidate: Candidate, missed: Iterable[Shortfall]) -> set[Cure]:
    """Return the changes of the cache that may meet the targets that a candidate misses on these nodes.

    Faster volumes may, too, although more IOPS can also slow a prefetch. A larger cache answers more reads, but its
    index takes memory from the buffers of handlers, and from the memstore: smaller flushes are then rewritten more
    often. So either may help where handlers or disks bind, and with writes also where CPU or network do. What writes
    leave to reads, and reads to writes, depends on the cache as well.
    """
    written = candidate.inputs.requirements.workload.write_bytes_per_second > 0
    contested = CONTESTED_RESOURCES | {"cpu", "network"} if written else CONTESTED_RESOURCES
    helpful: set[Cure] = set()
    for shortfall in missed:
        if shortfall.target in SMALLER_CACHE_TARGETS:
            helpful.add("smaller cache")
        elif shortfall.target == "recovery" or shortfall.bottleneck in CACHE_INDEPENDENT_RESOURCES:
            helpful.add("no cache")
        elif shortfall.target == "writes" or (shortfall.target == "reads" and shortfall.bottleneck in contested):
            helpful.add("another cache")
        else:
            helpful.add("larger cache")
    return helpful


def cures_of(candidate: Candidate, cold: AbstractSet[str] = WARM_UP) -> set[Cure]:
    """Return the changes of the cache that may meet what a candidate misses; empty if it serves."""
    return cures(candidate, shortfalls(candidate, cold))


def serves_reads_alone(largest: Candidate) -> bool:
    """Return whether the largest cache would serve the reads if nothing were written, and handlers were free."""
    if not largest.inputs.requirements.workload.write_bytes_per_second:
        return True
    largest = replace(largest, inputs=largest.inputs.without_writes)
    return all(
        shortfall.bottleneck == "handlers" or shortfall.target not in {"memory", "hit_ratio", "reads", "p99"}
        for shortfall in shortfalls(largest, cold=frozenset())
    )


def may_serve_reads(smallest: Candidate, largest: Candidate) -> bool:
    """Return false only if `may_serve_writes` would, because the reads alone are too many for the hardware.

    This takes neither handlers nor memstore, so it is quick.
    """
    inputs, offered = largest.inputs, largest.inputs.at_peak.offered_reads_per_second or 0.0
    if not inputs.requirements.workload.write_bytes_per_second:
        return True
    hit_ratio = largest.hit_ratio(largest.survivors)
    for candidate in (largest, smallest):
        if not candidate.fits_memory:
            return True
        limits = candidate.hardware_limits(candidate.survivors, hit_ratio)
        if offered <= UTILISATION * bottleneck(limits[:-1]).max_reads_per_second:  # the handlers come last
            return True
    return False


def may_serve_writes(smallest: Candidate, largest: Candidate) -> bool:
    """Return whether a cluster could carry both reads and writes with the better of both caches.

    The reads have the hits of the largest cache, and leave the rest to the writes; the writes have either cache.
    """
    inputs, offered = largest.inputs, largest.inputs.at_peak.offered_reads_per_second or 0.0
    written = inputs.requirements.workload.write_bytes_per_second
    if not written or not (smallest.fits_memory and largest.fits_memory):
        return True
    hit_ratio = largest.hit_ratio(largest.survivors)
    for candidate in (smallest, largest):
        reads = candidate.hardware_limits(candidate.survivors, hit_ratio)[:-1]  # the handlers come last
        if offered <= UTILISATION * bottleneck(reads).max_reads_per_second:
            writes = write_load(candidate.writing_server, candidate.survivors, written, reads, offered)
            if written <= UTILISATION * (1 + ROUNDING) * writes.saturation_bytes_per_second:
                return True
    return False


ANOTHER: Final[frozenset[Cure]] = frozenset({"another cache"})
NEARLY_MET: Final = 0.75
"""judgement: the planned cache is a tenth smaller than that of pinned volumes, which hardly changes a capacity more."""


@lru_cache(maxsize=SERVERS)
def within_memory(inputs: SizingInputs, instance: InstanceType, survivors: int, layout: Layout) -> Layout:
    """Return a layout with the largest cache whose index fits the memory of each survivor; it may be empty.

    The same layout is returned if its cache fits, or if the environment states the size of the cache.
    """
    has_size = inputs.requirements.cluster.core.cache_mib is not None
    if has_size or not layout.cache_mib or cache_fits_memory(inputs, instance, survivors, layout.cache_mib):
        return layout
    most_mib = _most_in_memory_mib(inputs, instance, survivors, layout.volume("cache").count)
    return replace(layout, cache_mib=most_mib)


def with_fitting_cache(candidate: Candidate, missed: Sequence[Shortfall], planned_mib: int) -> Candidate:
    """Return a candidate that misses these targets with a smaller cache that meets them, if one is found.

    `planned_mib` is the cache for which a plan buys such volumes. The candidate itself is returned if no smaller cache
    would help, if its cache does not fit memory (see `within_memory`), or if the environment states its size.
    """
    inputs = candidate.inputs
    has_size = inputs.requirements.cluster.core.cache_mib is not None
    if not candidate.cache_mib or has_size or not missed or not candidate.fits_memory:
        return candidate

    def with_cache(cache_mib: int) -> Candidate:
        return replace(candidate, layout=replace(candidate.layout, cache_mib=cache_mib))

    def misses_for_its_size(cache_mib: int) -> bool:
        smaller = with_cache(cache_mib)
        return _is_too_large(smaller, shortfalls(smaller, WARM_UP))

    is_too_large = _is_too_large(candidate, missed)
    # A cache that is a little smaller leaves more to others, and may so meet targets that are nearly met.
    is_nearly_met = all(
        cures(candidate, [shortfall]) == ANOTHER and shortfall.actual >= NEARLY_MET * shortfall.limit
        for shortfall in missed
    )
    if not is_too_large and not is_nearly_met:
        return candidate
    fitting = candidate
    if is_too_large:
        # Find the largest cache that is not too large, unless even the cache for the target hit ratio is too large.
        step_mib = _step_mib(candidate.layout.volume("cache").count)
        needed_mib = inputs.demand.size_mib(inputs.requirements.targets.hit_ratio, candidate.survivors)
        sizes = range(math.ceil(needed_mib / step_mib) * step_mib, candidate.cache_mib + 1, step_mib)
        if sizes and not misses_for_its_size(sizes[0]):
            fitting = with_cache(sizes[bisect.bisect_left(sizes, 1, lo=1, key=misses_for_its_size) - 1])
    if planned_mib >= candidate.cache_mib or (planned_mib <= fitting.cache_mib and not shortfalls(fitting, WARM_UP)):
        return fitting
    planned = with_cache(planned_mib)
    return fitting if shortfalls(planned, WARM_UP) else planned


def _is_too_large(candidate: Candidate, missed: Iterable[Shortfall]) -> bool:
    """Return whether a smaller cache may meet one of the targets that the candidate misses.

    It frees memory for the buffers of handlers where memory, rather than the load, limits their number.
    """
    for shortfall in missed:
        if shortfall.target in SMALLER_CACHE_TARGETS:
            return True
        if shortfall.bottleneck == "handlers":
            server = candidate.region_server
            if server.handlers >= most_handlers(candidate.instance.memory_bytes, server.heap):
                return True
    return False


@lru_cache(maxsize=SERVERS)
def _most_in_memory_mib(inputs: SizingInputs, instance: InstanceType, survivors: int, files: int) -> int:
    """Return the largest cache in this many files whose index fits the memory of each survivor; 0 if none does."""
    sizes = range(0, everything_mib(inputs, survivors, files) + 1, _step_mib(files))

    def is_too_large(cache_mib: int) -> bool:
        return not cache_fits_memory(inputs, instance, survivors, cache_mib)

    return sizes[bisect.bisect_left(sizes, 1, lo=1, key=is_too_large) - 1]


def cache_fits_memory(inputs: SizingInputs, instance: InstanceType, survivors: int, cache_mib: int) -> bool:
    """Return whether each survivor has room for the heap and for the index of this cache."""
    return has_room(instance, ServerShare.of(inputs.demand, cache_mib, survivors), inputs)


def _step_mib(files: int) -> int:
    return files * GIB // MIB


Floats = NDArray[np.float64]

SIZE_STEP: Final = 1.005  # judgement: nodes are half of a bill, so a cache 0.5 % too large adds at most 0.25 %
SPEED_STEP: Final = 1.1  # judgement: a volume a tenth too fast costs each node a dollar or two
SPEEDS: Final = SPEED_STEP ** np.arange(24.0)
"""The speed of a volume as a multiple of what the load needs: up to nine times, for a target of latency or warm-up."""
ONE: Final = np.ones((1, 1))
EBS_CACHES: Final[frozenset[Storage]] = frozenset({"gp3", "gp3-iops", "gp3-throughput"})


class NodeChoice(Struct, frozen=True, kw_only=True):
    """A number of core nodes of one type, with one kind of storage."""

    inputs: SizingInputs
    instance: InstanceType
    storage: Storage
    count: int

    @property
    def survivors(self) -> int:
        """Return the number of nodes left after losing as many as may be lost."""
        return max(FEWEST_SURVIVORS, self.count - self.inputs.requirements.targets.lost_nodes)


def instances_usd(inputs: SizingInputs, instance: InstanceType, count: int) -> float:
    """Return what this many nodes cost a month without their volumes."""
    return count * inputs.world.prices.compute[instance.name].usd_per_hour * HOURS_PER_MONTH


class CostGrid(Struct, frozen=True, kw_only=True, eq=False, dict=True):
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

    @memoized
    def candidate(self, size: int, speed: int) -> Candidate:
        """Return the cluster at that row and column, always the same one, because it remembers what it has computed."""
        nodes = self.nodes
        choice = VolumeChoice(
            instance=nodes.instance,
            cache_mib=int(self.cache_mib[size]),
            volumes=int(self.volumes[size]),
            throughput_mib_s=int(self.throughput_mib_s[size, speed]),
            iops=int(self.iops[size, speed]),
        )
        volumes = layout(nodes.inputs, nodes.storage, choice, nodes.survivors)
        candidate = Candidate(inputs=nodes.inputs, instance=nodes.instance, count=nodes.count, layout=volumes)
        if nodes.storage != "pinned":
            return candidate
        in_memory = within_memory(nodes.inputs, nodes.instance, nodes.survivors, volumes)
        smaller = replace(candidate, layout=in_memory)
        if not misses_hit_ratio(smaller):
            candidate = smaller
        planned_mib = planned_cache_mib(volumes.volumes, nodes.inputs.demand)
        return with_fitting_cache(candidate, shortfalls(candidate, WARM_UP), planned_mib)


def cost_grid(nodes: NodeChoice) -> CostGrid | None:
    """Return the grid of these nodes; None if no volume is large or fast enough, or if another grid has all points."""
    if nodes.storage in {"pinned", "none"}:
        return CostGrid(nodes=nodes, cache_mib=np.zeros(1), volumes=ONE[0], throughput_mib_s=ONE, iops=ONE, usd=0 * ONE)
    if nodes.storage == "data":
        data = data_volumes(nodes.inputs, nodes.instance, nodes.survivors)
        return _provisioned(nodes, data) if data.count.all() else None
    if nodes.storage in EBS_CACHES and not may_carry(nodes.inputs, nodes.instance, nodes.survivors):
        return None
    if nodes.storage == "nvme":  # the instances' own drives have one speed and no price
        sizes = _cache_sizes_mib(nodes.inputs, nodes.survivors)
        volume_gib = cache_volumes_gib(sizes, nodes.inputs.demand, 1)
        sizes = sizes[volume_gib <= nodes.instance.nvme_disk_bytes // GIB]
        if not len(sizes):
            return None
        one = np.ones((len(sizes), 1))
        usd = _gets_usd(nodes, sizes)[:, None] * one
        return CostGrid(nodes=nodes, cache_mib=sizes, volumes=one[:, 0], throughput_mib_s=one, iops=one, usd=usd)
    return _provisioned(nodes, _cache_volumes(nodes.inputs, nodes.instance, nodes.survivors))


def volume_shortfall(inputs: SizingInputs, instance: InstanceType, servers: int) -> Shortfall:
    """Return why this many nodes have no layout: a volume would be too large, or too slow for the offered reads."""
    most, most_gib = gp3.Provisions.of(instance), gp3.EMR_DOCUMENTED_GIB
    if inputs.mode.data_volume == "data":
        node_gib = hdfs_node_gib(inputs, servers)
        size_gib, most_gib, hits = node_gib, most_gib * gp3.EMR_MOST_VOLUMES, Hits(ratio=1.0)
        busy: float = math.ceil(node_gib / gp3.EMR_DOCUMENTED_GIB)
    else:
        demand, count = inputs.demand, gp3.EMR_MOST_VOLUMES
        cache_mib = demand.size_mib(inputs.requirements.targets.hit_ratio, servers)
        size_gib, hits = (
            cache_volume_gib(cache_mib, demand, count),
            Hits(ratio=demand.estimated_hit_ratio(cache_mib, servers)),
        )
        useful = useful_volumes_of(demand, np.array([float(cache_mib)]), servers, count)[0]
        # Several volumes are together no faster than their instance.
        busy = max(1.0, min(useful, instance.ebs_sustained_bytes_per_second / MIB / most.mib_s))
    bytes_per_second, ios_per_second = (load / busy for load in volume_load(inputs, servers, hits))
    actual, limit, unit = ios_per_second, most.iops, "IOPS"
    if size_gib > most_gib:
        actual, limit, unit = size_gib, most_gib, "GiB"
    elif bytes_per_second > most.mib_s * MIB:
        actual, limit, unit = bytes_per_second / MIB, most.mib_s, "MiB/s"
    reason = f"a volume would need {actual:,.0f} {unit}, and has {limit:,.0f} at most"
    return Shortfall(target="volume", reason=reason, actual=actual, limit=limit, unit=unit)


@lru_cache(maxsize=SERVERS)
def _cache_volumes(inputs: SizingInputs, instance: InstanceType, survivors: int) -> NodeVolumes:
    """Return the volumes for the caches that they can hold."""
    volumes = fewest_cache_volumes(inputs, instance, _cache_sizes_mib(inputs, survivors), survivors)
    fits = volumes.count > 0
    return NodeVolumes(**{name: sizes[fits] for name, sizes in asdict(volumes).items()})


def _provisioned(nodes: NodeChoice, volumes: NodeVolumes) -> CostGrid | None:
    """Return the grid of gp3 volumes at every speed from the least that carries the offered reads."""
    inputs, prices = nodes.inputs, nodes.inputs.world.prices
    if not volumes.carries.any():
        return None
    mib_per_second = np.maximum(volumes.bytes_per_second / MIB, gp3.INCLUDED_MIB_S)[:, None] * SPEEDS
    provisions, read_ios = gp3.Provisions.of(nodes.instance), volumes.ios_per_second[:, None]
    throughput, proportional = provisions.sufficient(mib_per_second, read_ios * SPEEDS)
    operations = proportional
    if nodes.storage == "gp3-iops":
        # The least operations with which flushes and compactions write blocks to all cache volumes.
        length_bytes = inputs.read.cached_length_bytes
        all_ios = inputs.written_bytes_per_second / length_bytes * ios_per_fill(length_bytes, "ebs")
        written_ios = all_ios / nodes.survivors / volumes.count[:, None]
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
    gets_usd = _gets_usd(nodes, volumes.cache_mib)[:, None] if inputs.mode.keeps_data_in_s3 else 0.0
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


@lru_cache(maxsize=SERVERS)
def _cache_sizes_mib(inputs: SizingInputs, survivors: int) -> Floats:
    """Return a node's caches, from the smallest that meets the hit ratio to one that holds all data; shape (sizes,).

    The steps go down from the largest cache, so that a lower target adds sizes and moves none.
    """
    demand = inputs.demand
    everything = demand.everything_bytes
    least = min(everything, max(demand.capacity_bytes(inputs.requirements.targets.hit_ratio), survivors * GIB))
    steps = math.ceil(math.log(everything / least) / math.log(SIZE_STEP))
    totals = np.append(least, everything / SIZE_STEP ** np.arange(steps)[::-1])
    return demand.least_sizes_mib(totals / survivors + demand.compaction_bytes)


def _gets_usd(nodes: NodeChoice, sizes: Floats) -> Floats:
    """Return the price of a month's GETs with all nodes warm, where the load is open; shape (sizes,)."""
    inputs = nodes.inputs
    hits = inputs.demand.estimated_hit_ratios(sizes, nodes.count)
    gets_per_second = (inputs.offered_reads_per_second or 0.0) * inputs.read.blocks * (1 - inputs.read.cacheable * hits)
    return gets_per_second * SECONDS_PER_MONTH * inputs.world.prices.usd("s3-get")


@lru_cache(maxsize=SERVERS)
def least_storage_usd(inputs: SizingInputs, storage: Storage) -> float:
    """Return the least monthly cost of volumes and GETs on any number of nodes."""
    if storage not in EBS_CACHES:
        return 0.0
    prices = inputs.world.prices
    sizes, hit_ratios = inputs.demand.corners(inputs.requirements.targets.hit_ratio)
    missing = inputs.read.blocks * (1 - inputs.read.cacheable * hit_ratios)
    gets = (inputs.offered_reads_per_second or 0.0) * missing * SECONDS_PER_MONTH
    # Both costs are straight lines between two corners, so their sum is lowest at one of them.
    return float((sizes / GIB * prices.usd("gp3-gib-month") + gets * prices.usd("s3-get")).min())
