"""A cluster as the services describe it: EMR's groups, settings and terminated nodes, and CloudWatch's dashboards.

For a core node that EMR has terminated, it says when other servers are expected to serve its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError
from msgspec import Struct

from warmbase.changes.recorded_launch import NEWEST, ImmutableSettings
from warmbase.emr.api import read_bootstrap_action, read_classifications, read_described_cluster, read_described_group
from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_spec import Classification, ClusterSpec, InstanceGroup
from warmbase.environments.names import cluster_id_parameter, cluster_stack
from warmbase.ground.errors import InvalidInput, Refused
from warmbase.operations.aws.clients import Aws, entries
from warmbase.operations.aws.errors import AGAIN, MISSING, error_code, translated
from warmbase.operations.cluster.stack import core_nodes, described_stack, status_of
from warmbase.sizing.plan import LostNode

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
    listed = entries(aws.emr.get_paginator("list_bootstrap_actions"), "BootstrapActions", ClusterId=identity)
    actions = tuple(read_bootstrap_action(action) for action in listed)
    groups, state = described_groups(aws, identity), cluster["Status"]["State"]
    configuration = cluster["SecurityConfiguration"]
    security: Any = aws.emr.describe_security_configuration(Name=configuration)["SecurityConfiguration"]
    scripts = {}
    for action in actions:
        bucket, _, key = action.script.removeprefix("s3://").partition("/")
        script = aws.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        scripts[action.name] = hashlib.sha256(script).hexdigest()
    return DescribedCluster(
        id=identity,
        state=state,
        spec=read_described_cluster(
            cluster, [group.group for group in groups.values()], actions, f"{identity}, {state}"
        ),
        settings=read_classifications(cluster.get("Configurations")),
        # EMR names the operating system even if nobody asked for one.
        immutable_settings=ImmutableSettings.parse(
            cluster["Ec2InstanceAttributes"]["Ec2AvailabilityZone"],
            cluster.get("OSReleaseLabel", NEWEST),
            json.loads(security) if isinstance(security, str) else security,
            cluster.get("KerberosAttributes"),
        ),
        groups=groups,
        scripts=scripts,
    )


def described_groups(aws: Aws, identity: str) -> dict[str, DescribedGroup]:
    """The instance groups of a cluster by role, with the state that each is in."""
    groups = entries(aws.emr.get_paginator("list_instance_groups"), "InstanceGroups", ClusterId=identity)
    return {described.group.role: described for described in map(_group, groups)}


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


class TerminatedNode(Struct, frozen=True, kw_only=True):
    """A core node whose instance ended at `ended_at`; `reason` is EMR's, and may be empty."""

    instance: str
    host: str
    reason: str
    ended_at: datetime

    def online_at(self, lost: LostNode) -> datetime:
        """Return when its rows should be online again, if another node had `hbase:meta`."""
        return self.ended_at + timedelta(seconds=lost.offline_seconds)

    def online_with_meta_at(self, lost: LostNode) -> datetime:
        """Return when its rows should be online again, if it had `hbase:meta`."""
        return self.ended_at + timedelta(seconds=lost.offline_with_meta_seconds)


def terminated_node(aws: Aws, cluster_id: str, name: str | None = None) -> TerminatedNode:
    """Return the core node with this EC2 id or private DNS name; without a name, the node that ended last.

    EMR lists the nodes that it has terminated in the last 30 days (EMR API Reference, ListInstances), and those that it
    is launching, which have no name yet. Raises InvalidInput if it does not list the node, and Refused if the node runs
    or if no node has ended.
    """
    with translated(f"could not list the nodes of {cluster_id}", AGAIN):
        nodes = core_nodes(aws, cluster_id)
    # EMR also lists nodes that it could not launch, which were never ready and had no regions.
    ended = [
        node
        for node in nodes
        if node["Status"]["State"] == "TERMINATED"
        and {"ReadyDateTime", "EndDateTime"} <= node["Status"].get("Timeline", {}).keys()
    ]
    ended.sort(key=lambda node: node["Status"]["Timeline"]["EndDateTime"])
    if name is None and not ended:
        raise Refused.of(
            where=cluster_id,
            what="has lost no core node",
            why="EMR has terminated none of its core nodes in the last 30 days; it may take EMR minutes to notice that"
            " an instance is gone",
            fix="to see the nodes that run, use warmbase status",
        )
    names = ("Ec2InstanceId", "PrivateDnsName")
    node = ended[-1] if name is None else next((node for node in nodes if name in map(node.get, names)), None)
    if node is None:
        others = ", ".join(node["Ec2InstanceId"] for node in ended) or "none of its core nodes"
        raise InvalidInput.of(
            where=str(name),
            what=f"is not a core node of {cluster_id}",
            why=f"in the last 30 days, EMR has terminated {others}",
            fix="give the EC2 id of a node, or its private DNS name, as EMR lists it",
        )
    if node["Status"]["State"] != "TERMINATED":
        raise Refused.of(
            where=str(name),
            what=f"is not lost: EMR lists the node as {node['Status']['State']}",
            why="if only its RegionServer has stopped, the master waits for it, so that it finds its regions and its"
            " cache again when it restarts",
            fix="on the node, run sudo systemctl restart hbase-regionserver.service; if the node is beyond repair,"
            " terminate its instance, so that EMR replaces it",
        )
    if node not in ended:
        raise Refused.of(
            where=str(name),
            what="had no regions",
            why="EMR has terminated the node before it was ready",
            fix="see the nodes that run: warmbase status",
        )
    return TerminatedNode(
        instance=node["Ec2InstanceId"],
        host=node["PrivateDnsName"],
        reason=node["Status"].get("StateChangeReason", {}).get("Message", ""),
        ended_at=node["Status"]["Timeline"]["EndDateTime"],
    )
