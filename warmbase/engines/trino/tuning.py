"""The state of a running analytics cluster, and the changes that bring it to today's plan."""

from __future__ import annotations

from warmbase.changes.change import changes
from warmbase.changes.recorded_launch import EVERY_ROLE
from warmbase.configurations.properties.property import Applied
from warmbase.engines.trino.changes import PlannedTrino, trino_changes, trino_impact
from warmbase.engines.trino.rendering import TrinoLaunch, trino_spec
from warmbase.environments.launch_record import check_record
from warmbase.facts.releases import releases
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.state import EngineState
from warmbase.operations.deploy.tuning import Tuning, group_changes, planned_groups, small_changes


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


def trino_state(launch: TrinoLaunch, cluster: DescribedCluster) -> EngineState:
    """Return the number of differences from today's plan; what the caches hold is on the dashboard."""
    release = releases()[launch.plan.release]
    differences = changes(cluster.spec, trino_spec(launch), EVERY_ROLE, release)
    return EngineState(differences=len(differences), caches=None, boost=None, unfinished=())
