"""A template: its resource types, the order its resources are made in, its properties with references resolved."""

from __future__ import annotations

import json
import re
from datetime import date
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack

from local_aws import resource_types
from local_aws.dynamic_references import with_dynamic_references
from local_aws.moto_border import Json, Untyped, resolvable_names

if TYPE_CHECKING:
    from collections.abc import Iterator

SUBSTITUTION = re.compile(r"\$\{([^!}.]+)(?:\.[^}]*)?\}")


def check_resource_types(template: Json) -> None:
    """Raises ValidationError, as CloudFormation does, for types the local AWS cannot make: none is skipped."""
    types = {definition["Type"] for definition in template["Resources"].values()}
    unknown = sorted(name for name in types if not resource_types.exists(name))
    if unknown:
        raise ValidationError(
            message=f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]"
            " (the local AWS has no model of them)",
        )


def parsed_template(text: str) -> Json:
    """Return the template's parts, from JSON or YAML; YAML's dates stay text, as in `Version: 2012-10-17`."""
    try:
        parsed: Json = json.loads(text)
    except ValueError:
        parsed = _with_dates_as_text(Stack.parse_template(text))
    return parsed


def _with_dates_as_text(value: Untyped) -> Untyped:
    if isinstance(value, dict):
        return {key: _with_dates_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_dates_as_text(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value


def check_shape(template: object) -> None:
    """Raises ValidationError for a template without a map of resources that each have a type."""
    resources = template.get("Resources") if isinstance(template, dict) else None
    if not isinstance(resources, dict) or not resources:
        raise ValidationError(message="Template format error: At least one Resources member must be defined.")
    untyped = sorted(name for name, body in resources.items() if not isinstance(body, dict) or "Type" not in body)
    if untyped:
        raise ValidationError(
            message=f"Template format error: [/Resources/{untyped[0]}] Every Resources object must contain a Type."
        )


def creation_order(template: Json) -> list[str]:
    """The logical ids, each after what it refers to or depends on, otherwise as the template lists them."""
    definitions = template["Resources"]
    graph = {name: sorted(set(references(body)) & definitions.keys()) for name, body in definitions.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        raise ValidationError(
            message=f"Circular dependency between resources: [{', '.join(sorted(set(cycle.args[1])))}]",
        ) from cycle


def references(node: object) -> Iterator[str]:
    """Every logical id or parameter name that a part of a template refers to."""
    if isinstance(node, list):
        for inner in node:
            yield from references(inner)
    elif isinstance(node, dict):
        for key, inner in node.items():
            yield from _references_of(key, inner)


def _references_of(key: str, inner: object) -> Iterator[str]:
    if key == "Ref" and isinstance(inner, str):
        yield inner
    elif key == "Fn::GetAtt":
        yield str(inner[0] if isinstance(inner, list) else str(inner).split(".", maxsplit=1)[0])
    elif key == "DependsOn":
        yield from [inner] if isinstance(inner, str) else list(inner or [])  # type: ignore[call-overload]
    else:
        if key == "Fn::Sub":
            text = inner[0] if isinstance(inner, list) else inner
            yield from SUBSTITUTION.findall(str(text))
        yield from references(inner)


def resource_map(stack: Untyped, template: Json, parameters: dict[str, str]) -> Untyped:
    """Moto's resolver for this template and these parameters, with no resource in it yet."""
    fresh = parsing.ResourceMap(
        stack.stack_id,
        stack.name,
        parameters,
        stack.tags,
        account_id=stack.account_id,
        region_name=stack.region_name,
        template=template,
        cross_stack_resources=stack.cross_stack_resources,
    )
    resolvable_names(fresh)["AWS::NotificationARNs"] = stack.notification_arns
    fresh.load_mapping()
    fresh.transform_mapping()
    fresh.load_parameters()
    fresh.load_conditions()
    return fresh


def is_wanted(definition: Json, names: Untyped) -> bool:
    """Return whether the resource's condition holds, or it has none."""
    condition = definition.get("Condition")
    return condition is None or bool(names.lazy_condition_map[condition])


def resolved_properties(definition: Json, names: Untyped, region: str) -> Json:
    """The properties as the resource type is given them: no intrinsic function or dynamic reference is left in them."""
    properties = _without_absent(parsing.clean_json(definition.get("Properties") or {}, names))
    _check_resolved(properties)
    resolved: Json = with_dynamic_references(properties, region)
    return resolved


def _without_absent(value: Untyped) -> Untyped:
    if isinstance(value, dict):
        return {key: _without_absent(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_absent(inner) for inner in value if inner is not None]
    return value


def _check_resolved(value: Untyped) -> None:
    if isinstance(value, dict):
        left = [key for key in value if str(key).startswith("Fn::") and len(value) == 1]
        if left:
            raise ValidationError(message=f"Template error: the local AWS cannot resolve {left[0]}: {value[left[0]]}")
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _check_resolved(inner)
