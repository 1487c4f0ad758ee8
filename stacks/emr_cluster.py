"""The stack of any EMR cluster: its roles, security configuration, instance groups and bootstrap actions.

Scripts and programs of bootstrap actions are assets named by their content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_emr as emr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as assets
from aws_cdk import aws_ssm as ssm
from constructs import Construct
from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.engine_facet import EngineLaunch
from warmbase.configurations.bootstrap import Action, program, script
from warmbase.emr.cloudformation import write_group
from warmbase.emr.cluster_spec import InstanceGroup
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord
from warmbase.environments.names import cluster_id_parameter, cluster_stack, emr_cluster_name
from warmbase.sizing.cost import EMR_ROOT_VOLUME
from warmbase.stacks.app import environment_stack, filled_in, tag
from warmbase.stacks.kerberos import authentication
from warmbase.stacks.nag_suppressions import suppress
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.pinned import RecordedCluster, apply_record
from warmbase.stacks.roles import Roles, allow, in_account
from warmbase.stacks.storage import StorageStack

ACRONYM: Final = re.compile(r"(?<=[A-Z])[A-Z]+")


class EngineProperties(Struct, frozen=True, kw_only=True):
    """The properties of a planned cluster that depend on its engine; `more` has those that only one engine sets."""

    groups: Sequence[InstanceGroup]
    applications: Sequence[str]
    actions: tuple[Action, ...]
    more: Mapping[str, Any] = {}


class EmrClusterStack(cdk.Stack):
    """One EMR cluster. The stack of each engine creates the roles, and then the cluster."""

    def __init__(self, scope: Construct, launch: EngineLaunch, record: LaunchRecord | None) -> None:
        """Begin the stack of a planned cluster or, once it is launched, of its record alone."""
        environment, plan = launch.environment, launch.plan
        super().__init__(
            scope,
            cluster_stack(plan.environment, plan.cluster),
            env=environment_stack(environment),
            termination_protection=True,
        )
        tag(self, environment)
        self._launch = launch
        self._name = emr_cluster_name(plan.environment, plan.cluster)
        self._role_name = f"{self._name}-{environment.region}"
        self._recorded = None if record is None else RecordedCluster(record, self.stack_name)
        certificates = environment.certificates if self._recorded is None else self._recorded.certificates
        self._granted = replace(environment, certificates=certificates)

    def _create(
        self, roles: Roles, network: NetworkStack, storage: StorageStack, properties: EngineProperties
    ) -> emr.CfnCluster:
        """Define the cluster with its security configuration, its bootstrap actions, and the parameter with its id."""
        environment, recorded = self._launch.environment, self._recorded
        security = security_settings(environment, storage) if recorded is None else recorded.security
        cluster = emr.CfnCluster(
            self,
            "Cluster",
            name=self._name,
            service_role=roles.service.role_arn,
            job_flow_role=roles.profile.ref,
            security_configuration=emr.CfnSecurityConfiguration(self, "Security", security_configuration=security).ref,
            # Also with a record: the record refers to an export, which exists only if something here refers to it.
            log_uri=f"s3://{storage.logs.bucket_name}/emr/",
            instances=instances(properties.groups if recorded is None else (), network),
            step_concurrency_level=1,
            visible_to_all_users=True,
            **self._planned(properties, roles) if recorded is None else {},
        )
        if recorded is not None:
            RecordedBootstrap(self, recorded.record, roles.nodes)
            apply_record(cluster, recorded.cluster)
        suppress(cluster, "EMR4", "EMR5", "EMR6")
        # Nodes use their policy as soon as they boot: a role without it fails the first bootstrap action.
        for role in (roles.nodes, roles.service):
            cluster.node.add_dependency(role.node.find_child("DefaultPolicy"))
        parameter = cluster_id_parameter(environment.name, self._launch.plan.cluster)
        ssm.StringParameter(self, "ClusterId", parameter_name=parameter, string_value=cluster.ref)
        return cluster

    def _planned(self, properties: EngineProperties, roles: Roles) -> dict[str, Any]:
        """Return the properties, besides instances, that a cluster keeps for good once it is launched."""
        applications = properties.applications
        return {
            "release_label": self._launch.plan.release,
            "os_release_label": self._launch.environment.os_release,
            "applications": [emr.CfnCluster.ApplicationProperty(name=application) for application in applications],
            "bootstrap_actions": BootstrapActions(self, properties.actions, roles.nodes).actions,
            "scale_down_behavior": "TERMINATE_AT_TASK_COMPLETION",
            "ebs_root_volume_size": EMR_ROOT_VOLUME.size_gib,
            "ebs_root_volume_iops": EMR_ROOT_VOLUME.iops,
            "ebs_root_volume_throughput": EMR_ROOT_VOLUME.throughput_mib_s,
            **properties.more,
        }


def security_settings(environment: Environment, storage: StorageStack) -> dict[str, Any]:
    """Return the security configuration: encryption, authentication, and the metadata service of the nodes."""
    at_rest: dict[str, Any] = {
        "S3EncryptionConfiguration": {"EncryptionMode": "SSE-KMS", "AwsKmsKey": storage.root_key_arn}
    }
    if environment.encrypt_local_disks:
        at_rest["LocalDiskEncryptionConfiguration"] = {
            "EncryptionKeyProviderType": "AwsKms",
            "AwsKmsKey": storage.key.key_arn,
            "EnableEbsEncryption": True,
        }
    in_transit: dict[str, Any] = {}
    if environment.certificates is not None:
        provider = {"CertificateProviderType": "PEM", "S3Object": environment.certificates}
        in_transit["InTransitEncryptionConfiguration"] = {"TLSCertificateConfiguration": provider}
    return {
        "EncryptionConfiguration": {
            "EnableInTransitEncryption": environment.certificates is not None,
            "EnableAtRestEncryption": True,
            "AtRestEncryptionConfiguration": at_rest,
            **in_transit,
        },
        "InstanceMetadataServiceConfiguration": {
            "MinimumInstanceMetadataServiceVersion": 2,
            "HttpPutResponseHopLimit": 1,
        },
        **authentication(environment.kerberos),
    }


def instances(nodes: Iterable[InstanceGroup], network: NetworkStack) -> emr.CfnCluster.JobFlowInstancesConfigProperty:
    """Return the network of the nodes, and their instance groups; none are given for a cluster that is launched.

    The template does not protect the cluster from termination: one with one primary whose launch fails must end with
    all its nodes, and `warmbase deploy` protects it once its launch is recorded. EMR protects one with three primaries
    from its launch on, whatever a template says (EMR Management Guide, emr-plan-ha-launch). If its launch fails, its
    nodes stay until somebody lifts the protection: warmbase/operations/cluster/failed_launch.py.
    """
    groups = network.security_groups
    templates = {group.role: typed(write_group(group)) for group in nodes}
    return emr.CfnCluster.JobFlowInstancesConfigProperty(
        ec2_subnet_id=network.subnet.subnet_id,
        emr_managed_master_security_group=groups.primary.security_group_id,
        emr_managed_slave_security_group=groups.core.security_group_id,
        service_access_security_group=groups.service.security_group_id,
        keep_job_flow_alive_when_no_steps=True,
        unhealthy_node_replacement=True,
        master_instance_group=templates.get("primary"),
        core_instance_group=templates.get("core"),
    )


def typed(value: object) -> cdk.IResolvable:
    """Return a property in CloudFormation's form as CDK takes it: CDK spells the keys in its own way."""
    return cdk.Token.as_any(_with_cdk_keys(value))


def _with_cdk_keys(value: object) -> object:
    """Return the same with `sizeInGb` for `SizeInGB` and so on; the names of a classification's properties stay."""
    if isinstance(value, list):
        return [_with_cdk_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        ACRONYM.sub(lambda letters: letters[0].lower(), key[0].lower() + key[1:]): (
            inner if key == "ConfigurationProperties" else _with_cdk_keys(inner)
        )
        for key, inner in value.items()
    }


class RecordedBootstrap(Construct):
    """The files of a running cluster, uploaded as they were; `nodes` may fetch them, for those that join later."""

    def __init__(self, scope: Construct, record: LaunchRecord, nodes: iam.Role) -> None:
        super().__init__(scope, "BootstrapActions")
        _may_fetch(nodes, [assets.Asset(self, name, path=str(record.file(name))) for name in record.bootstrap])


class BootstrapActions(Construct):
    """`actions` for the cluster, in order; `nodes` may fetch what they name."""

    def __init__(self, scope: Construct, actions: tuple[Action, ...], nodes: iam.Role) -> None:
        super().__init__(scope, "BootstrapActions")
        names = sorted({name for action in actions for name in action.programs.values()})
        programs = {name: assets.Asset(self, name, path=str(program(name))) for name in names}
        scripts = {action.name: self._script(action.name) for action in actions}
        _may_fetch(nodes, (*scripts.values(), *programs.values()))
        self.actions = [_action(action, scripts[action.name], programs) for action in actions]

    def _script(self, name: str) -> assets.Asset:
        with TemporaryDirectory(prefix="warmbase-") as directory:
            file = Path(directory) / f"{name}.sh"
            file.write_text(script(name), encoding="utf-8")
            return assets.Asset(self, name, path=str(file))


def _may_fetch(nodes: iam.Role, files: Iterable[assets.Asset]) -> None:
    objects = (file.bucket.arn_for_objects(file.s3_object_key) for file in files)
    allow(nodes, "BootstrapFiles", ["s3:GetObject"], *objects, conditions=in_account(nodes))


def _action(
    action: Action, uploaded: assets.Asset, programs: Mapping[str, assets.Asset]
) -> emr.CfnCluster.BootstrapActionConfigProperty:
    arguments = [*(filled_in(argument) for argument in action.arguments), *_fetched(action, programs)]
    return emr.CfnCluster.BootstrapActionConfigProperty(
        name=action.name,
        script_bootstrap_action=emr.CfnCluster.ScriptBootstrapActionConfigProperty(
            path=uploaded.s3_object_url, args=arguments
        ),
    )


def _fetched(action: Action, programs: Mapping[str, assets.Asset]) -> Iterator[str]:
    """Where each program is, and what it must be."""
    for argument, name in action.programs.items():
        yield f"--{argument}={programs[name].s3_object_url}"
        yield f"--{argument}-sha256={hashlib.sha256(program(name).read_bytes()).hexdigest()}"
