"""The state of a running analytics cluster, and the changes that bring it to today's plan."""

from __future__ import annotations

from warmbase.changes.change import EVERY_ROLE, Change, changes
from warmbase.changes.cost import ImpactCost
from warmbase.engines.trino.changes import PlannedTrino, differences, impact, spec
from warmbase.engines.trino.rendering import TrinoLaunch
from warmbase.engines.trino.verification import verification
from warmbase.environments.launch_record import check_record
from warmbase.facts.releases import releases
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import Parts
from warmbase.operations.cluster.description import DescribedCluster
from warmbase.operations.cluster.drift import Comparison, read_running_cluster
from warmbase.operations.cluster.state import EngineState
from warmbase.operations.deploy.tuning import Tuning
from warmbase.operations.deploy.tuning import tuning as engine_tuning

__all__ = ["comparisons", "state", "tuning", "verification"]


def tuning(aws: Aws, cluster: PlannedTrino, *, everything: bool = False) -> Tuning:
    """Return the tuning of the analytics cluster that runs; `everything` includes small changes.

    Raises Refused where its launch record is missing or belongs to another cluster, OperationFailed where nothing runs.
    """
    launch = cluster.launch
    running = read_running_cluster(aws, launch)
    check_record(launch.environment, launch.plan.cluster, cluster.record, running.cluster.id)
    pending = differences(running.subject, launch, EVERY_ROLE, running.immutable)

    def cost(wanted: tuple[Change, ...]) -> ImpactCost:
        return impact(wanted, running.subject, launch)

    return engine_tuning(aws, running, launch, pending, cost, everything=everything)


def comparisons(aws: Aws, launch: TrinoLaunch, cluster: DescribedCluster) -> tuple[Comparison, ...]:  # noqa: ARG001 - as for any engine
    """Return nothing: everything that belongs to an analytics cluster is in its stacks."""
    return ()


def state(aws: Aws, launch: TrinoLaunch, cluster: DescribedCluster, parts: Parts) -> EngineState:  # noqa: ARG001 - EMR has said it
    """Return the number of differences from today's plan; what the caches hold is on the dashboard."""
    differing = changes(cluster.spec, spec(launch), EVERY_ROLE, releases()[launch.plan.release])
    return EngineState(differences=len(differing), caches=None, boost=None, unfinished=())
