"""The calculator: workload and facts in, plan out, and the explanation of each figure by its path."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.errors import Infeasible
from warmbase.ground.units import SECONDS_PER_HOUR, format_usd
from warmbase.sizing.explanation import Explanation, Explanations
from warmbase.sizing.explanations.cache import cache_explanations, hit_ratio_explanations, region_explanations
from warmbase.sizing.explanations.choice import choice_explanations, role_explanations
from warmbase.sizing.explanations.quantities import SETTING
from warmbase.sizing.explanations.recovery import (
    bad_hours_explanations,
    cold_explanations,
    persistence_explanations,
    restart_explanations,
    snapshot_explanations,
)
from warmbase.sizing.explanations.server import memory_explanations, thread_explanations
from warmbase.sizing.explanations.service import service_explanations
from warmbase.sizing.explanations.volume import hdfs_explanations, volume_explanations
from warmbase.sizing.explanations.writes import write_explanations
from warmbase.sizing.plan import (
    CoreGroup,
    DailyPeak,
    HitRatio,
    Plan,
    PlannedTable,
    PrimaryGroup,
    Rejected,
    S3Requests,
    Searched,
    Snapshot,
    Throughput,
    WarmUp,
)
from warmbase.sizing.recovery.bad_hours import bad_hours
from warmbase.sizing.recovery.boost import boosts, server_fill
from warmbase.sizing.recovery.export import eta, export_copy, import_copy, scan_exports
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.evaluation import (
    PRIMARY_VOLUMES,
    Evaluation,
    SearchResult,
    Unevaluated,
    candidate_cost,
    gets_per_second,
    primary_type,
)
from warmbase.sizing.search.relaxations import nearest_changes, relaxations
from warmbase.sizing.search.search import search
from warmbase.sizing.server.memory import YARN_MIB, NotEnoughMemory
from warmbase.sizing.server.region_server import fill_seconds
from warmbase.sizing.server.system_volume import Hdfs, hdfs_replication
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.performance import Performance
from warmbase.sizing.service.resource import S3_GETS_PER_SECOND_PER_PREFIX, bottleneck
from warmbase.sizing.warning import freshness_warnings, missed_target, warnings
from warmbase.sizing.workload.workload import OpenLoad


def explanations(candidate: Candidate, result: SearchResult, *, relaxed: bool = False) -> Explanations:
    """Return the explanations by path, such as `bucket_cache.size_mib`, in the order in which one reads a plan.

    `relaxed` is true where no cluster meets the targets, and the result meets the nearest ones instead.
    """
    choice = choice_explanations(candidate, result)
    if relaxed:
        choice = {
            path: replace(why, sentence=why.sentence.replace("your targets", "the nearest feasible targets"))
            for path, why in choice.items()
        }
    reasons = {
        **choice,
        **cache_explanations(candidate),
        **hit_ratio_explanations(candidate),
        **volume_explanations(candidate),
        **memory_explanations(candidate),
        **thread_explanations(candidate),
        **persistence_explanations(candidate),
        **service_explanations(candidate),
        **write_explanations(candidate),
        **cold_explanations(candidate),
        **bad_hours_explanations(candidate),
        **restart_explanations(candidate),
        **snapshot_explanations(candidate),
        **region_explanations(candidate),
        **hdfs_explanations(candidate),
        **role_explanations(candidate),
    }
    if not candidate.inputs.requirements.workload.tables:
        return reasons
    return {path: _of_tables(reason) for path, reason in reasons.items()}


def _of_tables(reason: Explanation) -> Explanation:
    """Return the explanation with the keys of the tables, because the values of the workload follow from them."""
    inputs = {
        name: replace(quantity, source=quantity.source.replace("workload.", "workload.tables.NAME."))
        if quantity.source.startswith(SETTING)
        else quantity
        for name, quantity in reason.inputs.items()
    }
    return replace(reason, inputs=inputs)


LEAST_HOURS: Final = 24.0  # judgement: a curve over twice the prefetch time, and over a day at least, shows its end
# The figures that a plan takes over from its RegionServers, under the same names.
OF_REGION_SERVER: Final = (
    "memory",
    "heap",
    "handlers",
    "call_queues",
    "prefetch_threads",
    "open_region_threads",
    "s3_connections",
    "persistence",
    "restart",
)


class PlanSearch(Struct, frozen=True, kw_only=True, dict=True):
    """The search for the plan of one cluster. It runs once, and its results are kept."""

    requirements: Requirements
    world: World

    @property
    def attainable(self) -> Plan | None:
        """Return the plan, or None if no cluster meets the targets, without a search for the nearest targets."""
        return self._answer if isinstance(self._answer, Plan) else None

    @cached_property
    def plan(self) -> Plan:
        """Return the plan, or the one for the nearest feasible targets. Raises Infeasible as the function `plan`."""
        answer = self._answer
        return answer if isinstance(answer, Plan) else self._nearest(answer)

    def _nearest(self, answer: SearchResult | str) -> Plan:
        try:
            if isinstance(answer, SearchResult):
                changes = relaxations(self._inputs, {shortfall.target for shortfall in answer.best.shortfalls})
                return _plan(changes[0].search.run() if changes else answer, nearest=nearest_changes(answer, changes))
            why = answer
        except (NotEnoughMemory, LookupError) as error:
            why = str(error)
        changes = relaxations(self._inputs)
        if changes:
            return _plan(changes[0].search.run(), nearest=tuple(str(change) for change in changes))
        chosen = self.requirements.cluster.core.type
        raise Infeasible.of(
            where="cluster core",
            what=f"{chosen} cannot hold this" if chosen else "no instance type offered can hold this",
            why=why,
            fix="allow larger instance types or other families, or store and read less",
        )

    @cached_property
    def _inputs(self) -> SizingInputs:
        return SizingInputs.new(self.requirements, self.world)

    @cached_property
    def _answer(self) -> Plan | SearchResult | str:
        """Return the plan, the nearest cluster if none meets the targets, or why there is not enough memory."""
        try:
            result = search(self._inputs)
            is_pinned = self.requirements.cluster.core.pinned
            return _plan(result, nearest=()) if result.best.serves or is_pinned else result
        except (NotEnoughMemory, LookupError) as error:
            return str(error)


def plan(requirements: Requirements, world: World) -> Plan:
    """Return the plan of the cheapest cluster that meets the targets, or of the pinned cluster.

    A plan that misses a target is returned, too: `feasible` is false and `nearest` names the nearest feasible targets;
    for a pinned cluster, each missed target is a warning. Raises Infeasible if no instance type has enough memory.
    """
    return PlanSearch(requirements=requirements, world=world).plan


def _plan(result: SearchResult, nearest: tuple[str, ...]) -> Plan:
    candidate, missed = replace(result.best.candidate, exact=True), result.best.shortfalls
    inputs, peak, curve = candidate.inputs, candidate.inputs.at_peak, candidate.inputs.demand.curve
    requirements, world, server = inputs.requirements, inputs.world, candidate.region_server
    load = requirements.workload.load
    return Plan(
        environment=requirements.environment,
        cluster=requirements.cluster.name,
        release=world.release.label,
        prices_as_of=world.prices.as_of,
        prices=world.prices.note,
        mode=requirements.mode,
        root=requirements.root,
        feasible=not nearest,
        meets_targets=not missed and not nearest,
        nearest=nearest,
        core=CoreGroup(instance_type=candidate.instance.name, count=candidate.count, volumes=candidate.layout.volumes),
        primary=PrimaryGroup(
            instance_type=primary_type(inputs, candidate.count),
            count=requirements.cluster.primaries,
            volumes=PRIMARY_VOLUMES,
        ),
        regions=inputs.regions,
        **{name: getattr(server, name) for name in OF_REGION_SERVER},
        yarn_mib=YARN_MIB,
        hdfs_replication=hdfs_replication(inputs, candidate.count),
        hdfs=Hdfs.of(candidate.hdfs_load, requirements.pins) if candidate.hdfs_load else None,
        region_servers_to_start=candidate.survivors,
        bucket_cache=inputs.demand.bucket_cache(candidate.cache_mib) if candidate.cache_mib else None,
        hit_ratio=HitRatio(
            predicted=candidate.hit_ratio(candidate.count), curve=curve.points, knee_bytes=curve.knee_bytes
        ),
        throughput=_throughput(candidate, inputs, candidate.performance(candidate.count)),
        peak=None if peak is inputs else _throughput(candidate, peak, candidate.peak_performance(candidate.count)),
        daily_peak=DailyPeak(hours=load.peak_hours, quiet_reads_per_second=load.outside_peak.reads_per_second)
        if isinstance(load, OpenLoad) and load.peak_hours is not None
        else None,
        tables=_tables(candidate),
        writes=candidate.writes(candidate.count),
        warm_up=_warm_up(candidate),
        bad_hours=bad_hours(candidate),
        s3=_s3_requests(candidate),
        snapshot=_snapshot(candidate),
        scan_exports=scan_exports(candidate),
        cost=candidate_cost(candidate),
        because=explanations(candidate, result, relaxed=bool(nearest) and result.best.serves),
        warnings=(
            *(missed_target(shortfall) for shortfall in missed if requirements.cluster.core.pinned),
            *warnings(candidate),
            *freshness_warnings(requirements, world),
        ),
        rejected=(
            *(_not_chosen(other, result.best) for other in result.others),
            *(_dearer(other, result.best) for other in result.dearer),
        ),
        searched=Searched(evaluated=result.evaluated, pruned=result.pruned),
    )


def _tables(candidate: Candidate) -> tuple[PlannedTable, ...]:
    """Return the figures of each table in the warm cluster at the mean load; none if the workload has no tables."""
    blocks, servers = candidate.inputs.demand.blocks, candidate.count
    if not blocks.tables:
        return ()
    warm, hit_ratio = candidate.performance(servers), candidate.hit_ratio(servers)
    cached_bytes = candidate.inputs.demand.cacheable.cached_bytes
    offered = candidate.inputs.offered_reads_per_second or 0.0  # tables have no closed load
    return tuple(
        PlannedTable(
            name=table.workload.name,
            stored_bytes=table.workload.stored_bytes,
            regions=table.workload.regions,
            reads_per_second=path.share * warm.load.reads_per_second,
            hit_ratio=ratio,
            cached=table.workload.cached,
            cached_bytes=cached * cached_bytes,
            gets_per_second=path.share * offered * table.per_read * (1 - ratio),
            p50_latency_ms=path.percentiles.p50_ms,
            p99_latency_ms=path.percentiles.p99_ms,
        )
        for table, path, (ratio, cached) in zip(
            blocks.tables, warm.paths, candidate.inputs.tables_in_cache(hit_ratio), strict=True
        )
    )


def _throughput(candidate: Candidate, inputs: SizingInputs, got: Performance) -> Throughput:
    limits = candidate.resources(candidate.count)
    limit = bottleneck(limits)
    return Throughput(
        reads_per_second=got.load.reads_per_second,
        offered_reads_per_second=inputs.offered_reads_per_second,
        saturation_reads_per_second=limit.max_reads_per_second,
        utilisation_fraction=got.load.reads_per_second / limit.max_reads_per_second,
        bottleneck=limit.name,
        concurrency=got.load.concurrency,
        mean_latency_ms=1000 * got.load.latency_seconds,
        p50_latency_ms=got.percentiles.p50_ms,
        p95_latency_ms=got.percentiles.p95_ms,
        p99_latency_ms=got.percentiles.p99_ms,
        busiest_server=candidate.inputs.at_peak.imbalance(candidate.count),
        resources=limits,
    )


def _warm_up(candidate: Candidate) -> WarmUp:
    """Return how cold caches on all nodes warm up while they serve reads; without a cache, nothing warms up."""
    start, servers = candidate.cold, candidate.count
    if start is None:
        return WarmUp(prefetch_seconds=0.0, limit=None, curve=((0.0, candidate.hit_ratio(servers)),))
    alone = fill_seconds(
        candidate.inputs.demand, candidate.share_of(servers), start.cluster, candidate.prefetch_threads
    )
    seconds, server = start.course.prefetch_seconds, server_fill(candidate)
    return WarmUp(
        prefetch_seconds=seconds,
        limit=alone.limit,
        curve=start.course.hit_ratios(max(LEAST_HOURS, 2 * seconds / SECONDS_PER_HOUR)),
        server=server,
        boosts=boosts(server, candidate.inputs.world.prices) if server else (),
    )


def _s3_requests(candidate: Candidate) -> S3Requests:
    warm, cold = gets_per_second(candidate), 0.0
    if candidate.cold:
        cold = candidate.cold.served(0.0).reads_per_second * candidate.inputs.read.blocks
    elif candidate.inputs.mode.keeps_data_in_s3:
        cold = candidate.performance(candidate.count).load.reads_per_second * candidate.inputs.read.blocks
    return S3Requests(
        gets_per_hour_cold=cold * SECONDS_PER_HOUR,
        gets_per_hour_warm=warm * SECONDS_PER_HOUR,
        prefix_limit_fraction=warm / S3_GETS_PER_SECOND_PER_PREFIX,
    )


def _snapshot(candidate: Candidate) -> Snapshot:
    out, back = export_copy(candidate), import_copy(candidate)
    return Snapshot(
        export_seconds=eta(out).seconds,
        restore_seconds=eta(back).seconds,
        mappers=out.mappers,
        yarn_mib=YARN_MIB * math.ceil(out.mappers / candidate.count),
    )


def _dearer(tried: Unevaluated, best: Evaluation) -> Rejected:
    return Rejected(
        instance_type=tried.instance.name,
        count=tried.count,
        reason=f"costs at least {format_usd(tried.least_usd_per_month - best.usd_per_month)} a month more",
        bottleneck=None,
        usd_per_month=tried.least_usd_per_month,
    )


def _not_chosen(tried: Evaluation, best: Evaluation) -> Rejected:
    if tried.shortfalls:
        reason, limit = tried.shortfalls[0].reason, tried.shortfalls[0].bottleneck
    else:
        dearer = format_usd(tried.usd_per_month - best.usd_per_month)
        reason, limit = f"costs {dearer} a month more", None
    return Rejected(
        instance_type=tried.candidate.instance.name,
        count=tried.candidate.count,
        reason=reason,
        bottleneck=limit,
        usd_per_month=tried.usd_per_month,
    )
