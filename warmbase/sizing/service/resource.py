"""The resources of a cluster: how much a read needs of each, and which one gives out first.

Everything is per cluster and per read, with sustained limits only: what an instance or a volume can do in a
burst is not capacity. `max_reads_per_second` is the bound that a resource sets by itself (the utilisation
law); queueing takes off a little more, and is in `warmbase/sizing/service/queueing.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf
from operator import attrgetter
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.units import MIB
from warmbase.sizing.workload.popularity import EVEN, Imbalance
from warmbase.sizing.workload.read import PAGE_BYTES, Hits, Read, Timings, aligned_bytes, missing_blocks

ResourceName = Literal[
    "cpu",
    "network",
    "ebs-throughput",
    "ebs-iops",
    "nvme-throughput",
    "nvme-iops",
    "s3-requests",
    "handlers",
    "concurrency",
]
DiskKind = Literal["ebs", "nvme"]
DISK_RESOURCES: Final[dict[DiskKind, tuple[ResourceName, ResourceName]]] = {
    "ebs": ("ebs-throughput", "ebs-iops"),
    "nvme": ("nvme-throughput", "nvme-iops"),
}

# EBS User Guide, "I/O characteristics": an SSD volume counts up to 256 KiB of one request as one IO.
EBS_IO_BYTES: Final = 256 * 1024
# judgement: an NVMe drive splits at its transfer limit, and 128 KiB is the usual one; no source states it.
NVME_IO_BYTES: Final = 128 * 1024
# judgement: a recycled slot is overwritten off page boundaries, so its first and last page are read before
# the write, when the page cache has lost them.
PARTIAL_PAGES_PER_FILL: Final = 2
# Amazon S3 User Guide, "Optimizing performance": at least 5,500 GET or HEAD a second for each prefix.
S3_GETS_PER_SECOND_PER_PREFIX: Final = 5_500
# judgement: S3A uploads a store file in parts of its default size (fs.s3a.multipart.size).
PUT_BYTES: Final = 64 * MIB
GBIT_BYTES: Final = 125_000_000

# judgement: EBS promises "single-digit milliseconds" for gp3; an idle volume is commonly seen near 1.
DISK_LATENCY_SECONDS: Final = 1e-3


class Resource(Struct, frozen=True, kw_only=True):
    """One thing that reads use up: the cluster has `capacity` of it, in `unit`, and a read takes its demand.

    The busiest RegionServer serves `imbalance` times the mean.
    """

    name: ResourceName
    capacity: float
    unit: str
    demand_per_read: float
    imbalance: float = 1.0

    @property
    def max_reads_per_second(self) -> float:
        """Return the reads a second at which the busiest server has used up its share; infinite if reads need none."""
        return self.capacity / (self.demand_per_read * self.imbalance) if self.demand_per_read > 0 else inf


MAX_READS: Final = attrgetter("max_reads_per_second")


class Disk(Struct, frozen=True, kw_only=True):
    """The rates that the disk of a RegionServer's BucketCache sustains for ever when the cache is warm.

    The disk has `files` volumes. A cache fills one of them after the other, and each alone has no more than
    `one_bytes_per_second` and `one_ios_per_second`. `warm_hit_ratio` is the hit ratio at which the volumes together
    reach the rates of the disk.
    """

    kind: DiskKind
    bytes_per_second: float
    ios_per_second: float
    latency_seconds: float = DISK_LATENCY_SECONDS
    files: int = 1
    one_bytes_per_second: float = inf
    one_ios_per_second: float = inf
    warm_hit_ratio: float = 0.0

    @property
    def fill_bytes_per_second(self) -> float:
        """Return the rate at which one volume is filled."""
        return min(self.one_bytes_per_second, self.bytes_per_second)

    def at(self, hit_ratio: float) -> Disk:
        """Return the disk while the cache has this hit ratio: a cold cache uses only the volume that it fills first."""
        if hit_ratio >= self.warm_hit_ratio:
            return self
        part = hit_ratio / self.warm_hit_ratio
        return replace(
            self,
            bytes_per_second=min(self.bytes_per_second, max(self.one_bytes_per_second, part * self.bytes_per_second)),
            ios_per_second=min(self.ios_per_second, max(self.one_ios_per_second, part * self.ios_per_second)),
        )


class Rates(Struct, frozen=True, kw_only=True):
    """The bytes and operations that a volume, or all EBS of an instance, sustains in a second."""

    bytes_per_second: float
    ios_per_second: float


class ServingCluster(Struct, frozen=True, kw_only=True):
    """n equal RegionServers over which reads spread; `disk` is None when there is no BucketCache.

    `handlers` is how many of each server's handlers take reads. `imbalance` says how much more the busiest server
    serves than the mean.
    """

    servers: int
    vcpus: float
    network_gbit_per_second: float
    disk: Disk | None
    handlers: int = 0
    s3_prefixes: int = 1
    imbalance: Imbalance = EVEN


def ios_per_fill(length_bytes: int, kind: DiskKind) -> int:
    """Return the IOs to write one block: its pages, split where the device splits, and its edge pages read before."""
    pages = ceil(aligned_bytes(length_bytes) / (EBS_IO_BYTES if kind == "ebs" else NVME_IO_BYTES))
    return pages + PARTIAL_PAGES_PER_FILL


def ebs_disk(
    volume: Rates, instance: Rates, *, volumes: float = 1.0, files: int = 1, warm_hit_ratio: float = 0.0
) -> Disk:
    """Return the disk that equal EBS volumes form, within the limits of the volumes and of the instance.

    When the busiest volume has reached its limit, all of them carry `volumes` times this limit. If the load is uneven,
    this is less than the number of volumes. `files` and `warm_hit_ratio` are those of `Disk`.
    """
    return Disk(
        kind="ebs",
        bytes_per_second=min(volumes * volume.bytes_per_second, instance.bytes_per_second),
        ios_per_second=min(volumes * volume.ios_per_second, instance.ios_per_second),
        files=files,
        one_bytes_per_second=min(volume.bytes_per_second, instance.bytes_per_second),
        one_ios_per_second=min(volume.ios_per_second, instance.ios_per_second),
        warm_hit_ratio=warm_hit_ratio,
    )


def disk_bytes_per_read(read: Read, hits: Hits) -> float:
    """Bytes that a read moves on the cache disks: hits are read, misses are written into their slots.

    What is read ahead of a block in a run is the next one: beyond the run it is read once. A miss never costs the disk
    less than a hit, so more misses never raise what the disk allows.
    """
    one = read.of_disk.bytes
    edges = min(read.runs, read.blocks) * (one - read.cached_length_bytes)
    fill = max(one, aligned_bytes(read.cached_length_bytes) + PARTIAL_PAGES_PER_FILL * PAGE_BYTES)
    hit = read.blocks * read.cached_length_bytes + edges
    return read.cacheable * (hits.from_disk * hit + (1 - hits.ratio) * read.blocks * fill)


def disk_ios_per_read(read: Read, hits: Hits, kind: DiskKind) -> float:
    """IOs that a read causes on the cache disks, fills included."""
    hit = read.of_disk.ios
    fill = max(hit, ios_per_fill(read.cached_length_bytes, kind))
    return read.cacheable * read.blocks * (hits.from_disk * hit + (1 - hits.ratio) * fill)


def delay_seconds(cluster: ServingCluster, read: Read, hits: Hits, timings: Timings) -> float:
    """How long a read waits for disks and for S3 apart from queueing: its blocks come one after the other.

    Each missing block is one GET; there is no read-ahead.
    """
    get = timings.s3_first_byte_seconds + read.on_disk_length_bytes / timings.s3_stream_bytes_per_second
    disk = cluster.disk.latency_seconds if cluster.disk else 0.0
    return read.blocks * (read.cacheable * hits.from_disk * disk + (1 - read.cacheable * hits.ratio) * get)


def resources(cluster: ServingCluster, read: Read, hits: Hits, timings: Timings) -> tuple[Resource, ...]:
    """Every resource of the cluster that reads use; without a disk, hits.ratio must be 0.

    Raises ValueError for hits without a cache to have them in.
    """
    if cluster.disk is None and hits.ratio > 0:
        raise ValueError(f"a hit ratio of {hits.ratio:.2f} needs a cache disk, and there is none")
    missing, uneven = missing_blocks(read, hits), cluster.imbalance
    # The network of the instances is full duplex: misses come in from S3, answers go out.
    arriving = missing * read.on_disk_length_bytes
    answers = read.answer_bytes * uneven.requests >= arriving * uneven.blocks
    of_network = (float(read.answer_bytes), 0.0) if answers else (0.0, arriving)
    network = _resource("network", cluster, cluster.network_gbit_per_second * GBIT_BYTES, "B/s", of_network)
    disks: tuple[Resource, ...] = ()
    moving = 0.0
    if cluster.disk is not None:
        disk = cluster.disk.at(hits.ratio)
        throughput, iops = DISK_RESOURCES[disk.kind]
        moved, ios = disk_bytes_per_read(read, hits), disk_ios_per_read(read, hits, disk.kind)
        disks = (
            _resource(throughput, cluster, disk.bytes_per_second, "B/s", (0.0, moved)),
            _resource(iops, cluster, disk.ios_per_second, "IO/s", (0.0, ios)),
        )
        moving = max(cluster.servers * moved / disks[0].capacity, cluster.servers * ios / disks[1].capacity)
    call_cpu = timings.rpc_cpu_seconds + read.blocks * timings.block_cpu_seconds
    get_cpu = missing * timings.get_cpu_seconds
    # A handler is held by the call as long as its answer is sent, and by the blocks until they have come.
    sending = cluster.servers * network.demand_per_read / network.capacity
    waiting = get_cpu + moving + delay_seconds(cluster, read, hits, timings)
    return (
        _resource("cpu", cluster, cluster.vcpus, "core", (call_cpu, get_cpu)),
        network,
        *disks,
        Resource(
            name="s3-requests",
            capacity=cluster.s3_prefixes * S3_GETS_PER_SECOND_PER_PREFIX,
            unit="GET/s",
            demand_per_read=missing,
        ),
        _resource("handlers", cluster, cluster.handlers, "handler", (call_cpu + sending, waiting)),
    )


def _resource(
    name: ResourceName, cluster: ServingCluster, per_server: float, unit: str, demands: tuple[float, float]
) -> Resource:
    """Return a resource of which every RegionServer has the same amount, used by a read's request and its blocks."""
    request, blocks = demands
    demand, busiest = request + blocks, request * cluster.imbalance.requests + blocks * cluster.imbalance.blocks
    return Resource(
        name=name,
        capacity=cluster.servers * per_server,
        unit=unit,
        demand_per_read=demand,
        imbalance=busiest / demand if demand else 1.0,
    )


def seconds_alone(cluster: ServingCluster, read: Read, hits: Hits, timings: Timings) -> float:
    """How long one read takes and holds its handler when nothing else runs."""
    *_, handlers = resources(cluster, read, hits, timings)
    return handlers.demand_per_read


def bottleneck(limits: Iterable[Resource]) -> Resource:
    """The resource that allows the fewest reads a second, the first of equals. Raises ValueError if none."""
    return min(limits, key=MAX_READS)
