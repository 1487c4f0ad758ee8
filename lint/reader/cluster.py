"""What a cluster is launched with, as a Subject: RunJobFlow's object, or CloudFormation's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emr.cluster_spec import ClusterSpec
from lint.reader.fields import Fields
from lint.reader.findings import ReadProblems
from lint.reader.groups import node_groups
from lint.reader.node import Object
from lint.reader.settings import level_settings

__all__ = ["CLUSTER_KEYS", "cluster_subject"]

CLUSTER_KEYS: Final = frozenset({"Configurations", "Instances", "ReleaseLabel", "Applications", "ManagedScalingPolicy"})
FLEETS: Final = ("InstanceFleets", "MasterInstanceFleet", "CoreInstanceFleet", "TaskInstanceFleets")


def cluster_subject(node: Object, release: str | None) -> ClusterSpec:
    """Raises InvalidInput with every problem of the file."""
    findings = ReadProblems()
    cluster = Fields.of(node, findings)
    instances = cluster.fields("Instances")
    configurations = cluster.member("Configurations")
    subject = ClusterSpec(
        source=node.place.source,
        release_label=_release_label(cluster, release),
        settings=level_settings(configurations.value, findings) if configurations else {},
        groups=tuple(node_groups(instances)) if instances else (),
        applications=tuple(_applications(cluster)),
        fleets=_fleets(instances) if instances else None,
        managed_scaling=cluster.line("ManagedScalingPolicy"),
        key_pair=instances.line("Ec2KeyName") if instances else None,
        classifications=findings.classifications,
        twice=tuple(findings.twice),
    )
    findings.refuse_problems()
    return subject


def _release_label(cluster: Fields, release: str | None) -> str | None:
    said = cluster.text("ReleaseLabel")
    member = cluster.member("ReleaseLabel")
    if said and member and release and said.strip() != release:
        why = f"the file says {said.strip()}, and --release says {release}"
        cluster.findings.wrong(member.place, "ReleaseLabel", why, "leave --release out, or change one of the two")
    return said.strip() if said else release


def _applications(cluster: Fields) -> Iterator[str]:
    for application in cluster.entries("Applications"):
        name = application.text("Name")
        if name:
            yield name
        elif application.object.get("Name") is None:
            why = "an application has no Name"
            cluster.findings.wrong(application.place, "Applications", why, 'write {"Name": "HBase"}')


def _fleets(instances: Fields) -> int | None:
    return next((line for key in FLEETS if (line := instances.line(key)) is not None), None)
