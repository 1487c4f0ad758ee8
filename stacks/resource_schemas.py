"""The resource schemas of CloudFormation in cfn-lint's copy, read from its files, and what they omit about clusters.

The files are read directly: importing cfn-lint would cost every start of the local AWS more than half a second.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from emr.cluster_spec import GROUPS

Json: TypeAlias = dict[str, Any]
# Not in the schema, from the documentation of AWS::EMR::Cluster: inside `Instances` only these change in place.
INSTANCES_IN_PLACE: Final = frozenset({"TerminationProtected", "UnhealthyNodeReplacement"})
GROUP_IN_PLACE: Final = frozenset({"AutoScalingPolicy", "InstanceCount"})
INSTANCE_GROUPS: Final = frozenset(names.cloudformation for names in GROUPS.values())
REGION: Final = "us-east-1"  # the types and their properties differ little by region; this one has them all


@cache
def resource_schema(resource_type: str) -> Json:
    """The schema of one resource type; empty for a type that has none."""
    schemas = files("cfnlint") / "data" / "schemas"
    digest = _digests().get(resource_type)
    if digest is None:
        return {}
    schema: Json = json.loads((schemas / "resources" / f"{digest}.json").read_text(encoding="utf-8"))
    return schema


def create_only_pointers(resource_type: str) -> frozenset[str]:
    """The properties whose change replaces the resource, as paths: `Name`, `Code/S3Bucket`."""
    return _pointers(resource_type, "createOnlyProperties")


def primary_identifier(resource_type: str) -> frozenset[str]:
    """The properties that together are the resource's identity."""
    return _pointers(resource_type, "primaryIdentifier")


def _pointers(resource_type: str, keyword: str) -> frozenset[str]:
    pointers = resource_schema(resource_type).get(keyword, [])
    return frozenset(pointer.removeprefix("/properties/") for pointer in pointers)


@cache
def _digests() -> dict[str, str]:
    providers = files("cfnlint") / "data" / "schemas" / "providers"
    digests: dict[str, str] = json.loads((providers / f"{REGION}.json").read_text(encoding="utf-8"))
    return digests
