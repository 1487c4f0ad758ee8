"""A plan's cluster as one RegionServer of a smaller machine: the same proportions, so that it shows the same behaviour.

What stays is what decides which blocks are found: the shape of blocks, the bucket sizes, the cache against the data,
the shares of the heap. What shrinks is how much of each there is.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.block import LengthHistogram
from warmbase.ground.release import Release
from warmbase.ground.units import MIB
from warmbase.sizing.cache.bucket_cache import REFERENCE_BYTES, CacheDemand
from warmbase.sizing.cache.bucket_sizes import BucketAllocator, bucket_bytes, minimum_capacity_bytes
from warmbase.sizing.cache.hit_ratio import OccupancyRange
from warmbase.sizing.plan import Plan
from warmbase.sizing.workload.workload import ClosedLoad, Reads, Workload, stored_blocks

SERVERS: Final = (1, 3)
"""The numbers of RegionServers that a lab may have."""
# judgement: more store files than client threads, because S3A serves the readers of a file one after another.
REGIONS: Final = {1: 16, 3: 24}
"""The regions of a lab with so many RegionServers: as many on each."""
HEAP_FRACTION: Final = (
    0.375  # judgement: share of the lab's memory; master, ZooKeeper, S3 server and clients need the rest
)
# judgement: a cache for all data gets a twentieth more, because the lengths of few blocks vary by chance.
SPARE_FRACTION: Final = 0.05
MORE_BLOCKS: Final = 1.04  # judgement: HBase's own tables and rewritten files also have blocks
# judgement: blocks come in any order, and each size that is begun takes a bucket. Over 200 random orders of the blocks
# of 128 MiB in one cache and of 48 MiB in three, the blocks held deviate by half a bucket's; this is four deviations.
SPARE_BUCKETS: Final = 2
CLIENTS: Final = 4  # judgement: on two cores, so that the lab measures waiting and not the cores


class Small(Struct, frozen=True, kw_only=True):
    """The limits of a scaled plan: memory for everything that runs, and the amount of data to load."""

    memory_bytes: int
    data_bytes: int
    servers: int = 1


class ScaledPlan(Struct, frozen=True, kw_only=True, dict=True):
    """The plan's RegionServers at a small scale, one or three, and the demand of their blocks for cache.

    `cached_share` is the plan's cache over what would hold all of its data, without the room for a compaction.
    `heap_mib` and `cache_mib` are those of each RegionServer.
    """

    workload: Workload
    demand: CacheDemand
    heap_mib: int
    cached_share: float
    cache_mib: int
    servers: int = 1

    @property
    def regions(self) -> int:
        """Return how many regions the table has."""
        return self.workload.regions

    @property
    def rows(self) -> int:
        """Return how many rows to load, of one cell each."""
        return self.demand.blocks.rows

    @property
    def block_capacity(self) -> int:
        """Return how many blocks one RegionServer's cache holds in nearly every order."""
        return _block_capacity(self.demand, self.cache_mib)

    def with_measured_blocks(self, lengths: LengthHistogram) -> ScaledPlan:
        """The same with the blocks that were found in its store files, where a workload only says what cells are."""
        return replace(self, demand=self.demand.with_measured_blocks(lengths))

    def sized(self, share: float) -> int:
        """MiB of each cache where all hold such a share of the data's blocks; never less than HBase starts with."""
        return _cache_mib(self.demand, share, self.servers)


def miniature(plan: Plan, workload: Workload, release: Release, small: Small) -> ScaledPlan:
    """The plan of that workload in small. A plan without a cache has none in small either."""
    demand = miniature_demand(workload, release, small)
    if plan.bucket_cache is not None:
        demand = _cut(demand, plan.cache.bucket_sizes)
    share = _cached_share(plan, CacheDemand.of(stored_blocks(workload), release))
    return ScaledPlan(
        workload=demand.blocks.workload,
        demand=demand,
        heap_mib=int(small.memory_bytes * HEAP_FRACTION) // MIB // small.servers,
        cached_share=share,
        cache_mib=_cache_mib(demand, share, small.servers) if share else 0,
        servers=small.servers,
    )


def miniature_demand(workload: Workload, release: Release, small: Small) -> CacheDemand:
    """The blocks of the workload's kind, as many as fit: a row is one cell, and what is loaded is then only read."""
    return CacheDemand.of(
        stored_blocks(
            replace(
                workload,
                stored_bytes=small.data_bytes,
                row_bytes=workload.key_value_bytes,
                reads=Reads(load=ClosedLoad(concurrency=CLIENTS)),
                write_bytes_per_second=0,
                regions=REGIONS[small.servers],
                inspection=None,
            )
        ),
        release,
    )


def _cut(demand: CacheDemand, sizes: tuple[int, ...]) -> CacheDemand:
    """Return the demand on a cache that is cut by these sizes, which are those that the lab's HBase gets."""
    allocator = BucketAllocator(capacity_bytes=REFERENCE_BYTES, sizes=sizes)
    swing = OccupancyRange.of(allocator, demand.blocks.lengths, promotes=demand.swing.promotes)
    return replace(demand, sizes=sizes, swing=swing)


def _cached_share(plan: Plan, demand: CacheDemand) -> float:
    if plan.bucket_cache is None:
        return 0.0
    return min(1.0, demand.useful_bytes(plan.cache.size_mib, plan.core.count) / demand.everything_bytes)


def _cache_mib(demand: CacheDemand, share: float, servers: int = 1) -> int:
    least, wanted = minimum_capacity_bytes(demand.sizes), demand.everything_bytes * share / servers
    if share < 1:
        return math.ceil(max(wanted, least) / MIB)
    spare_bytes = SPARE_BUCKETS * bucket_bytes(demand.sizes)
    cache_mib = math.ceil(max(wanted * (1 + SPARE_FRACTION), least + spare_bytes) / MIB)
    # A good part of a small cache lies in buckets that one size has begun and does not fill.
    while _block_capacity(demand, cache_mib) < MORE_BLOCKS * demand.blocks.count / servers:
        cache_mib += 1
    return cache_mib


def _block_capacity(demand: CacheDemand, cache_mib: int) -> int:
    """Return the blocks held with the list of sizes that is rendered; for a small cache, a plan would shorten it."""
    capacity_bytes = cache_mib * MIB - SPARE_BUCKETS * bucket_bytes(demand.sizes)
    return BucketAllocator(capacity_bytes=capacity_bytes, sizes=demand.sizes).block_capacity(demand.blocks.lengths)
