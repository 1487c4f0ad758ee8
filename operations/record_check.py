"""What a cluster was launched with, as its stacks have it and as EMR describes it, fact by fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from emr.classification import Classification, flattened
from environments.launch_record import Identity
from environments.names import network_stack
from stacks.references import Templates, resolved

__all__ = ["ObservedCluster", "confirmed_facts", "identity_of_stacks"]

SECURITY_TYPE: Final = "AWS::EMR::SecurityConfiguration"
GROUPS: Final = {"MASTER": "MasterInstanceGroup", "CORE": "CoreInstanceGroup"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCluster:
    """A running cluster as EMR describes it."""

    id: str
    environment: str
    described: Mapping[str, Any]
    groups: tuple[Mapping[str, Any], ...]
    actions: tuple[Mapping[str, Any], ...]


def confirmed_facts(
    launched: Mapping[str, Any], live: ObservedCluster, identity: Identity, deployed: dict[str, object]
) -> tuple[int, list[str]]:
    """How many facts of the template EMR says too, and those that it says otherwise.

    So are those by which the file knows the cluster, which `deployed` says as the stacks have them.
    """
    of_stack, of_emr = dict(_facts_of_template(launched, identity)), dict(_facts_of_emr(launched, live)) | deployed
    of_stack |= {name: getattr(identity, name) for name in deployed}
    differences = [
        f"{name}: expected {of_stack.get(name)!r}, EMR has {of_emr.get(name)!r}"
        for name in sorted(of_stack.keys() | of_emr.keys())
        if of_stack.get(name) != of_emr.get(name)
    ]
    return len(of_stack) - len(differences), differences


def identity_of_stacks(
    templates: Templates, stack: str, launched: Mapping[str, Any], live: ObservedCluster
) -> Iterator[tuple[str, object]]:
    """Mode, root, its key, write-ahead log, role and network, whatever the file says by now."""
    values = dict(_settings_of(live))
    actions = {action["Name"]: action["Args"] for action in live.actions}
    in_s3 = values.get(("hbase", "hbase.emr.storageMode")) == "s3"
    cached = any(each.startswith("--cache-volume-gib=") for each in actions.get("mount-volumes", ()))
    yield "mode", ("s3-cached" if cached else "s3-plain") if in_s3 else "hdfs"
    yield "wal", "emr-wal" if values.get(("hbase", "hbase.emr.wal.enabled")) == "true" else "hdfs"
    if in_s3:
        # In HDFS nobody else can write to the data: there is no claim, and the root is nobody's but the cluster's.
        yield "root", values.get(("hbase-site", "hbase.rootdir"))
        yield "role", "active" if "claim-root" in actions else "replica"
    [security] = [resource for resource in templates[stack]["Resources"].values() if resource["Type"] == SECURITY_TYPE]
    at_rest = security["Properties"]["SecurityConfiguration"]["EncryptionConfiguration"]
    key = at_rest["AtRestEncryptionConfiguration"]["S3EncryptionConfiguration"]["AwsKmsKey"]
    # A key or a network of our own is named by reference.
    yield "root_key", key if isinstance(key, str) else ""
    [subnet] = launched["Instances"]["Ec2SubnetIds"]
    yield "subnet", subnet if isinstance(subnet, str) else "new"
    network = templates[network_stack(live.environment)]["Resources"].values()
    vpcs = {str(each["Properties"]["VpcId"]) for each in network if each["Type"] == "AWS::EC2::SecurityGroup"}
    made = any(each["Type"] == "AWS::EC2::VPC" for each in network)
    yield "vpc", "new" if made else ", ".join(sorted(vpcs))


def _settings_of(live: ObservedCluster) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield each property of the whole cluster, by classification and key."""
    for path, key, value in flattened(_settings(live.described.get("Configurations", []), "Properties")):
        yield (path, key), value


def _facts_of_template(launched: Mapping[str, Any], identity: Identity) -> Iterator[tuple[str, object]]:
    yield "name", launched["Name"]
    yield "release", launched["ReleaseLabel"]
    yield "applications", sorted(application["Name"] for application in launched["Applications"])
    for action in resolved(launched["BootstrapActions"], identity.account, identity.region):
        script = action["ScriptBootstrapAction"]
        yield f"bootstrap action {action['Name']}", (script["Path"], *script.get("Args", ()))
    for kind, key in GROUPS.items():
        group = launched["Instances"][key]
        yield f"{kind} type", group["InstanceType"]
        volumes = group["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        yield (
            f"{kind} volumes",
            sorted(
                volume["VolumeSpecification"]["SizeInGB"]
                for volume in volumes
                for _ in range(volume.get("VolumesPerInstance", 1))
            ),
        )
    configurations = resolved(launched["Configurations"], identity.account, identity.region)
    for path, key, value in flattened(_settings(configurations, "ConfigurationProperties")):
        yield f"{path} {key}", value


def _facts_of_emr(launched: Mapping[str, Any], live: ObservedCluster) -> Iterator[tuple[str, object]]:
    described = live.described
    yield "name", described["Name"]
    yield "release", described["ReleaseLabel"]
    asked = {application["Name"].lower() for application in launched["Applications"]}
    # EMR adds what an application needs, and writes names as it likes.
    named = {application["Name"].lower(): application["Name"] for application in described["Applications"]}
    yield (
        "applications",
        sorted(application["Name"] for application in launched["Applications"])
        if asked <= named.keys()
        else sorted(named.values()),
    )
    for action in live.actions:
        yield f"bootstrap action {action['Name']}", (action["ScriptPath"], *action["Args"])
    for group in live.groups:
        kind = group["InstanceGroupType"]
        yield f"{kind} type", group["InstanceType"]
        yield (
            f"{kind} volumes",
            sorted(
                ebs_block_device["VolumeSpecification"]["SizeInGB"] for ebs_block_device in group["EbsBlockDevices"]
            ),
        )
    for (path, key), value in _settings_of(live):
        yield f"{path} {key}", value


def _settings(classifications: list[Mapping[str, Any]], properties: str) -> Iterator[Classification]:
    """As EMR's API spells them, or as CloudFormation does."""
    for classification in classifications:
        inner = tuple(_settings(classification.get("Configurations", []), properties))
        yield Classification(
            name=classification["Classification"], properties=classification.get(properties, {}), nested=inner
        )
