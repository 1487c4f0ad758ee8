"""The end of a boost: the group of its schedules, and the role with which they restore raised volumes.

The cluster refers to neither, so that a cluster of an earlier version gets both with its next deployment, and keeps
running.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from environments.names import BOOST_ROLE, BOOST_TAG, boost_group
from stacks.nag_suppressions import suppress
from stacks.roles import allow, resources_arn

EVERY_VOLUME = "IAM5[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:volume/*]"


class BoostSchedules(Construct):
    """The schedule group, whose deletion deletes the schedules in it, and their role."""

    def __init__(self, scope: Construct, environment: str, cluster_name: str) -> None:
        super().__init__(scope, "Boost")
        group = boost_group(environment, cluster_name)
        scheduler.CfnScheduleGroup(self, "Group", name=group)
        # EventBridge Scheduler User Guide, cross-service-confused-deputy-prevention.
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        role = iam.Role(
            self,
            "Role",
            description="Schedules that take the cache volumes of a warmbase cluster back after a boost",
            assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=account),
        )
        resource = role.node.default_child
        assert isinstance(resource, iam.CfnRole)  # noqa: S101 - for mypy
        resource.override_logical_id(BOOST_ROLE)
        tagged = {"StringEquals": {f"aws:ResourceTag/{BOOST_TAG}": group}}
        allow(role, "VolumesBack", ["ec2:ModifyVolume"], resources_arn("ec2", "volume"), conditions=tagged)
        suppress(role, EVERY_VOLUME)
