"""A stack as CloudFormation describes it, its events, and the cluster that it or a launch record names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Final, Literal

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_state import has_ended, is_running
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import launch_records
from warmbase.environments.names import cluster_stack
from warmbase.ground.errors import OperationFailed, Problem, Refused
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say, turns

# judgement: EMR gives up on a cluster that does not start within the hour; a stack waits for that.
LONGEST_SECONDS: Final = 5400.0
FIRST_POLL_SECONDS: Final = 0.2
STACK_POLL_SECONDS: Final = 5.0


def described_stack(aws: Aws, stack: str) -> Mapping[str, Any] | None:
    """Return CloudFormation's description of a stack; None where it does not exist. Raises botocore's errors."""
    try:
        [description] = aws.cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    stack_fields: Mapping[str, Any] = description
    return None if stack_fields["StackStatus"] == "DELETE_COMPLETE" else stack_fields


def status_of(aws: Aws, stack: str) -> str | None:
    """Return the status of a stack; None where it does not exist. Raises botocore's errors."""
    description = described_stack(aws, stack)
    return None if description is None else str(description["StackStatus"])


def template_of(aws: Aws, stack: str) -> Mapping[str, Any]:
    """Return the template of a stack as it is deployed. Raises botocore's errors."""
    body: Any = aws.cloudformation.get_template(StackName=stack, TemplateStage="Processed")["TemplateBody"]
    template: Mapping[str, Any] = json.loads(body) if isinstance(body, str) else body
    return template


class Events:
    """The events of one stack from now on, or, unless all is seen, of its last operation."""

    def __init__(self, aws: Aws, stack: str, *, only_new: bool = True) -> None:
        self._aws = aws
        self._stack = stack
        self._past_ids = {event["EventId"] for event in self.every()} if only_new else set[str]()

    def followed(self, say: Say) -> str | None:
        """The status in which it ends; each event is said. Raises OperationFailed where it goes on for too long."""
        status, began = None, not self._past_ids
        for _ in turns(LONGEST_SECONDS, FIRST_POLL_SECONDS, STACK_POLL_SECONDS):
            # Asked for before its events: what it says has its event.
            status = status_of(self._aws, self._stack)
            new = list(takewhile(lambda event: event["EventId"] not in self._past_ids, self.every()))
            self._past_ids.update(event["EventId"] for event in new)
            for event in reversed(new):
                began, why = True, event.get("ResourceStatusReason")
                reason = f": {why}" if why and event["ResourceStatus"].endswith("FAILED") else ""
                say(f"{event['LogicalResourceId']} {event['ResourceStatus']}{reason}")
            if status is None or (began and not status.endswith("_IN_PROGRESS")):
                return status
        raise OperationFailed.of(
            where=f"stack {self._stack}",
            what=f"is still {status} after {LONGEST_SECONDS / 60:.0f} minutes",
            why="CloudFormation has not finished",
            fix="check its events in the console; run the same command again to continue waiting",
        )

    @property
    def begun(self) -> bool:
        """Return whether anything has happened since."""
        newest = next(iter(self.every()), None)
        return newest is not None and newest["EventId"] not in self._past_ids

    def failures(self) -> list[str]:
        """Why the last operation failed: the resources that failed first, as CloudFormation says it."""
        last: list[Mapping[str, Any]] = []
        for event in self.every():
            last.append(event)
            if event.get("ResourceStatusReason") == "User Initiated":
                break
        reasons = [
            f"{event['LogicalResourceId']}, {event['ResourceType']}: {event.get('ResourceStatusReason', '')}"
            for event in reversed(last)
            if event["ResourceStatus"].endswith("_FAILED") and event["ResourceType"] != "AWS::CloudFormation::Stack"
        ]
        return [event for event in reasons if "cancelled" not in event][:3]

    def every(self) -> Iterator[Mapping[str, Any]]:
        """Yield every event, the newest first; none of a stack that is not there."""
        try:
            for page in self._aws.cloudformation.get_paginator("describe_stack_events").paginate(StackName=self._stack):
                events: Any = page["StackEvents"]
                yield from events
        except ClientError as error:
            if "does not exist" not in str(error):
                raise


def delete_stack(aws: Aws, stack: str, say: Say) -> str:
    """Delete a stack, whose template retains buckets and keys; return the outcome in words. Raises OperationFailed."""
    status = status_of(aws, stack)
    if status is None:
        return "there is none"
    events = Events(aws, stack)
    if not status.startswith("DELETE_IN_PROGRESS"):
        aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
        aws.cloudformation.delete_stack(StackName=stack)
    ended = events.followed(say)
    if ended is not None:
        why = "\n".join(events.failures()) or "CloudFormation gave no reason"
        raise OperationFailed.of(
            where=f"stack {stack}",
            what=f"ended {ended}",
            why=why,
            fix="delete the resources that the lines above name, then run the same command again",
        )
    return "deleted"


TERMINATION_SECONDS: Final = 3600.0  # judgement: EMR ends a cluster in minutes

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


def running_nodes(aws: Aws, cluster: str, *groups: Literal["CORE", "MASTER", "TASK"]) -> list[str]:
    """Return the EC2 ids of the running nodes, by default of every group. Raises botocore's errors."""
    filters: Any = {"InstanceGroupTypes": [*groups]} if groups else {}
    paginator = aws.emr.get_paginator("list_instances")
    nodes = entries(paginator, "Instances", ClusterId=cluster, InstanceStates=["RUNNING"], **filters)
    return [node["Ec2InstanceId"] for node in nodes]


def core_nodes(aws: Aws, cluster: str, *states: str) -> list[Any]:
    """Return EMR's descriptions of the core nodes in these states, or in any. Raises botocore's errors."""
    filters = {"InstanceStates": states} if states else {}
    paginator = aws.emr.get_paginator("list_instances")
    return entries(paginator, "Instances", ClusterId=cluster, InstanceGroupTypes=["CORE"], **filters)


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
