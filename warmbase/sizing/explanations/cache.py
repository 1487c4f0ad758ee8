"""Why the cache, its volumes and the regions are as large as they are, what hit ratio it has, and how HDFS is set."""

from __future__ import annotations

import math

import numpy as np

from warmbase.sizing import gp3
from warmbase.sizing.cache import bucket_cache, bucket_sizes
from warmbase.sizing.cache.bucket_cache import useful_volumes_of
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES, bucket_bytes, bytes_claimed_per_block
from warmbase.sizing.explanation import (
    GIBIBYTE,
    MEBIBYTE,
    NOTHING,
    WHOLE,
    Explanation,
    Quantity,
    computed,
    constant,
    constraint,
    explain,
    figure,
    pinned,
    setting,
)
from warmbase.sizing.search import disks
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.disks import fewest_cache_volumes
from warmbase.sizing.server import restart, system_volume
from warmbase.sizing.server.system_volume import distinct_size
from warmbase.sizing.service import inputs as sizing_inputs
from warmbase.sizing.service.resource import disk_bytes_per_read, disk_ios_per_read
from warmbase.sizing.workload import workload
from warmbase.sizing.workload.read import Hits
from warmbase.sizing.workload.workload import OpenLoad

ALLOCATOR = "HBase 2.6.2 BucketAllocator"
DEMAND = "warmbase.sizing.cache.bucket_cache.CacheDemand"
BLOCKS = "warmbase.sizing.workload.workload.StoredBlocks"
CLAIMED = "warmbase.sizing.cache.bucket_sizes.bytes_claimed_per_block"
PUBLISHED = "a volume left at its included throughput is the ceiling of the published benchmark"


def cache_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain size, slots, writers and hit ratio of the cache; nothing for a cluster without one."""
    if not candidate.cache_mib:
        return {}
    demand = candidate.inputs.demand
    sizes, blocks = demand.slots(candidate.cache_mib)
    cache = figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib")
    mean_length = computed(demand.cacheable.cached_bytes, "B", f"{BLOCKS}.cached_bytes")
    longest_bytes = demand.cacheable.longest_bytes
    longest = computed(longest_bytes, "B", f"{BLOCKS}.longest_bytes")
    if sizes != demand.sizes:
        sizes_explanation = constraint(
            "largest >= longest and sizes * bucket <= cache * mebibyte",
            "The list of bucket sizes with which this cache holds the most blocks, {blocks}. A bucket has room for"
            " {items} blocks of the largest size ({bucket}), and each size needs a bucket of its own, so a short list"
            " suits a small cache. The largest size holds the longest block, {longest}, because HBase never caches a"
            " block without a slot.",
            f"{ALLOCATOR}: lists of several lengths were tried with its own arithmetic",
            largest=figure(sizes[-1], "B", "bucket_cache.bucket_sizes"),
            longest=longest,
            sizes=figure(len(sizes), "sizes", "bucket_cache.bucket_sizes"),
            bucket=computed(bucket_bytes(sizes), "B", "warmbase.sizing.cache.bucket_sizes.bucket_bytes"),
            items=constant(bucket_sizes, "FEWEST_ITEMS_IN_BUCKET"),
            blocks=figure(blocks, "blocks", "bucket_cache.blocks_held"),
            cache=cache,
            mebibyte=MEBIBYTE,
        )
    else:
        lengths = demand.cacheable.lengths
        names = {
            "largest": figure(demand.sizes[-1], "B", "bucket_cache.bucket_sizes"),
            "longest": longest,
            "claimed": computed(bytes_claimed_per_block(lengths, demand.sizes), "B", CLAIMED),
        }
        formula, by_default = "largest >= longest", " HBase's default sizes have no slot for the longest block."
        if longest_bytes <= DEFAULT_BUCKET_SIZES[-1]:
            formula += " and claimed <= claimed_by_default"
            by_default = " With HBase's default sizes it would take {claimed_by_default}."
            names["claimed_by_default"] = computed(bytes_claimed_per_block(lengths, DEFAULT_BUCKET_SIZES), "B", CLAIMED)
        sizes_explanation = constraint(
            formula,
            "The bucket sizes that waste the least space on these blocks, computed exactly: a block takes {claimed} of"
            f" cache.{by_default} The largest size holds the longest block, {{longest}}, because HBase never caches a"
            " block without a slot.",
            f"{ALLOCATOR}: a block takes the smallest size that holds it, and a bucket serves one size",
            **names,
        )
    compacting = ", while each compacts one region ({compaction})" if demand.compaction_bytes else ""
    return {
        "bucket_cache.size_mib": _cache_size(candidate),
        "bucket_cache.bucket_sizes": sizes_explanation,
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
        "hit_ratio.predicted": explain(
            "hit_ratio(max(nothing, usable - compaction) * nodes)",
            f"The share of block reads that {{nodes}} with {{cache}} of cache each answer from their disks{compacting}."
            " A cache of {everything} in all would hold every block.",
            "Che, Tung, Wang 2002, at every size that eviction swings through; checked against a replay of HBase's "
            "own eviction",
            {"hit_ratio": demand.hit_ratio},
            nothing=NOTHING,
            cache=cache,
            usable=computed(demand.effective_bytes(candidate.cache_mib), "B", f"{DEMAND}.effective_bytes"),
            compaction=computed(demand.compaction_bytes, "B", f"{DEMAND}.compaction_bytes"),
            nodes=figure(candidate.count, "nodes", "core.count"),
            everything=computed(demand.everything_bytes, "B", f"{DEMAND}.everything_bytes"),
        ),
    }


def _cache_size(candidate: Candidate) -> Explanation:
    """Explain the cache of a running cluster, of pinned volumes, or the one that the search chose."""
    inputs, demand, core = candidate.inputs, candidate.inputs.demand, candidate.inputs.requirements.cluster.core
    if core.cache_mib is not None:
        return explain(
            "running_cache",
            "The cache that the running cluster has: {running_cache}.",
            "the launch record; a change of size would drop the cache",
            running_cache=Quantity(value=core.cache_mib, unit="MiB", source="launch record"),
        )
    cache = figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib")
    survivors = figure(candidate.survivors, "nodes", "region_servers_to_start")
    compaction = computed(demand.compaction_bytes, "B", f"{DEMAND}.compaction_bytes")
    blocks = computed(demand.cacheable.count, "blocks", f"{BLOCKS}.count")
    volume = candidate.layout.volume("cache")
    # A cache of few buckets needs more than its bytes, and HBase divides a cache evenly between its files.
    is_coarse = demand.is_coarse(candidate.cache_mib)
    rounded = "least_cache({})" if is_coarse else "up_to({}, gibibyte) / mebibyte"
    functions = {"least_cache": demand.least_size_mib} if is_coarse else {}
    if volume.count > 1:
        rounded = f"up_to({rounded} * mebibyte, gibibyte * files) / mebibyte"
    if core.volumes is not None:
        room_mib = disks.pinned_layout(inputs, core.volumes, candidate.survivors).cache_mib
        if candidate.cache_mib != room_mib:
            return constraint(
                "cache < room",
                "Cache per server: {cache}. The pinned volumes have room for {room}, but the cluster misses a target "
                "with a larger cache: its index leaves too little memory, it takes too long to fill or to restart, or "
                "its hits are too many for the disks.",
                "the index has an entry on the heap for each cached block; warmbase.sizing.search.cost_grid tries the "
                "sizes",
                cache=cache,
                room=computed(room_mib, "MiB", "warmbase.sizing.search.disks.pinned_layout"),
            )
        each = ", plus {compaction} each for one compaction" if demand.compaction_bytes else ""
        return explain(
            f"min({rounded.format('everything / survivors + compaction')}, "
            "down_to(volume * fill / (whole / files + index_copies * entry / capacity_per_block), gibibyte * files) / "
            "mebibyte)",
            "Cache per server: what fits on the pinned volume of {volume}, filled to {fill}, beside the cache's index, "
            f"but no more than all blocks need ({{everything}} over {{survivors}}{each}).",
            f"{ALLOCATOR}; HBase checks no free space",
            functions,
            everything=computed(demand.everything_bytes, "B", f"{DEMAND}.everything_bytes"),
            survivors=survivors,
            compaction=compaction,
            files=setting(volume.count, "files", "core.volumes"),
            volume=setting(volume.size_bytes, "B", "core.volumes"),
            fill=constant(disks, "FILL_FRACTION" if volume.type == "nvme" else "PINNED_FILL_FRACTION", "fraction"),
            index_copies=constant(restart, "COPIES_ON_DISK"),
            entry=constant(restart, "INDEX_BYTES_PER_BLOCK", "B"),
            capacity_per_block=computed(demand.claimed_bytes, "B", f"{DEMAND}.claimed_bytes"),
            blocks=blocks,
            whole=WHOLE,
            gibibyte=GIBIBYTE,
            mebibyte=MEBIBYTE,
        )
    target, files = inputs.requirements.targets.hit_ratio, volume.count
    names = {
        "target": setting(target, "fraction", "targets.hit_ratio"),
        "capacity": computed(demand.capacity_bytes(target), "B", f"{DEMAND}.capacity_bytes"),
        "survivors": survivors,
        "compaction": compaction,
        "blocks": blocks,
        "gibibyte": GIBIBYTE,
        "mebibyte": MEBIBYTE,
        **({"files": figure(files, "files", "core.volumes.cache.count")} if files > 1 else {}),
    }
    source = f"{ALLOCATOR}, freeSpace; Che's approximation at every size that eviction swings through"
    plus = ", plus {compaction} per server for the new blocks of one compaction" if demand.compaction_bytes else ""
    least = int(disks.whole_files_mib(np.array(demand.size_mib(target, candidate.survivors)), files))
    if candidate.cache_mib <= least:
        return explain(
            rounded.format("capacity / survivors + compaction"),
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
        cache=cache,
        hit_ratio=computed(
            demand.estimated_hit_ratio(candidate.cache_mib, candidate.survivors),
            "fraction",
            f"{DEMAND}.estimated_hit_ratio",
        ),
        **names,
    )


def volume_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain size, throughput and IOPS of the cache's volume, and the number of volumes if there are several."""
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "cache"), None)
    if volume is None:
        return {}
    path, figures = "core.volumes.cache", {"size_gib": "GiB", "throughput_mib_s": "MiB/s", "iops": "IOPS"}
    if volume.type == "nvme" or candidate.inputs.requirements.cluster.core.volumes is not None:
        if volume.type == "nvme":
            sentence, source = "The instance's own drive has {as_is}.", f"instance type {candidate.instance.name}"
        else:
            sentence, source = "You pinned it to {as_is}.", "environment file: core.volumes"
        why = "nothing is chosen: the cache is sized to fit the volume"
        return {
            f"{path}.{name}": explain("as_is", sentence, why, as_is=computed(getattr(volume, name), unit, source))
            for name, unit in figures.items()
        }
    inputs, instance, survivors = candidate.inputs, candidate.instance, candidate.survivors
    demand, peak, several = inputs.demand, inputs.at_peak.requirements.workload.load, volume.count > 1
    cache = figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib")
    throughput = figure(volume.throughput_mib_s, "MiB/s", f"{path}.throughput_mib_s")
    iops = figure(volume.iops, "IOPS", f"{path}.iops")
    explained, useful = {}, {}
    if several:
        # This is the load of all cache volumes divided by that of the busiest.
        ratio = useful_volumes_of(demand, np.array([float(candidate.cache_mib)]), survivors, volume.count)[0]
        useful["useful"] = computed(round(float(ratio), 9), "", "warmbase.sizing.cache.bucket_cache.useful_volumes_of")

        def fewest(cache_mib: float) -> float:
            return float(fewest_cache_volumes(inputs, instance, np.array([cache_mib]), survivors).count[0])

        explained[f"{path}.count"] = explain(
            "fewest(cache)",
            "The fewest volumes of at most {largest} that hold the cache ({cache}) and carry the reads. HBase fills the"
            " file on one volume before the next one, so the most popular blocks are on one volume, and together the"
            " volumes carry only {useful} times the load of that one (ESTIMATE: prefetch and evictions spread them more"
            " evenly).",
            "HBase 2.6.2 FileIOEngine; measured with its BucketAllocator to 6 %",
            {"fewest": fewest},
            cache=cache,
            largest=constant(gp3, "EMR_DOCUMENTED_GIB", "GiB"),
            **useful,
        )
    holds = (
        "The first of {count} volumes holds an even share of the cache ({cache}), and the whole index twice"
        if several
        else "The volume holds the cache ({cache}) and its index twice"
    )
    explained[f"{path}.size_gib"] = explain(
        "unlike_other_disks(max(smallest, ceil(cache * mebibyte * (whole / count + index_copies * entry / "
        "capacity_per_block) / fill / gibibyte), ceil(iops / iops_per_gibibyte) if iops > included else smallest))",
        f"{holds}, because HBase writes the new index beside the old one, and is at most {{fill}} full. No other disk"
        " of the node has the same size, because a node identifies its disks by size.",
        "HBase checks no free space; YARN gives up a disk that is nine tenths full, and EMR replaces the node",
        {"unlike_other_disks": distinct_size},
        cache=cache,
        count=figure(volume.count, "", f"{path}.count"),
        mebibyte=MEBIBYTE,
        gibibyte=GIBIBYTE,
        whole=WHOLE,
        index_copies=constant(restart, "COPIES_ON_DISK"),
        entry=constant(restart, "INDEX_BYTES_PER_BLOCK", "B"),
        capacity_per_block=computed(demand.claimed_bytes, "B", f"{DEMAND}.claimed_bytes"),
        fill=constant(disks, "FILL_FRACTION", "fraction"),
        smallest=constant(disks, "MIN_VOLUME_GIB", "GiB"),
        iops=iops,
        included=constant(gp3, "INCLUDED_IOPS", "IOPS"),
        iops_per_gibibyte=constant(gp3, "IOPS_PER_GIB", "IOPS/GiB"),
    )
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    ratio_of_iops = {
        "iops": iops,
        "throughput": throughput,
        "iops_per_throughput": constant(gp3, "IOPS_PER_MIB_S", "IOPS for each MiB/s"),
    }
    if not isinstance(peak, OpenLoad):
        explained[f"{path}.throughput_mib_s"] = constraint(
            "throughput >= included",
            "A closed load states no rate to provision for, so the volume gets what gp3 includes ({included}), or"
            " more if a target needs it.",
            PUBLISHED,
            throughput=throughput,
            included=included,
        )
        explained[f"{path}.iops"] = constraint(
            "iops >= throughput * iops_per_throughput",
            "EBS requires at least {iops_per_throughput} of throughput.",
            "EBS User Guide, general-purpose volumes",
            **ratio_of_iops,
        )
        return explained
    hits, shared = Hits(ratio=candidate.hit_ratio(survivors)), " / useful" if several else ""
    load = {
        "offered": setting(
            peak.reads_per_second, "reads/s", f"workload.reads.{'peak_' if peak.of_peak else ''}per_second"
        ),
        "utilisation": constant(sizing_inputs, "UTILISATION", "fraction"),
        "survivors": figure(survivors, "nodes", "region_servers_to_start"),
        **useful,
    }
    explained[f"{path}.throughput_mib_s"] = constraint(
        "throughput >= included and "
        f"throughput * mebibyte >= (offered / utilisation * bytes_per_read + written) / survivors{shared}",
        "The cheapest throughput with which {survivors} carry the writes and {offered} of {bytes_per_read} each, with"
        " reads using at most {utilisation} of it. It is higher if a target needs it, and at least what gp3 includes.",
        PUBLISHED,
        throughput=throughput,
        included=included,
        mebibyte=MEBIBYTE,
        bytes_per_read=computed(
            disk_bytes_per_read(inputs.read, hits), "B", "warmbase.sizing.service.resource.disk_bytes_per_read"
        ),
        written=computed(
            inputs.written_bytes_per_second,
            "B/s",
            "warmbase.sizing.service.inputs.SizingInputs.written_bytes_per_second",
        ),
        **load,
    )
    explained[f"{path}.iops"] = constraint(
        "iops >= throughput * iops_per_throughput and "
        f"iops >= offered / utilisation * operations_per_read / survivors{shared}",
        "The volume has at least the IOPS with which {survivors} carry {offered} of {operations_per_read} each at "
        "{utilisation} of their limit, and more if writes or a target need them. EBS requires at least "
        "{iops_per_throughput} of throughput.",
        "EBS User Guide, general-purpose volumes",
        operations_per_read=computed(
            disk_ios_per_read(inputs.read, hits, "ebs"),
            "operations",
            "warmbase.sizing.service.resource.disk_ios_per_read",
        ),
        **ratio_of_iops,
        **load,
    )
    return explained


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


def hdfs_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain recovery after a lost node, and the threads of the daemons; nothing where the data is in S3."""
    load, pins = candidate.hdfs_load, candidate.inputs.requirements.pins
    if load is None:
        return {}
    nodes = figure(load.nodes, "nodes", "core.count")
    regions = setting(load.regions, "regions", "workload.regions")
    fewest = constant(system_volume, "FEWEST_HANDLERS")
    return {
        "hdfs.recovery_seconds": explain(
            "(read_and_write * node / (nodes - whole) if nodes - whole >= copies else node) / (share * disks)",
            "After a node is lost, the others copy its {node} again. Each reads and writes its part at {share} of"
            " {disks}. The plan allows at most {longest}, because losing a second node meanwhile would leave some"
            " blocks with a single copy.",
            f"HDFS re-replicates blocks with fewer than {load.copies} copies; the share and the limit are judgements",
            read_and_write=computed(2, "", "a read and a write of each byte"),
            node=computed(load.node_bytes, "B", "workload.stored x copies / core.count"),
            nodes=nodes,
            whole=WHOLE,
            copies=computed(load.copies, "copies", f"mode {candidate.inputs.mode}"),
            share=constant(system_volume, "RECOVERY_FRACTION", "fraction"),
            disks=computed(load.disk_bytes_per_second, "B/s", "warmbase.sizing.service.resource.ebs_disk"),
            longest=constant(system_volume, "LONGEST_RECOVERY_SECONDS", "s"),
        ),
        "hdfs.namenode_handlers": pinned(pins, "namenode_handlers")
        or explain(
            "max(default, ceil(per_ln * ln(nodes)))",
            "{per_ln} handlers times the natural logarithm of {nodes}, and at least Hadoop's default of {default}.",
            "Hadoop 3.4.1 hdfs-default.xml; the factor is a judgement, the usual rule of operators",
            {"ln": math.log},
            default=fewest,
            per_ln=constant(system_volume, "NAMENODE_HANDLERS_PER_LN"),
            nodes=nodes,
        ),
        "hdfs.datanode_handlers": pinned(pins, "datanode_handlers")
        or explain(
            "max(default, volumes)",
            "One handler for each of the {volumes} volumes of a node, and at least Hadoop's default of {default}.",
            "judgement",
            default=fewest,
            volumes=figure(load.volumes, "", "core.volumes.data.count"),
        ),
        "hdfs.transfer_threads": pinned(pins, "transfer_threads")
        or explain(
            "max(least, per_region * ceil(regions / nodes))",
            "A DataNode may transfer {least} blocks at the same time, or {per_region} for each region of its server if"
            " that is more.",
            "HBase reference guide, dfs.datanode.max.transfer.threads; the number for each region is a judgement",
            least=constant(system_volume, "TRANSFER_THREADS"),
            per_region=constant(system_volume, "TRANSFERS_PER_REGION"),
            regions=regions,
            nodes=nodes,
        ),
        "hdfs.refreshes_per_second": explain(
            "in_a_second * files * regions / refresh",
            "If no block is local, for example after regions have moved, each of the {files} open store files in each"
            " of {regions} asks the NameNode for its block locations every {refresh}. A file whose blocks are all"
            " local does not ask. A NameNode with 4 vCPUs has answered {capacity}.",
            "Hadoop 3.4 LocatedBlocksRefresher; HubSpot, NNThroughputBenchmark; the number of files is a judgement",
            in_a_second=computed(1000, "ms", "a second"),
            files=constant(system_volume, "STORE_FILES_PER_REGION"),
            regions=regions,
            refresh=constant(system_volume, "LOCATION_REFRESH_MS", "ms"),
            capacity=constant(system_volume, "NAMENODE_REQUESTS_PER_SECOND", "requests/s"),
        ),
    }
