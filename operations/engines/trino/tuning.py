"""The changes that bring a running analytics cluster to today's plan."""

from __future__ import annotations

from changes.engines.trino.comparison import trino_changes, trino_impact
from changes.engines.trino.planned import PlannedTrino
from changes.immutable_settings import EVERY_ROLE
from configurations.properties.property import Applied
from environments.record_files import check_record
from operations.aws import Aws
from operations.plan_drift import read_running_cluster
from operations.tuning import Tuning, group_changes, planned_groups, small_changes


def trino_tuning_of(aws: Aws, cluster: PlannedTrino, *, everything: bool = False) -> Tuning:
    """Return the tuning of the analytics cluster that runs; `everything` includes small changes.

    Raises Refused where its launch record is missing or belongs to another cluster, OperationFailed where nothing runs.
    """
    launch = cluster.launch
    running = read_running_cluster(aws, launch)
    check_record(launch.environment, launch.plan.cluster, cluster.record, running.cluster.id)
    pending = trino_changes(running.subject, launch, EVERY_ROLE, running.immutable)
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
        cost=trino_impact(wanted, running.subject, launch),
    )
