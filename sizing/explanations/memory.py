"""Why the memory of one RegionServer is shared out as it is."""

from __future__ import annotations

from msgspec import Struct

from sizing import cells, heap, memory, memstore
from sizing.candidate import Candidate
from sizing.explanation import Explanation, Quantity, explain
from sizing.explanations.quantities import MEBIBYTE, WHOLE, computed, constant, fact, figure, setting
from sizing.heap import HeapNeeds
from sizing.memstore import flush_room_bytes
from sizing.region_server import flush_writing
from sizing.system_volume import write_share
from sizing.units import MIB

__all__ = ["memory_explanations"]

HEAP_CHECK = "HBase 2.6.2 MemorySizeUtil, which adds both fractions up in truncated float32 percents"


class SmallestHeap(Struct, frozen=True):
    """The heap that holds the needs with this collector, as a function of the needs alone."""

    collector: str

    def __call__(self, on_heap_cache: float, of_memstore: float, *others: float) -> int:
        """The size in MiB for these needs in bytes: L1, memstore, and what is no fraction of the heap."""
        needs = HeapNeeds(
            l1_bytes=int(on_heap_cache),
            memstore_bytes=int(of_memstore),
            index_bytes=int(sum(others)),
            write_queue_bytes=0,
            persist_chunk_bytes=0,
        )
        return heap.heap(needs, self.collector).xmx_mib


def memory_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the heap, its two fractions, and the other parts of a node's memory."""
    return {
        "heap.xmx_mib": _heap(candidate),
        "heap.l1_fraction": _on_heap_cache(candidate),
        "heap.memstore_fraction": _memstore(candidate),
        "yarn_mib": explain(
            "yarn",
            "YARN gets {yarn}, enough for one container of an EMR step, because the node is there for HBase.",
            "judgement",
            yarn=constant(memory, "YARN_MIB", "MiB"),
        ),
        "memory.parts.jvm": explain(
            "fixed + ceil(share_of_heap * heap)",
            "Besides its heap, the JVM takes {fixed} for classes and stacks, and {share_of_heap} of the heap for"
            " tables.",
            "judgement",
            fixed=constant(memory, "JVM_FIXED_BYTES", "B"),
            share_of_heap=constant(memory, "JVM_FRACTION", "fraction"),
            heap=figure(candidate.region_server.heap.xmx_bytes, "B", "heap.xmx_mib"),
        ),
        "memory.parts.direct": explain(
            "up_to(handlers * buffers_per_handler * buffer + clients, mebibyte)",
            "Direct memory holds the RPC server's buffer pool ({buffers_per_handler} buffers for each handler) and "
            "{clients} for network clients.",
            "HBase 2.6.2 ByteBuffAllocator; the clients' share is a judgement",
            handlers=figure(candidate.region_server.handlers, "", "handlers"),
            buffers_per_handler=constant(memory, "POOL_BUFFERS_PER_HANDLER"),
            buffer=constant(memory, "POOL_BUFFER_BYTES", "B"),
            clients=constant(memory, "NETTY_BYTES", "B"),
            mebibyte=MEBIBYTE,
        ),
        "memory.parts.page_cache": _page_cache(candidate),
    }


def _heap(candidate: Candidate) -> Explanation:
    server = candidate.region_server
    needs = server.heap_needs
    if not candidate.cache_mib:
        return explain(
            "smallest_heap(on_heap_cache, memstore)",
            "The smallest heap, in steps of {step} and at least {minimum}, that holds L1 ({on_heap_cache}) and the "
            "memstore ({memstore}), and leaves {free} of it free.",
            HEAP_CHECK,
            {"smallest_heap": SmallestHeap(server.heap.collector)},
            on_heap_cache=computed(needs.l1_bytes, "B", "sizing.heap.l1_bytes"),
            memstore=computed(needs.memstore_bytes, "B", "sizing.memstore.memstore_bytes"),
            **_heap_steps(),
        )
    return explain(
        "smallest_heap(on_heap_cache, memstore, cache_index, write_queues, index_dump)",
        "The smallest heap, in steps of {step} and at least {minimum}, that holds L1 ({on_heap_cache}), the memstore "
        "({memstore}), the index of the BucketCache ({cache_index}), blocks that wait to be written ({write_queues}) "
        "and one chunk of the index dump ({index_dump}), and leaves {free} of it free.",
        f"{HEAP_CHECK}; index entries measured after a restore",
        {"smallest_heap": SmallestHeap(server.heap.collector)},
        on_heap_cache=computed(needs.l1_bytes, "B", "sizing.heap.l1_bytes"),
        memstore=computed(needs.memstore_bytes, "B", "sizing.memstore.memstore_bytes"),
        cache_index=computed(needs.index_bytes, "B", "sizing.heap.index_bytes_per_block x cached blocks"),
        write_queues=computed(needs.write_queue_bytes, "B", "sizing.region_server"),
        index_dump=computed(needs.persist_chunk_bytes, "B", "sizing.persistence"),
        **_heap_steps(),
    )


def _heap_steps() -> dict[str, Quantity]:
    return {
        "free": constant(heap, "FREE_FRACTION", "fraction"),
        "step": constant(heap, "STEP_MIB", "MiB"),
        "minimum": constant(heap, "MINIMUM_MIB", "MiB"),
    }


def _on_heap_cache(candidate: Candidate) -> Explanation:
    shared = (
        ""
        if candidate.cache_mib
        else " Data blocks are in L1, too, so the indexes rely on the share of L1 for blocks that are read more than "
        "once, {safe}."
    )
    return explain(
        "max(smallest, ceil(percents * ceil(slack * indexes_and_blooms / safe) / heap) / percents)",
        "L1 keeps the leaf indexes and Bloom chunks of a server's files ({indexes_and_blooms}, times {slack} for root "
        "indexes and eviction), as a share of the heap rounded up to a whole percent, at least {smallest}." + shared,
        HEAP_CHECK,
        indexes_and_blooms=computed(
            candidate.share.index_and_bloom_bytes, "B", "sizing.stored_blocks.StoredBlocks.l1_bytes"
        ),
        slack=constant(heap, "L1_SLACK"),
        heap=figure(candidate.region_server.heap.xmx_bytes, "B", "heap.xmx_mib"),
        safe=constant(heap, "MULTI_FRACTION", "fraction") if shared else WHOLE,
        smallest=constant(heap, "MINIMUM_FRACTION", "fraction"),
        percents=constant(heap, "PERCENTS"),
    )


def _memstore(candidate: Candidate) -> Explanation:
    share = write_share(candidate.question, candidate.survivors)
    files = flush_writing(candidate.question.requirements.workload, caches=candidate.share.cached_blocks > 0)
    least = constant(memstore, "MINIMUM_MEMSTORE_BYTES", "B")
    fraction_of_heap = {
        "heap": figure(candidate.region_server.heap.xmx_bytes, "B", "heap.xmx_mib"),
        "smallest": constant(heap, "MINIMUM_FRACTION", "fraction"),
        "percents": constant(heap, "PERCENTS"),
    }
    if not share.cells_per_second:
        return explain(
            "max(smallest, ceil(percents * least / heap) / percents)",
            "The workload does not write, so the memstore has {least}. The share of the heap is rounded up to a whole"
            " percent, and at least {smallest}.",
            HEAP_CHECK,
            least=least,
            **fraction_of_heap,
        )
    return explain(
        "max(smallest, ceil(percents * ceil(max(least, room, min(cells * (cell + entry) * interval, max(regions,"
        " one_region) * flush_size))) / heap) / percents)",
        "The memstore has room for the writes of {interval} ({cells} of {cell}, each with {entry} more on the heap),"
        " but for no more than {flush_size} for each region. It has at least {least}, and at least {room} so that no"
        " write blocks while a flush runs. The share of the heap is rounded up to a whole percent, and at least"
        " {smallest}.",
        f"{HEAP_CHECK}; the heap of a cell is measured",
        cells=computed(share.cells_per_second, "cells/s", "sizing.cells.WriteShare.cells_per_second"),
        cell=computed(share.cells.key_value_bytes, "B", "sizing.workload.Workload.key_value_bytes"),
        entry=constant(cells, "CELL_HEAP_BYTES", "B"),
        interval=constant(memstore, "FLUSH_INTERVAL_SECONDS", "s"),
        least=least,
        room=computed(flush_room_bytes(share, files), "B", "sizing.memstore.flush_room_bytes"),
        regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
        one_region=constant(memstore, "FEWEST_REGIONS"),
        flush_size=figure(candidate.writing_server.settings.flush_size_bytes, "B", "writes.settings.flush_size_bytes"),
        **fraction_of_heap,
    )


def _page_cache(candidate: Candidate) -> Explanation:
    server = candidate.region_server
    parts = server.memory.parts
    return explain(
        "ram - system - daemons - yarn * mebibyte - heap - jvm - direct",
        "The page cache gets what the other parts leave. warmbase chooses no node that leaves it less than {least}"
        " of its RAM, because the cache file is read and written through it.",
        "Linux page cache; HBase's file engine has no direct I/O",
        ram=fact(server.memory.ram_bytes, "B", f"instance type {candidate.instance.name}"),
        system=constant(memory, "SYSTEM_BYTES", "B"),
        daemons=constant(memory, "DAEMON_BYTES", "B"),
        yarn=constant(memory, "YARN_MIB", "MiB"),
        mebibyte=MEBIBYTE,
        heap=figure(server.heap.xmx_mib * MIB, "B", "heap.xmx_mib"),
        jvm=figure(parts["jvm"], "B", "memory.parts.jvm"),
        direct=figure(parts["direct"], "B", "memory.parts.direct"),
        least=constant(memory, "PAGE_CACHE_FRACTION", "fraction"),
    )
