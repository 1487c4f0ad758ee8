"""The statements of every role and endpoint policy that warmbase deploys, over all shapes of a deployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from reports.deployment_shapes import SHAPES, shape_templates

Template: TypeAlias = Mapping[str, Any]
ROLES: Final = {
    "RolesNode": "Permissions of the nodes: the role of the instance profile",
    "RolesService": "Permissions of EMR: the service role",
    "BoostRole": "Permissions of the schedules that end a boost",
    "Ender": "Permissions of the function that ends the clusters of a canary",
    "BackstopRole": "Permissions of the schedules that invoke this function",
    "VpcFlowLog": "Permissions of VPC Flow Logs, in a new VPC",
}
"""The roles by how their logical ids begin."""
FLOW_LOG: Final = "VPC Flow Logs writes rejected connections to one log group; this statement is CDK's own"
UNNAMED: Final = "(unnamed)"
REPLICA: Final = "green"


class Permission(Struct, frozen=True, kw_only=True):
    """A statement of a role or of an endpoint's policy, with names in place of what only a deployment knows."""

    statement: str
    denies: bool
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: tuple[str, ...]
    reason: str


class Role(Struct, frozen=True, kw_only=True):
    """A role, its trust and its permissions, each with the shapes of a deployment that have it."""

    title: str
    trust: str
    managed: tuple[str, ...]
    permissions: Mapping[Permission, tuple[str, ...]]
    shapes: int


def roles() -> Iterator[Role]:
    """Yield every role of every shape. Raises KeyError for a statement without a reason."""
    for prefix, title in ROLES.items():
        templates = list(_templates_with(prefix))
        permissions: dict[Permission, tuple[str, ...]] = {}
        for label, template in templates:
            document = _properties(template, "AWS::IAM::Policy", prefix)["PolicyDocument"]
            for statement in document["Statement"]:
                permission = _permission(statement, _role_reasons())
                permissions[permission] = (*permissions.get(permission, ()), label)
        role = _properties(templates[0][1], "AWS::IAM::Role", prefix)
        yield Role(
            title=title,
            trust=_trust(role["AssumeRolePolicyDocument"]),
            managed=tuple(text_of(arn).rpartition("/")[2] for arn in role.get("ManagedPolicyArns", ())),
            permissions=dict(sorted(permissions.items(), key=lambda item: (item[0].statement, item[0].resources))),
            shapes=len(templates),
        )


def endpoint_permissions() -> Iterator[tuple[str, Permission]]:
    """Yield each statement of the endpoints of a new VPC with the type of its endpoints. Raises KeyError as above."""
    from stacks.endpoint_policies import REASONS  # noqa: PLC0415 - aws_cdk is loaded only for this

    network = shape_templates("new root")["warmbase-env-network"]
    endpoints = [resource for resource in network["Resources"].values() if resource["Type"] == "AWS::EC2::VPCEndpoint"]
    every = (
        (endpoint["Properties"]["VpcEndpointType"], _permission(statement, REASONS))
        for endpoint in endpoints
        for statement in endpoint["Properties"].get("PolicyDocument", {}).get("Statement", ())
    )
    yield from dict.fromkeys(every)


def _templates_with(prefix: str) -> Iterator[tuple[str, Template]]:
    for shape in SHAPES:
        for name, template in shape_templates(shape).items():
            if any(key.startswith(prefix) for key in template["Resources"]):
                yield f"{shape}, replica" if REPLICA in name else shape, template


def _role_reasons() -> Mapping[str, str]:
    from stacks.roles import REASONS  # noqa: PLC0415 - aws_cdk is loaded only for this

    return {**REASONS, UNNAMED: FLOW_LOG}


def _permission(statement: Template, reasons: Mapping[str, str]) -> Permission:
    name = statement.get("Sid", UNNAMED)
    return Permission(
        statement=name,
        denies=statement["Effect"] == "Deny",
        actions=tuple(listed(statement["Action"])),
        resources=tuple(dict.fromkeys(text_of(resource) for resource in listed(statement["Resource"]))),
        conditions=tuple(_conditions(statement.get("Condition", {}))),
        reason=reasons[name],
    )


def _trust(document: Template) -> str:
    [statement] = document["Statement"]
    conditions = " and ".join(f"`{condition}`" for condition in _conditions(statement.get("Condition", {})))
    principal = f"`{statement['Principal']['Service']}`"
    return f"{principal}, only with {conditions}" if conditions else principal


def _conditions(conditions: Template) -> Iterator[str]:
    for operator, inner in conditions.items():
        if operator == "Null":
            yield from (f"without {key}" for key, value in inner.items() if value == "true")
            continue
        yield from (f"{key} = {' or '.join(map(text_of, listed(value)))}" for key, value in inner.items())


def _properties(template: Template, kind: str, prefix: str) -> Template:
    """Return the properties of the resource of that type whose logical id begins so."""
    [properties] = [
        resource["Properties"]
        for key, resource in template["Resources"].items()
        if resource["Type"] == kind and key.startswith(prefix)
    ]
    return properties  # type: ignore[no-any-return]


def listed(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    """Return the value as a list, because a policy's element may be one value or a list."""
    return value if isinstance(value, list) else [value]


def text_of(value: Any) -> str:  # noqa: ANN401 - a text, or a function of CloudFormation
    """Return a value as text, with names in place of what only a deployment knows."""
    if isinstance(value, str):
        return value
    [(name, inner)] = value.items()
    if name == "Fn::Sub":
        text = inner if isinstance(inner, str) else inner[0]
        return "OUR-UPLOADS" if "cdk-hnb659fds" in text else _plain(text)
    if name == "Fn::Join":
        joined = inner[0].join(map(text_of, inner[1]))
        return "arn:aws:s3:::OUR-UPLOADS/FILE" if "OUR-UPLOADS" in joined or "cdk-hnb659fds" in joined else joined
    if name == "Fn::ImportValue":
        return "KEY-OF-THE-ENVIRONMENT" if "RootKey" in inner else str(inner)
    if name == "Fn::GetAtt":
        return {"RolesNode": "NODE-ROLE", "Rejected": "LOG-GROUP"}.get(inner[0][:-8], ".".join(inner))
    return _plain(f"${{{inner}}}")


def _plain(text: str) -> str:
    for name, value in (("Partition", "aws"), ("AccountId", "ACCOUNT"), ("Region", "REGION")):
        text = text.replace(f"${{AWS::{name}}}", value)
    return text


def codes(texts: Iterable[str]) -> str:
    """Return the texts as code, one on each line of a table's cell."""
    return "<br>".join(f"`{text}`" for text in texts)
