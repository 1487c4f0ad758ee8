"""The stack of one analytics cluster: Trino on EMR, with its roles. It neither reads nor writes the HBase root."""

from __future__ import annotations

from constructs import Construct

from configurations.engines.trino.bootstrap import actions
from configurations.engines.trino.rendering import APPLICATIONS, TrinoLaunch, trino_spec
from environments.launch_record import LaunchRecord
from stacks.emr_cluster import EmrClusterStack, EngineProperties
from stacks.engines.trino.roles import TrinoRoles
from stacks.network import NetworkStack
from stacks.storage import StorageStack


class TrinoClusterStack(EmrClusterStack):
    """One EMR cluster with Trino."""

    def __init__(
        self,
        scope: Construct,
        launch: TrinoLaunch,
        network: NetworkStack,
        storage: StorageStack,
        record: LaunchRecord | None = None,
    ) -> None:
        """Define the cluster from the plan or, once it is launched, from its record alone."""
        super().__init__(scope, launch, record)
        data = launch.environment.analytics[launch.plan.cluster].data
        roles = TrinoRoles(self, self._granted, storage, self._role_name, data)
        properties = EngineProperties(
            groups=trino_spec(launch).groups, applications=APPLICATIONS, actions=actions(launch)
        )
        self.cluster = self._create(roles, network, storage, properties)
