"""The schema of an environment file: everything a person decides and nothing a machine can work out.

It is complete: a value that the project does not support yet is refused as such, never ignored. `rules` of a section
check several of its values together; those of the whole file are in `EnvironmentFile`, and those of a cluster in the
section of its engine. `build` turns the file into the types that the rest of the project uses.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from functools import reduce
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Discriminator, Tag, WithJsonSchema

from warmbase.engines.engine import ENGINES, OTHER_TITLES
from warmbase.environments.environment import (
    ACCOUNT_PSEUDO_PARAMETER,
    EMR_TAG,
    PINNED,
    PLANNED,
    Access,
    Environment,
    Network,
    Override,
    Root,
    Wal,
)
from warmbase.environments.reader.cluster_schema import CLUSTER_KDC, ClusterSection, EngineSection, Security
from warmbase.environments.reader.document import Document
from warmbase.environments.reader.key import Bounds, Slider, yaml_key
from warmbase.environments.reader.messages import quoted
from warmbase.environments.reader.section import Refusal, Section, Share, known_values, refuse
from warmbase.environments.reader.workload_schema import AnyWorkload, TablesSection, TargetsSection
from warmbase.facts.keys import current_key
from warmbase.facts.prices import priced_regions
from warmbase.facts.releases import releases, unknown_release
from warmbase.sizing.modes import MODES

# What a bucket and a key may be in a bootstrap action's argument and in an IAM policy without escapes.
# No part begins with a dot: HBase takes `a/./b` and `c/../a/b` for `a/b`, and a root must have one name.
ROOT_FORM = r"^(new|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_=-][A-Za-z0-9._=-]*/)+)$"
KEY_FORM = r"^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$"
ACCOUNT_FORM = r"^[0-9]{12}$"
OS_FORM = r"^2023\.[0-9]{1,2}\.[0-9]{8}\.[0-9]{1,2}$"
GROUP_FORM = r"^sg-[0-9a-f]{8,17}$"
# RFC 5322 without braces, which CloudFormation would fill in.
MAIL_FORM = r"^[\w.!#$%&'*+/=?^`|~-]+@[\w.-]+$"
# IAM, whose rules for tags are the narrowest: IAM User Guide, id_tags.
TAG_FORM = r"[\w .:/=+@-]*"
MOST_TAG_KEY, MOST_TAG_VALUE = 128, 256
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
        why, fix = unknown_release(label)
        raise refuse(f"{quoted(label)} {why}", fix)
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
    return _tag(key, MOST_TAG_KEY)


def _tag(text: str, most: int = MOST_TAG_VALUE) -> str:
    if len(text) > most or not re.fullmatch(TAG_FORM, text):
        raise refuse(
            f"AWS takes no {quoted(text)} in a tag", f"use letters, digits, blanks and _ . : / = + - @, at most {most}"
        )
    return text


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


class Alarms(Section):
    """The address that is notified of alarms."""

    email: str | None = yaml_key(
        "The mail address that is notified of alarms.",
        None,
        form="a mail address",
        examples=[MAIL],
        pattern=MAIL_FORM,
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


SECTIONS: Final = {engine.name: engine.section for engine in ENGINES.values()}
"""The section of a cluster of each engine: one of HBase over the root, or an analytics cluster beside it."""


def _engine(value: object) -> str:
    engine = value.get("engine") if isinstance(value, dict) else getattr(value, "ENGINE", None)
    return f"[{engine if engine in list(SECTIONS) else ClusterSection.ENGINE}]"


if TYPE_CHECKING:
    AnyCluster = EngineSection
else:
    TAGGED = [Annotated[section, Tag(f"[{name}]")] for name, section in SECTIONS.items()]
    AnyCluster = Annotated[reduce(operator.or_, TAGGED), Discriminator(_engine)]


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
    tags: dict[Annotated[str, AfterValidator(_not_reserved)], Annotated[str, AfterValidator(_tag)]] = yaml_key(
        "Tags for every resource, besides warmbase's own.", default_factory=dict, examples=[{"team": "data-platform"}]
    )
    workload: AnyWorkload = yaml_key("The stored data and its reads and writes.", examples=[WORKLOAD])
    targets: TargetsSection = yaml_key(
        "The targets that a plan has to meet.", TargetsSection.model_construct(), examples=[{"hit_ratio": 0.95}]
    )
    clusters: dict[ClusterName, AnyCluster] = yaml_key(
        "The clusters of the environment by name: one active cluster, replicas of it, and analytics clusters, which run"
        f" {OTHER_TITLES}.",
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

    def rules(self) -> Iterator[Refusal]:
        """Yield the refusals of rules about several sections, each of which is valid by itself."""
        for name in vars(self).get("clusters", ()):
            if not re.fullmatch(CLUSTER_NAME, name):
                why = f"{quoted(name)} names a cluster, and is not of lower-case letters, 12 at most"
                yield Refusal(at=("clusters", name), why=why, fix="write it like blue or green")
        with known_values:
            # A BucketCache that no table uses could not meet any target hit ratio.
            tables = self.workload.tables.values() if isinstance(self.workload, TablesSection) else [self.workload]
            if MODES[self.storage.mode].has_bucket_cache and not any(table.cache for table in tables):
                yield Refusal(
                    at=("workload", "tables" if isinstance(self.workload, TablesSection) else "cache"),
                    why="no table is cached (cache: false), so nothing would use the cache or meet the target hit"
                    " ratio",
                    fix="remove cache: false from a table, or plan a cluster without a cache (storage: {mode:"
                    " s3-plain})",
                )
        yield from self._network_rules()
        with known_values:
            # Two active clusters would both write to one root, and corrupt it.
            clusters = {name: cluster for name, cluster in self.clusters.items() if isinstance(cluster, ClusterSection)}
            active = [name for name, cluster in clusters.items() if cluster.role == "active"]
            if len(active) > 1:
                names = ", ".join(map(quoted, active))
                why = f"one cluster writes to the root, and {len(active)} are active ({names})"
                yield Refusal(at=("clusters",), why=why, fix="keep one active")
            if not active:
                why = "no HBase cluster is active, so nothing would write to the root"
                yield Refusal(at=("clusters",), why=why, fix="make one of them active")
        yield from self._storage_rules()
        for name, cluster in vars(self).get("clusters", {}).items():
            yield from cluster.rules_in(self, name)
        with known_values:
            for classification, properties in self.overrides.items():
                for name, value in properties.items():
                    at, current = ("overrides", classification, name), current_key(name)
                    pin = PINNED.get((classification, current))
                    if pin is not None and current != name:
                        why = f"the key is the deprecated name of {current}, from which warmbase takes a figure"
                        yield Refusal(at=at, why=why, fix=f"write {current}")
                    elif (fix := PLANNED.get((classification, current))) is not None:
                        why = "other figures of the plan follow from this value, so the calculator chooses it"
                        yield Refusal(at=at, why=why, fix=fix)
                    elif pin is not None and (refusal := pin.refusal(value)) is not None:
                        yield Refusal(at=at, why=refusal, fix="write such a number; the plan then uses it")
        with known_values:
            kerberos = self.security.kerberos
            if kerberos is not None and kerberos.kdc == CLUSTER_KDC and kerberos.gives("admin_server"):
                why = "the KDC of a cluster has its own admin server, on the primary node"
                yield Refusal(at=("security", "kerberos", "admin_server"), why=why, fix="remove it")
            if kerberos is not None and kerberos.kdc != CLUSTER_KDC:
                if not kerberos.gives("admin_server"):
                    why = "EMR creates the principals of its daemons on the admin server of an external KDC"
                    fix = "add admin_server, for example `admin_server: kdc.example.com:749`"
                    yield Refusal(at=("security", "kerberos"), why=why, fix=fix)
                if self.network.vpc == "new":
                    yield Refusal(
                        at=("security", "kerberos", "kdc"),
                        why="the VPC is new, so no route leads from it to a KDC when the nodes start",
                        fix="name a VPC from which the KDC is reachable, or use `kdc: cluster`",
                    )

    def _network_rules(self) -> Iterator[Refusal]:
        with known_values:
            region, zone = self.region, self.network.availability_zone
            if zone[:-1] != region:
                yield Refusal(
                    at=("network", "availability_zone"),
                    why=f"zone {quoted(zone)} is not in region {region}",
                    fix=f"use a zone such as {region}a",
                )
        with known_values:
            if self.network.vpc == "new":
                for name in ("subnet", "route_table"):
                    if self.network.gives(name):
                        yield Refusal(
                            at=("network", name),
                            why="the VPC is new, so it has no existing resources",
                            fix="remove it, or name the VPC that it belongs to",
                        )
                if self.access.security_groups:
                    yield Refusal(
                        at=("access", "security_groups"),
                        why="a security group belongs to a VPC, but the network is new",
                        fix="use cidrs, the client security group that warmbase creates, or an existing VPC",
                    )
                return
            if not self.network.gives("subnet"):
                yield Refusal(
                    at=("network", "vpc"),
                    why="the VPC exists already, and nodes need one of its private subnets",
                    fix="also name a subnet in the availability zone",
                )
            if self.network.gives("endpoint_policies"):
                yield Refusal(
                    at=("network", "endpoint_policies"),
                    why="the VPC exists already, and other programs may use its endpoints, so warmbase sets no policy"
                    " on them",
                    fix="remove it",
                )

    def _storage_rules(self) -> Iterator[Refusal]:
        with known_values:
            # In HDFS mode the data is on the nodes: no other log outlives it.
            if not MODES[self.storage.mode].keeps_data_in_s3 and self.storage.wal == "emr-wal":
                yield Refusal(
                    at=("storage", "wal"), why="EMR WAL is for data in S3, but the mode is hdfs", fix="use hdfs"
                )
        with known_values:
            if not MODES[self.storage.mode].keeps_data_in_s3 and self.fencing == "stop":
                why = "fencing protects a root in S3, which another cluster could claim, but the mode is hdfs"
                yield Refusal(at=("fencing",), why=why, fix="remove it")
        with known_values:
            if self.storage.root != "new" and not MODES[self.storage.mode].keeps_data_in_s3:
                yield Refusal(
                    at=("storage", "root"),
                    why="in mode hdfs the data is on the nodes, and this bucket would stay empty",
                    fix="remove it, or use mode s3-cached",
                )
        with known_values:
            # Only an existing bucket has data, or a key, from before.
            if self.storage.root == "new" and self.storage.gives("key"):
                yield Refusal(
                    at=("storage", "key"),
                    why="a new bucket has its own key, so this key would encrypt nothing",
                    fix="remove it, or name the existing root that it encrypts",
                )
            if self.storage.root == "new" and self.storage.gives("owner"):
                yield Refusal(
                    at=("storage", "owner"),
                    why="a new bucket belongs to the account of the environment",
                    fix="remove it, or name the existing root that belongs to this account",
                )
        with known_values:
            region = (self.storage.key or "").split(":")[3:4]  # the fourth part of an ARN
            if region and region != [self.region]:
                yield Refusal(
                    at=("storage", "key"),
                    why=f"a key of {quoted(region[0])} encrypts nothing for a bucket's objects in {self.region}",
                    fix=f"name the key of {self.region}",
                )

    def build(self, document: Document) -> Environment:
        """Return the file as the type that the rest of the project uses."""
        network, storage, kerberos = self.network, self.storage, self.security.kerberos
        if storage.root == "new":
            bucket = f"warmbase-{self.name}-root-{self.account or ACCOUNT_PSEUDO_PARAMETER}-{self.region}"
            root = Root(bucket=bucket, prefix="hbase")
        else:
            bucket, _, prefix = storage.root.removeprefix("s3://").rstrip("/").partition("/")
            root = Root(bucket=bucket, prefix=prefix, existing=True, key=storage.key, owner=storage.owner)
        return Environment(
            source=document.source,
            explicit_keys=document.explicit_keys,
            name=self.name,
            account=self.account,
            region=self.region,
            network=Network(
                availability_zone=network.availability_zone,
                vpc=None if network.vpc == "new" else network.vpc,
                subnet=network.subnet,
                route_table=network.route_table,
                endpoint_policies=network.endpoint_policies,
            ),
            release=self.release,
            os_release=self.os_release,
            mode=MODES[self.storage.mode],
            root=root,
            wal=Wal(self.storage.wal),
            access=Access(security_groups=tuple(self.access.security_groups), cidrs=tuple(self.access.cidrs)),
            certificates=self.security.in_transit.pem if self.security.in_transit else None,
            encrypt_local_disks=self.security.local_disks,
            kerberos=kerberos.build(document.where(("security", "kerberos"))) if kerberos else None,
            tags=self.tags,
            workload=self.workload.build(document.directory),
            targets=self.targets.build(),
            clusters={
                cluster_name: cluster.build(cluster_name, document.directory)
                for cluster_name, cluster in self.clusters.items()
                if isinstance(cluster, ClusterSection)
            },
            analytics={
                cluster_name: cluster.build(cluster_name, document.directory)
                for cluster_name, cluster in self.clusters.items()
                if not isinstance(cluster, ClusterSection)
            },
            alarm_email=self.alarms.email,
            discount=self.discount,
            overrides=tuple(
                Override(
                    classification=classification,
                    key=key,
                    value=value,
                    where=document.where(("overrides", classification, key)),
                )
                for classification, properties in self.overrides.items()
                for key, value in properties.items()
            ),
            fencing=self.fencing,
            snapshot_mappers=self.snapshots.mappers,
        )
