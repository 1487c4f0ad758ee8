"""Why each figure of a plan is what it is, by the figure's path."""

from __future__ import annotations

from sizing.allocator import ACCEPT_FACTOR
from sizing.because import Because, Reasons, because
from sizing.bill import gets_per_second
from sizing.bucket_cache import EFFECTIVE_FRACTION
from sizing.candidate import UTILISATION, Candidate
from sizing.disks import FILL_FRACTION
from sizing.heap import FREE_FRACTION, index_bytes_per_block
from sizing.memory import PAGE_CACHE_FRACTION
from sizing.persistence import INDEX_BYTES_PER_BLOCK
from sizing.resource import Hits as HitsOf
from sizing.resource import bottleneck, disk_bytes_per_read
from sizing.units import GIB, MIB

__all__ = ["reasons"]

ALLOCATOR = "HBase 2.6.2 BucketAllocator"


def reasons(candidate: Candidate) -> Reasons:
    """Reasons by path: `bucket_cache.size_mib`, `heap.xmx_mib` and the rest."""
    return {
        **_cache(candidate),
        **_disk(candidate),
        **_memory(candidate),
        **_load(candidate),
        **_restart(candidate),
    }


def _cache(candidate: Candidate) -> dict[str, Because]:
    question, demand = candidate.question, candidate.question.demand
    workload, targets = question.requirements.workload, question.requirements.targets
    return {
        "bucket_cache.size_mib": because(
            "blocks x capacity per block x min(1, hit ratio x accept / effective) / survivors, up to a whole GiB",
            f"{ALLOCATOR}: eviction starts at {ACCEPT_FACTOR} of the slots and swings down to 0.81",
            blocks=(demand.blocks.count, "blocks"),
            capacity_per_block=(round(demand.claimed_bytes), "B"),
            hit_ratio=(targets.hit_ratio, ""),
            accept=(ACCEPT_FACTOR, ""),
            effective=(EFFECTIVE_FRACTION, ""),
            survivors=(candidate.survivors, "nodes"),
        ),
        "bucket_cache.bucket_sizes": because(
            "the sizes that waste least on the lengths of the blocks, found exactly",
            f"{ALLOCATOR}: a block takes the smallest size that holds it; a bucket is 4 x the largest",
            block_size=(workload.block_bytes, "B"),
            cell=(workload.key_value_bytes, "B"),
            mean_length=(round(demand.blocks.lengths.mean_bytes), "B"),
            longest=(demand.blocks.lengths.largest_bytes, "B"),
        ),
        "hit_ratio.predicted": because(
            "1 when all blocks fit without eviction, else share held x effective / accept; cold misses apart",
            "share of the data, which no popularity can make worse; eviction keeps 88 % of the slots filled",
            cache=(candidate.cache_mib * candidate.count / 1024, "GiB"),
            needed=(round(demand.blocks.count * demand.claimed_bytes / GIB, 1), "GiB"),
        ),
    }


def _disk(candidate: Candidate) -> dict[str, Because]:
    if candidate.question.requirements.cluster.core.volumes is not None:
        pinned = because("as the environment file says", "pinned: the cache is made to fit it")
        return {"core.volumes.cache.size_gib": pinned, "core.volumes.cache.throughput_mib_s": pinned}
    return {
        "core.volumes.cache.size_gib": because(
            "(cache + 2 x index) / fill",
            "HBase checks no free space; the index is rewritten beside the old one; above 90 % nodes get replaced",
            cache=(candidate.cache_mib / 1024, "GiB"),
            index=(round(candidate.region_server.persistence.index_bytes / GIB, 2), "GiB"),
            fill=(FILL_FRACTION, ""),
        ),
        "core.volumes.cache.throughput_mib_s": _provisioned(candidate),
    }


def _provisioned(candidate: Candidate) -> Because:
    question = candidate.question
    if question.offered_reads_per_second is None:
        return because("what gp3 includes", "a closed load offers no rate to provision for")
    hits = HitsOf(ratio=candidate.hit_ratio(candidate.survivors))
    return because(
        "offered reads x bytes per read / survivors / utilisation; at least what gp3 includes, at most what the "
        "instance sustains",
        "a volume left at its default of 125 MiB/s is the ceiling of the published benchmark",
        offered=(question.offered_reads_per_second, "reads/s"),
        bytes_per_read=(round(disk_bytes_per_read(question.read, hits)), "B"),
        survivors=(candidate.survivors, "nodes"),
        utilisation=(UTILISATION, ""),
    )


def _memory(candidate: Candidate) -> dict[str, Because]:
    server, release = candidate.region_server, candidate.question.world.release
    needs = server.heap_needs
    return {
        "heap.xmx_mib": because(
            "(L1 + memstore + index + write queues + persistence chunk) / (1 - free), up to 256 MiB",
            "HBase 2.6.2 MemorySizeUtil leaves a fifth free; index measured after a restore",
            l1=(needs.l1_bytes, "B"),
            memstore=(needs.memstore_bytes, "B"),
            index=(needs.index_bytes, "B"),
            write_queues=(needs.write_queue_bytes, "B"),
            persistence_chunk=(needs.persist_chunk_bytes, "B"),
            free=(FREE_FRACTION, ""),
            index_per_block=(index_bytes_per_block(release.collector), "B"),
        ),
        "memory.parts.page_cache": because(
            "RAM - system - daemons - YARN - heap - JVM - direct, at least a tenth of RAM",
            "what is left; the cache file is read and written through it",
            ram=(server.memory.ram_bytes / GIB, "GiB"),
            least=(PAGE_CACHE_FRACTION, ""),
        ),
        "persistence.index_bytes": because(
            "cached blocks x bytes per block",
            "measured with HBase 2.6.2 and file names of 32 characters",
            cached_blocks=(candidate.share.cached_blocks, "blocks"),
            bytes_per_block=(INDEX_BYTES_PER_BLOCK, "B"),
        ),
        "persistence.interval_ms": because(
            "dump seconds / 5 %, between 5 and 15 minutes",
            "HBase rewrites the whole index each time; its default of 1 s would never stop writing",
            dump_seconds=(round(server.persistence.dump_seconds, 1), "s"),
        ),
    }


def _load(candidate: Candidate) -> dict[str, Because]:
    question = candidate.question
    limit = bottleneck(candidate.resources(candidate.count))
    workload = question.requirements.workload
    return {
        "throughput.bottleneck": because(
            "the resource whose capacity / demand per read is least",
            "utilisation law, with sustained limits only",
            resource=(limit.name, ""),
            capacity=(
                limit.capacity / (MIB if limit.unit == "B/s" else 1),
                limit.unit.replace("B/s", "MiB/s"),
            ),
            demand_per_read=(limit.demand_per_read, limit.unit.removesuffix("/s")),
        ),
        "throughput.mean_latency_ms": because(
            "mean-value analysis (closed load) or M/M/c (open load) over the resources",
            "Reiser and Lavenberg; throughput x latency = concurrency holds",
            blocks_per_read=(round(question.read.blocks, 2), "blocks"),
            **workload.described(),
        ),
        "cost.usd_per_month": because(
            "sum of the lines, 730 h a month",
            f"prices of {question.world.prices.as_of}; the EMR fee is an estimate",
            warm_gets=(round(gets_per_second(candidate), 1), "GETs/s"),
        ),
    }


def _restart(candidate: Candidate) -> dict[str, Because]:
    restart = candidate.region_server.restart
    return {
        "restart.retain_retries": because(
            "the fewest for which 50 ms x (2^retries - 1) covers 1.5 x (away + opening)",
            "HBase 2.6 master: hbase.master.scp.retain.assignment.force; the default of 600 never gives up",
            away=(round(restart.away_seconds), "s"),
            opening=(round(restart.opening_seconds), "s"),
            window=(round(restart.retention_window_seconds), "s"),
        ),
    }
