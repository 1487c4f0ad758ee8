"""A number of workers of one type with their cache volumes: the time of a query, their bill and missed targets.

Each query is spread over all workers, so the cluster is one server that all running queries share equally. For such a
server the mean time of a query depends only on the load: alone / (1 - utilisation), whatever the sizes of the queries
are (M/G/1 processor sharing; Kleinrock, Queueing Systems II, 4.4). Reading, decoding and waiting overlap, so a query
alone takes as long as its busiest resource does. The worker that has most of its files takes longer than the others,
but not for S3, whose rate of requests all workers share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from msgspec import Struct

from warmbase.engines.trino.cached_scan import PAGE_BYTES, CachedScan, Demand, demand, uncached_demand, usable_bytes
from warmbase.engines.trino.request import TrinoChoice
from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB
from warmbase.ground.values import memoized
from warmbase.sizing.requirements import Volume
from warmbase.sizing.service.inputs import UTILISATION
from warmbase.sizing.service.resource import (
    DISK_RESOURCES,
    S3_GETS_PER_SECOND_PER_PREFIX,
    DiskKind,
    Resource,
    bottleneck,
)

COORDINATION_SECONDS: Final = 1.0  # judgement: parsing, planning, listing files and starting the stages of a query
PAGE_METADATA_BYTES: Final = 500  # judgement: the metadata of a page on the heap: its key, its entry and the LRU list
S3_PREFIXES: Final = 4  # judgement: a query reads several partitions, and each has S3's rate of its own

# judgement: EMR writes jvm.config itself and documents no value; Trino's guide recommends 70 to 85 % of the memory.
HEAP_FRACTION: Final = 0.70
QUERY_FRACTION: Final = 0.30  # query.max-memory-per-node, unless it is set (Trino 476 NodeMemoryConfig)


class Workers(Struct, frozen=True, kw_only=True, dict=True, eq=False):
    """Equal workers. `volumes` are the cache volumes and the system volume of each.

    Without a cache, `cache_gib` is 0.
    """

    choice: TrinoChoice
    scan: CachedScan
    instance: InstanceType
    count: int
    cache_gib: int
    volumes: tuple[Volume, ...]

    @cached_property
    def cache(self) -> Volume:
        """Return the volumes for the cache of a worker."""
        return next(volume for volume in self.volumes if volume.purpose == "cache")

    @property
    def has_cache(self) -> bool:
        """Return whether the workers cache what they read."""
        return self.cache_gib > 0

    @cached_property
    def kind(self) -> DiskKind:
        """Return the kind of the cache disk."""
        return "nvme" if self.cache.type == "nvme" else "ebs"

    def hit_ratio(self, servers: int) -> float:
        """Return the hit ratio of so many warm workers."""
        return self.scan.hit_ratio(cached_pages(self.choice, self.cache_gib, servers))

    def demand(self, ratio: float) -> Demand:
        """Return what one query needs at this hit ratio."""
        return demand(self.scan, ratio, self.kind) if self.has_cache else uncached_demand(self.scan)

    def resources(self, servers: int, ratio: float) -> tuple[Resource, ...]:
        """Return each resource of so many workers, with what one query needs of it."""
        return tuple(_resources(self, servers, self.demand(ratio)))

    @memoized
    def seconds_of_parts(self, servers: int, ratio: float) -> tuple[float, float]:
        """Return how long the busiest resource of this many servers, and S3, are busy with one query."""
        *own, s3 = self.resources(servers, ratio)
        return 1 / bottleneck(own).max_reads_per_second, 1 / s3.max_reads_per_second

    def seconds_alone(self, servers: int, ratio: float) -> float:
        """Return how long the busiest resource is busy with one query at this hit ratio."""
        return max(self.seconds_of_parts(servers, ratio))

    def utilisation(self, servers: int, ratio: float, queries_per_second: float) -> float:
        """Return the utilisation of the busiest resource; 1 and more is overload."""
        return queries_per_second * self.seconds_alone(servers, ratio)

    def query_seconds(self, servers: int, ratio: float, queries_per_second: float) -> float:
        """Return the mean time of a query at this rate; infinite under overload."""
        own, of_s3 = self.seconds_of_parts(servers, ratio)
        free = 1 - queries_per_second * max(own, of_s3)
        slowest = max(own * straggler_factor(self.choice, servers), of_s3)
        return COORDINATION_SECONDS + slowest / free if free > 0 else math.inf

    @property
    def survivors(self) -> int:
        """Return the number of workers left after the largest loss that the targets allow; 0 if none is left."""
        return max(0, self.count - self.choice.targets.lost_nodes)

    @property
    def ratio_after_loss(self) -> float:
        """Return the hit ratio just after the loss, when the pages are gone that only the lost workers had."""
        warm = self.hit_ratio(self.count)
        if self.choice.preferred_hosts > self.choice.targets.lost_nodes:
            return warm
        return warm * self.survivors / self.count

    @property
    def heap_bytes(self) -> int:
        """Return the heap that EMR gives a worker (estimate)."""
        return math.floor(self.instance.memory_bytes * HEAP_FRACTION)

    @property
    def query_bytes(self) -> int:
        """Return what all queries together may take of a worker's heap."""
        return math.floor(self.heap_bytes * QUERY_FRACTION)

    @property
    def page_index_bytes(self) -> int:
        """Return the heap of a worker that the metadata of its cached pages takes (estimate)."""
        return round(usable_bytes(self.cache_gib * GIB) / PAGE_BYTES * PAGE_METADATA_BYTES)


def cached_pages(choice: TrinoChoice, cache_gib: float, servers: int) -> float:
    """Return the distinct pages in the caches of so many workers: each file has a copy on each host that it prefers."""
    copies = max(1, min(choice.preferred_hosts, servers))
    return servers * usable_bytes(round(cache_gib * GIB)) / PAGE_BYTES / copies


def straggler_factor(choice: TrinoChoice, servers: int) -> float:
    """Return by which factor the worker with most files of a query takes longer than the mean.

    Trino sends each file to a worker that a hash of its path chooses. Of k files on n workers, the fullest has some
    sqrt(2 ln n x n / k) more than the mean (balls into bins; Raab and Steger, 1998), and at most all of them.
    """
    files = max(1.0, choice.workload.scanned_bytes / choice.workload.file_bytes) * min(choice.preferred_hosts, servers)
    uneven = 1 + math.sqrt(2 * math.log(servers) * servers / files)
    return min(float(servers), max(uneven, servers / files))


def most_seconds_alone(choice: TrinoChoice, servers: int = 1, gets: float = 0.0) -> float:
    """Return how long so many workers may be busy with a query, so that utilisation and mean time keep their limits.

    Solves coordination + f x s / (1 - rate x max(s, s3)) <= target for s, where f is how much longer the slowest worker
    takes, and s3 how long S3 is busy with the `gets` of a query. Returns 0 where no cluster is fast enough.
    """
    rate, target = choice.workload.peak_queries_per_second, choice.targets.query_seconds
    longest = UTILISATION / rate
    if target is None:
        return longest
    executing, factor = max(0.0, target - COORDINATION_SECONDS), straggler_factor(choice, servers)
    beside_s3 = executing * max(0.0, 1 - rate * gets / (S3_PREFIXES * S3_GETS_PER_SECOND_PER_PREFIX)) / factor
    return min(longest, beside_s3, executing / (factor + rate * executing))


def _resources(workers: Workers, servers: int, demanded: Demand) -> Iterator[Resource]:
    instance = workers.instance
    yield Resource(name="cpu", capacity=servers * instance.vcpus, unit="core", demand_per_read=demanded.cpu_seconds)
    yield Resource(
        name="network",
        capacity=servers * instance.network_sustained_bytes_per_second,
        unit="B/s",
        demand_per_read=demanded.network_bytes,
    )
    if workers.has_cache:
        cache = workers.cache
        disk_bytes, disk_ios = cache.count * cache.bytes_per_second, cache.count * cache.iops
        if workers.kind == "ebs":
            disk_bytes = min(disk_bytes, instance.ebs_sustained_bytes_per_second)
            disk_ios = min(disk_ios, instance.ebs_sustained_iops)
        throughput, iops = DISK_RESOURCES[workers.kind]
        yield Resource(name=throughput, capacity=servers * disk_bytes, unit="B/s", demand_per_read=demanded.disk_bytes)
        yield Resource(name=iops, capacity=servers * disk_ios, unit="IO/s", demand_per_read=demanded.disk_ios)
    yield Resource(
        name="s3-requests",
        capacity=S3_PREFIXES * S3_GETS_PER_SECOND_PER_PREFIX,
        unit="GET/s",
        demand_per_read=demanded.gets,
    )


BUDGET: Final = "budget"
ROUNDING: Final = 1e-9  # relative: of two orders of float64 arithmetic


class Shortfall(Struct, frozen=True, kw_only=True):
    """A target that a cluster misses, with the value that it has and the limit, in `unit`."""

    target: str
    actual: float
    limit: float
    unit: str

    @property
    def excess(self) -> float:
        """Return by which factor the value is beyond its limit."""
        smaller, larger = sorted((self.actual, self.limit))
        return larger / smaller if smaller > 0 else math.inf


class Evaluated(Struct, frozen=True, kw_only=True):
    """A cluster with the sum of its bill and the targets that it misses."""

    workers: Workers
    usd_per_month: float
    shortfalls: tuple[Shortfall, ...]

    @property
    def serves(self) -> bool:
        """Return whether the cluster meets all targets but the budget, so that a dearer one is no better."""
        return all(shortfall.target == BUDGET for shortfall in self.shortfalls)

    @property
    def rank(self) -> tuple[int, float, float, int]:
        """Order clusters: the fewest missed targets first, then those missed by least, then by bill and workers."""
        excess = max((shortfall.excess for shortfall in self.shortfalls), default=1.0)
        return len(self.shortfalls), round(excess, 3), self.usd_per_month, self.workers.count


def shortfalls(workers: Workers) -> Iterator[Shortfall]:
    """Yield each target that the cluster misses in the busiest hour, after the loss of `lost_nodes` workers."""
    choice = workers.choice
    targets, rate = choice.targets, choice.workload.peak_queries_per_second
    servers = workers.survivors
    if servers < 1:
        unit = "worker" if workers.count == 1 else "workers"
        yield Shortfall(target="lost_nodes", actual=workers.count, limit=targets.lost_nodes + 1, unit=unit)
        return
    ratio = workers.hit_ratio(servers)
    if workers.has_cache and ratio < targets.hit_ratio - ROUNDING:
        yield Shortfall(target="hit_ratio", actual=ratio, limit=targets.hit_ratio, unit="of page reads")
    utilisation = workers.utilisation(servers, ratio, rate)
    if utilisation > UTILISATION * (1 + ROUNDING):
        yield Shortfall(target="load", actual=utilisation, limit=UTILISATION, unit="utilisation")
    at_loss = workers.utilisation(servers, workers.ratio_after_loss, rate)
    if at_loss >= 1:
        yield Shortfall(target="load_after_loss", actual=at_loss, limit=1.0, unit="utilisation")
    seconds = workers.query_seconds(servers, ratio, rate)
    if targets.query_seconds is not None and seconds > targets.query_seconds * (1 + ROUNDING):
        yield Shortfall(target="query_time", actual=seconds, limit=targets.query_seconds, unit="s")
