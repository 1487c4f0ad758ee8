"""Why a RegionServer has as many threads, queues and connections as it has."""

from __future__ import annotations

from sizing import call_queues, opening, region_server, resource
from sizing.candidate import Candidate
from sizing.explanation import Explanation, explain
from sizing.explanations.quantities import computed, constant, fact, figure, pinned, setting
from sizing.memory import most_handlers
from sizing.region_server import answer_bytes

__all__ = ["thread_explanations"]


def thread_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain handlers, their queues, prefetch threads, and connections to S3."""
    pins = candidate.question.requirements.pins
    return {
        "handlers": pinned(pins, "handlers") or _handlers(candidate),
        "call_queues.read_fraction": pinned(pins, "read_fraction") or _read_fraction(candidate),
        "prefetch_threads": pinned(pins, "prefetch_threads")
        or explain(
            "max(fewest, per_core * cores)",
            "{per_core} threads prefetch for each vCPU, at least {fewest}: they wait for S3, not for the processor.",
            "measured: prefetch from S3 runs at threads over first-byte latency, whatever the bandwidth",
            per_core=constant(region_server, "PREFETCH_THREADS_PER_VCPU"),
            cores=fact(candidate.instance.vcpus, "vCPUs", f"instance type {candidate.instance.name}"),
            fewest=constant(region_server, "FEWEST_PREFETCH_THREADS"),
        ),
        "open_region_threads": pinned(pins, "open_region_threads") or _openers(candidate),
        "s3_connections": pinned(pins, "s3_connections")
        or explain(
            "max(default, per_thread * (handlers + prefetch_threads + writing_threads))",
            "{per_thread} connections for each thread that may read or write S3, and at least Hadoop's default of "
            "{default}.",
            "judgement: a thread may hold a second stream open beside the one that it reads from",
            per_thread=constant(region_server, "S3_CONNECTIONS_PER_THREAD"),
            handlers=figure(candidate.region_server.handlers, "", "handlers"),
            prefetch_threads=figure(candidate.prefetch_threads, "", "prefetch_threads"),
            writing_threads=constant(region_server, "WRITING_THREADS"),
            default=constant(region_server, "DEFAULT_S3_CONNECTIONS"),
        ),
    }


def _handlers(candidate: Candidate) -> Explanation:
    workload, instance = candidate.question.requirements.workload, candidate.instance
    readers = computed(candidate.share.reads_in_progress, "reads", "sizing.performance.reads_in_progress")
    in_memory = most_handlers(instance.memory_bytes, candidate.region_server.heap)
    names = {
        "default": constant(region_server, "DEFAULT_HANDLERS"),
        "step": constant(region_server, "HANDLER_STEP"),
        "readers": readers,
        "in_memory": computed(in_memory, "", "sizing.memory.most_handlers"),
        "answer": setting(answer_bytes(workload), "B", "workload.row x workload.reads.rows"),
        "heap": figure(candidate.region_server.heap.xmx_bytes, "B", "heap.xmx_mib"),
        "share_of_heap": constant(region_server, "ANSWERS_FRACTION", "fraction"),
        "fewest": constant(region_server, "FEWEST_HANDLERS"),
    }
    wanted = "ceil(readers)"
    writers = ""
    if workload.write_bytes_per_second:
        wanted = f"max({wanted} + fewest_writers, ceil({wanted} / (every_handler - for_writes)))"
        writers = ", plus at least {fewest_writers} handlers and {for_writes} of all for writes"
        names |= {
            "fewest_writers": constant(call_queues, "FEWEST_WRITERS"),
            "for_writes": constant(call_queues, "WRITE_FRACTION", "fraction"),
            "every_handler": constant(call_queues, "WHOLE"),
        }
    return explain(
        f"max(fewest, min(max(default, step * ceil({wanted} / step)), floor(share_of_heap * heap / answer),"
        " in_memory))",
        "Enough handlers for {readers} in progress at once on each RegionServer, with warm or cold caches"
        + writers
        + ", rounded up to a multiple of {step}, and at least HBase's default of {default}. Their answers, {answer}"
        " each, may fill at most {share_of_heap} of the heap, and the RAM has room for the buffers of {in_memory}"
        " handlers.",
        "Little's law at the load that the cluster is sized for; HBase Reference Guide for large answers",
        **names,
    )


def _openers(candidate: Candidate) -> Explanation:
    return explain(
        "max(default, min(most, ceil(regions), floor(gets * trip / servers)))",
        "A server opens its {regions} at the same time, but no more than {most}, and no more than keeps {servers} that"
        " start together below {gets} for one prefix, at {trip} for each request. HBase's default of {default} is the"
        " minimum.",
        "a thread that opens a region waits for one request to S3 after another; Amazon S3 User Guide for the rate",
        default=constant(opening, "DEFAULT_THREADS"),
        most=constant(opening, "MOST_THREADS"),
        regions=setting(candidate.share.regions, "regions", "workload.regions, one surviving node's share"),
        gets=constant(resource, "S3_GETS_PER_SECOND_PER_PREFIX", "requests/s"),
        trip=constant(region_server, "S3_TRIP_SECONDS", "s"),
        servers=figure(candidate.survivors, "servers", "core.count, less the nodes that may be lost"),
    )


def _read_fraction(candidate: Candidate) -> Explanation:
    source = "judgement: a put holds its handler until the log is synced; HBase 2.6.2 RWQueueRpcExecutor splits them"
    if not candidate.question.requirements.workload.write_bytes_per_second:
        return explain(
            "shared",
            "The workload does not write, so reads share every queue.",
            source,
            shared=constant(call_queues, "SHARED"),
        )
    return explain(
        "floor(percents * (handlers - min(floor(most_writers * handlers), "
        "max(fewest_writers, ceil(for_writes * handlers)))) / handlers) / percents",
        "{for_writes} of the handlers are for writes, at least {fewest_writers} but at most {most_writers}; the rest "
        "are for reads, so that a write that waits for a flush does not delay reads.",
        source,
        handlers=figure(candidate.region_server.handlers, "", "handlers"),
        for_writes=constant(call_queues, "WRITE_FRACTION", "fraction"),
        fewest_writers=constant(call_queues, "FEWEST_WRITERS"),
        most_writers=constant(call_queues, "MOST_WRITERS_FRACTION", "fraction"),
        percents=constant(call_queues, "PERCENTS"),
    )
