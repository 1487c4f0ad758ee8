"""The protection of what a deployment has made: against termination, deletion, replacement, and loss of unflushed data.

A cluster with one primary is protected from termination once it runs: if it were protected earlier, EMR would keep the
nodes of a launch that fails. EMR itself protects a cluster with three primaries from its launch on.

A teardown that lost nothing leaves a mark. `refuse_loss` names the data that ended with a cluster that no teardown has
shut down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.environments.environment import Environment, Wal
from warmbase.environments.names import cluster_stack, stacks_around, storage_stack
from warmbase.ground.errors import Refused
from warmbase.operations.aws.clients import Aws
from warmbase.operations.aws.errors import translated
from warmbase.operations.cluster.description import cluster_id
from warmbase.operations.cluster.stack import EnvironmentCluster, described_stack

SHUTDOWN: Final = "warmbase:shutdown"
"""The tag whose value is the time at which a cluster's data was verified to be complete; EMR keeps it two months."""
LONGEST_SHUTDOWN: Final = timedelta(hours=1)  # judgement: EMR ends a cluster within minutes of the request


def mark_complete(aws: Aws, identity: str) -> None:
    """Tag a cluster right before its termination, so that a teardown can be interrupted. Raises botocore's errors.

    A cluster that is not terminated after all goes on writing: the tag counts only if the cluster ends soon after it.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    aws.emr.add_tags(ResourceId=identity, Tags=[{"Key": SHUTDOWN, "Value": now}])


def unmark_complete(aws: Aws, identity: str) -> None:
    """Remove the tag of an earlier teardown from a cluster that goes on writing. Raises botocore's errors."""
    tags = aws.emr.describe_cluster(ClusterId=identity)["Cluster"].get("Tags", [])
    if any(tag["Key"] == SHUTDOWN for tag in tags):
        aws.emr.remove_tags(ResourceId=identity, TagKeys=[SHUTDOWN])


def refuse_loss(aws: Aws, environment: Environment, cluster_name: str, cluster: EnvironmentCluster) -> None:
    """Refuse to clear away an active cluster that ended by itself, where data ended with it."""
    loss = None
    if environment.role(cluster_name) == "active" and environment.mode.needs_export:
        loss = "all its data was on its nodes and ended with them, except what you exported"
    elif environment.role(cluster_name) == "active" and environment.wal is Wal.HDFS:
        loss = "its write-ahead log was on its nodes, so every write since the last flush of a table ended with them"
    if loss is None or not cluster.has_ended or _is_complete(aws, cluster):
        return
    raise Refused.of(
        where=f"cluster {cluster.id}",
        what=f"is {cluster.state_text}, and no teardown of warmbase has shut it down: {loss}",
        why="nobody can bring this data back; after the teardown, only your writers know what they wrote last",
        fix="find out which of the last writes are missing, and load them again; to continue, repeat the cluster's"
        f" id: --accept-loss {cluster.id}",
    )


def _is_complete(aws: Aws, cluster: EnvironmentCluster) -> bool:
    with translated(f"could not read the tags of {cluster.id}", "run the same command again"):
        try:
            described = aws.emr.describe_cluster(ClusterId=cluster.id)["Cluster"]
        except ClientError:
            if cluster.state is None:
                return False
            raise
    tags = {tag["Key"]: tag["Value"] for tag in described.get("Tags", [])}
    end = described["Status"]["Timeline"].get("EndDateTime")
    try:
        verified = datetime.fromisoformat(tags[SHUTDOWN])
        return end is not None and abs(end - verified) <= LONGEST_SHUTDOWN
    except (KeyError, ValueError, TypeError):
        return False


RETAINED_TYPES: Final = frozenset({"AWS::EMR::Cluster", "AWS::EMR::WALWorkspace", "AWS::KMS::Key", "AWS::S3::Bucket"})
"""The types that no change set may replace or remove: data, keys, and the cluster, because two corrupt the data."""
POLICY: Final[Mapping[str, Any]] = {
    "Statement": [
        {"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"},
        {
            "Effect": "Deny",
            "Action": ["Update:Replace", "Update:Delete"],
            "Principal": "*",
            "Resource": "*",
            "Condition": {"StringEquals": {"ResourceType": sorted(RETAINED_TYPES)}},
        },
    ]
}
"""The policy of each stack, which also stops a change that somebody deploys without warmbase."""


class Protection(Struct, frozen=True, kw_only=True):
    """The names of the protections that a cluster and its stacks should have, and whether each is in place."""

    facts: Mapping[str, bool]

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the names of those that are not in place."""
        return tuple(name for name, there in self.facts.items() if not there)


def read_protection(aws: Aws, environment: str, cluster_name: str) -> Protection:
    """Return the protection of a running cluster and of its stacks. Raises botocore's errors."""
    identity = cluster_id(aws, environment, cluster_name)
    cluster: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    facts = {f"termination protection of cluster {identity}": bool(cluster["TerminationProtected"])}
    return Protection(facts={**facts, **read_stack_protection(aws, environment, cluster_name).facts})


def read_stack_protection(aws: Aws, environment: str, cluster_name: str) -> Protection:
    """Return the protection of the stacks around a cluster that exist already. Raises botocore's errors."""
    facts: dict[str, bool] = {}
    for stack in stacks_around(environment, cluster_name):
        described = described_stack(aws, stack)
        if described is None or described["StackStatus"] == "REVIEW_IN_PROGRESS":
            continue
        facts[f"policy of stack {stack}"] = _protects(_policy(aws, stack))
        if stack in {storage_stack(environment), cluster_stack(environment, cluster_name)}:
            facts[f"termination protection of stack {stack}"] = bool(described.get("EnableTerminationProtection"))
    return Protection(facts=facts)


def protect(aws: Aws, environment: str, cluster_name: str) -> str:
    """Protect a cluster and the stacks that hold it and its data; return the outcome in a line.

    Raises OperationFailed where AWS does not answer.
    """
    with translated(f"could not protect cluster {cluster_name} from termination", "run the same command again"):
        missing = read_protection(aws, environment, cluster_name).missing
        unmark_complete(aws, cluster_id(aws, environment, cluster_name))
        for stack in stacks_around(environment, cluster_name):
            if f"policy of stack {stack}" in missing:
                protect_stack(aws, stack)
            if f"termination protection of stack {stack}" in missing:
                aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=True)
        identity = cluster_id(aws, environment, cluster_name)
        if f"termination protection of cluster {identity}" not in missing:
            return f"{identity} is already protected from termination"
        aws.emr.set_termination_protection(JobFlowIds=[identity], TerminationProtected=True)
        return f"{identity} is now protected from termination"


def protect_stack(aws: Aws, stack: str) -> None:
    """Add our refusals to the policy of a stack, unless it protects as much. Raises botocore's errors."""
    policy = _policy(aws, stack)
    if not _protects(policy):
        # What somebody else denies or allows stays: in a stack policy, a denial outweighs every permission.
        statements = [*(_statements(policy) or POLICY["Statement"][:1]), POLICY["Statement"][1]]
        aws.cloudformation.set_stack_policy(StackName=stack, StackPolicyBody=json.dumps({"Statement": statements}))


def _policy(aws: Aws, stack: str) -> Mapping[str, Any]:
    body = aws.cloudformation.get_stack_policy(StackName=stack).get("StackPolicyBody")
    policy: Mapping[str, Any] = json.loads(body) if body else {}
    return policy


def _protects(policy: Mapping[str, Any]) -> bool:
    """Return whether a policy denies what ours denies; a stricter one, such as a freeze of all updates, does."""
    for statement in _statements(policy):
        types = statement.get("Condition", {}).get("StringEquals", {}).get("ResourceType", ())
        values = (statement.get("Action", ()), statement.get("Resource", ()), types)
        # A policy may have a string in place of a list of strings.
        actions, resources, types = ({value} if isinstance(value, str) else set(value) for value in values)
        everything = "Update:*" in actions or {"Update:Replace", "Update:Delete"} <= actions
        every_type = "Condition" not in statement or types >= RETAINED_TYPES
        if statement.get("Effect") == "Deny" and everything and "*" in resources and every_type:
            return True
    return False


def _statements(policy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the statements of a policy, which may have one alone."""
    statements: Any = policy.get("Statement", ())
    return [statements] if isinstance(statements, Mapping) else list(statements)
