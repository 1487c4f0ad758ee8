"""Why the volume under the cache is as large and as fast as it is, and why HDFS has the settings that it has."""

from __future__ import annotations

import math

import numpy as np

from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_cache import useful_volumes_of
from warmbase.sizing.explanation import Explanation, Quantity, constraint, explain
from warmbase.sizing.explanations.quantities import (
    GIBIBYTE,
    MEBIBYTE,
    WHOLE,
    computed,
    constant,
    fact,
    figure,
    offered_reads,
    pinned,
    setting,
)
from warmbase.sizing.search import disks
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.disks import fewest_cache_volumes
from warmbase.sizing.server import restart, system_volume
from warmbase.sizing.server.system_volume import HdfsLoad, distinct_size
from warmbase.sizing.service import inputs
from warmbase.sizing.service.resource import disk_bytes_per_read, disk_ios_per_read
from warmbase.sizing.workload.read import Hits

_HOLDS = (
    "The volume holds the cache ({cache}) and its index twice",
    "The first of {count} volumes holds an even share of the cache ({cache}), and the whole index twice",
)
PUBLISHED = "a volume left at its included throughput is the ceiling of the published benchmark"


def volume_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Size, throughput and IOPS of the cache's volume, and the size of the system volume."""
    volume = next((volume for volume in candidate.layout.volumes if volume.purpose == "cache"), None)
    if volume is None:
        return {}
    path = "core.volumes.cache"
    figures = {"size_gib": "GiB", "throughput_mib_s": "MiB/s", "iops": "IOPS"}
    if volume.type == "nvme":
        drive = {
            name: fact(getattr(volume, name), unit, f"instance type {candidate.instance.name}")
            for name, unit in figures.items()
        }
        return {f"{path}.{name}": _as_is("The instance's own drive has {as_is}.", drive[name]) for name in figures}
    if candidate.inputs.requirements.cluster.core.volumes is not None:
        pinned = {name: setting(getattr(volume, name), unit, "core.volumes") for name, unit in figures.items()}
        return {f"{path}.{name}": _as_is("You pinned it to {as_is}.", pinned[name]) for name in figures}
    return {
        **({f"{path}.count": _count(candidate)} if volume.count > 1 else {}),
        f"{path}.size_gib": _size(candidate),
        f"{path}.throughput_mib_s": _throughput(candidate),
        f"{path}.iops": _iops(candidate),
    }


def _as_is(sentence: str, quantity: Quantity) -> Explanation:
    return explain("as_is", sentence, "nothing is chosen: the cache is sized to fit the volume", as_is=quantity)


def _size(candidate: Candidate) -> Explanation:
    demand = candidate.inputs.demand
    return explain(
        "unlike_other_disks(max(smallest, ceil(cache * mebibyte * (whole / count + index_copies * entry / "
        "capacity_per_block) / fill / gibibyte), ceil(iops / iops_per_gibibyte) if iops > included else smallest))",
        f"{_HOLDS[candidate.layout.volume('cache').count > 1]}, because HBase writes the new index beside the old one,"
        " and is at most {fill} full. No other disk of the node has the same size, because a node identifies its"
        " disks by size.",
        "HBase checks no free space; YARN gives up a disk that is nine tenths full, and EMR replaces the node",
        {"unlike_other_disks": distinct_size},
        cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
        count=figure(candidate.layout.volume("cache").count, "", "core.volumes.cache.count"),
        mebibyte=MEBIBYTE,
        gibibyte=GIBIBYTE,
        whole=WHOLE,
        index_copies=constant(restart, "COPIES_ON_DISK"),
        entry=constant(restart, "INDEX_BYTES_PER_BLOCK", "B"),
        capacity_per_block=computed(
            demand.claimed_bytes, "B", "warmbase.sizing.cache.bucket_cache.CacheDemand.claimed_bytes"
        ),
        fill=constant(disks, "FILL_FRACTION", "fraction"),
        smallest=constant(disks, "MIN_VOLUME_GIB", "GiB"),
        iops=figure(candidate.layout.volume("cache").iops, "IOPS", "core.volumes.cache.iops"),
        included=constant(gp3, "INCLUDED_IOPS", "IOPS"),
        iops_per_gibibyte=constant(gp3, "IOPS_PER_GIB", "IOPS/GiB"),
    )


def _count(candidate: Candidate) -> Explanation:
    inputs = candidate.inputs

    def fewest(cache_mib: float) -> float:
        volumes = fewest_cache_volumes(inputs, candidate.instance, np.array([cache_mib]), candidate.survivors)
        return float(volumes.count[0])

    return explain(
        "fewest(cache)",
        "The fewest volumes of at most {largest} that hold the cache ({cache}) and carry the reads. HBase fills the "
        "file on one volume before the next one, so the most popular blocks are on one volume, and together the volumes"
        " carry only {useful} times the load of that one (ESTIMATE: prefetch and evictions spread them more evenly).",
        "HBase 2.6.2 FileIOEngine; measured with its BucketAllocator to 6 %",
        {"fewest": fewest},
        cache=figure(candidate.cache_mib, "MiB", "bucket_cache.size_mib"),
        largest=constant(gp3, "EMR_DOCUMENTED_GIB", "GiB"),
        useful=_useful(candidate),
    )


def _useful(candidate: Candidate) -> Quantity:
    """Return the load of all cache volumes divided by that of the busiest."""
    demand, count = candidate.inputs.demand, candidate.layout.volume("cache").count
    useful = useful_volumes_of(demand, np.array([float(candidate.cache_mib)]), candidate.survivors, count)[0]
    return computed(round(float(useful), 9), "", "warmbase.sizing.cache.bucket_cache.useful_volumes_of")


def _throughput(candidate: Candidate) -> Explanation:
    throughput = figure(
        candidate.layout.volume("cache").throughput_mib_s, "MiB/s", "core.volumes.cache.throughput_mib_s"
    )
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    if candidate.inputs.offered_reads_per_second is None:
        return constraint(
            "throughput >= included",
            "A closed load states no rate to provision for, so the volume gets what gp3 includes ({included}), or"
            " more if a target needs it.",
            PUBLISHED,
            throughput=throughput,
            included=included,
        )
    return constraint(
        "throughput >= included and "
        f"throughput * mebibyte >= (offered / utilisation * bytes_per_read + written) / survivors{_shared(candidate)}",
        "The cheapest throughput with which {survivors} carry the writes and {offered} of {bytes_per_read} each, with"
        " reads using at most {utilisation} of it. It is higher if a target needs it, and at least what gp3 includes.",
        PUBLISHED,
        throughput=throughput,
        included=included,
        mebibyte=MEBIBYTE,
        bytes_per_read=computed(
            disk_bytes_per_read(candidate.inputs.read, _hits(candidate)),
            "B",
            "warmbase.sizing.service.resource.disk_bytes_per_read",
        ),
        written=computed(
            candidate.inputs.written_bytes_per_second,
            "B/s",
            "warmbase.sizing.service.inputs.SizingInputs.written_bytes_per_second",
        ),
        **_load(candidate),
    )


def _iops(candidate: Candidate) -> Explanation:
    volume = candidate.layout.volume("cache")
    iops = figure(volume.iops, "IOPS", "core.volumes.cache.iops")
    ratio = {
        "iops": iops,
        "throughput": figure(volume.throughput_mib_s, "MiB/s", "core.volumes.cache.throughput_mib_s"),
        "iops_per_throughput": constant(gp3, "IOPS_PER_MIB_S", "IOPS for each MiB/s"),
    }
    if candidate.inputs.offered_reads_per_second is None:
        return constraint(
            "iops >= throughput * iops_per_throughput",
            "EBS requires at least {iops_per_throughput} of throughput.",
            "EBS User Guide, general-purpose volumes",
            **ratio,
        )
    return constraint(
        "iops >= throughput * iops_per_throughput and "
        f"iops >= offered / utilisation * operations_per_read / survivors{_shared(candidate)}",
        "The volume has at least the IOPS with which {survivors} carry {offered} of {operations_per_read} each at "
        "{utilisation} of their limit, and more if writes or a target need them. EBS requires at least "
        "{iops_per_throughput} of throughput.",
        "EBS User Guide, general-purpose volumes",
        operations_per_read=computed(
            disk_ios_per_read(candidate.inputs.read, _hits(candidate), "ebs"),
            "operations",
            "warmbase.sizing.service.resource.disk_ios_per_read",
        ),
        **ratio,
        **_load(candidate),
    )


def _hits(candidate: Candidate) -> Hits:
    return Hits(ratio=candidate.hit_ratio(candidate.survivors))


def _load(candidate: Candidate) -> dict[str, Quantity]:
    return {
        "offered": offered_reads(candidate.inputs.at_peak),
        "utilisation": constant(inputs, "UTILISATION", "fraction"),
        "survivors": figure(candidate.survivors, "nodes", "region_servers_to_start"),
        **({"useful": _useful(candidate)} if _shared(candidate) else {}),
    }


def _shared(candidate: Candidate) -> str:
    """Return the part of a formula by which several cache volumes share the load of a node."""
    return " / useful" if candidate.layout.volume("cache").count > 1 else ""


def hdfs_explanations(candidate: Candidate) -> dict[str, Explanation]:
    """Explain recovery after a lost node, and the threads of the daemons; nothing where the data is in S3."""
    load = candidate.hdfs_load
    if load is None:
        return {}
    pins = candidate.inputs.requirements.pins
    nodes = figure(load.nodes, "nodes", "core.count")
    fewest = constant(system_volume, "FEWEST_HANDLERS")
    return {
        "hdfs.recovery_seconds": _recovery(candidate, nodes),
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
            regions=setting(load.regions, "regions", "workload.regions"),
            nodes=nodes,
        ),
        "hdfs.refreshes_per_second": _refreshes(load),
    }


def _recovery(candidate: Candidate, nodes: Quantity) -> Explanation:
    load = candidate.hdfs_load
    assert load is not None  # noqa: S101 - the caller has looked
    return explain(
        "(read_and_write * node / (nodes - whole) if nodes - whole >= copies else node) / (share * disks)",
        "After a node is lost, the others copy its {node} again. Each reads and writes its part at {share} of {disks}."
        " The plan allows at most {longest}, because losing a second node meanwhile would leave some blocks with a"
        " single copy.",
        f"HDFS re-replicates blocks with fewer than {load.copies} copies; the share and the limit are judgements",
        read_and_write=fact(2, "", "a read and a write of each byte"),
        node=computed(load.node_bytes, "B", "workload.stored x copies / core.count"),
        nodes=nodes,
        whole=WHOLE,
        copies=fact(load.copies, "copies", f"mode {candidate.inputs.mode}"),
        share=constant(system_volume, "RECOVERY_FRACTION", "fraction"),
        disks=computed(load.disk_bytes_per_second, "B/s", "warmbase.sizing.service.resource.ebs_disk"),
        longest=constant(system_volume, "LONGEST_RECOVERY_SECONDS", "s"),
    )


def _refreshes(load: HdfsLoad) -> Explanation:
    return explain(
        "in_a_second * files * regions / refresh",
        "If no block is local, for example after regions have moved, each of the {files} open store files in each"
        " of {regions} asks the NameNode for its block locations every {refresh}. A file whose blocks are all"
        " local does not ask. A NameNode with 4 vCPUs has answered {capacity}.",
        "Hadoop 3.4 LocatedBlocksRefresher; HubSpot, NNThroughputBenchmark; the number of files is a judgement",
        in_a_second=fact(1000, "ms", "a second"),
        files=constant(system_volume, "STORE_FILES_PER_REGION"),
        regions=setting(load.regions, "regions", "workload.regions"),
        refresh=constant(system_volume, "LOCATION_REFRESH_MS", "ms"),
        capacity=constant(system_volume, "NAMENODE_REQUESTS_PER_SECOND", "requests/s"),
    )
