"""The state of a running analytics cluster, and the changes that bring it to today's plan."""

from __future__ import annotations

from warmbase.changes.change import Change, changes
from warmbase.changes.cost import ImpactCost
from warmbase.changes.recorded_launch import EVERY_ROLE
from warmbase.engines.trino.changes import PlannedTrino, trino_changes, trino_impact
from warmbase.engines.trino.rendering import TrinoLaunch, trino_spec
from warmbase.environments.launch_record import check_record
from warmbase.facts.releases import releases
from warmbase.operations.aws.clients import Aws
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import read_running_cluster
from warmbase.operations.cluster.state import EngineState
from warmbase.operations.deploy.tuning import Tuning, tuning


def trino_tuning_of(aws: Aws, cluster: PlannedTrino, *, everything: bool = False) -> Tuning:
    """Return the tuning of the analytics cluster that runs; `everything` includes small changes.

    Raises Refused where its launch record is missing or belongs to another cluster, OperationFailed where nothing runs.
    """
    launch = cluster.launch
    running = read_running_cluster(aws, launch)
    check_record(launch.environment, launch.plan.cluster, cluster.record, running.cluster.id)
    pending = trino_changes(running.subject, launch, EVERY_ROLE, running.immutable)

    def cost(wanted: tuple[Change, ...]) -> ImpactCost:
        return trino_impact(wanted, running.subject, launch)

    return tuning(aws, running, launch, pending, cost, everything=everything)


def trino_state(launch: TrinoLaunch, cluster: DescribedCluster) -> EngineState:
    """Return the number of differences from today's plan; what the caches hold is on the dashboard."""
    release = releases()[launch.plan.release]
    differences = changes(cluster.spec, trino_spec(launch), EVERY_ROLE, release)
    return EngineState(differences=len(differences), caches=None, boost=None, unfinished=())
