"""Predictions for one scaled RegionServer under one load, made with the calculator's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from lab.model.scaled_plan import ScaledPlan
from sizing.allocator import BucketAllocator
from sizing.hit_ratio import OccupancyRange, hit_ratio
from sizing.page_reads import mean_block_read
from sizing.popularity import Popularity, RowPopularity, block_popularity
from sizing.queueing import Handlers, LoadResult, closed_load, network
from sizing.read import Hits, Read, Timings, block_cpu_seconds
from sizing.resource import (
    Disk,
    ServingCluster,
    bottleneck,
    concurrency,
    delay_seconds,
    resources,
    seconds_alone,
)
from sizing.units import MIB

# judgement: loopback is no network; this is far above the rate of two cores.
LOOPBACK_GBIT_PER_SECOND: Final = 100.0


class LabNode(Struct, frozen=True, kw_only=True):
    """The RegionServer's machine, and the number of clients that read at once."""

    vcpus: int
    handlers: int
    disk: Disk | None
    clients: int


class Expected(Struct, frozen=True, kw_only=True):
    """The result of a closed load, and the resource that limits it."""

    load: LoadResult
    bottleneck: str


def popularity_of(miniature: ScaledPlan, rows: RowPopularity) -> Popularity:
    """Return the popularity of blocks that follows from the popularity of rows."""
    blocks = miniature.demand.blocks
    return block_popularity(rows, blocks.count, blocks.rows / blocks.count)


def swing_of(miniature: ScaledPlan, cache_mib: int, sizes: Sequence[int]) -> OccupancyRange:
    """Return the range between which the number of blocks in such a cache moves."""
    allocator = BucketAllocator(capacity_bytes=cache_mib * MIB, sizes=tuple(sizes))
    return OccupancyRange.of(allocator, miniature.demand.blocks.lengths, promotes=miniature.demand.swing.promotes)


def expected_hit_ratio(miniature: ScaledPlan, popularity: Popularity, cache_mib: int, sizes: Sequence[int]) -> float:
    """Return the share of block reads that the warm cache answers."""
    return hit_ratio(popularity, swing_of(miniature, cache_mib, sizes))


def slot_bytes(miniature: ScaledPlan, cache_mib: int, sizes: Sequence[int]) -> float:
    """Return the mean slot of a cached block, where blocks of all lengths are cached in their proportions."""
    lengths = miniature.demand.blocks.lengths
    allocator = BucketAllocator(capacity_bytes=cache_mib * MIB, sizes=tuple(sizes))
    return lengths.mean_bytes / allocator.slot_efficiency_fraction(lengths)


def read_of(miniature: ScaledPlan, rows: int = 1) -> Read:
    """Return one request for so many single-cell rows that lie anywhere in the table."""
    blocks, workload = miniature.demand.blocks, miniature.workload
    return Read(
        blocks=rows * blocks.per_read,
        cached_length_bytes=round(blocks.cached_bytes),
        on_disk_length_bytes=round(blocks.on_disk_bytes),
        answer_bytes=rows * workload.row_bytes,
        runs=rows,
        of_lengths=mean_block_read(blocks.lengths.pairs),
    )


def expected(node: LabNode, read: Read, hits: Hits, timings: Timings) -> Expected:
    """Return the throughput and latency of that many clients, and the resource that limits them."""
    cluster = ServingCluster(
        servers=1,
        vcpus=node.vcpus,
        network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
        handlers=node.handlers,
        disk=node.disk,
    )
    capacities = resources(cluster, read, hits, timings)
    alone = concurrency(node.clients, seconds_alone(cluster, read, hits, timings))
    stations = network(capacities, 1, node.vcpus, delay_seconds(cluster, read, hits, timings))
    load = closed_load(stations, node.clients, Handlers(servers=1, per_server=node.handlers))
    return Expected(load=load, bottleneck=bottleneck((*capacities, alone)).name)


def timings_of(miniature: ScaledPlan) -> Timings:
    """Return the calculator's own timings for such blocks."""
    blocks = miniature.demand.blocks
    return Timings(block_cpu_seconds=block_cpu_seconds(blocks.payload_bytes, compressed=miniature.workload.compressed))
