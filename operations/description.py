"""A cluster as the services describe it: EMR's groups and classifications, and CloudWatch's dashboards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from changes.immutable_settings import NEWEST, ImmutableSettings
from emr.classification import Classification
from emr.cluster_spec import BootstrapAction, ClusterSpec, InstanceGroup
from emr.codecs.api import (
    read_bootstrap_action,
    read_classifications,
    read_described_cluster,
    read_described_group,
)
from emr.codecs.cloudformation import CLUSTER_TYPE
from environments.names import cluster_id_parameter, cluster_stack
from operations.aws import Aws
from operations.aws_errors import MISSING, error_code
from operations.deployed_stack import described_stack, status_of

FAILED_CREATION: Final = frozenset({"CREATE_FAILED", "ROLLBACK_FAILED"})
"""The states of a stack that can list a cluster without the parameter that holds the cluster's id."""


class DescribedGroup(Struct, frozen=True, kw_only=True):
    """An instance group that runs: what it consists of, and its state.

    `group.settings` and `settings` are those in force: while others are `requested` and not applied, `pending`, these
    are the ones of before. `version` numbers the configurations that were requested last.
    """

    id: str
    state: str
    why: str
    group: InstanceGroup
    running: int
    settings: tuple[Classification, ...]
    requested: tuple[Classification, ...]
    version: int
    pending: bool

    @property
    def instance_type(self) -> str:
        """Return the instance type of its nodes."""
        return str(self.group.instance_type)

    @property
    def count(self) -> int:
        """The number of nodes that was asked for last."""
        return self.group.count or 0

    def json_fields(self) -> dict[str, object]:
        """Return the keys of `--output json`, which predate the nouns of `emr/`."""
        return {
            "id": self.id,
            "state": self.state,
            "why": self.why,
            "instance_type": self.instance_type,
            "count": self.count,
            "running": self.running,
            "volumes": [
                {name: getattr(volume, name) for name in ("size_gib", "type", "iops", "throughput_mib_s")}
                for volume in self.group.volumes
                for _ in range(volume.count)
            ],
            "settings": self.settings,
            "version": self.version,
            "pending": self.pending,
        }


class DescribedCluster(Struct, frozen=True, kw_only=True):
    """A cluster as the EMR API describes it. `scripts` is the SHA-256 of each bootstrap action's script by its name."""

    id: str
    state: str
    spec: ClusterSpec
    settings: tuple[Classification, ...]
    immutable_settings: ImmutableSettings
    groups: Mapping[str, DescribedGroup]
    scripts: Mapping[str, str]

    @property
    def release(self) -> str:
        """Return the release label."""
        return str(self.spec.release_label)

    def json_fields(self) -> dict[str, object]:
        """Return the keys of `--output json`, which predate the nouns of `emr/`."""
        return {
            "id": self.id,
            "state": self.state,
            "release": self.release,
            "immutable_settings": self.immutable_settings,
            "settings": self.settings,
            "groups": self.groups,
            "bootstrap_actions": [
                {"name": action.name, "script_sha256": self.scripts[action.name], "arguments": action.arguments}
                for action in self.spec.bootstrap_actions
            ],
        }


def cluster_id(aws: Aws, environment: str, cluster_name: str) -> str:
    """Return the id that the cluster's stack left behind, or that a stack lists whose creation failed after it."""
    try:
        return aws.ssm.get_parameter(Name=cluster_id_parameter(environment, cluster_name))["Parameter"]["Value"]
    except ClientError as error:
        if error_code(error) not in MISSING:
            raise
        stack = cluster_stack(environment, cluster_name)
        identity = stack_cluster(aws, stack) if status_of(aws, stack) in FAILED_CREATION else None
        if identity is None:
            raise
        return identity


def stack_cluster(aws: Aws, stack: str) -> str | None:
    """Return the id of the cluster that a stack lists and has not deleted; None without one."""
    if described_stack(aws, stack) is None:
        return None
    for resource in aws.cloudformation.describe_stack_resources(StackName=stack)["StackResources"]:
        is_deleted = resource["ResourceStatus"] == "DELETE_COMPLETE"
        if resource["ResourceType"] == CLUSTER_TYPE and not is_deleted and resource.get("PhysicalResourceId"):
            return resource["PhysicalResourceId"]
    return None


def described_cluster(aws: Aws, environment: str, cluster_name: str) -> DescribedCluster:
    """The cluster of that name with everything that was launched with it."""
    identity = cluster_id(aws, environment, cluster_name)
    cluster: Mapping[str, Any] = aws.emr.describe_cluster(ClusterId=identity)["Cluster"]
    listed: Any = aws.emr.list_bootstrap_actions(ClusterId=identity)["BootstrapActions"]
    actions = tuple(read_bootstrap_action(action) for action in listed)
    groups, state = described_groups(aws, identity), cluster["Status"]["State"]
    return DescribedCluster(
        id=identity,
        state=state,
        spec=read_described_cluster(
            cluster, [group.group for group in groups.values()], actions, f"{identity}, {state}"
        ),
        settings=read_classifications(cluster.get("Configurations")),
        immutable_settings=_immutable_settings(aws, cluster),
        groups=groups,
        scripts={action.name: _script_sha256(aws, action) for action in actions},
    )


def described_groups(aws: Aws, identity: str) -> dict[str, DescribedGroup]:
    """The instance groups of a cluster by role, with the state that each is in."""
    groups: Any = aws.emr.list_instance_groups(ClusterId=identity)["InstanceGroups"]
    return {described.group.role: described for described in map(_group, groups)}


def described_dashboard(aws: Aws, name: str) -> object:
    """The body of a dashboard, parsed; None where there is none."""
    try:
        return json.loads(aws.cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])
    except ClientError as error:
        if error_code(error) not in {"ResourceNotFound", "DashboardNotFoundError"}:
            raise
        return None


def _immutable_settings(aws: Aws, cluster: Mapping[str, Any]) -> ImmutableSettings:
    """Return the settings that no classification has; EMR names its operating system even if nobody asked for one."""
    name = cluster["SecurityConfiguration"]
    document: Any = aws.emr.describe_security_configuration(Name=name)["SecurityConfiguration"]
    return ImmutableSettings.parse(
        cluster["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
        cluster.get("OSReleaseLabel", NEWEST),
        json.loads(document) if isinstance(document, str) else document,
        cluster.get("KerberosAttributes"),
    )


def _group(group: Mapping[str, Any]) -> DescribedGroup:
    version = group.get("ConfigurationsVersion", 0)
    # EMR may leave it out for a group that was never reconfigured.
    applied = group.get("LastSuccessfullyAppliedConfigurationsVersion", version)
    in_force = group.get("Configurations" if version == applied else "LastSuccessfullyAppliedConfigurations")
    status = group["Status"]
    return DescribedGroup(
        id=group["Id"],
        state=status["State"],
        why=(status.get("StateChangeReason") or {}).get("Message", ""),
        group=read_described_group(group, in_force),
        running=group["RunningInstanceCount"],
        settings=read_classifications(in_force),
        requested=read_classifications(group.get("Configurations")),
        version=version,
        pending=version != applied,
    )


def _script_sha256(aws: Aws, action: BootstrapAction) -> str:
    bucket, _, key = action.script.removeprefix("s3://").partition("/")
    return hashlib.sha256(aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()).hexdigest()
