"""The stack of one cluster of HBase over the environment's root."""

from __future__ import annotations

from aws_cdk import aws_emr as emr
from constructs import Construct

from configurations.bootstrap import actions
from configurations.launch import APPLICATIONS, Launch
from configurations.planned_spec import planned_spec
from emr.codecs.cloudformation import write_classifications
from environments.launch_record import LaunchRecord
from sizing.plan import PrimaryGroup
from stacks.boost import BoostSchedules
from stacks.emr_cluster import EmrClusterStack, EngineProperties, typed
from stacks.kerberos import attributes
from stacks.network import NetworkStack
from stacks.roles import Roles, RootAccess
from stacks.storage import StorageStack


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
