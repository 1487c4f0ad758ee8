"""One RegionServer on one instance type: its cache, heap, memory, and how it keeps its index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from sizing.bucket_cache import WRITER_QUEUE_LENGTH, WRITER_THREADS, CacheDemand
from sizing.heap import (
    Heap,
    HeapNeeds,
    heap,
    index_bytes_per_block,
    l1_bytes,
    memstore_bytes,
)
from sizing.instance import InstanceType
from sizing.memory import Memory, split_memory
from sizing.persistence import IndexFormat, Persistence, persistence
from sizing.release import Release
from sizing.restart import RegionServer as RestartOf
from sizing.restart import Restart, restart

__all__ = ["RegionServer", "Share", "prefetch_threads", "region_server"]

DEFAULT_HANDLERS: Final = 30  # hbase.regionserver.handler.count
HANDLERS_PER_VCPU: Final = 4  # judgement: a handler that waits for a disk uses no CPU; four for each core keep it busy
OPEN_REGION_THREADS: Final = 3  # hbase.regionserver.executor.openregion.threads
S3_TRIP_SECONDS: Final = 0.15  # judgement: the middle of S3's documented 100 to 200 ms for a first byte
# judgement: prefetch waits for S3, not for bandwidth: threads over first-byte latency is its speed, so twice the
# default of 4 for each core, and never fewer than 16.
PREFETCH_THREADS_PER_VCPU: Final = 2
FEWEST_PREFETCH_THREADS: Final = 16
INFINITE: Final = float("inf")  # the disk of an index that is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one RegionServer has to carry: its part of regions, rows, writes and cached blocks."""

    cached_blocks: int
    index_and_bloom_bytes: float
    regions: float
    write_bytes_per_second: float

    @classmethod
    def of(cls, demand: CacheDemand, size_mib: int, servers: int) -> Share:
        """An even share for each of `servers`."""
        workload = demand.blocks.workload
        return cls(
            cached_blocks=demand.blocks_cached(size_mib, servers) if size_mib else 0,
            index_and_bloom_bytes=demand.blocks.l1_bytes / servers,
            regions=workload.regions / servers,
            write_bytes_per_second=workload.write_bytes_per_second / servers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionServer:
    """One RegionServer, settled: everything about it that does not depend on the load."""

    heap: Heap
    heap_needs: HeapNeeds
    memory: Memory
    handlers: int
    prefetch_threads: int
    persistence: Persistence
    restart: Restart


def region_server(
    instance: InstanceType, share: Share, demand: CacheDemand, disk_bytes_per_second: float, release: Release
) -> RegionServer:
    """The RegionServer that carries this share on this instance.

    Raises NotEnoughMemory when the heap it needs leaves too little of the instance's RAM.
    """
    index_format = IndexFormat.FROM_2_6_5 if release.index_restored_in_background else IndexFormat.UNTIL_2_6_4
    kept = persistence(share.cached_blocks, disk_bytes_per_second or INFINITE, index_format)
    needs = _heap_needs(share, demand, kept, release)
    settled = heap(needs, release.collector)
    handlers = max(DEFAULT_HANDLERS, HANDLERS_PER_VCPU * instance.vcpus)
    return RegionServer(
        heap=settled,
        heap_needs=needs,
        memory=split_memory(instance.memory_bytes, settled, handlers),
        handlers=handlers,
        prefetch_threads=prefetch_threads(instance),
        persistence=kept,
        restart=restart(_restart_of(settled, share, release)),
    )


def prefetch_threads(instance: InstanceType) -> int:
    """`hbase.hfile.thread.prefetch` for this instance."""
    return max(FEWEST_PREFETCH_THREADS, PREFETCH_THREADS_PER_VCPU * instance.vcpus)


def _heap_needs(share: Share, demand: CacheDemand, kept: Persistence, release: Release) -> HeapNeeds:
    queued_blocks = 2 * WRITER_THREADS * WRITER_QUEUE_LENGTH if share.cached_blocks else 0
    return HeapNeeds(
        l1_bytes=l1_bytes(share.index_and_bloom_bytes),
        memstore_bytes=memstore_bytes(share.write_bytes_per_second, share.regions),
        index_bytes=share.cached_blocks * index_bytes_per_block(release.collector),
        write_queue_bytes=math.ceil(queued_blocks * demand.blocks.cached_bytes),
        persist_chunk_bytes=kept.chunk_heap_bytes,
    )


def _restart_of(settled: Heap, share: Share, release: Release) -> RestartOf:
    return RestartOf(
        heap_bytes=settled.xmx_bytes,
        cached_blocks=share.cached_blocks,
        regions=math.ceil(share.regions),
        open_region_threads=OPEN_REGION_THREADS,
        s3_trip_seconds=S3_TRIP_SECONDS,
        pre_touch=True,
        restores_in_background=release.index_restored_in_background,
    )
