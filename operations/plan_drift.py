"""The difference between a running cluster, with all that belongs to it, and what is rendered today."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from changes.change import Change, changes
from changes.immutable_settings import NEWEST, immutable_changes
from configurations.engines.trino.rendering import TrinoLaunch
from configurations.launch import Launch
from configurations.planned_spec import planned_spec
from emr.cluster_spec import ClusterSpec
from emr.cluster_state import is_running
from environments.environment import Environment
from facts.releases import releases
from operations.aws import Aws
from operations.aws_errors import translated
from operations.comparison import Comparison, around, protection_compared
from operations.description import DescribedCluster, described_cluster
from operations.stack_drift import stack_edits
from sizing.problem import OperationFailed


class RunningCluster(Struct, frozen=True, kw_only=True):
    """A running cluster, ready to be compared with a plan.

    `immutable` are the changes that the environment file asks for and that only a new cluster can have.
    """

    cluster: DescribedCluster
    subject: ClusterSpec
    immutable: tuple[Change, ...]

    def changes(self, launch: Launch) -> tuple[Change, ...]:
        """Return the changes that today's plan asks for, those that need a new cluster among them."""
        release = releases()[launch.plan.release]
        return changes(self.subject, planned_spec(launch), ("primary", "core"), release, self.immutable)


class ClusterDrift(Struct, frozen=True, kw_only=True):
    """A running cluster, and the comparison of what belongs to it with today's rendering and the last deployment."""

    running: RunningCluster
    around: tuple[Comparison, ...]


def read_running_cluster(aws: Aws, launch: Launch | TrinoLaunch) -> RunningCluster:
    """Asks EMR. Raises OperationFailed where it does not answer, or nothing runs."""
    plan = launch.plan
    unread = f"could not read cluster {plan.cluster} of {plan.environment}"
    with translated(unread, "deploy first; or use credentials of the account in which it was deployed"):
        cluster = described_cluster(aws, plan.environment, plan.cluster)
    if not is_running(cluster.state):
        raise OperationFailed.of(
            where=f"cluster {cluster.id} of {plan.environment} {plan.cluster}",
            what=f"is {cluster.state}",
            why="only a running cluster can be compared",
            fix="list what remains of it: warmbase status",
        )
    return RunningCluster(
        cluster=cluster, subject=_spec(cluster), immutable=tuple(_immutable_changes(cluster, launch.environment))
    )


def cluster_drift(aws: Aws, launch: Launch | TrinoLaunch) -> ClusterDrift:
    """Asks CloudWatch, S3 and CloudFormation as well, which takes a minute or more to look at all that it made.

    An analytics cluster has no root bucket, and its dashboard and alarms are compared as resources of their stack.
    Raises OperationFailed as `running`.
    """
    plan, running = launch.plan, read_running_cluster(aws, launch)
    unread = f"could not read the stacks of {plan.environment} {plan.cluster}"
    with translated(unread, "use credentials of the account in which it was deployed"):
        beside = (
            *(around(aws, launch, running.cluster) if isinstance(launch, Launch) else ()),
            protection_compared(aws, launch),
            *stack_edits(aws, plan.environment, plan.cluster),
        )
    return ClusterDrift(running=running, around=beside)


def _immutable_changes(cluster: DescribedCluster, environment: Environment) -> Iterator[Change]:
    """Yield the changes that need a new cluster; a file that names no operating system accepts the one of EMR."""
    was = cluster.immutable_settings
    return immutable_changes(replace(was, os_release=NEWEST) if environment.os_release is None else was, environment)


def _spec(cluster: DescribedCluster) -> ClusterSpec:
    """EMR adds applications that others need, so those of a running cluster are not compared."""
    return replace(cluster.spec, source=f"{cluster.id}, {cluster.state}{_pending(cluster)}", applications=())


def _pending(cluster: DescribedCluster) -> str:
    """Return a remark on settings that were requested and are not applied yet."""
    named = [f"{role} {group.state}" for role, group in cluster.groups.items() if group.pending]
    return f", with settings that are not applied ({', '.join(named)})" if named else ""
