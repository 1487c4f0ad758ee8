"""Two plans of an analytics cluster, and how a running cluster would get from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from changes.change import Change, changes
from changes.cost import ImpactCost
from changes.engines.trino.planned import replanned_trino
from changes.immutable_settings import EVERY_ROLE
from changes.plan_comparison import lasting_changes
from changes.recorded_launch import changes_since_launch, recorded_spec
from configurations.engines.trino.bootstrap import actions
from configurations.engines.trino.rendering import TrinoLaunch, trino_classifications, trino_spec
from configurations.properties.property import Applied
from emr.cluster_spec import ClusterSpec
from environments.engines.trino.planning import trino_infeasible, trino_plan_of
from environments.environment import Environment
from environments.launch_record import LaunchRecord
from facts.releases import releases
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.problem import Infeasible
from sizing.units import GIB

RESIZED: Final = (
    "a new worker starts with an empty cache and takes over a share of the files of the others; removed workers lose"
    " their caches, and queries that run on them fail"
)


class TrinoSide(Struct, frozen=True, kw_only=True):
    """One of two plans. If it is the plan of a launched cluster, `record` is the record of its launch."""

    launch: TrinoLaunch
    record: LaunchRecord | None = None

    @classmethod
    def of(cls, environment: Environment, choice: TrinoChoice) -> TrinoSide:
        """Return the plan of a cluster, whether or not it meets its targets."""
        plan = trino_plan_of(environment, choice)
        return cls(launch=TrinoLaunch(environment=environment, plan=plan, settings=trino_classifications(plan)))

    @classmethod
    def at_launch(cls, environment: Environment, choice: TrinoChoice, record: LaunchRecord) -> TrinoSide:
        """Return the plan for the nodes of a launch, with the workload and the targets of today's file."""
        return cls(launch=replanned_trino(environment, choice, record), record=record)

    @property
    def plan(self) -> TrinoPlan:
        """Return the plan."""
        return self.launch.plan

    @property
    def exists(self) -> bool:
        """Return whether there is such a cluster: one that meets its targets, or one that somebody has chosen."""
        choice = self.launch.environment.analytics[self.plan.cluster]
        return self.plan.feasible or self.record is not None or choice.workers.pinned

    @property
    def error(self) -> Infeasible | None:
        """Return the error of a plan that misses its targets."""
        return None if self.plan.feasible else trino_infeasible(self.launch.environment.source, self.plan)


class TrinoComparison(Struct, frozen=True, kw_only=True):
    """Two plans; a side is None where the environment has no such cluster.

    `changes` lead a running cluster from the one plan to the other. They are None if there is nothing to change: the
    sides are of different environments, one of them has no such cluster, or no cluster meets its targets.
    """

    before: TrinoSide | None
    after: TrinoSide | None
    changes: tuple[Change, ...] | None
    cost: ImpactCost | None


def trino_comparison(before: TrinoSide | None, after: TrinoSide | None) -> TrinoComparison:
    """Return the comparison of two plans for a cluster of that name."""
    if before is None or after is None or not (before.exists and after.exists):
        return TrinoComparison(before=before, after=after, changes=None, cost=None)
    was, will = before.launch.environment, after.launch.environment
    if was.name != will.name:
        return TrinoComparison(before=before, after=after, changes=None, cost=None)
    if before.record:
        spec = recorded_spec(before.record)
        further = [*changes_since_launch(before.record, will, actions(after.launch))]
    else:
        spec, further = trino_spec(before.launch), [*lasting_changes(was, will, after.plan.cluster)]
    pending = trino_changes(spec, after.launch, EVERY_ROLE, further)
    return TrinoComparison(before=before, after=after, changes=pending, cost=trino_impact(pending, spec, after.launch))


def trino_changes(
    before: ClusterSpec, launch: TrinoLaunch, roles: Sequence[str], further: Sequence[Change]
) -> tuple[Change, ...]:
    """Return every difference from today's plan for nodes of those roles; no setting shows the `further` ones."""
    release = releases()[launch.plan.release]
    differences = changes(before, trino_spec(launch), roles, release, further)
    return tuple(
        replace(one, why=RESIZED) if one.key == "InstanceCount" and "core" in one.groups else one for one in differences
    )


def trino_impact(pending: Sequence[Change], before: ClusterSpec, launch: TrinoLaunch) -> ImpactCost:
    """Return the cost. The pages of removed workers are lost. Nobody has measured how long a restart takes.

    The caches of a new cluster are empty. `cache_lost_bytes` is None where the number of workers is not known.
    """
    applied = max((change.applied for change in pending), key=list(Applied).index, default=None)
    plan, core = launch.plan, before.group("core")
    count = None if core is None else core.count
    removed = None if count is None else max(0, count - plan.workers.count)
    if applied is Applied.NEW_CLUSTER:
        removed = count
    return ImpactCost(
        applied=applied,
        region_servers=plan.workers.count,
        restart_seconds=0.0,
        cache_lost_bytes=None if removed is None else removed * plan.cache.size_gib * GIB,
        warm_up_seconds=plan.warmth.hours * 3600 if applied is Applied.NEW_CLUSTER else 0.0,
        get_usd=0.0,
        node_usd=0.0,
    )
