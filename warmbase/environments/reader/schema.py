"""The schema of an environment file: everything a person decides and nothing a machine can work out.

It is complete: a value that the project does not support yet is refused as such, never ignored. `build` turns each
section into the type that the rest of the project uses; `schema_text` is the JSON schema for editors, and `schema_keys`
is the schema as a list, for pages and drafts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from ipaddress import IPv4Network
from typing import Annotated, Any, Final, Literal

from msgspec import Struct
from pydantic import AfterValidator, Discriminator, Tag, WithJsonSchema

from warmbase.engines.trino.section import TrinoSection
from warmbase.environments.environment import (
    ACCOUNT_PSEUDO_PARAMETER,
    EMR_TAG,
    Access,
    Environment,
    Fencing,
    Kerberos,
    Network,
    Root,
    Wal,
)
from warmbase.environments.override import Override
from warmbase.environments.reader.cluster_schema import ClusterSection
from warmbase.environments.reader.document import Document
from warmbase.environments.reader.key import Bounds, Key, Slider, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import Section, Share, refuse
from warmbase.environments.reader.security_schema import Security
from warmbase.environments.reader.workload_schema import AnyWorkload, TargetsSection
from warmbase.facts.prices import priced_regions
from warmbase.facts.releases import releases, unknown_release
from warmbase.ground.units import exact_size, format_rate
from warmbase.sizing.modes import MODES

# What a bucket and a key may be in a bootstrap action's argument and in an IAM policy without escapes.
# No part begins with a dot: HBase takes `a/./b` and `c/../a/b` for `a/b`, and a root must have one name.
ROOT_FORM = r"^(new|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_=-][A-Za-z0-9._=-]*/)+)$"
KEY_FORM = r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$"
ACCOUNT_FORM = r"^[0-9]{12}$"
OS_FORM = r"^2023\.[0-9]{1,2}\.[0-9]{8}\.[0-9]{1,2}$"
GROUP_FORM = r"^sg-[0-9a-f]{8,17}$"
# The name of a bucket has at most 63 characters, and `warmbase-NAME-root-ACCOUNT-REGION` has 42 besides NAME where the
# region has 14, like the longest ones. Role names (64) and EMR's WAL workspaces (32) would allow 24 and more.
NAME_FORM = r"^[a-z][a-z0-9-]{0,20}$"
WORKLOAD = {"stored": "7 TiB", "cell": "1 KiB", "row": "10 KiB", "reads": {"per_second": 900}, "regions": 240}
REGION = r"[a-z-]{4,24}-[0-9]"
CLUSTER_NAME = r"^[a-z]{1,12}$"
MAIL = "hbase-oncall@example.com"


def _priced(region: str) -> str:
    if region not in priced_regions():
        refresh = f"run `warmbase prices refresh --region {region}`, or " if re.fullmatch(REGION, region) else ""
        raise refuse(f"there are no prices for {quoted(region)}", f"{refresh}use one of: {', '.join(priced_regions())}")
    return region


def _check_release(label: str) -> str:
    if label not in releases():
        unknown = unknown_release(label)
        raise refuse(f"{quoted(label)} {unknown.why}", unknown.fix)
    return label


def _network(cidr: str) -> str:
    """Return the network. Raises a refusal if it is not written with its own first address, as EC2 stores it."""
    try:
        network = IPv4Network(cidr, strict=False)
    except ValueError:
        raise refuse(f"{quoted(cidr)} is not a network", "write an IPv4 network such as 10.0.0.0/16") from None
    if str(network) != cidr:
        raise refuse(f"{quoted(cidr)} is an address in network {network}", f"write {network}")
    return cidr


def _security_group(name: str) -> str:
    if not re.fullmatch(GROUP_FORM, name):
        raise refuse(f"{quoted(name)} is not the id of a security group", "write it like sg-0123456789abcdef0")
    return name


def _not_reserved(key: str) -> str:
    if key.lower().startswith("aws:"):
        raise refuse("AWS keeps tag keys that begin with aws: for itself", "choose a key without aws:, such as owner")
    if key == EMR_TAG:
        raise refuse("every resource has it already, and without it EMR may touch none", "leave it out")
    return key


def _not_empty(value: str) -> str:
    if not value.strip():
        raise refuse("an override has a value, and this is empty", "state it, or remove the property")
    return value


ClusterName = Annotated[str, WithJsonSchema({"type": "string", "pattern": CLUSTER_NAME})]
"""The name of a cluster over the environment's root."""


class Storage(Section):
    """The section that says where the data is stored."""

    mode: Literal["s3-cached", "s3-plain", "hdfs"] = yaml_key(
        "s3-cached: data in S3 and a BucketCache on each node. s3-plain: data in S3 without a BucketCache. hdfs: data"
        " on the nodes' volumes.",
        "s3-cached",
        effect="Everything: `warmbase compare` shows the modes beside each other.",
        slider=Slider("Storage", "Storage mode", "choice", choices=tuple(MODES), stops=tuple(MODES)),
    )
    root: str = yaml_key(
        "`new` for a bucket that warmbase creates, or s3://BUCKET/PREFIX/ for an existing HBase root.",
        "new",
        form="`new`, or s3://BUCKET/PREFIX/ with letters, digits and . _ = -, a slash at its end, and no dot after a"
        " slash",
        examples=["new"],
        pattern=ROOT_FORM,
    )
    key: str | None = yaml_key(
        "The ARN of the KMS key that encrypts the bucket of an existing root.",
        None,
        form="the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/ID",
        pattern=KEY_FORM,
    )
    owner: str | None = yaml_key(
        "The AWS account that the bucket of an existing root belongs to. The default is the environment's.",
        None,
        form="twelve digits, in quotes",
        examples=["111122223333"],
        pattern=ACCOUNT_FORM,
    )
    wal: Literal["hdfs", "emr-wal"] = yaml_key(
        "Where HBase writes its write-ahead log: on HDFS, or in Amazon's EMR WAL service.",
        "hdfs",
        effect="The price of the EMR WAL service, and the size of the system volume.",
    )

    def build(self, name: str, account: str | None, region: str) -> Root:
        """Return the root: a new bucket with warmbase's own name, or an existing one."""
        if self.root == "new":
            return Root(bucket=f"warmbase-{name}-root-{account or ACCOUNT_PSEUDO_PARAMETER}-{region}", prefix="hbase")
        bucket, _, prefix = self.root.removeprefix("s3://").rstrip("/").partition("/")
        return Root(bucket=bucket, prefix=prefix, existing=True, key=self.key, owner=self.owner)


class NetworkSection(Section):
    """The network to use, or `new`."""

    vpc: str = yaml_key(
        "`new`, or the id of an existing VPC.",
        "new",
        form="`new`, or the id of a VPC",
        examples=["new"],
        pattern=r"^(new|vpc-[0-9a-f]{8,17})$",
        effect="The price of the endpoints of a new VPC.",
    )
    subnet: str | None = yaml_key(
        "The id of a private subnet in the existing VPC.",
        None,
        form="the id of a private subnet in that VPC",
        pattern=r"^subnet-[0-9a-f]{8,17}$",
    )
    route_table: str | None = yaml_key(
        "The id of that subnet's route table, if warmbase has to add an S3 gateway endpoint to it.",
        None,
        form="the id of that subnet's, if S3 is to be reached by it",
        pattern=r"^rtb-[0-9a-f]{8,17}$",
    )
    availability_zone: str = yaml_key(
        "The Availability Zone that all nodes are launched in.",
        form="an availability zone",
        examples=["us-east-1a"],
        pattern=r"^[a-z0-9-]{4,30}[0-9][a-z]$",
        decides="Instance types and their capacity differ between zones.",
    )
    endpoint_policies: bool = yaml_key(
        "Whether policies limit a new VPC's endpoints to this account and what EMR itself needs.", default=True
    )

    def build(self) -> Network:
        """Return the section as the type that the stacks use."""
        vpc = None if self.vpc == "new" else self.vpc
        return Network(
            availability_zone=self.availability_zone,
            vpc=vpc,
            subnet=self.subnet,
            route_table=self.route_table,
            endpoint_policies=self.endpoint_policies,
        )


class AccessSection(Section):
    """The clients that may reach ZooKeeper, the master and the RegionServers."""

    security_groups: list[
        Annotated[str, AfterValidator(_security_group), WithJsonSchema({"type": "string", "pattern": GROUP_FORM})]
    ] = yaml_key(
        "Security groups in the same VPC whose members may connect to HBase.",
        default_factory=list,
        form="of the same VPC",
        examples=[["sg-0123456789abcdef0"]],
    )
    cidrs: list[Annotated[str, AfterValidator(_network)]] = yaml_key(
        "IPv4 networks from which clients may connect to HBase, such as 10.0.0.0/16.",
        default_factory=list,
        form="each an IPv4 network such as 10.0.0.0/16",
        examples=[["10.0.0.0/16"]],
    )

    def build(self) -> Access:
        """Return the section as the type that the stacks use."""
        return Access(security_groups=tuple(self.security_groups), cidrs=tuple(self.cidrs))


class Alarms(Section):
    """The address that is notified of alarms."""

    email: str | None = yaml_key(
        "The mail address that is notified of alarms.",
        None,
        form="a mail address",
        examples=[MAIL],
        pattern=r"^[^@\s]+@[^@\s]+$",
    )


class SnapshotsSection(Section):
    """How snapshots are copied to another root and back."""

    mappers: int | None = yaml_key(
        "How many mappers copy a snapshot. The default is one for each core node.",
        None,
        bounds=Bounds(least=1, most=10_000, reason="each mapper is a YARN container on a core node"),  # judgement
        examples=[200],
        effect="The time to copy a snapshot.",
    )


def _engine(value: object) -> str:
    is_trino = isinstance(value, TrinoSection) or (isinstance(value, dict) and value.get("engine") == "trino")
    return "[trino]" if is_trino else "[hbase]"


AnyCluster = Annotated[
    Annotated[ClusterSection, Tag("[hbase]")] | Annotated[TrinoSection, Tag("[trino]")], Discriminator(_engine)
]
"""A cluster of HBase over the root, or an analytics cluster beside it."""


class EnvironmentFile(Section):
    """One environment: one HBase root, and the clusters over it."""

    name: str = yaml_key(
        "The name of the environment. The names of its stacks and buckets begin with it.",
        form="a name of at most 21 lower-case letters, digits and hyphens that begins with a letter",
        examples=["prod"],
        pattern=NAME_FORM,
    )
    account: str | None = yaml_key(
        "The AWS account: twelve digits in quotes. The default is the account of your credentials.",
        None,
        form="twelve digits, in quotes",
        examples=["111122223333"],
        pattern=ACCOUNT_FORM,
    )
    region: Annotated[str, AfterValidator(_priced)] = yaml_key(
        "The AWS Region to deploy to. Plans use its prices.",
        examples=["us-east-1"],
        effect="Prices, and the hours of nightly compactions.",
    )
    release: Annotated[str, AfterValidator(_check_release)] = yaml_key(
        "The Amazon EMR release label.",
        examples=["emr-7.14.0"],
        effect="Which properties exist, the Java version, S3 client and instance types.",
    )
    os_release: str | None = yaml_key(
        "The release of Amazon Linux 2023. By default, EMR uses the latest one.",
        None,
        form="a release of Amazon Linux 2023 that `aws emr describe-release-label` lists for the EMR release",
        examples=["2023.9.20251117.1"],
        pattern=OS_FORM,
    )
    storage: Storage = yaml_key(
        "Where the data is stored and where the write-ahead log is.",
        Storage.model_construct(),
        examples=[{"mode": "s3-cached"}],
    )
    network: NetworkSection = yaml_key(
        "The VPC to launch clusters in, or a new one.", examples=[{"availability_zone": "us-east-1a"}]
    )
    access: AccessSection = yaml_key(
        "The clients that may reach ZooKeeper, the master and the RegionServers.",
        AccessSection.model_construct(),
        examples=[{"cidrs": ["10.0.0.0/16"]}],
    )
    security: Security = yaml_key(
        "Authentication, and encryption in transit and on local disks. Encryption in S3 is always on.",
        Security.model_construct(),
        examples=[{"local_disks": True}],
    )
    tags: dict[Annotated[str, AfterValidator(_not_reserved)], str] = yaml_key(
        "Tags for every resource, besides warmbase's own.", default_factory=dict, examples=[{"team": "data-platform"}]
    )
    workload: AnyWorkload = yaml_key("The stored data and its reads and writes.", examples=[WORKLOAD])
    targets: TargetsSection = yaml_key(
        "The targets that a plan has to meet.", TargetsSection.model_construct(), examples=[{"hit_ratio": 0.95}]
    )
    clusters: dict[ClusterName, AnyCluster] = yaml_key(
        "The clusters of the environment by name: one active cluster, replicas of it, and analytics clusters, which run"
        " Trino.",
        examples=[{"blue": {"role": "active"}}],
        min_length=1,
    )
    fencing: Literal["alarm", "stop"] = yaml_key(
        "What a node does when another cluster has claimed the root: `alarm` notifies you; `stop` also kills HBase on"
        " the node. It applies to clusters launched afterwards.",
        "alarm",
        examples=["stop"],
    )
    discount: Share = yaml_key(
        "The share that a savings plan or private pricing takes off EC2's on-demand prices.",
        0,
        bounds=Bounds(most=0.9, least=0, reason="savings plans and private pricing leave a part to pay"),
        form="the part that a savings plan or private pricing takes off EC2's on-demand price, such as 0.28 or 28 %",
        examples=[0.28],
        effect="The price of the instances.",
        decides="A savings plan takes a fraction off the price of each instance.",
    )
    snapshots: SnapshotsSection = yaml_key(
        "How snapshots are copied to another HBase root and back.",
        SnapshotsSection.model_construct(),
        examples=[{"mappers": 200}],
    )
    alarms: Alarms = yaml_key("Who is notified of alarms.", Alarms.model_construct(), examples=[{"email": MAIL}])
    overrides: dict[str, dict[str, Annotated[str, AfterValidator(_not_empty)]]] = yaml_key(
        "Properties that replace planned ones, by classification. warmbase checks and marks them.",
        default_factory=dict,
        examples=[{"hbase-site": {"hbase.regionserver.handler.count": "60"}}],
        effect="An override of a property that states a figure of the plan replaces the figure.",
    )

    def build(self, document: Document) -> Environment:
        """Return the file as the type that the rest of the project uses."""
        return Environment(
            source=document.source,
            explicit_keys=document.explicit_keys,
            name=self.name,
            account=self.account,
            region=self.region,
            network=self.network.build(),
            release=self.release,
            os_release=self.os_release,
            mode=MODES[self.storage.mode],
            root=self.storage.build(self.name, self.account, self.region),
            wal=Wal(self.storage.wal),
            access=self.access.build(),
            certificates=self.security.in_transit.pem if self.security.in_transit else None,
            encrypt_local_disks=self.security.local_disks,
            kerberos=self._kerberos(document),
            tags=self.tags,
            workload=self.workload.build(document.directory),
            targets=self.targets.build(),
            clusters={
                cluster_name: cluster.build(cluster_name)
                for cluster_name, cluster in self.clusters.items()
                if isinstance(cluster, ClusterSection)
            },
            analytics={
                cluster_name: cluster.build(cluster_name, document.directory)
                for cluster_name, cluster in self.clusters.items()
                if isinstance(cluster, TrinoSection)
            },
            alarm_email=self.alarms.email,
            discount=self.discount,
            overrides=tuple(self._overrides(document)),
            fencing=Fencing(self.fencing),
            snapshot_mappers=self.snapshots.mappers,
        )

    def _kerberos(self, document: Document) -> Kerberos | None:
        kerberos = self.security.kerberos
        return kerberos.build(document.where(("security", "kerberos"))) if kerberos else None

    def _overrides(self, document: Document) -> Iterator[Override]:
        for classification, properties in self.overrides.items():
            for key, value in properties.items():
                where = document.where(("overrides", classification, key))
                yield Override(classification=classification, key=key, value=value, where=where)


@cache
def _rows() -> Mapping[str, Mapping[str, Key]]:
    """Return the keys of each section by their names."""
    return {
        section.__name__: {name: Key.of(field) for name, field in section.model_fields.items()}
        for section in _subclasses(Section)
    }


def _subclasses(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        yield section
        yield from _subclasses(section)


def schema_text() -> str:
    """The JSON schema as the file holds it."""
    schema = EnvironmentFile.model_json_schema()
    for section in (schema, *schema["$defs"].values()):
        for name, form in section.get("properties", {}).items():
            form["description"] = _rows()[section["title"]][name].text
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "warmbase environment"
    return json.dumps(schema, indent=2) + "\n"


ANY_NAME: Final = "NAME"
"""Stands for the name of a cluster in a path."""
ANY_TRINO: Final = "TRINO"
"""Stands for the name of an analytics cluster in a path."""
TABLES: Final = "workload.tables"
"""The key of the tables. Each table has the keys of `workload`, which are not listed a second time."""
REFERENCE: Final = "#/$defs/"


class SchemaKey(Struct, frozen=True, kw_only=True):
    """One key: its path, such as `clusters.NAME.core.count`, and its JSON schema. `sections` are the keys within."""

    path: str
    form: Mapping[str, Any]
    key: Key
    effect: str
    required: bool
    sections: tuple[SchemaKey, ...] = ()

    @property
    def is_section(self) -> bool:
        """Return whether every form that the value may have is a section."""
        return all("$ref" in branch for branch in self.form.get("oneOf", (self.form,)))

    @property
    def is_count(self) -> bool:
        """Return whether the value is a whole number that is written without a unit."""
        return any(form.get("type") == "integer" for form in (self.form, *self.form.get("anyOf", ())))

    @property
    def default(self) -> object:
        """Return the default as a file has it; None where there is none."""
        default, pattern = self.form.get("default"), self.form.get("pattern", "")
        if isinstance(default, int) and "iB" in pattern:
            return format_rate(default) if pattern.endswith("/s$") else exact_size(default)
        return default

    @property
    def example(self) -> object:
        """Return the first example of the key, else of its type; None where the schema has none."""
        forms = [self.form, *self.form.get("anyOf", ())]
        return next((form["examples"][0] for form in forms if form.get("examples")), None)


@cache
def schema_keys() -> Mapping[str, SchemaKey]:
    """Return every key by its path, in the order of the schema, sections before their keys."""
    schema = EnvironmentFile.model_json_schema()
    return {key.path: key for top in _keys(schema, schema["$defs"], "", "") for key in _with_sections(top)}


def _with_sections(key: SchemaKey) -> Iterator[SchemaKey]:
    yield key
    for section in key.sections:
        yield from _with_sections(section)


def _keys(section: Mapping[str, Any], known: Mapping[str, Any], prefix: str, effect: str) -> Iterator[SchemaKey]:
    for name, form in section.get("properties", {}).items():
        path = f"{prefix}.{name}".removeprefix(".")
        key = _rows()[section["title"]][name]
        within = key.effect if "$ref" in form else ""
        sections = () if path == TABLES else _inner(form, known, path)
        yield SchemaKey(
            path=path,
            form=form,
            key=key,
            effect=key.effect or effect,
            required=name in section.get("required", ()) and path != TABLES,
            sections=tuple(inner for at, entry in sections for inner in _keys(entry, known, at, within)),
        )


def _inner(form: Mapping[str, Any], known: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections that a value may be, each with its path."""
    if REFERENCE in form.get("$ref", ""):
        section = form["$ref"].removeprefix(REFERENCE)
        yield path.replace(ANY_NAME, ANY_TRINO) if section == TrinoSection.__name__ else path, known[section]
    for branch in (*form.get("anyOf", ()), *form.get("oneOf", ())):
        yield from _inner(branch, known, path)
    if "items" in form:
        yield from _inner(form["items"], known, f"{path}[]")
    for entry in form.get("patternProperties", {}).values():
        yield from _inner(entry, known, f"{path}.{ANY_NAME}")
