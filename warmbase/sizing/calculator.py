"""The calculator: workload and facts in, plan out, and the explanation of each figure by its path."""

from __future__ import annotations

import math
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.errors import Infeasible
from warmbase.ground.units import SECONDS_PER_HOUR, format_usd
from warmbase.sizing.explanation import SETTING, Explanations
from warmbase.sizing.explanations.cache import (
    cache_explanations,
    hdfs_explanations,
    region_explanations,
    volume_explanations,
)
from warmbase.sizing.explanations.cluster import choice_explanations, role_explanations, service_explanations
from warmbase.sizing.explanations.recovery import (
    bad_hours_explanations,
    cold_explanations,
    persistence_explanations,
    restart_explanations,
    snapshot_explanations,
)
from warmbase.sizing.explanations.server import memory_explanations, thread_explanations
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
)
from warmbase.sizing.recovery.bad_hours import bad_hours, warm_up
from warmbase.sizing.recovery.export import eta, export_copy, import_copy, scan_exports
from warmbase.sizing.requirements import Requirements, World
from warmbase.sizing.search.alternatives import nearest_changes, relaxations
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.evaluation import (
    PRIMARY_VOLUMES,
    SearchResult,
    candidate_cost,
    gets_per_second,
    primary_type,
)
from warmbase.sizing.search.search import search
from warmbase.sizing.server.memory import YARN_MIB, NotEnoughMemory
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
    if candidate.inputs.requirements.workload.tables:
        # The values of the workload follow from those of the tables, so the tables have their keys.
        for path, reason in reasons.items():
            inputs = {
                name: replace(quantity, source=quantity.source.replace("workload.", "workload.tables.NAME."))
                if quantity.source.startswith(SETTING)
                else quantity
                for name, quantity in reason.inputs.items()
            }
            reasons[path] = replace(reason, inputs=inputs)
    return reasons


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
        if isinstance(answer, Plan):
            return answer
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
    """Return the plan of the best cluster; `nearest` names the nearest feasible targets if it misses its own."""
    candidate, missed = replace(result.best.candidate, exact=True), result.best.shortfalls
    inputs, peak, curve = candidate.inputs, candidate.inputs.at_peak, candidate.inputs.demand.curve
    requirements, world, server, count = inputs.requirements, inputs.world, candidate.region_server, candidate.count
    load, blocks, s3 = requirements.workload.load, inputs.demand.blocks, inputs.mode.keeps_data_in_s3
    warm, hit_ratio, limits = candidate.performance(count), candidate.hit_ratio(count), candidate.resources(count)
    limit, busiest = bottleneck(limits), peak.imbalance(count)
    offered = inputs.offered_reads_per_second or 0.0  # tables have no closed load

    def throughput(reads: Performance, offered_reads_per_second: float | None) -> Throughput:
        return Throughput(
            reads_per_second=reads.load.reads_per_second,
            offered_reads_per_second=offered_reads_per_second,
            saturation_reads_per_second=limit.max_reads_per_second,
            utilisation_fraction=reads.load.reads_per_second / limit.max_reads_per_second,
            bottleneck=limit.name,
            concurrency=reads.load.concurrency,
            mean_latency_ms=1000 * reads.load.latency_seconds,
            p50_latency_ms=reads.percentiles.p50_ms,
            p95_latency_ms=reads.percentiles.p95_ms,
            p99_latency_ms=reads.percentiles.p99_ms,
            busiest_server=busiest,
            resources=limits,
        )

    tables: tuple[PlannedTable, ...] = ()
    if blocks.tables:
        shares = zip(blocks.tables, warm.paths, inputs.tables_in_cache(hit_ratio), strict=True)
        tables = tuple(
            PlannedTable(
                name=table.workload.name,
                stored_bytes=table.workload.stored_bytes,
                regions=table.workload.regions,
                reads_per_second=path.share * warm.load.reads_per_second,
                hit_ratio=ratio,
                cached=table.workload.cached,
                cached_bytes=cached * inputs.demand.cacheable.cached_bytes,
                gets_per_second=path.share * offered * table.per_read * (1 - ratio),
                p50_latency_ms=path.percentiles.p50_ms,
                p99_latency_ms=path.percentiles.p99_ms,
            )
            for table, path, (ratio, cached) in shares
        )
    gets = gets_per_second(candidate)
    if candidate.cold:
        cold_reads = candidate.cold.served(0.0).reads_per_second
    else:
        cold_reads = warm.load.reads_per_second if s3 else 0.0
    out, back = export_copy(candidate), import_copy(candidate)
    rejected = []
    for other in result.others:
        usd, short = format_usd(other.usd_per_month - result.best.usd_per_month), other.shortfalls
        rejected.append(
            Rejected(
                instance_type=other.candidate.instance.name,
                count=other.candidate.count,
                reason=short[0].reason if short else f"costs {usd} a month more",
                bottleneck=short[0].bottleneck if short else None,
                usd_per_month=other.usd_per_month,
            )
        )
    for dearer in result.dearer:
        usd = format_usd(dearer.least_usd_per_month - result.best.usd_per_month)
        rejected.append(
            Rejected(
                instance_type=dearer.instance.name,
                count=dearer.count,
                reason=f"costs at least {usd} a month more",
                bottleneck=None,
                usd_per_month=dearer.least_usd_per_month,
            )
        )
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
        core=CoreGroup(instance_type=candidate.instance.name, count=count, volumes=candidate.layout.volumes),
        primary=PrimaryGroup(
            instance_type=primary_type(inputs, count),
            count=requirements.cluster.primaries,
            volumes=PRIMARY_VOLUMES,
        ),
        regions=inputs.regions,
        memory=server.memory,
        yarn_mib=YARN_MIB,
        hdfs_replication=hdfs_replication(inputs, count),
        hdfs=Hdfs.of(candidate.hdfs_load, requirements.pins) if candidate.hdfs_load else None,
        region_servers_to_start=candidate.survivors,
        heap=server.heap,
        handlers=server.handlers,
        call_queues=server.call_queues,
        prefetch_threads=server.prefetch_threads,
        open_region_threads=server.open_region_threads,
        s3_connections=server.s3_connections,
        bucket_cache=inputs.demand.bucket_cache(candidate.cache_mib) if candidate.cache_mib else None,
        persistence=server.persistence,
        hit_ratio=HitRatio(predicted=hit_ratio, curve=curve.points, knee_bytes=curve.knee_bytes),
        throughput=throughput(warm, inputs.offered_reads_per_second),
        peak=None
        if peak is inputs
        else throughput(candidate.performance(count, at_peak=True), peak.offered_reads_per_second),
        daily_peak=DailyPeak(hours=load.peak_hours, quiet_reads_per_second=load.outside_peak.reads_per_second)
        if isinstance(load, OpenLoad) and load.peak_hours is not None
        else None,
        tables=tables,
        writes=candidate.writes(count),
        warm_up=warm_up(candidate),
        bad_hours=bad_hours(candidate),
        restart=server.restart,
        s3=S3Requests(
            gets_per_hour_cold=cold_reads * inputs.read.blocks * SECONDS_PER_HOUR,
            gets_per_hour_warm=gets * SECONDS_PER_HOUR,
            prefix_limit_fraction=gets / S3_GETS_PER_SECOND_PER_PREFIX,
        ),
        snapshot=Snapshot(
            export_seconds=eta(out).seconds,
            restore_seconds=eta(back).seconds,
            mappers=out.mappers,
            yarn_mib=YARN_MIB * math.ceil(out.mappers / count),
        ),
        scan_exports=scan_exports(candidate),
        cost=candidate_cost(candidate),
        because=explanations(candidate, result, relaxed=bool(nearest) and result.best.serves),
        warnings=(
            *(missed_target(shortfall) for shortfall in missed if requirements.cluster.core.pinned),
            *warnings(candidate),
            *freshness_warnings(requirements, world),
        ),
        rejected=tuple(rejected),
        searched=Searched(evaluated=result.evaluated, pruned=result.pruned),
    )
