"""Evaluates the policies of a role for an action on a resource with certain tags; moto itself allows everything."""

from __future__ import annotations

import json
from collections.abc import Mapping

from moto.iam.models import iam_backends

from local_aws.moto_internals import Json, Untyped


def allows(account: str, role_arn: str, action: str, tags: Mapping[str, str]) -> bool:
    """Return whether a statement allows the action, and every tag that its condition names has the stated value."""
    iam = next(iter(iam_backends[account].values()))
    [holder] = [role for role in iam.roles.values() if role.name == role_arn.rpartition("/")[2]]
    texts = [*holder.policies.values(), *(policy.document for policy in holder.managed_policies.values())]
    for statement in (statement for text in texts for statement in _statements(text)):
        wanted = statement.get("Condition", {}).get("StringEquals", {})
        matches = all(tags.get(key.partition("ResourceTag/")[2]) == value for key, value in wanted.items())
        actions = statement["Action"]
        if action in ([actions] if isinstance(actions, str) else actions) and matches:
            return True
    return False


def _statements(text: Untyped) -> list[Json]:
    document: Json = json.loads(text) if isinstance(text, str) else text
    statements = document["Statement"]
    return statements if isinstance(statements, list) else [statements]
