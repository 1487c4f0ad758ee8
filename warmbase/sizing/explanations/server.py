"""Why the memory of one RegionServer is shared out as it is, and why it has as many threads, queues and connections."""

from __future__ import annotations

from warmbase.ground.units import MIB
from warmbase.sizing.explanation import (
    MEBIBYTE,
    WHOLE,
    Explanation,
    computed,
    constant,
    explain,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import memory, region_server, writes
from warmbase.sizing.server.memory import HeapNeeds, most_handlers
from warmbase.sizing.server.region_server import answer_bytes, flush_writing
from warmbase.sizing.server.system_volume import write_share
from warmbase.sizing.server.writes import flush_room_bytes
from warmbase.sizing.service import inputs, resource

HEAP_CHECK = "HBase 2.6.2 MemorySizeUtil, which adds both fractions up in truncated float32 percents"


def memory_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the heap, its two fractions, and the other parts of a node's memory."""
    server, caches = candidate.region_server, candidate.cache_mib > 0
    needs, parts = server.heap_needs, server.memory.parts
    heap = figure(server.heap.xmx_bytes, "B", "heap.xmx_mib")
    yarn, percents = constant(memory, "YARN_MIB", "MiB"), constant(memory, "PERCENTS")
    smallest = constant(memory, "MINIMUM_FRACTION", "fraction")

    def smallest_heap(on_heap_cache: float, of_memstore: float, *others: float) -> int:
        """Return the heap in MiB for these needs in bytes: L1, memstore, and what is no fraction of the heap."""
        stated = HeapNeeds(
            l1_bytes=int(on_heap_cache),
            memstore_bytes=int(of_memstore),
            index_bytes=int(sum(others)),
            write_queue_bytes=0,
            persist_chunk_bytes=0,
        )
        return memory.heap(stated, server.heap.collector).xmx_mib

    names = {
        "on_heap_cache": computed(needs.l1_bytes, "B", "warmbase.sizing.server.memory.l1_bytes"),
        "memstore": computed(needs.memstore_bytes, "B", "warmbase.sizing.server.writes.memstore_bytes"),
    }
    if caches:
        source = "warmbase.sizing.server.memory.index_bytes_per_block x cached blocks"
        names["cache_index"] = computed(needs.index_bytes, "B", source)
        names["write_queues"] = computed(needs.write_queue_bytes, "B", "warmbase.sizing.server.region_server")
        names["index_dump"] = computed(needs.persist_chunk_bytes, "B", "warmbase.sizing.server.restart")
    names["free"] = constant(memory, "FREE_FRACTION", "fraction")
    names["step"] = constant(memory, "STEP_MIB", "MiB")
    names["minimum"] = constant(memory, "MINIMUM_MIB", "MiB")

    share = write_share(candidate.inputs, candidate.survivors)
    least = constant(writes, "MINIMUM_MEMSTORE_BYTES", "B")
    if share.cells_per_second:
        files = flush_writing(candidate.inputs.requirements.workload, caches=candidate.share.cached_blocks > 0)
        memstore = explain(
            "max(smallest, ceil(percents * ceil(max(least, room, min(cells * (cell + entry) * interval, max(regions,"
            " one_region) * flush_size))) / heap) / percents)",
            "The memstore has room for the writes of {interval} ({cells} of {cell}, each with {entry} more on the"
            " heap), but for no more than {flush_size} for each region. It has at least {least}, and at least {room} so"
            " that no write blocks while a flush runs. The share of the heap is rounded up to a whole percent, and at"
            " least {smallest}.",
            f"{HEAP_CHECK}; the heap of a cell is measured",
            cells=computed(
                share.cells_per_second, "cells/s", "warmbase.sizing.service.inputs.WriteShare.cells_per_second"
            ),
            cell=computed(
                share.cells.key_value_bytes, "B", "warmbase.sizing.workload.workload.Workload.key_value_bytes"
            ),
            entry=constant(inputs, "CELL_HEAP_BYTES", "B"),
            interval=constant(writes, "FLUSH_INTERVAL_SECONDS", "s"),
            least=least,
            room=computed(flush_room_bytes(share, files), "B", "warmbase.sizing.server.writes.flush_room_bytes"),
            regions=setting(share.regions, "regions", "workload.regions, one surviving node's share"),
            one_region=constant(writes, "FEWEST_REGIONS"),
            flush_size=figure(
                candidate.writing_server.settings.flush_size_bytes, "B", "writes.settings.flush_size_bytes"
            ),
            heap=heap,
            smallest=smallest,
            percents=percents,
        )
    else:
        memstore = explain(
            "max(smallest, ceil(percents * least / heap) / percents)",
            "The workload does not write, so the memstore has {least}. The share of the heap is rounded up to a whole"
            " percent, and at least {smallest}.",
            HEAP_CHECK,
            least=least,
            heap=heap,
            smallest=smallest,
            percents=percents,
        )
    return {
        "heap.xmx_mib": explain(
            f"smallest_heap(on_heap_cache, memstore{', cache_index, write_queues, index_dump' if caches else ''})",
            "The smallest heap, in steps of {step} and at least {minimum}, that holds L1 ({on_heap_cache}), the "
            "memstore ({memstore}), the index of the BucketCache ({cache_index}), blocks that wait to be written "
            "({write_queues}) and one chunk of the index dump ({index_dump}), and leaves {free} of it free."
            if caches
            else "The smallest heap, in steps of {step} and at least {minimum}, that holds L1 ({on_heap_cache}) and the"
            " memstore ({memstore}), and leaves {free} of it free.",
            f"{HEAP_CHECK}; index entries measured after a restore" if caches else HEAP_CHECK,
            {"smallest_heap": smallest_heap},
            **names,
        ),
        "heap.l1_fraction": explain(
            "max(smallest, ceil(percents * ceil(slack * indexes_and_blooms / safe) / heap) / percents)",
            "L1 keeps the leaf indexes and Bloom chunks of a server's files ({indexes_and_blooms}, times {slack} for"
            " root indexes and eviction), as a share of the heap rounded up to a whole percent, at least {smallest}."
            + (
                ""
                if caches
                else " Data blocks are in L1, too, so the indexes rely on the share of L1 for blocks that are read more"
                " than once, {safe}."
            ),
            HEAP_CHECK,
            indexes_and_blooms=computed(
                candidate.share.index_and_bloom_bytes, "B", "warmbase.sizing.workload.workload.StoredBlocks.l1_bytes"
            ),
            slack=constant(memory, "L1_SLACK"),
            heap=heap,
            safe=WHOLE if caches else constant(memory, "MULTI_FRACTION", "fraction"),
            smallest=smallest,
            percents=percents,
        ),
        "heap.memstore_fraction": memstore,
        "yarn_mib": explain(
            "yarn",
            "YARN gets {yarn}, enough for one container of an EMR step, because the node is there for HBase.",
            "judgement",
            yarn=yarn,
        ),
        "memory.parts.jvm": explain(
            "fixed + ceil(share_of_heap * heap)",
            "Besides its heap, the JVM takes {fixed} for classes and stacks, and {share_of_heap} of the heap for"
            " tables.",
            "judgement",
            fixed=constant(memory, "JVM_FIXED_BYTES", "B"),
            share_of_heap=constant(memory, "JVM_FRACTION", "fraction"),
            heap=heap,
        ),
        "memory.parts.direct": explain(
            "up_to(handlers * buffers_per_handler * buffer + clients, mebibyte)",
            "Direct memory holds the RPC server's buffer pool ({buffers_per_handler} buffers for each handler) and "
            "{clients} for network clients.",
            "HBase 2.6.2 ByteBuffAllocator; the clients' share is a judgement",
            handlers=figure(server.handlers, "", "handlers"),
            buffers_per_handler=constant(memory, "POOL_BUFFERS_PER_HANDLER"),
            buffer=constant(memory, "POOL_BUFFER_BYTES", "B"),
            clients=constant(memory, "NETTY_BYTES", "B"),
            mebibyte=MEBIBYTE,
        ),
        "memory.parts.page_cache": explain(
            "ram - system - daemons - yarn * mebibyte - heap - jvm - direct",
            "The page cache gets what the other parts leave. warmbase chooses no node that leaves it less than {least}"
            " of its RAM, because the cache file is read and written through it.",
            "Linux page cache; HBase's file engine has no direct I/O",
            ram=computed(server.memory.ram_bytes, "B", f"instance type {candidate.instance.name}"),
            system=constant(memory, "SYSTEM_BYTES", "B"),
            daemons=constant(memory, "DAEMON_BYTES", "B"),
            yarn=yarn,
            mebibyte=MEBIBYTE,
            heap=figure(server.heap.xmx_mib * MIB, "B", "heap.xmx_mib"),
            jvm=figure(parts["jvm"], "B", "memory.parts.jvm"),
            direct=figure(parts["direct"], "B", "memory.parts.direct"),
            least=constant(memory, "PAGE_CACHE_FRACTION", "fraction"),
        ),
    }


def thread_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain handlers, their queues, the threads that open regions and prefetch, and connections to S3."""
    pins, instance, server = candidate.inputs.requirements.pins, candidate.instance, candidate.region_server
    workload = candidate.inputs.requirements.workload
    in_memory = most_handlers(instance.memory_bytes, server.heap)
    handlers = figure(server.handlers, "", "handlers")
    fewest_writers = constant(region_server, "FEWEST_WRITERS")
    for_writes = constant(region_server, "WRITE_FRACTION", "fraction")
    names = {
        "default": constant(region_server, "DEFAULT_HANDLERS"),
        "step": constant(region_server, "HANDLER_STEP"),
        "readers": computed(
            candidate.share.reads_in_progress, "reads", "warmbase.sizing.service.performance.reads_in_progress"
        ),
        "in_memory": computed(in_memory, "", "warmbase.sizing.server.memory.most_handlers"),
        "answer": setting(answer_bytes(workload), "B", "workload.row x workload.reads.rows"),
        "heap": figure(server.heap.xmx_bytes, "B", "heap.xmx_mib"),
        "share_of_heap": constant(region_server, "ANSWERS_FRACTION", "fraction"),
        "fewest": constant(region_server, "FEWEST_HANDLERS"),
    }
    wanted, writers = "ceil(readers)", ""
    queues = "judgement: a put holds its handler until the log is synced; HBase 2.6.2 RWQueueRpcExecutor splits them"
    if workload.write_bytes_per_second:
        wanted = f"max({wanted} + fewest_writers, ceil({wanted} / (every_handler - for_writes)))"
        writers = ", plus at least {fewest_writers} handlers and {for_writes} of all for writes"
        names["fewest_writers"], names["for_writes"] = fewest_writers, for_writes
        names["every_handler"] = constant(region_server, "WHOLE")
        read_fraction = explain(
            "floor(percents * (handlers - min(floor(most_writers * handlers), "
            "max(fewest_writers, ceil(for_writes * handlers)))) / handlers) / percents",
            "{for_writes} of the handlers are for writes, at least {fewest_writers} but at most {most_writers}; the"
            " rest are for reads, so that a write that waits for a flush does not delay reads.",
            queues,
            handlers=handlers,
            for_writes=for_writes,
            fewest_writers=fewest_writers,
            most_writers=constant(region_server, "MOST_WRITERS_FRACTION", "fraction"),
            percents=constant(region_server, "PERCENTS"),
        )
    else:
        sentence = "The workload does not write, so reads share every queue."
        read_fraction = explain("shared", sentence, queues, shared=constant(region_server, "SHARED"))
    return {
        "handlers": pinned(pins, "handlers")
        or explain(
            f"max(fewest, min(max(default, step * ceil({wanted} / step)), floor(share_of_heap * heap / answer),"
            " in_memory))",
            "Enough handlers for {readers} in progress at once on each RegionServer, with warm or cold caches"
            f"{writers}, rounded up to a multiple of {{step}}, and at least HBase's default of {{default}}. Their"
            " answers, {answer} each, may fill at most {share_of_heap} of the heap, and the RAM has room for the"
            " buffers of {in_memory} handlers.",
            "Little's law at the load that the cluster is sized for; HBase Reference Guide for large answers",
            **names,
        ),
        "call_queues.read_fraction": pinned(pins, "read_fraction") or read_fraction,
        "prefetch_threads": pinned(pins, "prefetch_threads")
        or explain(
            "max(fewest, per_core * cores)",
            "{per_core} threads prefetch for each vCPU, at least {fewest}: they wait for S3, not for the processor.",
            "measured: prefetch from S3 runs at threads over first-byte latency, whatever the bandwidth",
            per_core=constant(region_server, "PREFETCH_THREADS_PER_VCPU"),
            cores=computed(instance.vcpus, "vCPUs", f"instance type {instance.name}"),
            fewest=constant(region_server, "FEWEST_PREFETCH_THREADS"),
        ),
        "open_region_threads": pinned(pins, "open_region_threads")
        or explain(
            "max(default, min(most, ceil(regions), floor(gets * trip / servers)))",
            "A server opens its {regions} at the same time, but no more than {most}, and no more than keeps {servers}"
            " that start together below {gets} for one prefix, at {trip} for each request. HBase's default of {default}"
            " is the minimum.",
            "a thread that opens a region waits for one request to S3 after another; Amazon S3 User Guide for the rate",
            default=constant(region_server, "DEFAULT_THREADS"),
            most=constant(region_server, "MOST_THREADS"),
            regions=setting(candidate.share.regions, "regions", "workload.regions, one surviving node's share"),
            gets=constant(resource, "S3_GETS_PER_SECOND_PER_PREFIX", "requests/s"),
            trip=constant(region_server, "S3_TRIP_SECONDS", "s"),
            servers=figure(candidate.survivors, "servers", "core.count, less the nodes that may be lost"),
        ),
        "s3_connections": pinned(pins, "s3_connections")
        or explain(
            "max(default, per_thread * (handlers + prefetch_threads + writing_threads))",
            "{per_thread} connections for each thread that may read or write S3, and at least Hadoop's default of "
            "{default}.",
            "judgement: a thread may hold a second stream open beside the one that it reads from",
            per_thread=constant(region_server, "S3_CONNECTIONS_PER_THREAD"),
            handlers=handlers,
            prefetch_threads=figure(candidate.region_server.prefetch_threads, "", "prefetch_threads"),
            writing_threads=constant(region_server, "WRITING_THREADS"),
            default=constant(region_server, "DEFAULT_S3_CONNECTIONS"),
        ),
    }
