"""How the cold caches of a cluster fill: by prefetch, and by the reads themselves."""

from __future__ import annotations

from typing import Final

from sizing.allocator import ACCEPT_FACTOR
from sizing.bucket_cache import WRITER_THREADS, CacheDemand
from sizing.cold_rates import Prefetching
from sizing.cold_start import ColdStart
from sizing.inputs import SizingInputs
from sizing.region_server import ServerShare
from sizing.resource import GBIT_BYTES, S3_GETS_PER_SECOND_PER_PREFIX, ServingCluster
from sizing.units import MIB
from sizing.warm_up import CacheCapacity, Fill, Prefetch, Rates, Streams, prefetch, writer_bytes_per_second

__all__ = ["GET_BYTES", "cache_room", "cold_start", "fill_of", "fill_seconds"]

# judgement: a prefetch reads a store file from end to end, which S3A's `sequential` policy does in one request; 64 MiB
# is less than most store files, so this is no worse than it is. With a block for each request it would be a hundred
# times slower (measured in the lab: threads over first-byte latency).
GET_BYTES: Final = 64 * MIB


def fill_seconds(demand: CacheDemand, share: ServerShare, cluster: ServingCluster, threads: int) -> Prefetch:
    """Time until each RegionServer has prefetched what it may cache, and what limits it."""
    blocks, disk = demand.cacheable, cluster.disk
    if disk is None:
        raise ValueError("nothing is prefetched without a cache")
    writers = WRITER_THREADS * writer_bytes_per_second(
        demand.writer_queue_length, blocks.cached_bytes, disk.fill_bytes_per_second, disk.files
    )
    return prefetch(
        fill_of(demand, share),
        Streams(threads=threads, get_bytes=GET_BYTES),
        Rates(
            network_bytes_per_second=cluster.network_gbit_per_second * GBIT_BYTES,
            fill_bytes_per_second=min(disk.fill_bytes_per_second, writers),
            vcpus=cluster.vcpus,
            s3_gets_per_second=cluster.s3_prefixes * S3_GETS_PER_SECOND_PER_PREFIX / cluster.servers,
        ),
    )


def fill_of(demand: CacheDemand, share: ServerShare) -> Fill:
    """Return what one RegionServer prefetches."""
    blocks = demand.cacheable
    return Fill(
        blocks=share.prefetched_blocks,
        s3_bytes=round(share.prefetched_blocks * blocks.on_disk_bytes),
        slot_bytes=round(share.prefetched_blocks * blocks.cached_bytes),
    )


def cache_room(demand: CacheDemand, cache_bytes: float) -> CacheCapacity:
    """Return how many blocks caches of this many bytes hold in the whole cluster, and how many prefetch brings."""
    slots = cache_bytes / demand.claimed_bytes / ACCEPT_FACTOR
    factor = slots * ACCEPT_FACTOR / demand.swing.full_blocks
    blocks_after_eviction = (
        demand.cacheable.count
        if slots * ACCEPT_FACTOR >= demand.cacheable.count
        else demand.swing.blocks_after_eviction * factor
    )
    return CacheCapacity.of(slots=slots, blocks_after_eviction=blocks_after_eviction)


def cold_start(inputs: SizingInputs, share: ServerShare, cluster: ServingCluster, threads: int) -> ColdStart:
    """Return the servers with empty caches under the workload, each with its share."""
    demand, servers = inputs.demand, cluster.servers
    alone, blocks = fill_seconds(demand, share, cluster, threads), share.prefetched_blocks * servers
    return ColdStart(
        cluster=cluster,
        read=inputs.read,
        timings=inputs.timings,
        load=inputs.requirements.workload.load,
        popularity=demand.cacheable.popularity,
        room=cache_room(demand, share.cache_bytes * servers),
        prefetching=Prefetching(
            blocks=blocks,
            blocks_per_second=blocks / alone.seconds,
            s3_bytes=demand.cacheable.on_disk_bytes,
            slot_bytes=demand.cacheable.cached_bytes,
            get_bytes=GET_BYTES,
        ),
    )
