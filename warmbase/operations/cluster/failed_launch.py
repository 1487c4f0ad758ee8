"""Failed launches without a launch record: what remains of them and costs money, and how to remove it.

EMR itself protects a cluster with three primaries from termination, keeps its nodes if its start fails, and refuses its
deletion: CloudFormation's rollback then fails, too, or leaves the cluster behind. A cluster that may have served
(RUNNING, WAITING, or a state that is not known here) is never ended; its way out is a launch record and a teardown.

A stack whose creation failed is one in which no update can begin, and can hold a cluster that runs and writes: with
rollback disabled, or where the cluster's deletion failed. `way_out` says how to leave that state; such a cluster is
never deleted with its stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_state import ENDED, has_ended
from warmbase.environments.environment import EMR_TAG, Environment
from warmbase.environments.launch_record import launch_records
from warmbase.environments.names import cluster_id_parameter, cluster_stack, emr_cluster_name
from warmbase.facts.prices import price_table
from warmbase.ground.errors import OperationFailed, Refused
from warmbase.ground.units import HOURS_PER_MONTH, format_usd
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import translated
from warmbase.operations.aws.progress import Say, Stage
from warmbase.operations.cluster.description import described_groups, stack_cluster
from warmbase.operations.cluster.stack import Events, delete_stack, state_of, status_of, wait_for_end
from warmbase.sizing.cost import BilledGroup, nodes_usd
from warmbase.sizing.requirements import Volume

NEVER_SERVED: Final = frozenset({"STARTING", "BOOTSTRAPPING", "TERMINATING"})
"""The states of a cluster that has not started. EMR's documents do not say which one a protected cluster shows after
its bootstrap failed."""
CREATION_FAILED: Final = frozenset(
    {"CREATE_FAILED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}
    | {"DELETE_IN_PROGRESS", "DELETE_FAILED"}
)
"""The states of a stack that can only be deleted."""
STUCK_UPDATE: Final = "UPDATE_ROLLBACK_FAILED"
ENDING: Final = ("ROLLBACK", "UPDATE_ROLLBACK", "DELETE")
"""The beginnings of the states in which CloudFormation removes what it has just made."""
STACK_TAG: Final = "aws:cloudformation:stack-name"


class FailedLaunch(Struct, frozen=True, kw_only=True):
    """The stack that a failed launch left, and its cluster with its nodes; `cluster` is None if it has ended.

    `usd_per_hour` is the list price of its nodes with their volumes; None where a price is not known.
    """

    cluster_name: str
    stack: str
    stack_status: str
    cluster: str | None = None
    state: str | None = None
    nodes: str = ""
    usd_per_hour: float | None = None
    why: tuple[str, ...] = ()
    """The reasons that CloudFormation gives."""

    @property
    def text(self) -> str:
        """Return what remains, in a sentence."""
        stack = f"stack {self.stack} is {self.stack_status}"
        if self.cluster is None:
            return f"the launch of cluster {self.cluster_name} failed: {stack}, and no node of that launch remains"
        usd = (
            "" if self.usd_per_hour is None else f", {format_usd(self.usd_per_hour)} an hour at list prices (estimate)"
        )
        return (
            f"the launch of cluster {self.cluster_name} failed: {self.cluster} is {self.state} and may keep its nodes"
            f" ({self.nodes}{usd}); {stack}"
        )


def find_failed_launches(aws: Aws, environment: Environment) -> tuple[FailedLaunch, ...]:
    """Return what remains of failed launches of the environment's clusters.

    A cluster counts only if its stack launched it, its name and tags are this environment's, neither a launch record
    nor the parameter with the cluster's id names it, and its state shows that it never served. Raises OperationFailed
    where AWS does not answer, InvalidInput for a launch record that was edited.
    """
    with translated(f"could not look for failed launches of {environment.name}", "run the same command again"):
        all_clusters = entries(aws.emr.get_paginator("list_clusters"), "Clusters")
        clusters = [one for one in all_clusters if one["Status"]["State"] not in ENDED]
        launches = []
        for cluster_name in environment.cluster_names:
            stack, record = cluster_stack(environment.name, cluster_name), launch_records(environment).get(cluster_name)
            status = status_of(aws, stack)
            if status is None or (status.endswith("_IN_PROGRESS") and not status.startswith(ENDING)):
                continue
            name, recorded = emr_cluster_name(environment.name, cluster_name), record.cluster_id if record else None
            named = [one for one in clusters if one["Name"] == name and one["Id"] != recorded]
            is_stuck = status == STUCK_UPDATE or (record is None and status in CREATION_FAILED)
            if not named and not is_stuck:
                continue
            events = Events(aws, stack, only_new=False)
            listed = {one.get("PhysicalResourceId") for one in events.every() if one["ResourceType"] == CLUSTER_TYPE}
            why = tuple(dict.fromkeys(events.failures()))
            remainder = FailedLaunch(cluster_name=cluster_name, stack=stack, stack_status=status, why=why)
            alive = {one["Id"]: one["Status"]["State"] for one in named if one["Id"] in listed}
            failed = [
                replace(remainder, cluster=identity, state=state)
                for identity, state in alive.items()
                if state in NEVER_SERVED and _is_ours(aws, environment, cluster_name, identity)
            ]
            launches += [_priced(aws, environment, launch) for launch in failed]
            # An update can fail for many reasons; what concerns a launch is the failure of its cluster.
            is_remainder = CLUSTER_TYPE in " ".join(why) if status == STUCK_UPDATE else not alive
            if is_stuck and is_remainder and not failed:
                launches.append(remainder)
        return tuple(launches)


def _priced(aws: Aws, environment: Environment, failed: FailedLaunch) -> FailedLaunch:
    """Add the nodes of the failed cluster, and their price, to the launch."""
    prices, groups = price_table(environment.region), []
    for described in described_groups(aws, str(failed.cluster)).values():
        volumes = tuple(
            Volume(
                purpose="data",
                type=volume.type or "gp3",
                count=volume.count,
                size_gib=volume.size_gib or 0,
                iops=volume.iops or 0,
                throughput_mib_s=volume.throughput_mib_s or 0,
            )
            for volume in described.group.volumes
        )
        instance_type, count = described.instance_type, described.count
        groups.append(BilledGroup(role=described.group.role, instance_type=instance_type, count=count, volumes=volumes))
    is_priced = all(group.instance_type in prices.compute for group in groups)
    nodes = ", ".join(f"{group.count} x {group.instance_type}" for group in groups)
    usd_per_hour = nodes_usd(groups, prices) / HOURS_PER_MONTH if is_priced else None
    return replace(failed, nodes=nodes, usd_per_hour=usd_per_hour)


def _is_ours(aws: Aws, environment: Environment, cluster_name: str, identity: str) -> bool:
    """Return whether no launched cluster's parameter names it, and its tags fit the file and the stack."""
    with suppress(aws.ssm.exceptions.ParameterNotFound):
        parameter = aws.ssm.get_parameter(Name=cluster_id_parameter(environment.name, cluster_name))
        if parameter["Parameter"]["Value"] == identity:
            return False
    listed = aws.emr.describe_cluster(ClusterId=identity)["Cluster"].get("Tags", [])
    tags = {tag["Key"]: tag["Value"] for tag in listed}
    expected = {EMR_TAG: "true", STACK_TAG: cluster_stack(environment.name, cluster_name), **environment.tags}
    return EMR_TAG in tags and all(tags.get(key, value) == value for key, value in expected.items())


def end_failed_launch(aws: Aws, environment: Environment, failed: FailedLaunch) -> Iterator[Stage]:
    """Yield the steps that end the cluster and then its stack, each of which can be repeated. Hold the lock."""
    verb = "delete" if failed.stack_status in CREATION_FAILED else "check the rollback of"
    end, delete = f"end {failed.cluster}, whose launch failed", f"{verb} stack {failed.stack}"

    def end_cluster(say: Say) -> str:
        # Lift the protection of exactly this cluster, terminate it, and wait for its end.
        identity = str(failed.cluster)
        with translated(f"could not {end}", "run the same command again to continue"):
            if (state := state_of(aws, identity)) in ENDED:
                return f"{identity} is {state}"
            if identity not in {one.cluster for one in find_failed_launches(aws, environment)}:
                raise Refused.of(
                    where=f"cluster {identity}",
                    what=f"is {state}, and no longer what remains of a failed launch",
                    why="it may have started meanwhile, or somebody has recorded it",
                    fix="run the same command again, and review what it proposes",
                )
            aws.emr.set_termination_protection(JobFlowIds=[identity], TerminationProtected=False)
            aws.emr.terminate_job_flows(JobFlowIds=[identity])

            def read() -> tuple[str, bool]:
                now = state_of(aws, identity)
                return now or "unknown to EMR", has_ended(now, "")

            return wait_for_end(identity, read, say)

    def delete_failed(say: Say) -> str:
        # Delete a stack whose creation failed, or continue the rollback of an update.
        stack = failed.stack
        with translated(f"could not {delete}", "run the same command again to continue"):
            record, status = launch_records(environment).get(failed.cluster_name), status_of(aws, stack)
            if status is not None and status.endswith("_IN_PROGRESS"):
                say(f"{stack} is {status}: waiting until that ends")
                status = Events(aws, stack, only_new=False).followed(say)
            if status == STUCK_UPDATE:
                events = Events(aws, stack)
                aws.cloudformation.continue_update_rollback(StackName=stack)
                status = events.followed(say)
            if status not in CREATION_FAILED:
                return f"{stack} is {status}" if status else "there is none"
            remaining = stack_cluster(aws, stack)
            if remaining is not None and (
                (record is not None and record.cluster_id == remaining) or state_of(aws, remaining) not in ENDED
            ):
                raise Refused.of(
                    where=f"stack {stack}",
                    what=f"is not deleted: it holds cluster {remaining}",
                    why="the cluster has not ended, or a launch record names it",
                    fix="run the same command again, and review what it proposes",
                )
            return delete_stack(aws, stack, say)

    if failed.cluster is not None:
        yield Stage(title=end, act=end_cluster)
    yield Stage(title=delete, act=delete_failed)


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
    # A stack in review waits for somebody else.
    if status is not None and status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        say(f"{stack} is {status}: waiting until that ends")
        status = Events(aws, stack, only_new=False).followed(say)
    if status is not None and status in STUCK:
        means, way = way_out(aws, stack, status)
        why = "\n".join(Events(aws, stack, only_new=False).failures()) or "CloudFormation no longer lists the reason"
        raise OperationFailed.of(
            where=f"stack {stack}",
            what=f"is {status}: {means}",
            why=why,
            fix=f"fix the cause that the lines above name, and {way}",
        )
    return status


def way_out(aws: Aws, stack: str, status: str) -> tuple[str, str]:
    """Return what a stuck status means, and how to end it. Raises botocore's errors.

    While a cluster of the stack runs, the way out is its teardown, because deleting the stack would end the cluster
    without flushing its data and leave its claim behind. One that never served holds no data.
    """
    means, command = STUCK[status]
    running: dict[str, str] = {}
    if DELETE in command and stack.endswith(CLUSTER_STACK):
        # Find the clusters that may still run: the one that the stack lists, and those with its name.
        name, identity = stack.removesuffix(CLUSTER_STACK), stack_cluster(aws, stack)
        for cluster in entries(aws.emr.get_paginator("list_clusters"), "Clusters"):
            is_ours = cluster["Id"] == identity or cluster["Name"] == name
            if is_ours and cluster["Status"]["State"] not in ENDED:
                running[cluster["Id"]] = cluster["Status"]["State"]
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
