"""Why the BucketCache is as large as it is, what hit ratio it has, and why regions split where they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from warmbase.sizing.cache import allocator, bucket_cache
from warmbase.sizing.cache.allocator import DEFAULT_BUCKET_SIZES, bucket_bytes
from warmbase.sizing.cache.bucket_cache import CacheDemand
from warmbase.sizing.cache.bucket_sizes import bytes_claimed_per_block
from warmbase.sizing.explanation import Explanation, Quantity, constraint, explain
from warmbase.sizing.explanations.quantities import (
    GIBIBYTE,
    MEBIBYTE,
    NOTHING,
    WHOLE,
    computed,
    constant,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.search import disks
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.server import restart
from warmbase.sizing.workload import workload

ALLOCATOR = "HBase 2.6.2 BucketAllocator"
CLAIMED = "warmbase.sizing.cache.bucket_sizes.bytes_claimed_per_block"


class PredictedHitRatio(Struct, frozen=True):
    """The hit ratio of one data set by the useful bytes of all caches together."""

    demand: CacheDemand

    def __call__(self, useful_bytes: float) -> float:
        """Return the share of block reads that warm caches of this size answer."""
        return self.demand.hit_ratio(useful_bytes)


def cache_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Size, slots and writers of the cache; nothing for a cluster without one."""
    if not candidate.cache_mib:
        return {}
    demand = candidate.inputs.demand
    mean_length = computed(
        demand.cacheable.cached_bytes, "B", "warmbase.sizing.workload.workload.StoredBlocks.cached_bytes"
    )
    return {
        "bucket_cache.size_mib": _size(candidate),
        "bucket_cache.bucket_sizes": _bucket_sizes(candidate),
        "bucket_cache.nominal_block_bytes": explain(
            "round(mean_length)",
            "The mean length of a block in the cache.",
            "HBase 2.6.2 BucketCache, which sizes its maps and eviction queues by it",
            mean_length=mean_length,
        ),
        "bucket_cache.writer_threads": explain(
            "threads",
            "{threads} threads write blocks to the cache. Every batch ends with an fsync, and this many threads overlap"
            " their fsyncs without using much heap.",
            "judgement",
            threads=constant(bucket_cache, "WRITER_THREADS"),
        ),
        "bucket_cache.writer_queue_length": explain(
            "max(shortest, min(longest, floor(queued / threads / mean_length)))",
            "How many blocks may wait for each writer thread. All queues share {queued}. Each has room for at most"
            " {longest}, a batch that makes an fsync cheap, and for at least {shortest}. HBase does not cache a block"
            " that finds its queue full.",
            "HBase 2.6.2 BucketCache: a thread drains its whole queue into one batch, so the heap holds up to twice the"
            " queue; the bounds are judgements",
            queued=constant(bucket_cache, "QUEUED_BYTES", "B"),
            threads=constant(bucket_cache, "WRITER_THREADS"),
            mean_length=mean_length,
            longest=constant(bucket_cache, "LONGEST_QUEUE", "blocks"),
            shortest=constant(bucket_cache, "SHORTEST_QUEUE", "blocks"),
        ),
    }


def _size(candidate: Candidate) -> Explanation:
    core = candidate.inputs.requirements.cluster.core
    if core.volumes is None:
        return _size_for_hit_ratio(candidate)
    if core.cache_mib is not None:
        return explain(
            "running_cache",
            "The cache that the running cluster has: {running_cache}.",
            "the launch record; a change of size would drop the cache",
            running_cache=Quantity(value=core.cache_mib, unit="MiB", source="launch record"),
        )
    room_mib = disks.pinned_layout(candidate.inputs, core.volumes, candidate.survivors).cache_mib
    return _size_on_volume(candidate) if candidate.cache_mib == room_mib else _size_for_targets(candidate, room_mib)


def _size_for_targets(candidate: Candidate, room_mib: int) -> Explanation:
    """Explain a cache that is smaller than the pinned volumes and the data allow."""
    return constraint(
        "cache < room",
        "Cache per server: {cache}. The pinned volumes have room for {room}, but the cluster misses a target with a "
        "larger cache: its index leaves too little memory, it takes too long to fill or to restart, or its hits are "
        "too many for the disks.",
        "the index has an entry on the heap for each cached block; warmbase.sizing.search.cost_grid tries the sizes",
        cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
        room=computed(room_mib, "MiB", "warmbase.sizing.search.disks.pinned_layout"),
    )


def _size_for_hit_ratio(candidate: Candidate) -> Explanation:
    """Explain a cache that the search chose: the target's size, or a larger one that pays for itself."""
    inputs, demand = candidate.inputs, candidate.inputs.demand
    target = inputs.requirements.targets.hit_ratio
    files = candidate.layout.volume("cache").count
    least = int(disks.whole_files_mib(np.array(demand.size_mib(target, candidate.survivors)), files))
    names = {
        "target": setting(target, "fraction", "targets.hit_ratio"),
        "capacity": computed(
            demand.capacity_bytes(target), "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.capacity_bytes"
        ),
        "survivors": figure(candidate.survivors, "nodes", "region_servers_to_start"),
        "compaction": computed(
            demand.compaction_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.compaction_bytes"
        ),
        "blocks": computed(demand.cacheable.count, "blocks", "warmbase.sizing.workload.workload.StoredBlocks.count"),
        "gibibyte": GIBIBYTE,
        "mebibyte": MEBIBYTE,
        **({"files": figure(files, "files", "core.volumes.cache.count")} if files > 1 else {}),
    }
    source = f"{ALLOCATOR}, freeSpace; Che's approximation at every size that eviction swings through"
    rounded, functions = _whole_gibibytes(demand, candidate.cache_mib)
    plus = _while_compacting(demand, ", plus {compaction} per server for the new blocks of one compaction")
    if candidate.cache_mib <= least:
        return explain(
            _whole_files(rounded.format("capacity / survivors + compaction"), files),
            "Cache per server: the smallest size that reaches a hit ratio of {target} on {survivors} ({capacity} in "
            f"all{plus}), rounded up to a multiple of {{gibibyte}}{' in each of {files}' if files > 1 else ''}.",
            source,
            functions,
            **names,
        )
    return constraint(
        "cache >= up_to(capacity / survivors + compaction, gibibyte) / mebibyte",
        "Cache per server: {cache}, for a hit ratio of {hit_ratio} on {survivors}. The target of {target} needs less "
        f"({{capacity}} in all{plus}). The cache is larger because another "
        "target needs it, or because it saves more in S3 requests and volume speed than it costs.",
        f"{source}; the search over all sizes",
        cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
        hit_ratio=_estimated_hit_ratio(candidate),
        **names,
    )


def _estimated_hit_ratio(candidate: Candidate) -> Quantity:
    return computed(
        candidate.inputs.demand.estimated_hit_ratio(candidate.cache_mib, candidate.survivors),
        "fraction",
        "warmbase.sizing.cache.bucket_cache.CacheDemand.estimated_hit_ratio",
    )


def _size_on_volume(candidate: Candidate) -> Explanation:
    demand, volume = candidate.inputs.demand, candidate.layout.volume("cache")
    fill = "FILL_FRACTION" if volume.type == "nvme" else "PINNED_FILL_FRACTION"
    rounded, functions = _whole_gibibytes(demand, candidate.cache_mib)
    return explain(
        f"min({_whole_files(rounded.format('everything / survivors + compaction'), volume.count)}, "
        "down_to(volume * fill / (whole / files + index_copies * entry / capacity_per_block), gibibyte * files) / "
        "mebibyte)",
        "Cache per server: what fits on the pinned volume of {volume}, filled to {fill}, beside the cache's index, but "
        "no more than all blocks need ({everything} over {survivors}"
        + _while_compacting(demand, ", plus {compaction} each for one compaction")
        + ").",
        f"{ALLOCATOR}; HBase checks no free space",
        functions,
        everything=computed(
            demand.everything_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.everything_bytes"
        ),
        survivors=figure(candidate.survivors, "nodes", "region_servers_to_start"),
        compaction=computed(
            demand.compaction_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.compaction_bytes"
        ),
        files=setting(volume.count, "files", "core.volumes"),
        volume=setting(volume.size_bytes, "B", "core.volumes"),
        fill=constant(disks, fill, "fraction"),
        index_copies=constant(restart, "COPIES_ON_DISK"),
        entry=constant(restart, "INDEX_BYTES_PER_BLOCK", "B"),
        capacity_per_block=computed(
            demand.claimed_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.claimed_bytes"
        ),
        blocks=computed(demand.cacheable.count, "blocks", "warmbase.sizing.workload.workload.StoredBlocks.count"),
        whole=WHOLE,
        gibibyte=GIBIBYTE,
        mebibyte=MEBIBYTE,
    )


def _while_compacting(demand: CacheDemand, clause: str) -> str:
    """Return the clause about the new blocks of a compaction; empty if nothing is written."""
    return clause if demand.compaction_bytes else ""


def _whole_files(size: str, files: int) -> str:
    """Return the formula that rounds up a size to whole GiB in each file; HBase divides a cache evenly."""
    return f"up_to({size} * mebibyte, gibibyte * files) / mebibyte" if files > 1 else size


def _whole_gibibytes(demand: CacheDemand, cache_mib: int) -> tuple[str, dict[str, Callable[..., float]]]:
    """Return the formula that rounds up a size, and its functions; a cache of few buckets needs more than its bytes."""
    if demand.is_coarse(cache_mib):
        return "least_cache({})", {"least_cache": demand.least_size_mib}
    return "up_to({}, gibibyte) / mebibyte", {}


def _bucket_sizes(candidate: Candidate) -> Explanation:
    demand = candidate.inputs.demand
    if demand.slots(candidate.cache_mib).sizes != demand.sizes:
        return _short_list(candidate)
    lengths, longest = demand.cacheable.lengths, demand.cacheable.longest_bytes
    formula = "largest >= longest"
    inputs = {
        "largest": figure(demand.sizes[-1], "B", "bucket_cache.bucket_sizes"),
        "longest": computed(longest, "B", "warmbase.sizing.workload.workload.StoredBlocks.longest_bytes"),
        "claimed": computed(bytes_claimed_per_block(lengths, demand.sizes), "B", CLAIMED),
    }
    sentence = "The bucket sizes that waste the least space on these blocks, computed exactly: a block takes {claimed} "
    if longest <= DEFAULT_BUCKET_SIZES[-1]:
        formula += " and claimed <= claimed_by_default"
        sentence += "of cache. With HBase's default sizes it would take {claimed_by_default}. "
        inputs["claimed_by_default"] = computed(bytes_claimed_per_block(lengths, DEFAULT_BUCKET_SIZES), "B", CLAIMED)
    else:
        sentence += "of cache. HBase's default sizes have no slot for the longest block. "
    sentence += (
        "The largest size holds the longest block, {longest}, because HBase never caches a block without a slot."
    )
    source = f"{ALLOCATOR}: a block takes the smallest size that holds it, and a bucket serves one size"
    return constraint(formula, sentence, source, **inputs)


def _short_list(candidate: Candidate) -> Explanation:
    demand = candidate.inputs.demand
    slots = demand.slots(candidate.cache_mib)
    return constraint(
        "largest >= longest and sizes * bucket <= cache * mebibyte",
        "The list of bucket sizes with which this cache holds the most blocks, {blocks}. A bucket has room for"
        " {items} blocks of the largest size ({bucket}), and each size needs a bucket of its own, so a short list suits"
        " a small cache. The largest size holds the longest block, {longest}, because HBase never caches a block"
        " without a slot.",
        f"{ALLOCATOR}: lists of several lengths were tried with its own arithmetic",
        largest=figure(slots.sizes[-1], "B", "bucket_cache.bucket_sizes"),
        longest=computed(
            demand.cacheable.longest_bytes, "B", "warmbase.sizing.workload.workload.StoredBlocks.longest_bytes"
        ),
        sizes=figure(len(slots.sizes), "sizes", "bucket_cache.bucket_sizes"),
        bucket=computed(bucket_bytes(slots.sizes), "B", "warmbase.sizing.cache.allocator.bucket_bytes"),
        items=constant(allocator, "FEWEST_ITEMS_IN_BUCKET"),
        blocks=figure(slots.blocks, "blocks", "bucket_cache.blocks_held"),
        cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
        mebibyte=MEBIBYTE,
    )


def hit_ratio_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the share of reads that the cache answers; nothing for a cluster without one."""
    if not candidate.cache_mib:
        return {}
    demand = candidate.inputs.demand
    return {
        "hit_ratio.predicted": explain(
            "hit_ratio(max(nothing, usable - compaction) * nodes)",
            "The share of block reads that {nodes} with {cache} of cache each answer from their disks"
            + _while_compacting(demand, ", while each compacts one region ({compaction})")
            + ". A cache of {everything} in all would hold every block.",
            "Che, Tung, Wang 2002, at every size that eviction swings through; checked against a replay of HBase's "
            "own eviction",
            {"hit_ratio": PredictedHitRatio(demand)},
            nothing=NOTHING,
            cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
            usable=computed(
                demand.effective_bytes(candidate.cache_mib),
                "B",
                "warmbase.sizing.cache.bucket_cache.CacheDemand.effective_bytes",
            ),
            compaction=computed(
                demand.compaction_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.compaction_bytes"
            ),
            nodes=figure(candidate.count, "nodes", "core.count"),
            everything=computed(
                demand.everything_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.everything_bytes"
            ),
        )
    }


def region_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain the size of a region, and the limit at which it splits."""
    requirements = candidate.inputs.requirements
    largest = max(requirements.workload.parts, key=lambda part: part.stored_bytes / part.regions)
    stored = setting(largest.stored_bytes, "B", "workload.stored")
    count = setting(largest.regions, "regions", "workload.regions")
    of_table = f" of {largest.name}, the table with the largest regions" if largest.name else ""
    keeps_blocks = candidate.inputs.world.release.keeps_blocks_on_split
    why = "" if keeps_blocks else "A split drops cached blocks, so a region splits only after it has grown."
    return {
        "regions.mean_bytes": explain(
            "ceil(stored / regions)",
            f"The mean size of {{regions}} that hold {{stored}}{of_table}.",
            "the environment file, or an inspection",
            stored=stored,
            regions=count,
        ),
        "regions.split_bytes": pinned(requirements.pins, "split_bytes")
        or explain(
            "max(default, up_to(growth * ceil(stored / regions), gibibyte))",
            "A region splits when it reaches {growth} times the mean size of {regions} that hold {stored}, and never"
            f" below HBase's default of {{default}}. {why}",
            "HBase 2.6.2 SteppingSplitPolicy; each region draws its own limit, up to an eighth above or below this one",
            default=constant(workload, "DEFAULT_SPLIT_BYTES", "B"),
            growth=constant(workload, "SPLIT_GROWTH"),
            stored=stored,
            regions=count,
            gibibyte=GIBIBYTE,
        ),
    }
