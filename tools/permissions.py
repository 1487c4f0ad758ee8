"""The statements of every role and endpoint policy that warmbase deploys, over all shapes of a deployment.

A shape is a way in which an environment file can shape the permissions; each is synthesised once.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from warmbase.changes.engine_facet import changes_of
from warmbase.engines.engine import engine_of
from warmbase.engines.trino.request import QueryTargets, ScanWorkload, TrinoChoice
from warmbase.environments.environment import Environment, Kerberos, Network, Root, Wal
from warmbase.environments.names import CANARY_TAG
from warmbase.environments.reader import read_environment
from warmbase.ground.units import GIB, TIB
from warmbase.sizing.modes import HDFS, S3_PLAIN
from warmbase.sizing.requirements import CoreChoice
from warmbase.sizing.workload.popularity import UNIFORM
from warmbase.stacks.app import App, new_app
from warmbase.stacks.backstop import BackstopStack
from warmbase.stacks.engine_facet import stacks_of
from warmbase.stacks.monitoring import MonitoringStack
from warmbase.stacks.network import REASONS as ENDPOINT_REASONS
from warmbase.stacks.network import NetworkStack
from warmbase.stacks.pinned import read_templates
from warmbase.stacks.roles import REASONS as ROLE_REASONS
from warmbase.stacks.storage import StorageStack

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
        templates = [
            (f"{shape}, replica" if REPLICA in name else shape, template)
            for shape in SHAPES
            for name, template in shape_templates(shape).items()
            if any(key.startswith(prefix) for key in template["Resources"])
        ]
        permissions: dict[Permission, tuple[str, ...]] = {}
        for label, template in templates:
            document = _properties(template, "AWS::IAM::Policy", prefix)["PolicyDocument"]
            for statement in document["Statement"]:
                permission = _permission(statement, {**ROLE_REASONS, UNNAMED: FLOW_LOG})
                permissions[permission] = (*permissions.get(permission, ()), label)
        role = _properties(templates[0][1], "AWS::IAM::Role", prefix)
        [trusted] = role["AssumeRolePolicyDocument"]["Statement"]
        conditions = " and ".join(f"`{condition}`" for condition in _conditions(trusted.get("Condition", {})))
        principal = f"`{trusted['Principal']['Service']}`"
        yield Role(
            title=title,
            trust=f"{principal}, only with {conditions}" if conditions else principal,
            managed=tuple(text_of(arn).rpartition("/")[2] for arn in role.get("ManagedPolicyArns", ())),
            permissions=dict(sorted(permissions.items(), key=lambda item: (item[0].statement, item[0].resources))),
            shapes=len(templates),
        )


def endpoint_permissions() -> Iterator[tuple[str, Permission]]:
    """Yield each statement of the endpoints of a new VPC with the type of its endpoints. Raises KeyError as above."""
    network = shape_templates("new root")["warmbase-env-network"]
    endpoints = [resource for resource in network["Resources"].values() if resource["Type"] == "AWS::EC2::VPCEndpoint"]
    every = (
        (endpoint["Properties"]["VpcEndpointType"], _permission(statement, ENDPOINT_REASONS))
        for endpoint in endpoints
        for statement in endpoint["Properties"].get("PolicyDocument", {}).get("Statement", ())
    )
    yield from dict.fromkeys(every)


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


NAME: Final = "env"
BACKSTOP: Final = Path(__file__).parents[1] / "warmbase" / "operations" / "canary" / "end_clusters.py"
KEY: Final = "arn:aws:kms:us-east-1:111122223333:key/KEY"
CERTIFICATES: Final = "s3://our-keys/hbase.zip"
REALM: Final = Kerberos(
    realm="EXAMPLE.COM",
    admin_password="{{resolve:secretsmanager:kdc}}",  # noqa: S106 - a reference, no password
    kdc="kdc.example.com",
    admin_server="kdc.example.com",
)
LAKE: Final = TrinoChoice(
    name="lake",
    workload=ScanWorkload(
        working_set_bytes=TIB,
        scanned_bytes=10 * GIB,
        queries_per_second=0.01,
        peak_queries_per_second=0.01,
        popularity=UNIFORM,
        file_format="parquet",
    ),
    targets=QueryTargets(hit_ratio=0.9, query_seconds=None, lost_nodes=1, budget_usd_per_month=None),
    workers=CoreChoice(type=None, count=None, volumes=None, families=("i8g",)),
    coordinator_type=None,
    catalog="hive",
    preferred_hosts=1,
    data=("s3://our-lake/tables/",),
)
Templates: TypeAlias = Mapping[str, Mapping[str, Any]]


def _everything(base: Environment) -> Environment:
    """Return an environment with all that a new network and a new root can have, such as three primaries and TLS."""
    blue = replace(base.active, primaries=3)
    clusters = {"blue": blue, "green": replace(base.active, name="green", role="replica")}
    return replace(base, clusters=clusters, wal=Wal.EMR_WAL, certificates=CERTIFICATES, kerberos=REALM)


def _existing(base: Environment) -> Environment:
    """Return an environment in an existing VPC and over an existing root, with the key of that root."""
    network = Network(
        availability_zone=base.network.availability_zone,
        vpc="vpc-0123456789abcdef0",
        subnet="subnet-0123456789abcdef0",
        route_table="rtb-0123456789abcdef0",
    )
    root = Root(bucket="our-data", prefix="hbase", existing=True, key=KEY, owner="111122223333")
    green = replace(base.active, name="green", role="replica")
    return replace(base, network=network, root=root, clusters={**base.clusters, "green": green})


SHAPES: Final[Mapping[str, Callable[[Environment], Environment]]] = {
    "new root": _everything,
    "existing root": _existing,
    "s3-plain": lambda base: replace(base, mode=S3_PLAIN),
    "hdfs": lambda base: replace(base, mode=HDFS),
    "canary": lambda base: replace(base, tags={**base.tags, CANARY_TAG: base.name}),
    "analytics": lambda base: replace(base, release="emr-7.12.0", analytics={LAKE.name: LAKE}),
}
"""The shapes by name; together they have every statement that a policy of warmbase can contain."""


def shape_app(shape: str, directory: str) -> App:
    """Return the app of a shape, not yet synthesised: the stacks of all its clusters."""
    dev = read_environment("dev")
    base = replace(dev, name=NAME, root=replace(dev.root, bucket=dev.root.bucket.replace(dev.name, NAME)))
    environment = SHAPES[shape](base)
    app = new_app(directory)
    network, storage = NetworkStack(app, environment), StorageStack(app, environment)
    if CANARY_TAG in environment.tags:
        BackstopStack(app, environment, BACKSTOP.read_text(encoding="utf-8"))
    for name in environment.cluster_names:
        engine = engine_of(environment, name)
        launch = changes_of(engine).launch(environment, name)
        stack = stacks_of(engine).cluster_stack(app, launch, network, storage)
        MonitoringStack(app, environment, stacks_of(engine).watched(launch), stack)
    return app


@cache
def shape_templates(shape: str) -> Templates:
    """Return the templates of a shape by stack name."""
    with tempfile.TemporaryDirectory(prefix="warmbase-shape-") as directory:
        templates: Templates = json.loads(
            json.dumps(read_templates(Path(shape_app(shape, directory).synth().directory)))
        )
        return templates
