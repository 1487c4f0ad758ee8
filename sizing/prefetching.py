"""How the cold caches of a cluster fill: by prefetch, and by the reads themselves."""

from __future__ import annotations

from typing import Final

from sizing.allocator import ACCEPT_FACTOR
from sizing.bucket_cache import WRITER_QUEUE_LENGTH, WRITER_THREADS, CacheDemand
from sizing.region_server import ServerShare
from sizing.resource import GBIT_BYTES, S3_GETS_PER_SECOND_PER_PREFIX, ServingCluster
from sizing.units import MIB, SECONDS_PER_HOUR
from sizing.warm_up import (
    CacheCapacity,
    Fill,
    Prefetch,
    Rates,
    Streams,
    WarmUpLoad,
    curve,
    prefetch,
    writer_bytes_per_second,
)

__all__ = ["fill_seconds", "warm_up_curve"]

# judgement: a prefetch reads a store file from end to end, which S3A's `sequential` policy does in one request; 64 MiB
# is less than most store files, so this is no worse than it is. With a block for each request it would be a hundred
# times slower (measured in the lab: threads over first-byte latency).
GET_BYTES: Final = 64 * MIB
# judgement: a figure drawn beyond twice the prefetch, and no less than a day, shows where it ends.
LEAST_HOURS: Final = 24.0


def fill_seconds(demand: CacheDemand, share: ServerShare, cluster: ServingCluster, threads: int) -> Prefetch:
    """Time until each RegionServer has prefetched what it may cache, and what limits it."""
    blocks, disk = demand.blocks, cluster.disk
    if disk is None:
        raise ValueError("nothing is prefetched without a cache")
    writers = WRITER_THREADS * writer_bytes_per_second(WRITER_QUEUE_LENGTH, blocks.cached_bytes, disk.bytes_per_second)
    return prefetch(
        Fill(
            blocks=share.cached_blocks,
            s3_bytes=round(share.cached_blocks * blocks.on_disk_bytes),
            slot_bytes=round(share.cached_blocks * blocks.cached_bytes),
        ),
        Streams(threads=threads, get_bytes=GET_BYTES),
        Rates(
            network_bytes_per_second=cluster.network_gbit_per_second * GBIT_BYTES,
            fill_bytes_per_second=min(disk.bytes_per_second, writers),
            vcpus=cluster.vcpus,
            s3_gets_per_second=cluster.s3_prefixes * S3_GETS_PER_SECOND_PER_PREFIX / cluster.servers,
        ),
    )


def warm_up_curve(
    demand: CacheDemand, cache_bytes: float, filled: Prefetch, accesses_per_second: float, cached_blocks: int
) -> tuple[tuple[float, float], ...]:
    """Return the hit ratio over hours from cold caches, cluster-wide, while reads go on as in the warm cluster.

    `cached_blocks` is what prefetch brings in all.
    """
    slots = cache_bytes / demand.claimed_bytes / ACCEPT_FACTOR
    factor = slots * ACCEPT_FACTOR / demand.swing.full_blocks
    blocks_after_eviction = (
        demand.blocks.count
        if slots * ACCEPT_FACTOR >= demand.blocks.count
        else demand.swing.blocks_after_eviction * factor
    )
    return curve(
        demand.blocks.popularity,
        CacheCapacity.of(slots=slots, blocks_after_eviction=blocks_after_eviction),
        WarmUpLoad(
            accesses_per_second=lambda _: accesses_per_second,
            prefetched_blocks_per_second=cached_blocks / filled.seconds,
            hours=max(LEAST_HOURS, 2 * filled.seconds / SECONDS_PER_HOUR),
        ),
    )
