"""Why the memory, threads and restart of one RegionServer are what they are."""

from __future__ import annotations

from sizing.candidate import Candidate
from sizing.explanation import Explanation, explain
from sizing.heap import FREE_FRACTION, L1_SLACK, index_bytes_per_block
from sizing.index_file import INDEX_BYTES_PER_BLOCK
from sizing.memory import DAEMON_BYTES, PAGE_CACHE_FRACTION, SYSTEM_BYTES, YARN_MIB
from sizing.persistence import CHUNK_BLOCKS
from sizing.region_server import (
    ANSWERS_FRACTION,
    DEFAULT_HANDLERS,
    DEFAULT_S3_CONNECTIONS,
    FEWEST_HANDLERS,
    HANDLERS_PER_VCPU,
    PREFETCH_THREADS_PER_VCPU,
    S3_CONNECTIONS_PER_THREAD,
    WRITING_THREADS,
    answer_bytes,
)
from sizing.units import GIB

__all__ = ["memory_reasons", "restart_reasons"]

MEMORY_RULE = "HBase 2.6.2 MemorySizeUtil: with L1 at most 0.8, in truncated float32 percents"


def memory_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """Heap, memory, threads and the persisted index."""
    return {**_heap(candidate), **_shares(candidate), **_persistence(candidate)}


def _heap(candidate: Candidate) -> dict[str, Explanation]:
    server, release = candidate.region_server, candidate.question.world.release
    needs = server.heap_needs
    return {
        "heap.xmx_mib": explain(
            "(L1 + memstore + index + write queues + persistence chunk) / (1 - free), up to 256 MiB; more where L1 and "
            "memstore, each up to a whole percent, need it",
            "HBase 2.6.2 MemorySizeUtil leaves a fifth free; index measured after a restore",
            l1=(needs.l1_bytes, "B"),
            memstore=(needs.memstore_bytes, "B"),
            index=(needs.index_bytes, "B"),
            write_queues=(needs.write_queue_bytes, "B"),
            persistence_chunk=(needs.persist_chunk_bytes, "B"),
            free=(FREE_FRACTION, ""),
            index_per_block=(index_bytes_per_block(release.collector), "B"),
        ),
        "heap.l1_fraction": explain(
            "indexes and Bloom chunks x slack / heap, up to a whole percent, at least 5 %",
            MEMORY_RULE,
            needed=(needs.l1_bytes, "B"),
            slack=(L1_SLACK, ""),
            heap=(server.heap.xmx_bytes, "B"),
        ),
        "heap.memstore_fraction": explain(
            "half an hour of writes / heap, up to a whole percent, at least 5 %",
            MEMORY_RULE,
            needed=(needs.memstore_bytes, "B"),
            heap=(server.heap.xmx_bytes, "B"),
        ),
    }


def _shares(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.region_server
    return {
        "yarn_mib": explain(
            "fixed",
            "judgement: one container of an EMR step; HBase is what the node is for",
            yarn=(YARN_MIB, "MiB"),
        ),
        "handlers": explain(
            "the greater of HBase's default and so many for each vCPU; fewer, but 10, where the answers of all would "
            "fill more than a tenth of the heap",
            "judgement: a handler that waits for a disk uses no CPU; HBase Reference Guide for large answers",
            default=(DEFAULT_HANDLERS, ""),
            per_vcpu=(HANDLERS_PER_VCPU, ""),
            vcpus=(candidate.instance.vcpus, ""),
            answer=(answer_bytes(candidate.question.requirements.workload), "B"),
            heap=(server.heap.xmx_bytes, "B"),
            of_heap=(ANSWERS_FRACTION, ""),
            least=(FEWEST_HANDLERS, ""),
        ),
        "call_queues.read_fraction": explain(
            "0 without writes, which shares every queue; else what a tenth for writes, eight at least, leaves to reads",
            "judgement: a put holds its handler until the log is synced; HBase 2.6.2 RWQueueRpcExecutor splits them",
            writes=(candidate.question.requirements.workload.write_bytes_per_second, "B/s"),
            handlers=(server.handlers, ""),
            for_reads=(server.call_queues.read_handlers, ""),
        ),
        "s3_connections": explain(
            "two for each thread that may read or write S3, at least Hadoop's default",
            "judgement: a thread may hold a stream beside the one that it reads with",
            handlers=(server.handlers, ""),
            prefetch=(server.prefetch_threads, ""),
            flush_and_compaction=(WRITING_THREADS, ""),
            per_thread=(S3_CONNECTIONS_PER_THREAD, ""),
            default=(DEFAULT_S3_CONNECTIONS, ""),
        ),
        "prefetch_threads": explain(
            "so many for each vCPU, at least 16",
            "measured: prefetch from S3 runs at threads over first-byte latency, whatever the bandwidth",
            per_vcpu=(PREFETCH_THREADS_PER_VCPU, ""),
            vcpus=(candidate.instance.vcpus, ""),
        ),
        "memory.parts.page_cache": explain(
            "RAM - system - daemons - YARN - heap - JVM - direct, at least a tenth of RAM",
            "what is left; the cache file is read and written through it",
            ram=(server.memory.ram_bytes / GIB, "GiB"),
            system=(SYSTEM_BYTES / GIB, "GiB"),
            daemons=(DAEMON_BYTES / GIB, "GiB"),
            least=(PAGE_CACHE_FRACTION, ""),
        ),
    }


def _persistence(candidate: Candidate) -> dict[str, Explanation]:
    server = candidate.region_server
    return {
        "persistence.index_bytes": explain(
            "cached blocks x bytes per block",
            "an entry of HBase 2.6.2 with file names of 32 characters and numbers as large as they become",
            cached_blocks=(candidate.share.cached_blocks, "blocks"),
            bytes_per_block=(INDEX_BYTES_PER_BLOCK, "B"),
        ),
        "persistence.interval_ms": explain(
            "dump seconds / 5 %, between 5 and 15 minutes",
            "HBase rewrites the whole index each time; its default of 1 s would never stop writing",
            dump_seconds=(round(server.persistence.dump_seconds, 1), "s"),
        ),
        "persistence.stop_timeout_seconds": explain(
            "1,200 s + 2 x dump seconds",
            "HBase's own HBASE_STOP_TIMEOUT for regions; the index is written before, perhaps after a dump at work",
            dump_seconds=(round(server.persistence.dump_seconds, 1), "s"),
        ),
        "persistence.chunk_blocks": explain(
            "fixed",
            "one chunk lies on the heap while it is written, 200 B for each block (measured); the default holds 2 GB",
            blocks=(CHUNK_BLOCKS, "blocks"),
        ),
    }


def restart_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """How long a planned restart takes, and how long the master waits for it."""
    restart = candidate.region_server.restart
    return {
        "restart.retain_retries": explain(
            "the fewest for which 50 ms x (2^retries - 1) covers 1.5 x (away + opening)",
            "HBase 2.6 master: hbase.master.scp.retain.assignment.force; the default of 600 never gives up",
            away=(round(restart.away_seconds), "s"),
            opening=(round(restart.opening_seconds), "s"),
            window=(round(restart.retention_window_seconds), "s"),
        ),
        "hdfs_replication": explain(
            "three of data that lies in HDFS; one more than nodes that may be lost, two at least; no more than nodes",
            "the write-ahead log lies in HDFS until it is flushed; EMR's own default is 1 up to three core nodes",
            lost_nodes=(candidate.question.requirements.targets.lost_nodes, "nodes"),
            core_nodes=(candidate.count, "nodes"),
        ),
        "region_servers_to_start": explain(
            "core nodes less those that may be lost",
            "HBase 2.6.2 ServerManager: with so many a master waits no longer, and never beyond its timeout",
            core_nodes=(candidate.count, "nodes"),
            lost_nodes=(candidate.question.requirements.targets.lost_nodes, "nodes"),
        ),
        "restart.wait_for_servers_ms": explain(
            "1.5 x away, up to a whole second",
            "HBase 2.6.2 ServerManager: a master waits for maxtostart servers so long at most",
            away=(round(restart.away_seconds), "s"),
        ),
        "restart.seconds": explain(
            "stop + away + rest of the master's sleep + opening of regions",
            "index dump and restore measured on HBase 2.6.2, the rest judgements: an estimate",
            stop=(round(restart.stop_seconds, 1), "s"),
            pre_touch=(round(restart.pre_touch_seconds, 1), "s"),
            restore=(round(restart.restore_seconds, 1), "s"),
            boot=(round(restart.boot_seconds, 1), "s"),
            sleep=(round(restart.late_seconds, 1), "s"),
            opening=(round(restart.opening_seconds, 1), "s"),
            offline_after_a_crash=(round(restart.crash_offline_seconds), "s"),
        ),
    }
