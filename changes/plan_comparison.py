"""Two plans side by side: their prices, and how a running cluster would get from the one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import fields, replace

from changes.change import Change, changes, new_cluster
from changes.cost import ImpactCost, impact_cost
from changes.immutable_settings import EVERY_ROLE, ImmutableSettings, immutable_changes
from changes.recorded_launch import changes_since_launch, recorded_spec
from changes.recorded_security import security_of_file
from changes.replan import choice_of_nodes, launch_choice
from configurations.bootstrap import actions
from configurations.launch import Launch, launch_with
from configurations.planned_spec import planned_spec
from configurations.properties.property import Applied
from environments.environment import Environment
from environments.launch_record import LaunchRecord, RecordedPlan, identity_of
from environments.planning import infeasible, plan_of
from facts.prices import price_table
from facts.releases import releases
from sizing.cluster import ClusterChoice
from sizing.plan import Plan
from sizing.problem import Infeasible, InvalidInput

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
    if before.plan is None or after.plan is None or application is None or not _changes_nodes_only(application):
        return comparison
    choice = after.environment.clusters[after.plan.cluster]
    family = before.plan.core.instance_type.partition(".")[0]
    if choice.core.type or choice.core.volumes or family not in (choice.core.families or (family,)):
        return comparison
    on_nodes = PlanSide.of(after.environment, choice_of_nodes(choice, RecordedPlan.of(before.plan)))
    return replace(comparison, same_nodes=_comparison(before, on_nodes))


def _changes_nodes_only(application: Application) -> bool:
    """Return whether a new cluster is needed, and only for nodes of another type or with other volumes."""
    keys = {change.key for change in application.changes if change.applied is Applied.NEW_CLUSTER}
    return bool(keys) and keys <= OF_NODES


def _comparison(before: PlanSide, after: PlanSide) -> PlanComparison:
    plans = [side.plan for side in (before, after) if side.plan and side.plan.feasible]
    if len(plans) < 2 or before.environment.name != after.environment.name:  # noqa: PLR2004 - both
        return PlanComparison(before=before, after=after, application=None)
    try:
        application = _application(before, plans[0], after, plans[1])
    except InvalidInput as error:
        return PlanComparison(before=before, after=after, application=None, unknown=_reason(error))
    return PlanComparison(before=before, after=after, application=application)


def _reason(error: InvalidInput) -> str:
    problem = error.problems[0]
    return f"{problem.where}  {problem.what}: {problem.why}"


def _application(before: PlanSide, was: Plan, after: PlanSide, will: Plan) -> Application:
    environment = after.environment
    launch = launch_with(environment, will, security_of_file(environment, before.record))
    if before.record:
        spec = recorded_spec(before.record)
        further = [*changes_since_launch(before.record, environment, actions(launch))]
    else:
        spec = planned_spec(_launch_before(before.environment, was, environment.account))
        further = [*lasting_changes(before.environment, environment, will.cluster)]
    pending = changes(spec, planned_spec(launch), EVERY_ROLE, releases()[will.release], further)
    cost = impact_cost(pending, spec, will, price_table(environment.region))
    return Application(launch=launch, changes=pending, cost=cost)


def _launch_before(environment: Environment, plan: Plan, account: str | None) -> Launch:
    """Return the launch in that account, if the environment names none itself: naming it later is no difference."""
    if account and not environment.account:
        root = replace(environment.root, bucket=environment.in_account(environment.root.bucket, account))
        plan = replace(plan, root=environment.in_account(plan.root, account))
        environment = replace(environment, account=account, root=root)
    return launch_with(environment, plan)


def lasting_changes(before: Environment, after: Environment, cluster_name: str) -> Iterator[Change]:
    """Yield the changes of what a cluster keeps for good and no classification shows."""
    yield from immutable_changes(ImmutableSettings.of(before), after)
    was = identity_of(before, cluster_name, before.account or after.account or "")
    will = identity_of(after, cluster_name, after.account or before.account or "")
    for name in (field.name for field in fields(was)):
        if getattr(was, name) != getattr(will, name):
            yield new_cluster(EVERY_ROLE, name, getattr(was, name), getattr(will, name), "it is fixed at launch")
