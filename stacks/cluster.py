"""The stack of one cluster of HBase over the environment's root.

It also has the means by which a boost ends: the group of its schedules, and the role with which they restore raised
volumes. The cluster refers to neither, so that a cluster of an earlier version gets both with its next deployment, and
keeps running.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_emr as emr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from warmbase.configurations.bootstrap import actions
from warmbase.configurations.launch import APPLICATIONS, Launch, planned_spec
from warmbase.emr.cloudformation import write_classifications
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import BOOST_ROLE, BOOST_TAG, boost_group
from warmbase.sizing.plan import PrimaryGroup
from warmbase.stacks.emr_cluster import EmrClusterStack, EngineProperties, typed
from warmbase.stacks.kerberos import attributes
from warmbase.stacks.nag_suppressions import suppress
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.roles import Roles, RootAccess, allow, resources_arn
from warmbase.stacks.storage import StorageStack


class ClusterStack(EmrClusterStack):
    """One EMR cluster with HBase."""

    def __init__(
        self,
        scope: Construct,
        launch: Launch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> None:
        """Define the cluster from the plan or, once it is launched, from its record alone."""
        super().__init__(scope, launch, record)
        environment, plan = launch.environment, launch.plan
        access = RootAccess.WRITER
        if environment.clusters[plan.cluster].role == "replica":
            confined = self._recorded is None or self._recorded.watches_claim
            access = RootAccess.REPLICA if confined else RootAccess.UNCONFINED_REPLICA
        roles = Roles(self, self._granted, storage, self._role_name, access)
        self.cluster = self._create(roles, network, storage, _properties(launch))
        if environment.mode.has_bucket_cache:
            BoostSchedules(self, plan.environment, plan.cluster)


def _properties(launch: Launch) -> EngineProperties:
    return EngineProperties(
        groups=planned_spec(launch).groups,
        applications=APPLICATIONS,
        actions=actions(launch),
        more={
            "configurations": typed(write_classifications(launch.settings.cluster)),
            "placement_group_configs": _placement(launch.plan.primary),
            "kerberos_attributes": attributes(launch.environment.kerberos),
        },
    )


def _placement(primary: PrimaryGroup) -> list[emr.CfnCluster.PlacementGroupConfigProperty] | None:
    """Spread three primaries over different hardware."""
    if primary.count == 1:
        return None
    return [emr.CfnCluster.PlacementGroupConfigProperty(instance_role="MASTER", placement_strategy="SPREAD")]


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
