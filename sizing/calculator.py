"""Workload and facts in, plan out."""

from __future__ import annotations

from sizing.bill import PRIMARY_VOLUMES, candidate_cost, primary_type
from sizing.bucket_cache import CacheDemand
from sizing.candidate import Candidate, Question, Shortfall
from sizing.memory import YARN_MIB, NotEnoughMemory
from sizing.plan import CoreGroup, HitRatio, Plan, PrimaryGroup, Rejected, Throughput
from sizing.problem import Infeasible
from sizing.queueing import Handlers, Load, Overloaded, closed_load, network, open_load
from sizing.reasons import reasons
from sizing.requirements import Requirements, World
from sizing.resource import Hits, bottleneck, delay_seconds
from sizing.search import Found, Try, search
from sizing.stored_blocks import stored_blocks
from sizing.units import format_usd
from sizing.warning import missed_target, warnings
from sizing.workload import ClosedLoad

__all__ = ["plan"]


def plan(requirements: Requirements, world: World) -> Plan:
    """The cheapest cluster that meets the targets; of a pinned cluster, what it will do.

    A plan that misses a target is returned all the same: `feasible` is false and `nearest` names what would do,
    or, for a pinned cluster, each miss is a warning. Raises Infeasible where not even memory suffices anywhere.
    """
    demand = CacheDemand.of(stored_blocks(requirements.workload))
    question = Question(requirements=requirements, world=world, demand=demand)
    found = search(question)
    try:
        return _plan(found)
    except NotEnoughMemory as error:
        raise Infeasible(f"no instance type offered can hold this cache: {error}") from None


def _plan(found: Found) -> Plan:
    candidate = found.best.candidate
    requirements, world = candidate.question.requirements, candidate.question.world
    server = candidate.region_server
    missed = [*found.best.shortfalls, *_budget_missed(found.best)]
    pinned = requirements.cluster.core.pinned
    return Plan(
        environment=requirements.environment,
        cluster=requirements.cluster.colour,
        release=world.release.label,
        prices_as_of=world.prices.as_of,
        mode=requirements.mode,
        root=requirements.root,
        feasible=pinned or not missed,
        nearest=() if pinned else tuple(shortfall.reason for shortfall in missed),
        core=CoreGroup(instance_type=candidate.instance.name, count=candidate.count, volumes=candidate.volumes),
        primary=PrimaryGroup(
            instance_type=primary_type(candidate),
            count=requirements.cluster.primaries,
            volumes=PRIMARY_VOLUMES,
        ),
        memory=server.memory,
        yarn_mib=YARN_MIB,
        heap=server.heap,
        handlers=server.handlers,
        prefetch_threads=server.prefetch_threads,
        bucket_cache=candidate.question.demand.bucket_cache(candidate.cache_mib),
        persistence=server.persistence,
        hit_ratio=HitRatio(predicted=candidate.hit_ratio(candidate.count)),
        throughput=_throughput(candidate),
        restart=server.restart,
        cost=candidate_cost(candidate),
        because=reasons(candidate),
        warnings=(*(missed_target(shortfall) for shortfall in missed if pinned), *warnings(candidate)),
        rejected=tuple(_rejected(tried, found.best) for tried in found.others),
    )


def _throughput(candidate: Candidate) -> Throughput:
    limits = candidate.resources(candidate.count)
    limit = bottleneck(limits)
    load = _load(candidate)
    return Throughput(
        reads_per_second=load.reads_per_second,
        offered_reads_per_second=candidate.question.offered_reads_per_second,
        saturation_reads_per_second=limit.max_reads_per_second,
        bottleneck=limit.name,
        concurrency=load.concurrency,
        mean_latency_ms=1000 * load.latency_seconds,
        resources=limits,
    )


def _load(candidate: Candidate) -> Load:
    """What the workload gets from the warm cluster with all nodes; an overload gets what saturation gives."""
    question = candidate.question
    hits = Hits(ratio=candidate.hit_ratio(candidate.count))
    cluster = candidate.cluster(candidate.count)
    delay = delay_seconds(cluster, question.read, hits, question.timings)
    stations = network(candidate.resources(candidate.count), candidate.count, candidate.instance.vcpus, delay)
    handlers = Handlers(servers=candidate.count, per_server=cluster.handlers)
    load = question.requirements.workload.load
    if isinstance(load, ClosedLoad):
        return closed_load(stations, load.concurrency, handlers)
    try:
        return open_load(stations, load.reads_per_second, handlers)
    except Overloaded:
        return closed_load(stations, candidate.count * cluster.handlers, handlers)


def _budget_missed(best: Try) -> list[Shortfall]:
    budget = best.candidate.question.requirements.targets.budget_usd_per_month
    if budget is None or best.usd_per_month <= budget:
        return []
    reason = f"it costs {format_usd(best.usd_per_month)} a month, the budget is {format_usd(budget)}"
    return [Shortfall(target="budget", reason=reason, bottleneck=None)]


def _rejected(tried: Try, best: Try) -> Rejected:
    if tried.shortfalls:
        reason, limit = tried.shortfalls[0].reason, tried.shortfalls[0].bottleneck
    else:
        dearer = format_usd(tried.usd_per_month - best.usd_per_month)
        reason, limit = f"serves, and costs {dearer} a month more", None
    return Rejected(
        instance_type=tried.candidate.instance.name,
        count=tried.candidate.count,
        reason=reason,
        bottleneck=limit,
        usd_per_month=tried.usd_per_month,
    )
