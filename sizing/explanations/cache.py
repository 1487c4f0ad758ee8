"""Why the cache and its volume are as large and as fast as they are."""

from __future__ import annotations

from sizing.bucket_cache import WRITER_QUEUE_LENGTH, WRITER_THREADS
from sizing.candidate import Candidate
from sizing.disks import FILL_FRACTION
from sizing.explanation import Explanation, explain
from sizing.inputs import UTILISATION
from sizing.resource import Hits, disk_bytes_per_read
from sizing.units import GIB

__all__ = ["cache_reasons", "volume_reasons"]

ALLOCATOR = "HBase 2.6.2 BucketAllocator"


WRITERS = {
    "bucket_cache.writer_threads": explain(
        "fixed",
        "judgement: every batch ends with an fsync, and eight threads overlap them without much heap",
        threads=(WRITER_THREADS, ""),
    ),
    "bucket_cache.writer_queue_length": explain(
        "fixed, for each thread",
        "judgement: a few hundred blocks amortise an fsync; a block that finds the queue full is not cached",
        blocks=(WRITER_QUEUE_LENGTH, "blocks"),
    ),
}


def cache_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """Size, buckets and hit ratio of the cache; nothing for a cluster without."""
    question, demand = candidate.question, candidate.question.demand
    workload, targets = question.requirements.workload, question.requirements.targets
    if not candidate.cache_mib:
        return {}
    return {
        "bucket_cache.size_mib": explain(
            "the hit ratio curve at the target, over the survivors, with room for one compaction, up to a whole GiB; "
            "a larger one where the p99 or the GETs saved ask for it",
            f"{ALLOCATOR}, freeSpace; Che's approximation at every size that eviction swings through",
            blocks=(demand.blocks.count, "blocks"),
            capacity_per_block=(round(demand.claimed_bytes), "B"),
            everything=(round(demand.everything_bytes / GIB, 1), "GiB"),
            hit_ratio=(targets.hit_ratio, ""),
            survivors=(candidate.survivors, "nodes"),
            compaction=(round(demand.compaction_bytes / GIB, 1), "GiB"),
        ),
        "bucket_cache.bucket_sizes": explain(
            "the sizes that waste least on the lengths of the blocks, found exactly",
            f"{ALLOCATOR}: a block takes the smallest size that holds it; a bucket is 4 x the largest",
            block_size=(workload.block_bytes, "B"),
            cell=(workload.key_value_bytes, "B"),
            mean_length=(round(demand.blocks.cached_bytes), "B"),
            longest=(demand.blocks.longest_bytes, "B"),
        ),
        "bucket_cache.nominal_block_bytes": explain(
            "mean length of a block in the cache",
            "HBase 2.6.2 BucketCache presizes its maps and eviction queues by it",
            mean_length=(round(demand.blocks.cached_bytes), "B"),
        ),
        **WRITERS,
        "hit_ratio.predicted": explain(
            "1 when all blocks fit without eviction, else the mean of Che's miss ratio over the sizes of a swing",
            "Che, Tung, Wang 2002; checked to 1.5 points against a replay of HBase's own eviction",
            cache=(candidate.cache_mib * candidate.count / 1024, "GiB"),
            everything=(round(demand.everything_bytes / GIB, 1), "GiB"),
            kept_after_eviction=(
                round(demand.swing.blocks_after_eviction / demand.swing.full_blocks, 3),
                "of the full cache",
            ),
        ),
    }


def volume_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """Size and speed of the volume under it, where it is one of EBS."""
    volume = candidate.data_volume
    if volume is None or volume.purpose != "cache" or volume.type == "nvme":
        return {}
    if candidate.question.requirements.cluster.core.volumes is not None:
        pinned = explain("as the environment file says", "pinned: the cache is made to fit it")
        return {"core.volumes.cache.size_gib": pinned, "core.volumes.cache.throughput_mib_s": pinned}
    return {
        "core.volumes.cache.size_gib": explain(
            "(cache + 2 x index) / fill",
            "HBase checks no free space; the index is rewritten beside the old one; above 90 % nodes get replaced",
            cache=(candidate.cache_mib / 1024, "GiB"),
            index=(round(candidate.region_server.persistence.index_bytes / GIB, 2), "GiB"),
            fill=(FILL_FRACTION, ""),
        ),
        "core.volumes.cache.throughput_mib_s": _provisioned(candidate),
    }


def _provisioned(candidate: Candidate) -> Explanation:
    question = candidate.question
    if question.offered_reads_per_second is None:
        return explain("what gp3 includes", "a closed load offers no rate to provision for")
    hits = Hits(ratio=candidate.hit_ratio(candidate.survivors))
    return explain(
        "(offered reads x bytes per read / utilisation + written bytes) / survivors, up to the next step; at least "
        "what gp3 includes, at most what the instance sustains; more where a target asks for it",
        "a volume left at its default of 125 MiB/s is the ceiling of the published benchmark",
        offered=(question.offered_reads_per_second, "reads/s"),
        bytes_per_read=(round(disk_bytes_per_read(question.read, hits)), "B"),
        written=(round(question.written_bytes_per_second), "B"),
        survivors=(candidate.survivors, "nodes"),
        utilisation=(UTILISATION, ""),
    )
