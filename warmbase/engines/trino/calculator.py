"""The calculator of analytics clusters: from what a cluster must serve to its plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.engines.trino.cached_scan import PAGE_BYTES
from warmbase.engines.trino.explanations import explanations
from warmbase.engines.trino.plan import (
    CacheComparison,
    Queries,
    QueryMemory,
    QueryResource,
    RejectedType,
    TrinoCache,
    TrinoPlan,
    Warmth,
    export,
)
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import COORDINATOR_TYPE, CacheKind, TrinoSearch
from warmbase.engines.trino.workers import Evaluated, Workers, cached_pages
from warmbase.ground.units import SECONDS_PER_HOUR, format_duration, format_size, format_usd
from warmbase.sizing.cache.hit_ratio import KNEE_RISE, cold_misses
from warmbase.sizing.cost import Cost
from warmbase.sizing.plan import (
    CoreGroup,
    HitRatio,
    PrimaryGroup,
    Warning,  # noqa: A004 - the plan's own word
)
from warmbase.sizing.requirements import World
from warmbase.sizing.search.evaluation import PRIMARY_VOLUMES
from warmbase.sizing.service.resource import bottleneck

__all__ = ["TrinoQuestion", "compared_cache", "compared_caches", "trino_plan"]

FILES_PER_WORKER: Final = 4  # judgement: with fewer, the fullest worker has some twice the mean
WARM_TOLERANCE: Final = 0.01  # judgement: a cache within a point of its final hit ratio is warm
CURVE_STEPS: Final = 20
MOST_READS: Final = 1e6  # in reads of the whole working set: beyond it, the rest is never read


class TrinoQuestion(Struct, frozen=True, kw_only=True):
    """The request for one analytics cluster of an environment. `stored_bytes` is what HBase stores beside it."""

    environment: str
    choice: TrinoChoice
    stored_bytes: int
    new_network: bool = True
    """True where warmbase creates the interface endpoints of the network, which cost money."""


def trino_plan(question: TrinoQuestion, world: World) -> TrinoPlan:
    """Return the cheapest plan that meets the targets, or the nearest where none does.

    Raises LookupError if no instance type of the families can be a worker.
    """
    search = TrinoSearch(choice=question.choice, world=world, new_network=question.new_network)
    best, *others = search.run()
    plan = _plan(question, world, best, search.cost(best.workers))
    return replace(
        plan,
        because=explanations(plan, best.workers),
        warnings=tuple(_warnings(plan, best.workers)),
        rejected=tuple(_rejected(best, others)),
    )


def compared_caches(question: TrinoQuestion, world: World) -> dict[CacheKind, CacheComparison]:
    """Return the cheapest cluster with each kind of cache for the same queries and targets, whatever is pinned.

    A kind that no instance type has is left out. Without a cache, the target for the hit ratio does not apply.
    """
    plans = {kind: compared_cache(question, world, kind) for kind in get_args(CacheKind)}
    return {kind: plan for kind, plan in plans.items() if plan is not None}


def compared_cache(question: TrinoQuestion, world: World, kind: CacheKind) -> CacheComparison | None:
    """Return the cheapest cluster with this kind of cache, nothing pinned; None if no instance type has it."""
    unpinned = replace(question.choice.workers, type=None, count=None, volumes=None)
    choice = replace(question.choice, workers=unpinned)
    search = TrinoSearch(choice=choice, world=world, new_network=question.new_network, caches=(kind,))
    try:
        best = search.run()[0]
    except LookupError:
        return None
    workers = best.workers
    ratio = workers.hit_ratio(workers.count)
    return CacheComparison(
        workers=CoreGroup(instance_type=workers.instance.name, count=workers.count, volumes=workers.volumes),
        cache_gib=workers.cache_gib,
        hit_ratio=ratio,
        queries=_queries(workers),
        gets_per_second=workers.demand(ratio).gets * choice.workload.queries_per_second,
        cost=search.cost(workers),
        missed=best.shortfalls,
    )


def _plan(question: TrinoQuestion, world: World, best: Evaluated, cost: Cost) -> TrinoPlan:
    workers, choice = best.workers, question.choice
    ratio = workers.hit_ratio(workers.count)
    gets = workers.demand(ratio).gets * choice.workload.queries_per_second
    scan, copies = workers.scan, min(choice.preferred_hosts, workers.count)
    total = scan.popularity.total_blocks
    cached = min(total, cached_pages(choice, workers.cache_gib, workers.count))
    cache = TrinoCache(
        size_gib=workers.cache_gib,
        directories=workers.cache.count,
        preferred_hosts=choice.preferred_hosts,
        page_bytes=PAGE_BYTES,
        pages=cached,
        working_set_pages=total,
        amplification=workers.scan.amplification,
    )
    # The fewest queries after which cold misses are a point at most of all reads of pages.
    low, high = 0.0, MOST_READS * total
    while high - low > max(1.0, low * WARM_TOLERANCE):
        middle = (low + high) / 2
        low, high = (low, middle) if cold_misses(scan.popularity, middle) <= WARM_TOLERANCE else (middle, high)
    queries = high / scan.pages_of_query * copies
    warmth = Warmth(queries=queries, hours=queries / choice.workload.queries_per_second / SECONDS_PER_HOUR)
    memory = QueryMemory(
        heap_bytes=workers.heap_bytes,
        page_index_bytes=workers.page_index_bytes,
        query_bytes_per_worker=workers.query_bytes,
        query_bytes=workers.query_bytes * workers.survivors,
    )
    # The curve is over the cache of the whole cluster.
    pages = [total * step / CURVE_STEPS for step in range(CURVE_STEPS + 1)]
    curve = tuple((math.ceil(held * copies * PAGE_BYTES), scan.hit_ratio(held)) for held in pages)
    above = [share - held / total for held, (_, share) in zip(pages, curve, strict=True)]
    knee = curve[int(np.argmax(above))] if max(above) > KNEE_RISE else curve[-1]
    hit_ratio = HitRatio(predicted=ratio, curve=curve, knee_bytes=knee[0])
    return TrinoPlan(
        environment=question.environment,
        cluster=choice.name,
        engine="trino",
        release=world.release.label,
        trino=world.release.version_of("trino") or 0,
        catalog=choice.catalog,
        prices=world.prices.note,
        workers=CoreGroup(instance_type=workers.instance.name, count=workers.count, volumes=workers.volumes),
        coordinator=PrimaryGroup(
            instance_type=choice.coordinator_type or COORDINATOR_TYPE, count=1, volumes=PRIMARY_VOLUMES
        ),
        cache=cache,
        hit_ratio=hit_ratio,
        queries=_queries(workers),
        warmth=warmth,
        memory=memory,
        gets_per_second=gets,
        export=export(question.stored_bytes, workers, world.prices),
        cost=cost,
        because={},
        missed=best.shortfalls,
        warnings=(),
        rejected=(),
    )


def _queries(workers: Workers) -> Queries:
    choice, count = workers.choice, workers.count
    mean, peak = choice.workload.queries_per_second, choice.workload.peak_queries_per_second
    warm = workers.hit_ratio(count)
    resources = workers.resources(count, warm)
    slowest = bottleneck(resources)
    return Queries(
        per_hour=mean * SECONDS_PER_HOUR,
        peak_per_hour=peak * SECONDS_PER_HOUR,
        mean_seconds=_finite(workers.query_seconds(count, warm, mean)),
        peak_mean_seconds=_finite(workers.query_seconds(count, warm, peak)),
        cold_seconds=_finite(workers.query_seconds(count, 0.0, mean)),
        after_loss_seconds=_finite(_after_loss_seconds(workers)),
        most_per_hour=slowest.max_reads_per_second * SECONDS_PER_HOUR,
        bottleneck=slowest.name,
        utilisation_at_peak=workers.utilisation(count, warm, peak),
        resources=tuple(
            QueryResource(name=one.name, most_per_hour=_finite(one.max_reads_per_second * SECONDS_PER_HOUR))
            for one in resources
        ),
    )


def _after_loss_seconds(workers: Workers) -> float:
    """Return the mean time of a query in the busiest hour, just after the loss of `lost_nodes` workers."""
    if workers.survivors < 1:
        return math.inf
    rate = workers.choice.workload.peak_queries_per_second
    return workers.query_seconds(workers.survivors, workers.ratio_after_loss, rate)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _rejected(best: Evaluated, others: Sequence[Evaluated]) -> Iterator[RejectedType]:
    for other in others:
        dearer = other.usd_per_month - best.usd_per_month
        missed = ", ".join(shortfall.target for shortfall in other.shortfalls)
        yield RejectedType(
            instance_type=other.workers.instance.name,
            count=other.workers.count,
            usd_per_month=other.usd_per_month,
            reason=f"misses {missed}" if missed else f"costs {format_usd(dearer)} a month more",
        )


def _warnings(plan: TrinoPlan, workers: Workers) -> Iterator[Warning]:
    workload, scan = workers.choice.workload, workers.scan
    if plan.cache.pages < min(scan.pages_of_query, scan.popularity.total_blocks):
        yield Warning(
            id="query-larger-than-cache",
            severity="warning",
            message=f"one query reads {format_size(workload.scanned_bytes)}, more than the caches hold; under LRU, a"
            " repeated scan then finds none of its pages, whatever the hit ratio of this plan says",
            fix="raise targets.hit_ratio, or plan with the working set of the queries that repeat",
        )
    if (cold := plan.queries.cold_seconds) is None:
        yield Warning(
            id="cold-load",
            severity="warning",
            message=f"with empty caches, the cluster cannot serve {plan.queries.per_hour:,.0f} queries an hour",
            fix="start with fewer queries, or run the queries that matter most once before users do",
        )
    elif workers.choice.targets.query_seconds is not None and cold > workers.choice.targets.query_seconds:
        yield Warning(
            id="cold-query",
            severity="info",
            message=f"with empty caches, a query takes {format_duration(cold)} on average (estimate), longer than the"
            " target",
            fix="run the queries that matter most once before users do",
        )
    after, target = plan.queries.after_loss_seconds, workers.choice.targets.query_seconds
    if target is not None and after is not None and after > target:
        yield Warning(
            id="after-loss",
            severity="warning",
            message=f"just after a loss, before the other workers have read the lost pages, a query in the busiest hour"
            f" takes {format_duration(after)} (estimate), longer than the target",
            fix="set preferred_hosts to 2, so that each file has a second copy, or pin one worker more",
        )
    files = workload.scanned_bytes / workload.file_bytes
    if files < FILES_PER_WORKER * plan.workers.count:
        yield Warning(
            id="few-files",
            severity="info",
            message=f"a query reads {max(1, files):,.0f} files of {format_size(workload.file_bytes)}, too few to spread"
            f" evenly over {plan.workers.count} workers, so it waits for the one that has most of them",
            fix="write smaller files, or raise preferred_hosts",
        )
    if workload.queries_per_second and plan.queries.bottleneck == "cpu":
        yield Warning(
            id="cpu-bound",
            severity="info",
            message="queries are limited by CPU: a larger or faster cache would not make them faster",
            fix="measure workload.cpu_seconds_per_gib: CPU time divided by physical input, in Trino's statistics of a"
            " query",
        )
    yield Warning(
        id="build-unconfirmed",
        severity="info",
        message=f"nobody has confirmed that Amazon's build of Trino {plan.trino} has the file-system cache",
        fix="check it after the launch; docs/unconfirmed.md says how",
    )
