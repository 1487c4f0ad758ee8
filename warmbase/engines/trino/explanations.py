"""Why each figure of the plan of an analytics cluster is what it is."""

from __future__ import annotations

from collections.abc import Iterator

from warmbase.engines.trino import cached_scan, workers
from warmbase.engines.trino import plan as trino_plan
from warmbase.engines.trino.cached_scan import usable_bytes
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.workers import Workers, most_seconds_alone, straggler_factor
from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing import gp3
from warmbase.sizing.explanation import (
    GIBIBYTE,
    WHOLE,
    Explanation,
    Explanations,
    Quantity,
    computed,
    constant,
    constraint,
    explain,
    figure,
    setting,
)
from warmbase.sizing.search import disks

__all__ = ["explanations"]

HOUR = Quantity(value=SECONDS_PER_HOUR, unit="s/h", source="unit")
SEARCH = "exhaustive search over types, counts, caches and volumes"
SHARING = "M/G/1 processor sharing: the mean time is the time alone / (1 - utilisation)"
LRU = "Che, Tung, Wang, 2002, for LRU over pages of 1 MiB"
WHOLE_PAGES = "Trino 476 AlluxioInputHelper: whole pages are fetched and kept"


def explanations(plan: TrinoPlan, chosen: Workers) -> Explanations:
    """Return the explanations by the path of the figure."""
    export = explain(
        "stored / (workers * cores * rate) / hour",
        "Hive reads {stored} from a snapshot and writes it as Parquet on {workers} of {cores}: {rate} per core"
        " (estimate).",
        "an estimate; nobody measured the rate",
        stored=setting(plan.export.stored_bytes, "B", "workload.stored"),
        workers=figure(plan.workers.count, "nodes", "workers.count"),
        cores=computed(chosen.instance.vcpus, "cores", f"instance type {chosen.instance.name}"),
        rate=constant(trino_plan, "EXPORT_BYTES_PER_CORE_SECOND", "B/s"),
        hour=HOUR,
    )
    return dict(
        (
            *_workers(plan, chosen),
            *_cache(plan, chosen),
            *_queries(plan, chosen),
            *_memory(plan, chosen),
            ("export.hours", export),
        )
    )


def _workers(plan: TrinoPlan, chosen: Workers) -> Iterator[tuple[str, Explanation]]:
    choice = chosen.choice
    if choice.workers.count is not None:
        yield (
            "workers.count",
            explain(
                "pinned", "You pinned the count.", "pinned", pinned=setting(choice.workers.count, "", "workers.count")
            ),
        )
    elif plan.feasible:
        yield (
            "workers.count",
            constraint(
                "count - lost >= floor(cpu / (seconds * cores))",
                "The cheapest count: with {count}, of which {lost} may be lost, a query that runs alone keeps no"
                " resource busy for longer than {seconds}. It needs {cpu} of CPU time, and each worker has {cores}; the"
                " disks, the network and S3 may need more workers.",
                SEARCH,
                count=figure(plan.workers.count, "workers", "workers.count"),
                lost=setting(choice.targets.lost_nodes, "workers", "targets.lost_nodes"),
                cpu=computed(
                    choice.workload.cpu_seconds, "core-seconds", "scanned bytes x workload.cpu_seconds_per_gib"
                ),
                seconds=computed(
                    most_seconds_alone(choice, max(1, chosen.survivors)),
                    "s",
                    "warmbase.engines.trino.workers.most_seconds_alone",
                ),
                cores=computed(chosen.instance.vcpus, "cores", f"instance type {chosen.instance.name}"),
            ),
        )
    if chosen.cache.type == "gp3" and choice.workers.volumes is None:
        yield (
            "workers.volumes.cache.size_gib",
            constraint(
                "size * count * fill >= cache",
                "The cache ({cache}) fits {count} of {size}, filled to {fill} at most.",
                "a volume that is full stops the cache, and YARN calls a disk over 90 % unhealthy",
                size=figure(chosen.cache.size_gib, "GiB", "workers.volumes.cache.size_gib"),
                count=figure(chosen.cache.count, "volumes", "workers.volumes.cache.count"),
                fill=constant(disks, "FILL_FRACTION", "fraction"),
                cache=figure(plan.cache.size_gib, "GiB", "cache.size_gib"),
            ),
        )
        yield (
            "workers.volumes.cache.throughput_mib_s",
            constraint(
                "throughput >= included",
                "The lowest throughput that keeps a query within its time on {survivors}, and at least what gp3"
                " includes ({included}).",
                "EBS User Guide, general-purpose volumes",
                throughput=figure(chosen.cache.throughput_mib_s, "MiB/s", "workers.volumes.cache.throughput_mib_s"),
                included=constant(gp3, "INCLUDED_MIB_S", "MiB/s"),
                survivors=computed(chosen.survivors, "workers", "workers.count less targets.lost_nodes"),
            ),
        )


def _cache(plan: TrinoPlan, chosen: Workers) -> Iterator[tuple[str, Explanation]]:
    workload, popularity = chosen.choice.workload, chosen.scan
    page = constant(cached_scan, "PAGE_BYTES", "B")
    yield (
        "cache.amplification",
        explain(
            "whole + (page - whole) / read",
            "Trino fetches and caches whole pages of {page}, and a read of {read} may begin anywhere in one.",
            WHOLE_PAGES,
            whole=WHOLE,
            page=page,
            read=setting(workload.read_bytes, "B", "workload.read"),
        ),
    )
    yield (
        "cache.working_set_pages",
        explain(
            "working_set * amplification / page",
            "The queries read {working_set} of files, and the pages that these reads touch are {amplification} times as"
            " many bytes.",
            WHOLE_PAGES,
            working_set=setting(workload.working_set_bytes, "B", "workload.working_set"),
            amplification=figure(popularity.amplification, "", "cache.amplification"),
            page=page,
        ),
    )
    yield (
        "cache.pages",
        explain(
            "min(all, workers * usable(cache * gibibyte) / page / min(hosts, workers))",
            "The distinct pages in the caches of {workers}, of {cache} each: Alluxio leaves a part of that to the file"
            " system, and Trino caches each file on {hosts}.",
            "Trino 476 CachingHostAddressProvider; Alluxio 2.9 PageStoreType",
            {"usable": usable_bytes},
            all=figure(plan.cache.working_set_pages, "pages", "cache.working_set_pages"),
            workers=figure(plan.workers.count, "workers", "workers.count"),
            cache=figure(plan.cache.size_gib, "GiB", "cache.size_gib"),
            gibibyte=GIBIBYTE,
            page=page,
            hosts=setting(plan.cache.preferred_hosts, "hosts", "preferred_hosts"),
        ),
    )
    yield (
        "cache.size_gib",
        constraint(
            "ratio >= target",
            "The cheapest cache: on {survivors}, it answers {ratio} of page reads; the target is {target}.",
            LRU,
            survivors=computed(chosen.survivors, "workers", "workers.count less targets.lost_nodes"),
            ratio=computed(chosen.hit_ratio(chosen.survivors), "fraction", "warmbase.sizing.cache.hit_ratio.hit_ratio"),
            target=setting(chosen.choice.targets.hit_ratio, "fraction", "targets.hit_ratio"),
        ),
    )
    yield (
        "hit_ratio.predicted",
        explain(
            "hits(pages)",
            "The caches hold {pages} of {all}: those that were read most recently.",
            LRU,
            {"hits": chosen.scan.hit_ratio},
            pages=figure(plan.cache.pages, "pages", "cache.pages"),
            all=figure(plan.cache.working_set_pages, "", "cache.working_set_pages"),
        ),
    )


def _queries(plan: TrinoPlan, chosen: Workers) -> Iterator[tuple[str, Explanation]]:
    workload, count = chosen.choice.workload, chosen.count
    warm = chosen.hit_ratio(count)
    mean, peak = workload.queries_per_second, workload.peak_queries_per_second
    times = (
        ("mean_seconds", "With warm caches", count, warm, mean, "queries.per_hour"),
        ("peak_mean_seconds", "In the busiest hour, with warm caches", count, warm, peak, "queries.peak_per_hour"),
        ("cold_seconds", "With empty caches", count, 0.0, mean, "queries.per_hour"),
        (
            "after_loss_seconds",
            "In the busiest hour after a loss",
            chosen.survivors,
            chosen.ratio_after_loss,
            peak,
            "queries.peak_per_hour",
        ),
    )
    for name, when, servers, ratio, rate, path in times:
        if getattr(plan.queries, name) is None:
            continue
        own, of_s3 = chosen.seconds_of_parts(servers, ratio)
        yield (
            f"queries.{name}",
            explain(
                "coordination + max(own * straggler_factor, s3) / (whole - rate / hour * max(own, s3))",
                f"{when}, a query that runs alone keeps the busiest resource of {{servers}} busy for {{own}}. Queries"
                " that run at the same time share it; the rate is {rate}.",
                SHARING,
                coordination=constant(workers, "COORDINATION_SECONDS", "s"),
                own=computed(own, "s", "warmbase.engines.trino.workers.Workers.resources"),
                s3=computed(of_s3, "s", "warmbase.engines.trino.workers.Workers.resources"),
                straggler_factor=computed(
                    straggler_factor(chosen.choice, servers),
                    "",
                    "warmbase.engines.trino.workers.straggler_factor",
                ),
                whole=WHOLE,
                rate=figure(rate * SECONDS_PER_HOUR, "queries an hour", path),
                hour=HOUR,
                servers=computed(servers, "workers", "workers.count"),
            ),
        )
    yield (
        "queries.most_per_hour",
        explain(
            "hour / alone",
            "{bottleneck} is busy for {alone} with each query.",
            "the utilisation law",
            hour=HOUR,
            alone=computed(chosen.seconds_alone(count, warm), "s", "warmbase.engines.trino.workers.Workers.resources"),
            bottleneck=figure(plan.queries.bottleneck, "", "queries.bottleneck"),
        ),
    )
    yield (
        "gets_per_second",
        explain(
            "rate * reads * (whole - ratio)",
            "A query makes {reads}, and each read that is not cached takes one GET.",
            WHOLE_PAGES,
            rate=setting(mean, "queries/s", "workload.queries"),
            reads=computed(workload.scanned_bytes / workload.read_bytes, "reads", "workload.scanned / workload.read"),
            whole=WHOLE,
            ratio=figure(warm, "fraction", "hit_ratio.predicted"),
        ),
    )


def _memory(plan: TrinoPlan, chosen: Workers) -> Iterator[tuple[str, Explanation]]:
    yield (
        "memory.heap_bytes",
        explain(
            "floor(ram * share)",
            "EMR writes jvm.config itself, and documents no value; the plan assumes {share} of {ram}.",
            "an assumption; docs/unconfirmed.md says how to check it on a worker",
            ram=computed(chosen.instance.memory_bytes, "B", f"instance type {chosen.instance.name}"),
            share=constant(workers, "HEAP_FRACTION", "fraction"),
        ),
    )
    yield (
        "memory.page_index_bytes",
        explain(
            "round(usable(cache * gibibyte) / page * entry)",
            "The heap holds about {entry} for each cached page (estimate).",
            "an estimate of Alluxio's PageInfo, its key and its place in the LRU list",
            {"usable": usable_bytes},
            cache=figure(plan.cache.size_gib, "GiB", "cache.size_gib"),
            gibibyte=GIBIBYTE,
            page=constant(cached_scan, "PAGE_BYTES", "B"),
            entry=constant(workers, "PAGE_METADATA_BYTES", "B"),
        ),
    )
    yield (
        "memory.query_bytes_per_worker",
        explain(
            "floor(heap * share)",
            "Trino lets queries take {share} of the heap unless query.max-memory-per-node is set.",
            "Trino 476 NodeMemoryConfig",
            heap=figure(plan.memory.heap_bytes, "B", "memory.heap_bytes"),
            share=constant(workers, "QUERY_FRACTION", "fraction"),
        ),
    )
    yield (
        "memory.query_bytes",
        explain(
            "worker * survivors",
            "A query may take {worker} per worker, on {survivors}; Trino's own default is 20 GB for the whole cluster.",
            "Trino documentation, resource management: query.max-memory",
            worker=figure(plan.memory.query_bytes_per_worker, "B", "memory.query_bytes_per_worker"),
            survivors=computed(chosen.survivors, "workers", "workers.count less targets.lost_nodes"),
        ),
    )
