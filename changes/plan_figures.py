"""The figures of a plan that two plans are compared by."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import fields

from sizing.cluster import Volume
from sizing.plan import Plan
from sizing.warning import Warning  # noqa: A004 - the plan's own word


class PlanFigures(Struct, frozen=True, kw_only=True):
    """The figures that say what a plan buys, does and costs; names are keys of the JSON that compares two plans.

    Loads and latencies are those of the busiest hour. `cold_seconds` pass until the cluster carries its load with cold
    caches: infinitely many where it never does, and None without a cache or an offered load. `offline_seconds` is None
    for a single node. If `all_cached` is false, the hit ratio is that of the cached tables. `cost` has the dollars a
    month of each line of the bill.
    """

    environment: str
    cluster: str
    release: str
    mode: str
    prices: str
    feasible: bool
    meets_targets: bool
    nearest: tuple[str, ...]
    usd_per_month: float
    core_nodes: int
    core_type: str
    core_volumes: tuple[Volume, ...]
    primary_nodes: int
    primary_type: str
    bucket_cache_mib: int
    heap_mib: int
    handlers: int
    hit_ratio: float
    all_cached: bool
    reads_per_second: float
    saturation_reads_per_second: float
    bottleneck: str
    mean_latency_ms: float
    p99_latency_ms: float
    warm_up_seconds: float
    cold_seconds: float | None
    restart_seconds: float
    offline_seconds: float | None
    gets_per_hour_warm: float
    cost: Mapping[str, float]
    warnings: tuple[Warning, ...]

    @classmethod
    def of(cls, plan: Plan) -> PlanFigures:
        """Return the figures of a plan."""
        load, lost = plan.busiest_hour, plan.bad_hours.lost_node
        return cls(
            environment=plan.environment,
            cluster=plan.cluster,
            release=plan.release,
            mode=str(plan.mode),
            prices=f"{plan.prices.region}, {plan.prices.described}",
            feasible=plan.feasible,
            meets_targets=plan.meets_targets,
            nearest=plan.nearest,
            usd_per_month=plan.cost.usd_per_month,
            core_nodes=plan.core.count,
            core_type=plan.core.instance_type,
            core_volumes=plan.core.volumes,
            primary_nodes=plan.primary.count,
            primary_type=plan.primary.instance_type,
            bucket_cache_mib=plan.bucket_cache.size_mib if plan.bucket_cache else 0,
            heap_mib=plan.heap.xmx_mib,
            handlers=plan.handlers,
            hit_ratio=plan.hit_ratio.predicted,
            all_cached=all(table.cached for table in plan.tables),
            reads_per_second=load.reads_per_second,
            saturation_reads_per_second=load.saturation_reads_per_second,
            bottleneck=load.bottleneck,
            mean_latency_ms=load.mean_latency_ms,
            p99_latency_ms=load.p99_latency_ms,
            warm_up_seconds=plan.warm_up.prefetch_seconds,
            cold_seconds=_cold_seconds(plan),
            restart_seconds=plan.restart.seconds,
            offline_seconds=lost.offline_seconds if lost else None,
            gets_per_hour_warm=plan.s3.gets_per_hour_warm,
            cost={line.item: line.usd_per_month for line in plan.cost.lines},
            warnings=plan.warnings,
        )


def delta(before: PlanFigures, after: PlanFigures) -> Mapping[str, float]:
    """Return by how much each number of `after` exceeds that of `before`, for the numbers that both have."""
    numbers = _numbers(before)
    return {name: value - numbers[name] for name, value in _numbers(after).items() if name in numbers}


def _numbers(figures: PlanFigures) -> Mapping[str, float]:
    values = {field.name: getattr(figures, field.name) for field in fields(figures)}
    return {
        name: value for name, value in values.items() if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def _cold_seconds(plan: Plan) -> float | None:
    cold = plan.bad_hours.cold
    if cold is None or plan.throughput.offered_reads_per_second is None:
        return None
    return math.inf if cold.carried_seconds is None else cold.carried_seconds
