"""Reads the object of RunJobFlow, or the properties of CloudFormation, as a ClusterSpec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emr.cluster_spec import ClusterSpec
from lint.reader.fields import Fields
from lint.reader.groups import node_groups
from lint.reader.node import Array, Object, Scalar
from lint.reader.problems import ReadProblems
from lint.reader.settings import level_settings

CLUSTER_KEYS: Final = frozenset({"Configurations", "Instances", "ReleaseLabel", "Applications", "ManagedScalingPolicy"})
FLEETS: Final = ("InstanceFleets", "MasterInstanceFleet", "CoreInstanceFleet", "TaskInstanceFleets")


def cluster_subject(node: Object, release: str | None, *, fills_in: bool = False) -> ClusterSpec:
    """Return the cluster that an object describes; `fills_in` is true where a script or template holds it.

    A `release` wins over the file's own, which is then the `replaced_label`.

    Raises InvalidInput with every problem of the file.
    """
    problems = ReadProblems()
    cluster = Fields.of(node, problems)
    instances = cluster.fields("Instances")
    configurations = cluster.member("Configurations")
    own = (cluster.text("ReleaseLabel") or "").strip() or None
    subject = ClusterSpec(
        source=node.place.source,
        release_label=release or own,
        replaced_label=own if release and own != release else None,
        settings=level_settings(configurations.value, problems) if configurations else {},
        groups=tuple(node_groups(instances)) if instances else (),
        applications=tuple(_applications(cluster)),
        fleets=_fleets(instances) if instances else None,
        managed_scaling=cluster.line("ManagedScalingPolicy"),
        auto_termination=cluster.line("AutoTerminationPolicy"),
        has_kerberos=cluster.member("KerberosAttributes") is not None,
        key_pair=instances.line("Ec2KeyName") if instances else None,
        classifications=problems.classifications,
        twice=tuple(problems.twice),
        fills_in=fills_in,
        subnet=_subnet(instances) if instances else None,
        availability_zone=_availability_zone(instances) if instances else None,
        security_configuration=_plain(cluster, "SecurityConfiguration"),
    )
    problems.refuse()
    return subject


def _plain(fields: Fields, key: str) -> str | None:
    """Return a value that no rule judges; None where it is not text, such as a reference in a template."""
    member = fields.object.get(key)
    return member.value.text if member and isinstance(member.value, Scalar) else None


def _subnet(instances: Fields) -> str | None:
    """Return the subnet, or the only one of a list; None where EMR chooses from several."""
    several = instances.object.get("Ec2SubnetIds")
    ids = several.value.items if several and isinstance(several.value, Array) else ()
    if len(ids) == 1 and isinstance(ids[0], Scalar):
        return ids[0].text
    return _plain(instances, "Ec2SubnetId")


def _availability_zone(instances: Fields) -> str | None:
    member = instances.object.get("Placement")
    zone = member.value.get("AvailabilityZone") if member and isinstance(member.value, Object) else None
    return zone.value.text if zone and isinstance(zone.value, Scalar) else None


def _applications(cluster: Fields) -> Iterator[str]:
    for application in cluster.entries("Applications"):
        name = application.text("Name")
        if name:
            yield name
        elif application.object.get("Name") is None:
            why = "an application has no Name"
            cluster.problems.add(application.place, "Applications", why, 'write {"Name": "HBase"}')


def _fleets(instances: Fields) -> int | None:
    return next((line for key in FLEETS if (line := instances.line(key)) is not None), None)
