"""The cluster of an environment that its stack or its launch record names, and what EMR says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from botocore.exceptions import ClientError
from msgspec import Struct

from emr.cluster_state import has_ended, is_running
from emr.codecs.cloudformation import CLUSTER_TYPE
from environments.environment import Environment
from environments.names import cluster_stack
from environments.record_files import launch_records
from operations.aws import Aws
from operations.aws_errors import translated
from operations.deployed_stack import status_of
from operations.polling import turns
from operations.progress import Say
from sizing.problem import OperationFailed, Problem, Refused

TERMINATION_SECONDS: Final = 3600.0  # judgement: EMR ends a cluster in minutes
FIRST_POLL_SECONDS: Final = 0.2
POLL_SECONDS: Final = 10.0
FORGOTTEN: Final = ("InvalidRequestException", "is not valid")


class EnvironmentCluster(Struct, frozen=True, kw_only=True):
    """A cluster that was launched. `state` is None where EMR does not know it; `launch_time` is in ISO 8601."""

    id: str
    launch_time: str
    state: str | None

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended for certain."""
        return has_ended(self.state, self.launch_time)

    @property
    def is_running(self) -> bool:
        """Return whether it runs or starts."""
        return is_running(self.state)

    @property
    def state_text(self) -> str:
        """Return the state for people."""
        return self.state or "unknown to EMR"


def state_of(aws: Aws, cluster: str) -> str | None:
    """Return EMR's state of a cluster; None if EMR does not know this id. Raises OperationFailed without an answer."""
    with translated(f"could not ask EMR whether {cluster} is running", "run the same command again"):
        try:
            return str(aws.emr.describe_cluster(ClusterId=cluster)["Cluster"]["Status"]["State"])
        except ClientError as error:
            if all(words in str(error) for words in FORGOTTEN):
                return None
            raise


def wait_for_end(cluster: str, read: Callable[[], tuple[str, bool]], say: Say) -> str:
    """Wait until a cluster that is being terminated has ended, and return a sentence. Raises OperationFailed.

    `read` returns its state in words, and whether this is an end.
    """
    state = ""
    for _ in turns(TERMINATION_SECONDS, FIRST_POLL_SECONDS, POLL_SECONDS):
        state, ended = read()
        if ended:
            return f"{cluster} is {state}"
        say(f"{cluster} is {state}")
    raise OperationFailed.of(
        where=f"cluster {cluster}",
        what=f"is still {state} after {TERMINATION_SECONDS / 60:.0f} minutes",
        why="EMR has not finished terminating it",
        fix="check it in the EMR console; run the same command again to continue waiting",
    )


def environment_cluster(aws: Aws, environment: Environment, cluster_name: str) -> EnvironmentCluster | None:
    """Return the cluster that the stack names, or else the launch record; None where none was launched.

    Raises Refused while the stack is being created, and where EMR does not know a cluster that it cannot have
    forgotten.
    """
    stack, record = cluster_stack(environment.name, cluster_name), launch_records(environment).get(cluster_name)
    with translated(
        f"could not read cluster {cluster_name}", "use credentials of the account in which it was deployed"
    ):
        status = status_of(aws, stack)
        if status is not None and status.endswith("_IN_PROGRESS") and not status.startswith(("REVIEW", "DELETE")):
            raise Refused.of(
                where=f"stack {stack}",
                what=f"is {status}",
                why="the id of its cluster is not known yet",
                fix="wait until CloudFormation has finished, and run the same command again",
            )
        resources = (
            [] if status is None else aws.cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
        )
    launches = {
        identity: resource["Timestamp"].isoformat()
        for resource in resources
        if resource["ResourceType"] == CLUSTER_TYPE and (identity := resource.get("PhysicalResourceId"))
    }
    identity = next(iter(launches), record.cluster_id if record else None)
    if identity is None:
        return None
    # The last change of the stack's resource is later than the launch, so it never makes a cluster look older.
    is_recorded = record is not None and record.cluster_id == identity
    launch_time = record.launched_at if record and is_recorded else launches[identity]
    cluster = EnvironmentCluster(id=identity, launch_time=launch_time, state=state_of(aws, identity))
    if cluster.state is None and not cluster.has_ended:
        raise Refused(unknown_cluster(aws, f"cluster {identity}", launch_time))
    return cluster


def unknown_cluster(aws: Aws, where: str, launch_time: str) -> Problem:
    """Return the problem of a cluster that EMR does not know, although it cannot have forgotten it."""
    return Problem(
        where=where,
        what=f"is not known to EMR in account {aws.account}, region {aws.region}",
        why="EMR lists a cluster until two months after its end, and this one dates from"
        f" {launch_time or 'an unknown day'}: either it runs in another account or region, or no cluster with this id"
        " was ever launched",
        fix="use credentials of the account and region in which it was launched; if its record or claim names a"
        " cluster that never existed, restore the record from version control, or write it again: warmbase pin",
    )
