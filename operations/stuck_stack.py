"""Stacks in which no update can begin, and the way out; a cluster that runs in such a stack is never deleted with it.

A cluster stack whose creation failed can hold a cluster that runs and writes: with rollback disabled, or where the
cluster's deletion failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emr.cluster_state import ENDED
from operations.aws import Aws
from operations.deployed_stack import Events, status_of
from operations.description import stack_cluster
from operations.failed_launch import NEVER_SERVED
from operations.progress import Say
from sizing.problem import OperationFailed

UNPROTECT: Final = (
    "aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {stack}"
)
DELETE: Final = "aws cloudformation delete-stack --stack-name {stack}"
STUCK: Final[Mapping[str, tuple[str, str]]] = {
    "ROLLBACK_COMPLETE": ("its creation failed, and all its resources were removed", f"{UNPROTECT} && {DELETE}"),
    "ROLLBACK_FAILED": ("its creation failed, and some of its resources remain", f"{UNPROTECT} && {DELETE}"),
    "CREATE_FAILED": ("its creation failed, and the resources created so far were kept", f"{UNPROTECT} && {DELETE}"),
    "DELETE_FAILED": ("its deletion failed, and some of its resources remain", DELETE),
    "UPDATE_FAILED": (
        "an update failed, and rollback was disabled",
        "aws cloudformation rollback-stack --stack-name {stack}",
    ),
    "UPDATE_ROLLBACK_FAILED": (
        "an update failed, and so did its rollback",
        "aws cloudformation continue-update-rollback --stack-name {stack}",
    ),
}
"""By status: what it means, and the command that ends it. No update can begin in these states."""


CLUSTER_STACK: Final = "-cluster"
"""The end of the name of each cluster's stack; what precedes it is the name of the cluster in EMR."""


def wait_until_stable(aws: Aws, stack: str, say: Say) -> str | None:
    """Return the status once nothing is under way. Raises OperationFailed for one in which no update can begin."""
    status = status_of(aws, stack)
    if status is not None and _under_way(status):
        say(f"{stack} is {status}: waiting until that ends")
        status = Events(aws, stack, only_new=False).followed(say)
    if status is not None and status in STUCK:
        raise _stuck(aws, stack, status)
    return status


def way_out(aws: Aws, stack: str, status: str) -> tuple[str, str]:
    """Return what a stuck status means, and how to end it. Raises botocore's errors.

    While a cluster of the stack runs, the way out is its teardown, because deleting the stack would end the cluster
    without flushing its data and leave its claim behind. One that never served holds no data.
    """
    means, command = STUCK[status]
    running = dict(_running(aws, stack)) if DELETE in command else {}
    if not running:
        return means, f"run {command.format(stack=stack)}, then run the same command again"
    means += "".join(f"; cluster {cluster} is {state}" for cluster, state in running.items())
    if NEVER_SERVED.issuperset(running.values()):
        return means, "run `warmbase deploy ENV`, which asks, ends the cluster and deletes the stack"
    cluster_name = stack.removesuffix(CLUSTER_STACK).rpartition("-")[2]
    teardown = f"warmbase teardown ENV {cluster_name}"
    if stack_cluster(aws, stack) in running:
        return means, f"do not delete the stack; write the launch record (warmbase pin ENV), then run {teardown}"
    unlisted = "do not delete the stack, which no longer lists the cluster"
    return means, f"{unlisted}; stop the clients, terminate the cluster, then run {teardown}"


def _running(aws: Aws, stack: str) -> Iterator[tuple[str, str]]:
    """Yield each cluster of the stack that may run, with its state: those that it lists, and those of its name."""
    if not stack.endswith(CLUSTER_STACK):
        return
    name, identity = stack.removesuffix(CLUSTER_STACK), stack_cluster(aws, stack)
    for page in aws.emr.get_paginator("list_clusters").paginate():
        for cluster in page["Clusters"]:
            is_ours = cluster["Id"] == identity or cluster["Name"] == name
            if is_ours and cluster["Status"]["State"] not in ENDED:
                yield cluster["Id"], cluster["Status"]["State"]


def _under_way(status: str) -> bool:
    """Return whether CloudFormation is at work; a stack in review waits for somebody else."""
    return status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS"


def _stuck(aws: Aws, stack: str, status: str) -> OperationFailed:
    means, way = way_out(aws, stack, status)
    why = "\n".join(Events(aws, stack, only_new=False).failures()) or "CloudFormation no longer lists the reason"
    return OperationFailed.of(
        where=f"stack {stack}",
        what=f"is {status}: {means}",
        why=why,
        fix=f"fix the cause that the lines above name, and {way}",
    )
