"""Policies evaluated as IAM does, for requests of one account or of several, with conditions.

It knows the elements that our policies and AWS's have, and raises Unknown for every other, so that no condition is
passed over. Source: AWS Identity and Access Management User Guide, reference_policies_evaluation-logic and
reference_policies_elements_condition_operators.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec import Struct

Statement = Mapping[str, Any]
ELEMENTS: Final = {"Sid", "Effect", "Action", "Resource", "Principal", "Condition"}
IMPLICIT: Final = "nothing allows it"


class Unknown(Exception):
    """A policy has an element that the evaluator does not know."""


class Request(Struct, frozen=True, kw_only=True):
    """A call. `service` is set for a call that AWS makes itself; `keys` are the keys of its context."""

    action: str
    resource: str
    account: str
    owner: str
    role: str = ""
    service: str = ""
    keys: Mapping[str, str] = {}

    @property
    def context(self) -> Mapping[str, str]:
        """Return the keys of the context in lower case, with those that each request has."""
        every = {"aws:ResourceAccount": self.owner, "aws:SecureTransport": "true"}
        if not self.service:
            every["aws:PrincipalAccount"] = self.account
        return {name.lower(): value for name, value in {**every, **self.keys}.items()}


class Policies(Struct, frozen=True, kw_only=True):
    """The policies that apply to a request: the role's, the resource's and the endpoint's; None where there is none."""

    identity: Sequence[Statement] = ()
    resource: Sequence[Statement] | None = None
    endpoint: Sequence[Statement] | None = None
    delegates: bool = True
    """True where a role of the same account needs only its own policies; a key must name the account as well."""


def decision(policies: Policies, request: Request) -> tuple[bool, str]:
    """Return whether a request is allowed, and the statement that decides, by its id."""
    kinds = {"role": policies.identity, "resource": policies.resource or (), "endpoint": policies.endpoint or ()}
    for kind, statements in kinds.items():
        for statement in _matching(statements, request, "Deny", of_principal=kind != "role"):
            return False, f"{kind} denies: {statement.get('Sid', '(unnamed)')}"
    if policies.endpoint is not None and not [*_matching(policies.endpoint, request, "Allow", of_principal=True)]:
        return False, "endpoint does not allow it"
    by_role = [*_matching(policies.identity, request, "Allow", of_principal=False)]
    by_resource = [*_matching(policies.resource or (), request, "Allow", of_principal=True)]
    if request.account != request.owner:
        # A bucket of another account must allow it as well, which its owner decides and no policy of ours.
        return (bool(by_role), _name(by_role)) if by_role else (False, IMPLICIT)
    if request.service:
        return bool(by_resource), _name(by_resource)
    if by_role and (policies.delegates or by_resource):
        return True, _name(by_role)
    direct = [statement for statement in by_resource if not _names_account(statement, request.owner)]
    return bool(direct), _name(direct)


def _name(statements: Sequence[Statement]) -> str:
    return str(statements[0].get("Sid", "(unnamed)")) if statements else IMPLICIT


def _matching(
    statements: Iterable[Statement], request: Request, effect: str, *, of_principal: bool
) -> Iterable[Statement]:
    for statement in statements:
        if strange := statement.keys() - ELEMENTS:
            raise Unknown(f"{strange} of {statement}")
        if (
            statement["Effect"] == effect
            and any(_like(request.action.lower(), pattern.lower()) for pattern in _listed(statement["Action"]))
            and any(_like(request.resource, pattern) for pattern in _listed(statement["Resource"]))
            and (not of_principal or _is_principal(statement["Principal"], request))
            and all(
                _holds(operator, name, _listed(values), request.context)
                for operator, keys in statement.get("Condition", {}).items()
                for name, values in keys.items()
            )
        ):
            yield statement


def _is_principal(principal: Any, request: Request) -> bool:
    if principal == "*":
        return True
    [(kind, names)] = principal.items()
    if kind == "Service":
        return request.service in _listed(names)
    if kind != "AWS":
        raise Unknown(f"principal {principal}")
    ours = {"*"} if request.service else {"*", request.role, f"arn:aws:iam::{request.account}:root"}
    return bool(ours & set(_listed(names)))


def _names_account(statement: Statement, account: str) -> bool:
    """Return whether a statement allows an account, which lets the account's own policies decide."""
    return bool(statement["Principal"] == {"AWS": f"arn:aws:iam::{account}:root"})


def _holds(operator: str, name: str, wanted: Sequence[str], context: Mapping[str, str]) -> bool:
    value = context.get(name.lower())
    if operator == "Null":
        return (value is None) == (wanted == ["true"])
    if operator not in OPERATORS:
        raise Unknown(f"operator {operator}")
    return value is not None and any(OPERATORS[operator](value, each) for each in wanted)


def _like(value: str, pattern: str) -> bool:
    return _pattern(pattern).fullmatch(value) is not None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    parts = (".*" if sign == "*" else "." if sign == "?" else re.escape(sign) for sign in text)
    return re.compile("".join(parts), re.DOTALL)


OPERATORS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "StringEquals": str.__eq__,
    "StringLike": _like,
    "ArnLike": _like,
    "Bool": lambda value, wanted: value.lower() == wanted.lower(),
}


def _listed(value: Any) -> Sequence[str]:
    return value if isinstance(value, list) else [value]
