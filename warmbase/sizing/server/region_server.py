"""One RegionServer on one instance type: its cache, heap, memory, threads, how it keeps its index, and how it fills.

With a read ratio, HBase makes separate call queues: writers = max(1, n - max(1, round(n x ratio))) of queues and
handlers alike, and reads have the rest. A write that waits for a flush then keeps no read waiting. Source: HBase 2.6.2
RpcExecutor, RWQueueRpcExecutor.

A thread that opens a region waits for one S3 request after another, so threads cost only requests. When all servers
start together, their requests must stay below S3's limit for one prefix.

Cold caches fill by prefetch, and by the reads themselves.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from math import ceil, floor
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import MIB
from warmbase.sizing.cache.bucket_cache import WRITER_THREADS, CacheDemand
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR
from warmbase.sizing.cache.warm_up import (
    CacheCapacity,
    Fill,
    Prefetch,
    Rates,
    Streams,
    prefetch,
    writer_bytes_per_second,
)
from warmbase.sizing.server.cold_start import ColdStart, Prefetching
from warmbase.sizing.server.memory import (
    Heap,
    HeapNeeds,
    NodeMemory,
    heap,
    index_bytes_per_block,
    l1_bytes,
    most_handlers,
    split_memory,
)
from warmbase.sizing.server.restart import (
    Persistence,
    Restart,
    RestartLoad,
    chunk_heap_bytes,
    persistence,
    restart,
)
from warmbase.sizing.server.writes import FileWriting, memstore_bytes
from warmbase.sizing.service.inputs import SizingInputs, WriteShare
from warmbase.sizing.service.resource import GBIT_BYTES, S3_GETS_PER_SECOND_PER_PREFIX, ServingCluster
from warmbase.sizing.workload.workload import Workload

# judgement: a put holds its handler until the log is synced, a few milliseconds: eight take in over a thousand puts a
# second, and a tenth of many handlers more.
WRITE_FRACTION: Final = 0.1
FEWEST_WRITERS: Final = 8  # of 16 handlers or more
MOST_WRITERS_FRACTION: Final = 0.5  # of fewer
WHOLE: Final = 1.0  # all handlers; reads have those that are not for writes
SHARED: Final = 0.0
"""The read fraction with which HBase gives reads and writes the same queues."""
PERCENTS: Final = 100  # the fraction is written with two decimals


class CallQueues(Struct, frozen=True, kw_only=True):
    """`read_fraction` of queues and handlers is for reads; 0 shares them all with writes."""

    read_fraction: float
    read_handlers: int


def call_queues(handlers: int, pinned: float | None = None, *, writes: bool) -> CallQueues:
    """Return separate queues if the workload writes, and shared ones if not; a pinned read fraction decides first."""
    read_fraction = SHARED
    if pinned is not None:
        read_fraction = pinned
    elif writes:
        wanted = min(floor(MOST_WRITERS_FRACTION * handlers), max(FEWEST_WRITERS, ceil(WRITE_FRACTION * handlers)))
        read_fraction = floor(PERCENTS * (handlers - wanted) / handlers) / PERCENTS
    writers = 0 if read_fraction == SHARED else max(1, handlers - max(1, round(handlers * read_fraction)))
    return CallQueues(read_fraction=read_fraction, read_handlers=handlers - writers)


DEFAULT_THREADS: Final = 3  # hbase.regionserver.executor.openregion.threads
# judgement: regions that open also list files, read trailers and start prefetches; more than twenty at a time would
# take connections away from handlers.
MOST_THREADS: Final = 20


def open_region_threads(regions: float, servers: int, s3_trip_seconds: float) -> int:
    """Return `hbase.regionserver.executor.openregion.threads` for one of `servers`, each with this many regions."""
    for_s3 = floor(S3_GETS_PER_SECOND_PER_PREFIX * s3_trip_seconds / servers)
    return max(DEFAULT_THREADS, min(MOST_THREADS, ceil(regions), for_s3))


DEFAULT_HANDLERS: Final = 30  # hbase.regionserver.handler.count
# judgement: small changes of the load then change no setting of a running cluster.
HANDLER_STEP: Final = 10
# judgement: answers are built on the heap; all handlers at once may fill a tenth of it. The HBase guide asks for few
# handlers where answers are large, and has ten for megabytes.
ANSWERS_FRACTION: Final = 0.1
FEWEST_HANDLERS: Final = 10
DEFAULT_S3_CONNECTIONS: Final = 500  # fs.s3a.connection.maximum
# judgement: a reader may hold a stream of its own beside the one that it reads with; flush and compaction have theirs.
S3_CONNECTIONS_PER_THREAD: Final = 2
WRITING_THREADS: Final = 16
S3_TRIP_SECONDS: Final = 0.15  # judgement: the middle of S3's documented 100 to 200 ms for a first byte
# judgement: prefetch waits for S3, not for bandwidth: threads over first-byte latency is its speed, so twice the
# default of 4 for each core, and never fewer than 16.
PREFETCH_THREADS_PER_VCPU: Final = 2
FEWEST_PREFETCH_THREADS: Final = 16
SHARES: Final = 1_024  # whose heaps are cached: a search asks for each at every speed of the volumes
INFINITE: Final = float("inf")  # the disk of an index that is empty


class ServerShare(Struct, frozen=True, kw_only=True):
    """One RegionServer's share of the load: its part of regions, rows, writes and cached blocks.

    `cached_blocks` is the most that its cache ever holds, `prefetched_blocks` what a prefetch brings.
    `reads_in_progress` is how many reads the server works on at once when the cluster carries its load.
    """

    cache_bytes: int
    cached_blocks: int
    prefetched_blocks: int
    index_and_bloom_bytes: float
    regions: float
    write_bytes_per_second: float
    reads_in_progress: float = 0.0

    @classmethod
    def of(cls, demand: CacheDemand, size_mib: int, servers: int) -> ServerShare:
        """Return an even share for each of `servers`."""
        workload = demand.blocks.workload
        return cls(
            cache_bytes=size_mib * MIB,
            cached_blocks=demand.blocks_cached(size_mib, servers) if size_mib else 0,
            prefetched_blocks=demand.blocks_prefetched(size_mib, servers) if size_mib else 0,
            index_and_bloom_bytes=demand.blocks.l1_bytes / servers,
            regions=workload.regions / servers,
            write_bytes_per_second=workload.write_bytes_per_second / servers,
        )


class RegionServer(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One RegionServer, settled: everything about it that does not depend on the load.

    A search asks only for the fields, so the other figures are computed when they are read.
    """

    instance: InstanceType
    share: ServerShare
    inputs: SizingInputs
    disk_bytes_per_second: float
    heap: Heap
    heap_needs: HeapNeeds
    memory: NodeMemory
    handlers: int
    call_queues: CallQueues

    @property
    def prefetch_threads(self) -> int:
        """Return `hbase.hfile.thread.prefetch`."""
        pinned = self.inputs.requirements.pins.prefetch_threads
        return pinned or max(FEWEST_PREFETCH_THREADS, PREFETCH_THREADS_PER_VCPU * self.instance.vcpus)

    @property
    def open_region_threads(self) -> int:
        """Return `hbase.regionserver.executor.openregion.threads`."""
        regions, workload = self.share.regions, self.inputs.demand.blocks.workload
        return self.inputs.requirements.pins.open_region_threads or open_region_threads(
            regions, round(workload.regions / regions), S3_TRIP_SECONDS
        )

    @property
    def s3_connections(self) -> int:
        """Return `fs.s3a.connection.maximum`: for every thread that may hold one, and never below Hadoop's default."""
        threads = self.handlers + self.prefetch_threads + WRITING_THREADS
        pinned = self.inputs.requirements.pins.s3_connections
        return pinned or max(DEFAULT_S3_CONNECTIONS, S3_CONNECTIONS_PER_THREAD * threads)

    @property
    def persistence(self) -> Persistence:
        """Return how the index of the cache is kept on disk."""
        rate = self.disk_bytes_per_second or INFINITE
        return persistence(self.share.cached_blocks, rate, self.inputs.world.release)

    @cached_property
    def restart(self) -> Restart:
        """Return a restart, without the margin of its retention window if a target requires that and no pin forbids it.

        Raises ValueError if the master cannot wait for it.
        """
        requirements = self.inputs.requirements
        load = RestartLoad(
            heap_bytes=self.heap.xmx_bytes,
            cached_blocks=self.share.cached_blocks,
            regions=math.ceil(self.share.regions),
            open_region_threads=self.open_region_threads,
            s3_trip_seconds=S3_TRIP_SECONDS,
            pre_touch=True,
            restores_in_background=self.inputs.world.release.index_restored_in_background,
            retained=self.share.cache_bytes > 0,
        )
        return restart(load, requirements.pins.retain_retries, requirements.targets.offline_after_crash_seconds)


def region_server(
    instance: InstanceType, share: ServerShare, inputs: SizingInputs, disk_bytes_per_second: float
) -> RegionServer:
    """The RegionServer that carries this share on this instance.

    Raises NotEnoughMemory when the heap it needs leaves too little of the instance's RAM.
    """
    pins, workload = inputs.requirements.pins, inputs.demand.blocks.workload
    needs, sized_heap = server_heap(inputs, replace(share, reads_in_progress=0.0))
    threads_that_answer = pins.handlers or handlers(instance, workload, sized_heap, share.reads_in_progress)
    return RegionServer(
        instance=instance,
        share=share,
        inputs=inputs,
        disk_bytes_per_second=disk_bytes_per_second,
        heap=sized_heap,
        heap_needs=needs,
        memory=split_memory(instance.memory_bytes, sized_heap, threads_that_answer),
        handlers=threads_that_answer,
        call_queues=call_queues(threads_that_answer, pins.read_fraction, writes=workload.write_bytes_per_second > 0),
    )


def has_room(instance: InstanceType, share: ServerShare, inputs: SizingInputs) -> bool:
    """Return whether the instance has the memory for this share, so that `region_server` raises nothing."""
    _, sized_heap = server_heap(inputs, share)
    return (inputs.requirements.pins.handlers or FEWEST_HANDLERS) <= most_handlers(instance.memory_bytes, sized_heap)


@lru_cache(maxsize=SHARES)
def server_heap(inputs: SizingInputs, share: ServerShare) -> tuple[HeapNeeds, Heap]:
    """Return the needs on the heap of a RegionServer with this share, and the heap that holds them on any instance."""
    demand, collector = inputs.demand, inputs.world.release.collector
    queued_blocks = 2 * WRITER_THREADS * demand.writer_queue_length if share.cached_blocks else 0
    needs = HeapNeeds(
        l1_bytes=l1_bytes(share.index_and_bloom_bytes, data_blocks=not share.cache_bytes),
        memstore_bytes=memstore_bytes(
            WriteShare.of(demand.blocks, share.write_bytes_per_second, share.regions),
            flush_writing(demand.blocks.workload, caches=share.cached_blocks > 0),
        ),
        index_bytes=share.cached_blocks * index_bytes_per_block(collector),
        write_queue_bytes=math.ceil(queued_blocks * demand.cacheable.cached_bytes),
        persist_chunk_bytes=chunk_heap_bytes(share.cached_blocks),
    )
    return needs, heap(needs, collector)


def handlers(instance: InstanceType, workload: Workload, sized_heap: Heap, reads_in_progress: float) -> int:
    """Return `hbase.regionserver.handler.count`: as many as the load keeps busy, within the heap and the RAM.

    A handler that waits for a disk or for S3 uses no CPU, so handlers cost memory and nothing else.
    """
    wanted = math.ceil(reads_in_progress)
    if workload.write_bytes_per_second:
        # Add handlers for writes, so that this many are left for reads.
        wanted = max(wanted + FEWEST_WRITERS, ceil(wanted / (WHOLE - WRITE_FRACTION)))
    for_load = max(DEFAULT_HANDLERS, HANDLER_STEP * math.ceil(wanted / HANDLER_STEP))
    for_answers = int(ANSWERS_FRACTION * sized_heap.xmx_bytes / answer_bytes(workload))
    return max(FEWEST_HANDLERS, min(for_load, for_answers, most_handlers(instance.memory_bytes, sized_heap)))


def answer_bytes(workload: Workload) -> int:
    """Return the bytes of the answer that one handler builds; for several tables, the largest mean answer."""
    largest = 1
    for part in workload.parts:
        largest = max(largest, part.row_bytes * part.reads.rows)
    return largest


def flush_writing(workload: Workload, *, caches: bool) -> FileWriting:
    """Return how a flush writes to S3, and to the cache where there is one."""
    return FileWriting(cached_fraction=0.0, caches=caches, compresses=workload.compressed)


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


def cold_start(inputs: SizingInputs, share: ServerShare, cluster: ServingCluster, threads: int) -> ColdStart:
    """Return the servers with empty caches under the workload, each with its share."""
    demand, servers, everything = inputs.demand, cluster.servers, inputs.demand.cacheable.count
    alone, blocks = fill_seconds(demand, share, cluster, threads), share.prefetched_blocks * servers
    # Compute how many blocks the caches of the whole cluster hold when they are full, and after an eviction.
    slots = share.cache_bytes * servers / demand.claimed_bytes / ACCEPT_FACTOR
    full = slots * ACCEPT_FACTOR
    after_eviction = (
        everything if full >= everything else demand.swing.blocks_after_eviction * (full / demand.swing.full_blocks)
    )
    return ColdStart(
        cluster=cluster,
        read=inputs.read,
        timings=inputs.timings,
        load=inputs.requirements.workload.load,
        popularity=demand.cacheable.popularity,
        room=CacheCapacity.of(slots=slots, blocks_after_eviction=after_eviction),
        prefetching=Prefetching(
            blocks=blocks,
            blocks_per_second=blocks / alone.seconds,
            s3_bytes=demand.cacheable.on_disk_bytes,
            slot_bytes=demand.cacheable.cached_bytes,
            get_bytes=GET_BYTES,
        ),
    )
