"""Two plans side by side: their prices, their figures, and how a running cluster would get from one to the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, fields, replace

from warmbase.changes.change import EVERY_ROLE, Change, changes, cluster_change
from warmbase.changes.cost import ImpactCost, impact_cost
from warmbase.changes.planned_cluster import choice_of_nodes, launch_choice
from warmbase.changes.recorded_launch import (
    ImmutableSettings,
    changes_since_launch,
    immutable_changes,
    recorded_spec,
    security_of_file,
)
from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import Launch, launch_with, planned_spec
from warmbase.configurations.properties.property import Applied
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord, RecordedPlan, identity_of
from warmbase.environments.planning import infeasible, plan_of
from warmbase.facts.prices import price_table
from warmbase.facts.releases import releases
from warmbase.ground.errors import Infeasible, InvalidInput
from warmbase.sizing.plan import (
    Plan,
    Warning,  # noqa: A004 - the plan's own word
)
from warmbase.sizing.requirements import ClusterChoice, Volume

OF_NODES: Final = {"InstanceType", "EbsConfiguration"}


class PlanSide(Struct, frozen=True, kw_only=True):
    """One of two plans, with the environment that it is for.

    `plan` is None where no instance type has room for the workload; `error` is None where the plan meets its targets.
    `record` is that of the launch where the plan is that of a launched cluster.
    """

    environment: Environment
    plan: Plan | None
    error: Infeasible | None
    record: LaunchRecord | None = None

    @classmethod
    def of(cls, environment: Environment, choice: ClusterChoice, record: LaunchRecord | None = None) -> PlanSide:
        """Return the plan of a cluster, whether or not it meets its targets."""
        try:
            plan = plan_of(environment, choice)
        except Infeasible as error:
            return cls(environment=environment, plan=None, error=error, record=record)
        missed = None if plan.meets_targets else infeasible(environment.source, plan)
        return cls(environment=environment, plan=plan, error=missed, record=record)

    @classmethod
    def at_launch(cls, environment: Environment, record: LaunchRecord) -> PlanSide:
        """Return the plan for the nodes of a launch, with the workload and the targets of today's file."""
        recorded, choice = launch_choice(environment, record)
        return cls.of(recorded, choice, record)


class Application(Struct, frozen=True, kw_only=True):
    """How a running cluster gets from one plan to the other, which `launch` describes, and what that costs."""

    launch: Launch
    changes: tuple[Change, ...]
    cost: ImpactCost


class PlanComparison(Struct, frozen=True, kw_only=True):
    """Two plans, and how the change is applied.

    `application` is None where nothing is applied: to another environment, or where a side has no feasible plan. Where
    it should be known and is not, `unknown` says why. `same_nodes` is the comparison with more or fewer of the older
    plan's nodes, where only nodes of another type or with other volumes need a new cluster.
    """

    before: PlanSide
    after: PlanSide
    application: Application | None
    unknown: str = ""
    same_nodes: PlanComparison | None = None


def plan_comparison(before: PlanSide, after: PlanSide) -> PlanComparison:
    """Return the comparison. The plans are those that `warmbase plan` shows; how it is applied, `warmbase diff`."""
    comparison = _comparison(before, after)
    application = comparison.application
    if before.plan is None or after.plan is None or application is None:
        return comparison
    # A new cluster is needed, and only for nodes of another type or with other volumes.
    keys = {change.key for change in application.changes if change.applied is Applied.NEW_CLUSTER}
    if not keys or not keys <= OF_NODES:
        return comparison
    choice = after.environment.clusters[after.plan.cluster]
    family = before.plan.core.instance_type.partition(".")[0]
    if choice.core.type or choice.core.volumes or family not in (choice.core.families or (family,)):
        return comparison
    on_nodes = PlanSide.of(after.environment, choice_of_nodes(choice, RecordedPlan.of(before.plan)))
    return replace(comparison, same_nodes=_comparison(before, on_nodes))


def _comparison(before: PlanSide, after: PlanSide) -> PlanComparison:
    plans = [side.plan for side in (before, after) if side.plan and side.plan.feasible]
    if len(plans) < 2 or before.environment.name != after.environment.name:  # noqa: PLR2004 - both
        return PlanComparison(before=before, after=after, application=None)
    environment, was, will = after.environment, plans[0], plans[1]
    try:
        launch = launch_with(environment, will, security_of_file(environment, before.record))
        if before.record:
            spec = recorded_spec(before.record)
            further = [*changes_since_launch(before.record, environment, actions(launch))]
        else:
            earlier, account = before.environment, environment.account
            if account and not earlier.account:
                # Naming the account later is no difference.
                root = replace(earlier.root, bucket=earlier.in_account(earlier.root.bucket, account))
                was = replace(was, root=earlier.in_account(was.root, account))
                earlier = replace(earlier, account=account, root=root)
            spec = planned_spec(launch_with(earlier, was))
            further = [*lasting_changes(before.environment, environment, will.cluster)]
        pending = changes(spec, planned_spec(launch), EVERY_ROLE, releases()[will.release], further)
    except InvalidInput as error:
        problem = error.problems[0]
        unknown = f"{problem.where}  {problem.what}: {problem.why}"
        return PlanComparison(before=before, after=after, application=None, unknown=unknown)
    cost = impact_cost(pending, spec, will, price_table(environment.region))
    application = Application(launch=launch, changes=pending, cost=cost)
    return PlanComparison(before=before, after=after, application=application)


def lasting_changes(before: Environment, after: Environment, cluster_name: str) -> Iterator[Change]:
    """Yield the changes of what a cluster keeps for good and no classification shows."""
    yield from immutable_changes(ImmutableSettings.of(before), after)
    was = identity_of(before, cluster_name, before.account or after.account or "")
    will = identity_of(after, cluster_name, after.account or before.account or "")
    for name in (field.name for field in fields(was)):
        if getattr(was, name) != getattr(will, name):
            yield cluster_change(EVERY_ROLE, name, getattr(was, name), getattr(will, name), "it is fixed at launch")


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
        load, lost, cold = plan.busiest_hour, plan.bad_hours.lost_node, plan.bad_hours.cold
        cold_seconds = None
        if cold is not None and plan.throughput.offered_reads_per_second is not None:
            cold_seconds = math.inf if cold.carried_seconds is None else cold.carried_seconds
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
            cold_seconds=cold_seconds,
            restart_seconds=plan.restart.seconds,
            offline_seconds=lost.offline_seconds if lost else None,
            gets_per_hour_warm=plan.s3.gets_per_hour_warm,
            cost={line.item: line.usd_per_month for line in plan.cost.lines},
            warnings=plan.warnings,
        )


def delta(before: PlanFigures, after: PlanFigures) -> Mapping[str, float]:
    """Return by how much each number of `after` exceeds that of `before`, for the numbers that both have."""
    earlier, later = (
        {
            name: value
            for name, value in asdict(figures).items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        for figures in (before, after)
    )
    return {name: value - earlier[name] for name, value in later.items() if name in earlier}
