"""The data that ended with a cluster that no teardown has shut down, and the mark of a teardown that lost nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from botocore.exceptions import ClientError

from environments.environment import Environment, Wal
from operations.aws import Aws
from operations.aws_errors import translated
from operations.environment_cluster import EnvironmentCluster
from sizing.problem import Refused

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
    loss = _loss(environment, cluster_name)
    if loss is None or not cluster.has_ended or _is_complete(aws, cluster):
        return
    raise Refused.of(
        where=f"cluster {cluster.id}",
        what=f"is {cluster.state_text}, and no teardown of warmbase has shut it down: {loss}",
        why="nobody can bring this data back; after the teardown, only your writers know what they wrote last",
        fix="find out which of the last writes are missing, and load them again; to continue, repeat the cluster's"
        f" id: --accept-loss {cluster.id}",
    )


def _loss(environment: Environment, cluster_name: str) -> str | None:
    """Return the data that ends with a cluster of this kind; None where none does."""
    if environment.role(cluster_name) != "active":
        return None
    if environment.mode.needs_export:
        return "all its data was on its nodes and ended with them, except what you exported"
    if environment.wal is Wal.HDFS:
        return "its write-ahead log was on its nodes, so every write since the last flush of a table ended with them"
    return None


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
