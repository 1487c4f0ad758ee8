"""The stack of one analytics cluster: Trino on EMR, with its roles. It neither reads nor writes the HBase root."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_emr as emr
from aws_cdk import aws_ssm as ssm
from constructs import Construct
from msgspec.structs import replace

from configurations.engines.trino.bootstrap import actions
from configurations.engines.trino.rendering import APPLICATIONS, TrinoLaunch, trino_spec
from environments.launch_record import LaunchRecord
from environments.names import cluster_id_parameter, cluster_stack, emr_cluster_name
from sizing.cost import EMR_ROOT_VOLUME
from stacks.app import environment_stack, tag
from stacks.bootstrap import BootstrapActions, RecordedBootstrap
from stacks.cluster import instances, security_settings
from stacks.engines.trino.roles import TrinoRoles
from stacks.nag_suppressions import suppress
from stacks.network import NetworkStack
from stacks.pinned import RecordedCluster, apply_record
from stacks.storage import StorageStack


class TrinoClusterStack(cdk.Stack):
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
        environment, plan = launch.environment, launch.plan
        super().__init__(
            scope,
            cluster_stack(plan.environment, plan.cluster),
            env=environment_stack(environment),
            termination_protection=True,
        )
        tag(self, environment)
        recorded = None if record is None else RecordedCluster(record, self.stack_name)
        certificates = environment.certificates if recorded is None else recorded.certificates
        name = emr_cluster_name(plan.environment, plan.cluster)
        data = environment.analytics[plan.cluster].data
        granted = replace(environment, certificates=certificates)
        self._roles = TrinoRoles(self, granted, storage, f"{name}-{environment.region}", data)
        self.cluster = self._cluster(launch, network, storage, recorded)
        suppress(self.cluster, "EMR4", "EMR5", "EMR6")
        for role in (self._roles.nodes, self._roles.service):
            self.cluster.node.add_dependency(role.node.find_child("DefaultPolicy"))
        parameter = cluster_id_parameter(plan.environment, plan.cluster)
        ssm.StringParameter(self, "ClusterId", parameter_name=parameter, string_value=self.cluster.ref)

    def _cluster(
        self, launch: TrinoLaunch, network: NetworkStack, storage: StorageStack, recorded: RecordedCluster | None
    ) -> emr.CfnCluster:
        plan = launch.plan
        security = security_settings(launch.environment, storage) if recorded is None else recorded.security
        cluster = emr.CfnCluster(
            self,
            "Cluster",
            name=emr_cluster_name(plan.environment, plan.cluster),
            service_role=self._roles.service.role_arn,
            job_flow_role=self._roles.profile.ref,
            security_configuration=emr.CfnSecurityConfiguration(self, "Security", security_configuration=security).ref,
            log_uri=f"s3://{storage.logs.bucket_name}/emr/",
            instances=instances(trino_spec(launch).groups if recorded is None else (), network),
            step_concurrency_level=1,
            visible_to_all_users=True,
            **self._planned(launch) if recorded is None else {},
        )
        if recorded is not None:
            RecordedBootstrap(self, recorded.record, self._roles.nodes)
            apply_record(cluster, recorded.cluster)
        return cluster

    def _planned(self, launch: TrinoLaunch) -> dict[str, Any]:
        """Return the properties, besides instances, that a cluster keeps for good once it is launched."""
        return {
            "release_label": launch.plan.release,
            "os_release_label": launch.environment.os_release,
            "applications": [emr.CfnCluster.ApplicationProperty(name=application) for application in APPLICATIONS],
            "bootstrap_actions": BootstrapActions(self, actions(launch), self._roles.nodes).actions,
            "scale_down_behavior": "TERMINATE_AT_TASK_COMPLETION",
            "ebs_root_volume_size": EMR_ROOT_VOLUME.size_gib,
            "ebs_root_volume_iops": EMR_ROOT_VOLUME.iops,
            "ebs_root_volume_throughput": EMR_ROOT_VOLUME.throughput_mib_s,
        }
