"""Why the volume under the cache is as large and as fast as it is."""

from __future__ import annotations

import numpy as np

from sizing import disks, gp3, inputs, persistence
from sizing.cache_volumes import useful_volumes_of
from sizing.candidate import Candidate
from sizing.explanation import Explanation, Quantity, constraint, explain
from sizing.explanations.quantities import (
    GIBIBYTE,
    MEBIBYTE,
    WHOLE,
    computed,
    constant,
    fact,
    figure,
    offered_reads,
    setting,
)
from sizing.read import Hits
from sizing.resource import disk_bytes_per_read, disk_ios_per_read
from sizing.system_volume import distinct_size
from sizing.volume_counts import fewest_cache_volumes

__all__ = ["volume_explanations"]

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
    if candidate.question.requirements.cluster.core.volumes is not None:
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
    demand = candidate.question.demand
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
        index_copies=constant(persistence, "COPIES_ON_DISK"),
        entry=constant(persistence, "INDEX_BYTES_PER_BLOCK", "B"),
        capacity_per_block=computed(demand.claimed_bytes, "B", "sizing.bucket_cache.CacheDemand.claimed_bytes"),
        fill=constant(disks, "FILL_FRACTION", "fraction"),
        smallest=constant(disks, "MIN_VOLUME_GIB", "GiB"),
        iops=figure(candidate.layout.volume("cache").iops, "IOPS", "core.volumes.cache.iops"),
        included=constant(gp3, "INCLUDED_IOPS", "IOPS"),
        iops_per_gibibyte=constant(gp3, "IOPS_PER_GIB", "IOPS/GiB"),
    )


def _count(candidate: Candidate) -> Explanation:
    question = candidate.question

    def fewest(cache_mib: float) -> float:
        volumes = fewest_cache_volumes(question, candidate.instance, np.array([cache_mib]), candidate.survivors)
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
    demand, count = candidate.question.demand, candidate.layout.volume("cache").count
    effective_mib = demand.effective_sizes_mib(np.array([float(candidate.cache_mib)]))
    useful = useful_volumes_of(demand, effective_mib, candidate.survivors, count)[0]
    return computed(round(float(useful), 9), "", "sizing.cache_volumes.useful_volumes_of")


def _throughput(candidate: Candidate) -> Explanation:
    throughput = figure(
        candidate.layout.volume("cache").throughput_mib_s, "MiB/s", "core.volumes.cache.throughput_mib_s"
    )
    included = constant(gp3, "INCLUDED_MIB_S", "MiB/s")
    if candidate.question.offered_reads_per_second is None:
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
            disk_bytes_per_read(candidate.question.read, _hits(candidate)), "B", "sizing.resource.disk_bytes_per_read"
        ),
        written=computed(
            candidate.question.written_bytes_per_second, "B/s", "sizing.inputs.SizingInputs.written_bytes_per_second"
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
    if candidate.question.offered_reads_per_second is None:
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
            disk_ios_per_read(candidate.question.read, _hits(candidate), "ebs"),
            "operations",
            "sizing.resource.disk_ios_per_read",
        ),
        **ratio,
        **_load(candidate),
    )


def _hits(candidate: Candidate) -> Hits:
    return Hits(ratio=candidate.hit_ratio(candidate.survivors))


def _load(candidate: Candidate) -> dict[str, Quantity]:
    return {
        "offered": offered_reads(candidate.question.at_peak),
        "utilisation": constant(inputs, "UTILISATION", "fraction"),
        "survivors": figure(candidate.survivors, "nodes", "region_servers_to_start"),
        **({"useful": _useful(candidate)} if _shared(candidate) else {}),
    }


def _shared(candidate: Candidate) -> str:
    """Return the part of a formula by which several cache volumes share the load of a node."""
    return " / useful" if candidate.layout.volume("cache").count > 1 else ""
