"""The resources that a cluster needs: those it refers to, each with the properties whose change would replace it.

Which properties those are comes from the resource schemas of CloudFormation in cfn-lint's copy, and from what they omit
about clusters. The files are read directly: importing cfn-lint would cost every start of the local AWS more than half a
second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

from warmbase.emr.cloudformation import CLUSTER_TYPE
from warmbase.emr.cluster_spec import GROUPS
from warmbase.environments.launch_record import RecordedResource

Templates: TypeAlias = Mapping[str, Mapping[str, Any]]
"""CloudFormation templates by stack name."""

SUBSTITUTED: Final = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z0-9.]+)?\}")


def recorded_resource(resource: Mapping[str, Any]) -> RecordedResource:
    """Return the properties of a resource whose change would replace it.

    Its schema calls them create-only. For a cluster they include all of `Instances` but what the documentation lists
    as updated in place: node counts are tuned by EMR's own API and never by CloudFormation.
    """
    kind, properties = resource["Type"], resource.get("Properties", {})
    names = {pointer.partition("/")[0] for pointer in create_only_pointers(kind)}
    create_only = {name: value for name, value in properties.items() if name in names}
    if kind == CLUSTER_TYPE:
        create_only["Instances"] = {
            name: value for name, value in properties["Instances"].items() if name not in INSTANCES_IN_PLACE
        }
    return RecordedResource(type=kind, properties=create_only)


def referenced_by(templates: Templates, stack: str, logical_id: str) -> dict[str, dict[str, RecordedResource]]:
    """Return that resource and all that it reaches by Ref, GetAtt, Sub and ImportValue, by stack and logical id.

    Only references from create-only properties are followed: no other reference can replace the resource. Raises
    LookupError for a resource that does not exist, and for an import that nothing exports.
    """
    exports = dict(exports_of(templates))
    recorded: dict[str, dict[str, RecordedResource]] = {}
    waiting = [(stack, logical_id)]
    while waiting:
        of, name = waiting.pop()
        if name in recorded.get(of, {}):
            continue
        if name not in templates.get(of, {}).get("Resources", {}):
            raise LookupError(f"{of} has no {name}")
        resource = recorded_resource(templates[of]["Resources"][name])
        recorded.setdefault(of, {})[name] = resource
        waiting += [at for at in references(resource.properties, of, exports) if _is_resource(templates, *at)]
    return {of: dict(sorted(recorded[of].items())) for of in sorted(recorded)}


def _is_resource(templates: Templates, stack: str, name: str) -> bool:
    """Return whether it is no parameter and no pseudo parameter."""
    return name in templates[stack]["Resources"]


def exports_of(templates: Templates) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield the exports of all stacks by name, each with its stack and its value."""
    for stack, template in templates.items():
        for output in template.get("Outputs", {}).values():
            if "Export" in output:
                yield output["Export"]["Name"], (stack, output["Value"])


def references(value: object, stack: str, exports: Mapping[str, tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield every resource that a value names, with its stack."""
    if isinstance(value, list):
        for item in value:
            yield from references(item, stack, exports)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key == "Ref":
            yield stack, inner
        elif key == "Fn::GetAtt":
            yield stack, inner[0] if isinstance(inner, list) else inner.partition(".")[0]
        elif key == "Fn::ImportValue":
            if inner not in exports:
                raise LookupError(f"nothing exports {inner}")
            exporting, exported = exports[inner]
            yield from references(exported, exporting, exports)
        elif key == "Fn::Sub":
            text, names = inner if isinstance(inner, list) else (inner, {})
            yield from ((stack, name) for name in SUBSTITUTED.findall(text) if name not in names)
            yield from references(names, stack, exports)
        else:
            yield from references(inner, stack, exports)


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
