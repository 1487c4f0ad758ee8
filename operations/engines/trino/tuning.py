"""The changes that bring a running analytics cluster to today's plan."""

from __future__ import annotations

from typing import Final

from changes.change import Change, by_reconfiguration, changes
from changes.cost import ImpactCost
from changes.engines.trino.planned import PlannedTrino
from configurations.engines.trino.rendering import TrinoLaunch, trino_spec
from configurations.properties.property import Applied
from environments.record_files import check_record
from facts.releases import releases
from operations.aws import Aws
from operations.plan_drift import RunningCluster, read_running_cluster
from operations.tuning import Tuning, group_changes, planned_groups, small_changes
from sizing.units import GIB

ROLES: Final = ("primary", "core")


def trino_tuning_of(aws: Aws, cluster: PlannedTrino, *, everything: bool = False) -> Tuning:
    """Return the tuning of the analytics cluster that runs; `everything` includes small changes.

    Raises Refused where its launch record is missing or belongs to another cluster, OperationFailed where nothing runs.
    """
    launch = cluster.launch
    running = read_running_cluster(aws, launch)
    check_record(launch.environment, launch.plan.cluster, cluster.record, running.cluster.id)
    release = releases()[launch.plan.release]
    differences = changes(running.subject, trino_spec(launch), ROLES, release, running.immutable)
    pending = [by_reconfiguration(change) for change in differences]
    new = tuple(change for change in pending if change.applied is Applied.NEW_CLUSTER)
    rest = [change for change in pending if change.applied is not Applied.NEW_CLUSTER]
    small = () if everything else tuple(small_changes(rest))
    wanted = tuple(change for change in rest if change not in small)
    planned = planned_groups(launch.settings, launch.plan.workers.count, launch.environment, aws.account)
    return Tuning(
        running=running,
        changes=wanted,
        small=small,
        new=new,
        group_changes=tuple(group_changes(running, planned, wanted, (*new, *small))),
        cost=_cost(wanted, running, launch),
    )


def _cost(wanted: tuple[Change, ...], running: RunningCluster, launch: TrinoLaunch) -> ImpactCost:
    """Return the cost: pages of workers that are removed are lost; how long a restart takes, nobody has measured."""
    plan = launch.plan
    removed = max(0, running.cluster.groups["core"].count - plan.workers.count)
    return ImpactCost(
        applied=max((change.applied for change in wanted), key=list(Applied).index, default=None),
        region_servers=plan.workers.count,
        restart_seconds=0.0,
        cache_lost_bytes=removed * plan.cache.size_gib * GIB,
        warm_up_seconds=0.0,
        get_usd=0.0,
        node_usd=0.0,
    )
