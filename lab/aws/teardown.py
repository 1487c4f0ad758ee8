"""Removing what was deployed to a local AWS. Protection is lifted here and nowhere else: loopback only."""

from __future__ import annotations

from lab.aws.server import LocalAws, refuse_remote
from operations.aws import Aws

__all__ = ["lift_protection", "remaining_stacks", "root_buckets"]


def lift_protection(local: LocalAws, environment: str, cluster_id: str) -> tuple[str, ...]:
    """Ends the termination protection of the cluster and of the environment's stacks; returns their names.

    Raises InvalidInput for an endpoint that is not on this machine.
    """
    refuse_remote(local.endpoint)
    aws = Aws(local.environment)
    aws.emr.set_termination_protection(JobFlowIds=[cluster_id], TerminationProtected=False)
    stacks = remaining_stacks(aws, environment)
    for stack in stacks:
        aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    return (cluster_id, *stacks)


def remaining_stacks(aws: Aws, environment: str) -> tuple[str, ...]:
    """The environment's stacks that are not deleted."""
    stacks = aws.cloudformation.describe_stacks()["Stacks"]
    return tuple(
        stack["StackName"]
        for stack in stacks
        if stack["StackName"].startswith(f"warmbase-{environment}-") and stack["StackStatus"] != "DELETE_COMPLETE"
    )


def root_buckets(aws: Aws, environment: str) -> tuple[str, ...]:
    """The environment's buckets."""
    buckets = aws.s3.list_buckets()["Buckets"]
    return tuple(bucket["Name"] for bucket in buckets if bucket["Name"].startswith(f"warmbase-{environment}-"))
