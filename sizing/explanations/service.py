"""Why the cluster serves what it serves, warms as it warms, and costs what it costs."""

from __future__ import annotations

from sizing.bill import LARGE_CLUSTER_NODES, gets_per_second
from sizing.candidate import Candidate
from sizing.explanation import Explanation, explain
from sizing.inputs import UTILISATION
from sizing.prefetching import GET_BYTES, fill_seconds
from sizing.resource import S3_FIRST_BYTE_SECONDS, S3_GETS_PER_SECOND_PER_PREFIX, bottleneck
from sizing.units import MIB

__all__ = ["choice_reasons", "service_reasons", "warm_up_reasons"]


def choice_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """Why so many nodes, and of this type."""
    targets = candidate.question.requirements.targets
    chosen = (
        "pinned in the environment file"
        if candidate.question.requirements.cluster.core.pinned
        else "the cheapest of every type, count and layout of volumes that meets the targets on the survivors"
    )
    core = explain(
        chosen,
        "exhaustive search; plan --explain lists what was rejected and why",
        lost_nodes=(targets.lost_nodes, "nodes"),
        survivors=(candidate.survivors, "nodes"),
        utilisation=(UTILISATION, ""),
    )
    primary = explain(
        "a type that suits the number of core nodes, larger above 50",
        "judgement: HMaster, NameNode and ResourceManager of a cluster whose data is not in HDFS fit 16 GiB",
        core_nodes=(candidate.count, "nodes"),
        large_from=(LARGE_CLUSTER_NODES, "nodes"),
    )
    return {"core.instance_type": core, "core.count": core, "primary.instance_type": primary}


def service_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """Bottleneck, latency, requests and cost."""
    question = candidate.question
    limit = bottleneck(candidate.resources(candidate.count))
    workload = question.requirements.workload
    return {
        "throughput.bottleneck": explain(
            "the resource whose capacity / demand per read is least",
            "utilisation law, with sustained limits only",
            resource=(limit.name, ""),
            capacity=(
                limit.capacity / (MIB if limit.unit == "B/s" else 1),
                limit.unit.replace("B/s", "MiB/s"),
            ),
            demand_per_read=(limit.demand_per_read, limit.unit.removesuffix("/s")),
        ),
        "throughput.mean_latency_ms": explain(
            "mean-value analysis (closed load) or M/M/c (open load) over the resources",
            "Reiser and Lavenberg; throughput x latency = concurrency holds",
            blocks_per_read=(round(question.read.blocks, 2), "blocks"),
            **workload.described(),
        ),
        "throughput.p99_latency_ms": explain(
            "99th percentile of a seeded simulation: disk and S3 times lognormal, queueing as in the mean",
            "estimate; S3 documents 100 to 200 ms for a first byte, gp3 single-digit milliseconds",
            hit_ratio=(round(candidate.hit_ratio(candidate.count), 4), ""),
            first_byte=(S3_FIRST_BYTE_SECONDS, "s"),
        ),
        "s3.prefix_limit_fraction": explain(
            "GETs of the warm cluster / what S3 promises one prefix",
            "Amazon S3 User Guide, optimizing performance",
            warm_gets=(round(gets_per_second(candidate), 1), "GETs/s"),
            limit=(S3_GETS_PER_SECOND_PER_PREFIX, "GETs/s"),
        ),
        "cost.usd_per_month": explain(
            "sum of the lines, 730 h a month",
            question.world.prices.described,
            warm_gets=(round(gets_per_second(candidate), 1), "GETs/s"),
        ),
    }


def warm_up_reasons(candidate: Candidate) -> dict[str, Explanation]:
    """How long cold caches take; nothing for a cluster without."""
    if not candidate.cache_mib:
        return {}
    servers = candidate.count
    demand, share = candidate.question.demand, candidate.share_of(servers)
    filled = fill_seconds(demand, share, candidate.cluster(servers), candidate.prefetch_threads)
    terms = {name.replace("-", "_"): (round(seconds), "s") for name, seconds in filled.terms}
    return {
        "warm_up.prefetch_seconds": explain(
            "the longest of S3 streams, network, GETs, filling the volume, and CPU",
            "checked against Cloudera's 127 minutes for 20 TB; one GET brings 64 MiB (judgement)",
            blocks=(share.cached_blocks, "blocks of a RegionServer"),
            threads=(candidate.prefetch_threads, "threads"),
            get=(GET_BYTES / MIB, "MiB"),
            **terms,
        )
    }
