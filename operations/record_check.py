"""The facts of a launch that is about to be recorded: as its stacks state them, and as EMR describes the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from emr.cluster_spec import ClusterSpec, counted
from emr.codecs.cloudformation import SECURITY_TYPE, read_cluster, resolved
from environments.environment import ANALYTICS
from environments.launch_record import Identity
from environments.names import network_stack
from sizing.modes import MODES
from stacks.references import Templates


class ObservedCluster(Struct, frozen=True, kw_only=True):
    """A running cluster as EMR describes it."""

    id: str
    environment: str
    spec: ClusterSpec
    availability_zone: str
    launched_at: datetime


def template_spec(properties: Mapping[str, Any], identity: Identity) -> ClusterSpec:
    """Return the cluster of a template's properties, with the account and the region filled in."""
    return read_cluster(resolved(dict(properties), identity.account, identity.region), "the stack")


def confirmed_facts(
    expected: ClusterSpec, live: ObservedCluster, identity: Identity, deployed: Mapping[str, object]
) -> tuple[int, list[str]]:
    """Return how many facts of the template EMR confirms, and a line for each that it contradicts.

    `deployed` has what the stacks say of the properties by which the environment file identifies the cluster: these
    must agree with the file.
    """
    of_stack = {name: getattr(identity, name) for name in deployed} | dict(_facts(expected, expected))
    of_emr = dict(deployed) | dict(_facts(live.spec, expected))
    differences = [
        f"{name}: expected {of_stack.get(name)!r}, EMR has {of_emr.get(name)!r}"
        for name in sorted(of_stack.keys() | of_emr.keys())
        if of_stack.get(name) != of_emr.get(name)
    ]
    return len(of_stack) - len(differences), differences


def identity_of_stacks(
    templates: Templates, stack: str, properties: Mapping[str, Any], identity: Identity
) -> Iterator[tuple[str, object]]:
    """Yield mode, root and its key, write-ahead log, role and network as they were deployed, whatever the file says."""
    spec = template_spec(properties, identity)
    values = {key: setting.value for (_, key), setting in spec.effective("core").items()}
    in_s3 = values.get("hbase.emr.storageMode") == "s3"
    if identity.role != ANALYTICS:
        yield "mode", _mode(values)
        yield "wal", "emr-wal" if values.get("hbase.emr.wal.enabled") == "true" else "hdfs"
    if in_s3:
        # In HDFS mode nobody else can write to the data: there is no replica, and the root belongs to this cluster.
        yield "root", values.get("hbase.rootdir")
        yield "role", "replica" if values.get("hbase.emr.readreplica.enabled") == "true" else "active"
    [security] = [resource for resource in templates[stack]["Resources"].values() if resource["Type"] == SECURITY_TYPE]
    at_rest = security["Properties"]["SecurityConfiguration"]["EncryptionConfiguration"]
    key = at_rest["AtRestEncryptionConfiguration"]["S3EncryptionConfiguration"]["AwsKmsKey"]
    # The template names its own key, and its own network, by reference.
    yield "root_key", key if isinstance(key, str) else ""
    nodes = properties["Instances"]
    # Clusters of earlier versions name their one subnet in a list (decision 0021).
    [subnet] = nodes["Ec2SubnetIds"] if "Ec2SubnetIds" in nodes else [nodes["Ec2SubnetId"]]
    yield "subnet", subnet if isinstance(subnet, str) else "new"
    network = templates[network_stack(identity.environment)]["Resources"].values()
    vpcs = {
        str(resource["Properties"]["VpcId"]) for resource in network if resource["Type"] == "AWS::EC2::SecurityGroup"
    }
    own = any(resource["Type"] == "AWS::EC2::VPC" for resource in network)
    yield "vpc", "new" if own else ", ".join(sorted(vpcs))


def _mode(values: Mapping[str, str]) -> str:
    """The name of the mode whose settings these are."""
    storage_mode, cached = values.get("hbase.emr.storageMode", "hdfs"), "hbase.bucketcache.ioengine" in values
    return next(
        name for name, mode in MODES.items() if (mode.emr_storage_mode, mode.has_bucket_cache) == (storage_mode, cached)
    )


def _facts(spec: ClusterSpec, expected: ClusterSpec) -> Iterator[tuple[str, object]]:
    """Yield each fact by its name. Settings of groups are left out: they are tuned while the cluster runs."""
    yield "name", spec.name
    yield "release", spec.release_label
    yield "applications", _applications(spec, expected)
    for action in spec.bootstrap_actions:
        yield f"bootstrap action {action.name}", (action.script, *action.arguments)
    for group in spec.groups:
        yield f"{group.role} type", group.instance_type
        yield f"{group.role} volumes", [(volume.size_gib, volume.count) for volume in counted(group.volumes)]
    for (path, key), setting in spec.settings.items():
        yield f"{path} {key}", setting.value


def _applications(spec: ClusterSpec, expected: ClusterSpec) -> list[str]:
    """EMR adds what an application needs and spells names as it likes: what was asked for counts as one fact."""
    names = {name.lower() for name in spec.applications}
    return sorted(
        expected.applications if names >= {name.lower() for name in expected.applications} else spec.applications
    )
