"""Removing what was deployed to a local AWS. Protection is lifted here and nowhere else: loopback only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_aws.server import LocalAws, refuse_remote
from operations.aws import Aws

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

__all__ = ["lift_protection", "remaining_stacks", "root_buckets"]


def lift_protection(local: LocalAws, environment: str, cluster_id: str) -> tuple[str, ...]:
    """Ends the termination protection of the cluster and of the environment's stacks; returns what had any.

    Raises InvalidInput for an endpoint that is not on this machine.
    """
    refuse_remote(local.endpoint)
    aws = Aws(local.environment)
    clusters = [cluster_id] if aws.emr.describe_cluster(ClusterId=cluster_id)["Cluster"]["TerminationProtected"] else []
    if clusters:
        aws.emr.set_termination_protection(JobFlowIds=clusters, TerminationProtected=False)
    stacks = [each["StackName"] for each in _stacks(aws, environment) if each.get("EnableTerminationProtection")]
    for stack in stacks:
        aws.cloudformation.update_termination_protection(StackName=stack, EnableTerminationProtection=False)
    return (*clusters, *stacks)


def remaining_stacks(aws: Aws, environment: str) -> tuple[str, ...]:
    """The environment's stacks that are not deleted."""
    return tuple(stack["StackName"] for stack in _stacks(aws, environment))


def _stacks(aws: Aws, environment: str) -> list[StackTypeDef]:
    return [
        stack
        for stack in aws.cloudformation.describe_stacks()["Stacks"]
        if stack["StackName"].startswith(f"warmbase-{environment}-") and stack["StackStatus"] != "DELETE_COMPLETE"
    ]


def root_buckets(aws: Aws, environment: str) -> tuple[str, ...]:
    """The environment's buckets."""
    buckets = aws.s3.list_buckets()["Buckets"]
    return tuple(bucket["Name"] for bucket in buckets if bucket["Name"].startswith(f"warmbase-{environment}-"))
