"""Queries of synthesised templates that the tests of the stacks share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Templates = Mapping[str, Mapping[str, Any]]
Statement = Mapping[str, Any]


def of_type(template: Mapping[str, Any], resource_type: str) -> dict[str, Any]:
    return {name: each for name, each in template["Resources"].items() if each["Type"] == resource_type}


def all_of_type(templates: Templates, resource_type: str) -> list[Any]:
    return [each for template in templates.values() for each in of_type(template, resource_type).values()]


def only(template: Mapping[str, Any], resource_type: str, beginning: str = "") -> Any:
    """The properties of the one resource of a type whose logical id begins so."""
    [found] = [each for name, each in of_type(template, resource_type).items() if name.startswith(beginning)]
    return found["Properties"]


def cluster(templates: Templates, name: str) -> Any:
    return only(templates[f"warmbase-{name}-blue-cluster"], "AWS::EMR::Cluster")


def listed(value: Any) -> list[Any]:
    """A policy's element that may stand alone or in a list."""
    return value if isinstance(value, list) else [value]


def allowing(statements: Iterable[Statement], action: str) -> Iterator[Statement]:
    """The statements that allow exactly this action."""
    return (
        statement
        for statement in statements
        if statement["Effect"] == "Allow" and action in listed(statement["Action"])
    )


def filled(value: Any) -> str:
    """An Fn::Sub as CloudFormation fills it in: `${…}` is a name, and any other dollar is a dollar."""
    names = {"${AWS::Partition}": "aws", "${AWS::AccountId}": "ACCOUNT"}
    return re.sub(r"\$\{[^}]*\}", lambda name: names[name[0]], value["Fn::Sub"])
