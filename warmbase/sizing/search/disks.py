"""The data volumes of a core node, in every way that could serve.

The cache has volumes of its own, because YARN marks a disk as unhealthy once it is 90 % full, and EMR then replaces the
node together with its cache. HBase does not stripe `files:`, so the cache lies on one volume (on EBS, or the instance's
own NVMe drive), or on the fewest EBS volumes that carry it; more would only add faults. One volume carries what EMR
documents, and what the instance sustains. Where that is too little, the cache lies on more volumes, whose busiest one
limits them (`useful_volumes`).

In HDFS mode the data lies on volumes of the nodes: on several if one would be larger than EMR documents.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, MIB
from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_cache import MIB_PER_GIB, CacheDemand, useful_volumes_of
from warmbase.sizing.requirements import Layout, Volume
from warmbase.sizing.server.restart import COPIES_ON_DISK, INDEX_BYTES_PER_BLOCK
from warmbase.sizing.server.system_volume import RESERVED_SIZES_GIB, SERVERS, distinct_size, system_volume
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.resource import disk_bytes_per_read, disk_ios_per_read
from warmbase.sizing.workload.popularity import Floats
from warmbase.sizing.workload.read import Hits

FILL_FRACTION: Final = 0.85  # cache file and index below 85 % of the volume, clear of every 90 % alarm
# judgement: of a volume somebody else chose; the metadata and log of XFS and the index take the rest.
PINNED_FILL_FRACTION: Final = 0.95
MIN_VOLUME_GIB: Final = 5  # EMR Management Guide, emr-plan-storage: core volumes have 5 GB at least
HDFS_FILL_FRACTION: Final = 0.70  # judgement: compaction doubles a store for a while, and a lost node refills others


Storage = Literal["pinned", "nvme", "gp3", "gp3-iops", "gp3-throughput", "data", "none"]
"""The storage from which a core node serves reads.

A grid of `gp3` raises the throughput and the IOPS that the reads need by the same factor. `gp3-iops` starts with the
IOPS of the writes added. `gp3-throughput` raises the throughput alone, as far as EBS allows: with more IOPS, reads of
cold caches would take throughput from the prefetch.
"""


def storages(inputs: SizingInputs, instance: InstanceType) -> tuple[tuple[Storage, ...], ...]:
    """Return the ways in which nodes of this type could store data or cache, those of the same least cost together."""
    if inputs.requirements.cluster.core.volumes is not None:
        return (("pinned",),)
    if inputs.mode.data_volume == "data":
        return (("data",),)
    if inputs.mode.data_volume is None:
        return (("none",),)
    targets = inputs.requirements.targets
    limits_filling = targets.warm_up_seconds is not None or targets.carries_load_within_seconds is not None
    choices: tuple[tuple[Storage, bool], ...] = (
        ("gp3", True),
        ("gp3-iops", inputs.written_bytes_per_second > 0),
        ("gp3-throughput", limits_filling),
    )
    on_ebs = tuple(storage for storage, is_useful in choices if is_useful)
    return (("nvme",), on_ebs) if instance.nvme_disks == 1 else (on_ebs,)


def layout(inputs: SizingInputs, storage: Storage, choice: VolumeChoice, servers: int) -> Layout:
    """Return the volumes of each node, if this many nodes share the data."""
    if storage == "pinned":
        return pinned_layout(inputs, inputs.requirements.cluster.core.volumes or (), servers)
    # Without writes, the cache makes no difference to the system volume, so all caches share one.
    written = inputs.requirements.workload.write_bytes_per_second > 0
    system = system_volume(inputs, choice.instance, choice.cache_mib if written else 0, servers)
    if storage == "none":
        return Layout(cache_mib=0, volumes=(system,))
    if storage == "nvme":
        drive = gp3.nvme_volume(choice.instance)
        return Layout(cache_mib=choice.cache_mib, volumes=(drive, system.beside(drive)))
    if storage == "data":
        purpose, (size_gib, count) = "data", hdfs_volumes(inputs, servers)
    else:
        purpose, count = "cache", choice.volumes
        size_gib = cache_volume_gib(choice.cache_mib, inputs.demand, count)
    # gp3 does not offer these IOPS to a smaller volume, and no other disk of the node may have the same size.
    size_gib = distinct_size(max(size_gib, int(gp3.least_gib(choice.iops))))
    volume = gp3.gp3_volume(purpose, size_gib, (choice.throughput_mib_s, choice.iops), count)
    return Layout(cache_mib=choice.cache_mib, volumes=(volume, system.beside(volume)))


class VolumeChoice(Struct, frozen=True, kw_only=True):
    """The open choices for a node's volumes: the cache that they hold, their number, and the speed of each."""

    instance: InstanceType
    cache_mib: int = 0
    volumes: int = 1
    throughput_mib_s: int = gp3.INCLUDED_MIB_S
    iops: int = gp3.INCLUDED_IOPS


def hdfs_volumes(inputs: SizingInputs, servers: int) -> tuple[int, int]:
    """Return the size in GiB of each volume for the data in HDFS, and how many a node has."""
    node_gib = hdfs_node_gib(inputs, servers)
    count = math.ceil(node_gib / gp3.EMR_DOCUMENTED_GIB)
    return max(MIN_VOLUME_GIB, math.ceil(node_gib / count)), count


def cache_volume_gib(cache_mib: int, demand: CacheDemand, count: int = 1) -> int:
    """Return the size of each of this many volumes for a cache of this size."""
    return int(cache_volumes_gib(np.array([cache_mib]), demand, count)[0])


def cache_volumes_gib(sizes_mib: Floats, demand: CacheDemand, count: int) -> Floats:
    """Return the size of each of this many volumes for a cache of each size, 85 % full; shape as sizes_mib.

    The first volume holds an even share of the cache, and the whole index with its temporary copy. The others have the
    same size.
    """
    needed_gib = np.ceil(sizes_mib * MIB * (1 / count + index_fraction(demand)) / FILL_FRACTION / GIB)
    sizes_gib = np.maximum(MIN_VOLUME_GIB, needed_gib)
    for reserved_gib in sorted(RESERVED_SIZES_GIB):
        sizes_gib = sizes_gib + (sizes_gib == reserved_gib)
    return sizes_gib


def whole_files_mib(sizes_mib: Floats, count: int) -> Floats:
    """Return the sizes rounded up to whole GiB in each of this many files; shape as sizes_mib.

    HBase cannot write a block at the end of a cache that its files do not divide evenly (HBase 2.6.2 FileIOEngine).
    """
    return np.ceil(sizes_mib / (count * MIB_PER_GIB)) * count * MIB_PER_GIB


def index_fraction(demand: CacheDemand) -> float:
    """Return the room for the index and its temporary copy, for each byte of cache."""
    return COPIES_ON_DISK * INDEX_BYTES_PER_BLOCK / demand.claimed_bytes


def pinned_layout(inputs: SizingInputs, volumes: tuple[Volume, ...], servers: int) -> Layout:
    """The cache that there is already, or one that holds everything, or as much as the volume takes with its index."""
    if not inputs.mode.has_bucket_cache:
        return Layout(cache_mib=0, volumes=volumes)
    has = inputs.requirements.cluster.core.cache_mib
    if has is not None:
        return Layout(cache_mib=has, volumes=volumes)
    cache = next(volume for volume in volumes if volume.purpose == "cache")
    fill = FILL_FRACTION if cache.type == "nvme" else PINNED_FILL_FRACTION
    room_mib = _room_mib(cache, inputs.demand, fill)
    return Layout(cache_mib=min(everything_mib(inputs, servers, cache.count), room_mib), volumes=volumes)


def planned_cache_mib(volumes: tuple[Volume, ...], demand: CacheDemand) -> int:
    """Return the cache for which a plan buys such volumes: the inverse of `cache_volume_gib`; 0 without a cache."""
    return next((_room_mib(volume, demand, FILL_FRACTION) for volume in volumes if volume.purpose == "cache"), 0)


def _room_mib(cache: Volume, demand: CacheDemand, fill: float) -> int:
    """Return the largest cache that fills the volumes so far, with its index; whole GiB in each file."""
    room_bytes = cache.size_bytes * fill / (1 / cache.count + index_fraction(demand))
    return math.floor(room_bytes / GIB / cache.count) * cache.count * MIB_PER_GIB


@lru_cache(maxsize=SERVERS)
def everything_mib(inputs: SizingInputs, servers: int, files: int) -> int:
    """Return the cache of each server in this many files if the servers together hold all data."""
    return int(whole_files_mib(np.array(inputs.demand.size_mib(1.0, servers)), files))


def hdfs_node_gib(inputs: SizingInputs, servers: int) -> int:
    """Return the size of one node's data volumes in GiB."""
    stored_bytes = inputs.requirements.workload.stored_bytes * inputs.mode.data_copies
    return math.ceil(stored_bytes / HDFS_FILL_FRACTION / servers / GIB)


def volume_load(inputs: SizingInputs, volumes: int, hits: Hits) -> tuple[float, float]:
    """Return the bytes and operations a second that each of this many volumes must carry."""
    reads_per_second = (inputs.at_peak.offered_reads_per_second or 0.0) / volumes / UTILISATION
    bytes_per_second = reads_per_second * disk_bytes_per_read(inputs.read, hits)
    ios_per_second = reads_per_second * disk_ios_per_read(inputs.read, hits, "ebs")
    return bytes_per_second + inputs.written_bytes_per_second / volumes, ios_per_second


NEARLY: Final = 1 - 1e-9  # the rounding of an interpolated load
Switches = NDArray[np.bool_]


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


def data_volumes(inputs: SizingInputs, instance: InstanceType, servers: int) -> NodeVolumes:
    """Return the volumes for the data in HDFS, which share the load evenly; a single row."""
    (size_gib, count), most = hdfs_volumes(inputs, servers), gp3.Provisions.of(instance)
    bytes_per_second, ios_per_second = (
        np.array([load / count]) for load in volume_load(inputs, servers, Hits(ratio=1.0))
    )
    return NodeVolumes(
        cache_mib=np.zeros(1),
        size_gib=np.array([float(size_gib)]),
        count=np.array([count if count <= gp3.EMR_MOST_VOLUMES else 0]),
        bytes_per_second=bytes_per_second,
        ios_per_second=ios_per_second,
        carries=(bytes_per_second <= most.mib_s * MIB) & (ios_per_second <= most.iops),
    )


def may_carry(inputs: SizingInputs, instance: InstanceType, servers: int) -> bool:
    """Return false if even the least load of any hit ratio is more than the instance or a single volume sustains."""
    single = gp3.Provisions.of(instance)
    least_bytes, least_ios = (NEARLY * min(loads) for loads in zip(*_loads(inputs, servers), strict=True))
    return least_bytes <= max(single.mib_s * MIB, instance.ebs_sustained_bytes_per_second) and least_ios <= max(
        single.iops, instance.ebs_sustained_iops
    )


@lru_cache(maxsize=SERVERS)
def _loads(inputs: SizingInputs, servers: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the bytes and operations a second of each server's volumes without hits, and with nothing but hits."""
    none, every = (volume_load(inputs, servers, Hits(ratio=ratio)) for ratio in (0.0, 1.0))
    return none, every


def fewest_cache_volumes(inputs: SizingInputs, instance: InstanceType, sizes_mib: Floats, servers: int) -> NodeVolumes:
    """Return the fewest volumes that hold caches of these sizes and carry the offered reads.

    If no number of volumes carries them, return the fewest that hold the cache.
    """
    demand, most = inputs.demand, gp3.Provisions.of(instance)
    hits = demand.estimated_hit_ratios(sizes_mib, servers)
    none, every = _loads(inputs, servers)
    node_bytes, node_ios = (low + (high - low) * hits for low, high in zip(none, every, strict=True))
    sustained = (node_bytes <= instance.ebs_sustained_bytes_per_second) & (node_ios <= instance.ebs_sustained_iops)
    size_gib, numbers, busy, cache_mib = np.zeros_like(hits), np.zeros_like(hits), np.ones_like(hits), sizes_mib
    carried = np.zeros_like(hits, dtype=bool)
    for count in range(1, gp3.EMR_MOST_VOLUMES + 1):
        useful = useful_volumes_of(demand, sizes_mib, servers, count) if count > 1 else busy
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
