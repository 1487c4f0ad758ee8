"""A stack policy, which allows or denies updates of resources.

Source: CloudFormation User Guide, "Prevent updates to stack resources". With a policy, what no statement allows is
denied, and a Deny beats every Allow; without one, everything is allowed. A policy never concerns new resources, nor
the deletion of the stack itself.
"""

from __future__ import annotations

import json
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from moto.cloudformation.exceptions import ValidationError
from msgspec import Struct

if TYPE_CHECKING:
    from local_aws.moto_internals import Json, Untyped

STATEMENT_KEYS = frozenset(
    {"Sid", "Effect", "Action", "NotAction", "Principal", "Resource", "NotResource", "Condition"}
)


class UpdateAction(StrEnum):
    """An update's action on a resource, as a stack policy names it."""

    MODIFY = "Update:Modify"
    REPLACE = "Update:Replace"
    DELETE = "Update:Delete"


class PolicyQuestion(Struct, frozen=True, kw_only=True):
    """A question to the stack policy, whether an update may do this to that resource."""

    action: UpdateAction
    logical_id: str
    resource_type: str


def parsed_policy(body: str) -> Json:
    """Return the policy's JSON; raises ValidationError, as CloudFormation does, for an invalid stack policy."""
    try:
        policy: Json = json.loads(body)
        statements = _listed(policy["Statement"])
        invalid = [
            item for item in statements if item.get("Effect") not in {"Allow", "Deny"} or item.keys() - STATEMENT_KEYS
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValidationError(message=f"Error validating stack policy: Invalid stack policy: {error}") from error
    if invalid:
        raise ValidationError(message=f"Error validating stack policy: Invalid statement {json.dumps(invalid[0])}")
    return policy


def denial(body: str | None, question: PolicyQuestion) -> str | None:
    """Return why the policy forbids it, in CloudFormation's words; None when it does not."""
    if not body:
        return None
    allowed = False
    for number, statement in enumerate(_listed(parsed_policy(body)["Statement"]), start=1):
        if not _matches(statement, question):
            continue
        if statement["Effect"] == "Deny":
            return _denied(f"Statement [#{number}] does not allow", question)
        allowed = True
    return None if allowed else _denied("no statement allows", question)


def _denied(verdict: str, question: PolicyQuestion) -> str:
    resource = f"LogicalResourceId/{question.logical_id}"
    return f"Action denied by stack policy: {verdict} [{question.action}] for resource [{resource}]"


def _matches(statement: Json, question: PolicyQuestion) -> bool:
    resource = f"LogicalResourceId/{question.logical_id}"
    return (
        _selects(statement, "Action", question.action)
        and _selects(statement, "Resource", resource)
        and all(
            _condition_holds(operator, keys, question.resource_type)
            for operator, keys in (statement.get("Condition") or {}).items()
        )
    )


def _selects(statement: Json, element: str, value: str) -> bool:
    if f"Not{element}" in statement:
        return not any(fnmatchcase(value, pattern) for pattern in _listed(statement[f"Not{element}"]))
    return any(fnmatchcase(value, pattern) for pattern in _listed(statement.get(element, [])))


def _condition_holds(operator: str, keys: Json, resource_type: str) -> bool:
    patterns = _listed(keys.get("ResourceType", []))
    if operator == "StringEquals":
        return resource_type in patterns
    if operator == "StringLike":
        return any(fnmatchcase(resource_type, pattern) for pattern in patterns)
    raise ValidationError(message=f"Error validating stack policy: Unknown condition operator {operator}")


def _listed(value: Untyped) -> list[Untyped]:
    return value if isinstance(value, list) else [value]
