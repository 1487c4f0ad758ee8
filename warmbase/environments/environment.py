"""One environment file, read and checked: an `Environment` is the proof that nothing in the file is wrong.

An `Override` is a property that a person sets against the plan's own value. A property that states a figure of the plan
pins that figure, or is refused. So no property is rendered with a value other than the plan's figure.

An `Environment` names the place of the HBase root, a prefix of a bucket that the storage stack creates or that exists
already, and the Kerberos realm of its clusters. `HBaseSecurity` holds the security settings of HBase that follow from a
launch.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

from warmbase.ground.values import EqualButFor
from warmbase.sizing.modes import Mode
from warmbase.sizing.requirements import ClusterChoice, Pins, Targets
from warmbase.sizing.server.restart import MOST_RETRIES
from warmbase.sizing.workload.workload import Workload


class Override(Struct, frozen=True, kw_only=True):
    """`classification` is a path such as `hbase-env/export`; `where` is file and line, or an option."""

    classification: str
    key: str
    value: str
    where: str

    @property
    def line(self) -> int | None:
        """Return the line of the file; None where an option of the command line sets the property."""
        line = self.where.rpartition(":")[2]
        return int(line) if line.isdecimal() else None


MOST: Final = 2**31 - 1
LONG: Final = 2**63 - 1
"""The largest int and long of Java."""


class Pin(Struct, frozen=True, kw_only=True):
    """A property that pins the figure of that name, with the values that HBase and Hadoop accept."""

    figure: str
    least: int = 1
    most: int = MOST
    whole: bool = True

    def value(self, text: str) -> float:
        """Return the number that the property states. Raises ValueError where the text is no number."""
        return int(text) if self.whole else float(text)

    def refusal(self, text: str) -> str | None:
        """Return why the property cannot have that value, None where it can."""
        kind = f"{'a whole' if self.whole else 'a'} number from {self.least:,} to {self.most:,}"
        try:
            fits = self.least <= self.value(text) <= self.most
        except ValueError:
            fits = False
        return None if fits else f"{text!r} is not {kind}"


PINNED: Final[Mapping[tuple[str, str], Pin]] = {
    ("hbase-site", "hbase.regionserver.handler.count"): Pin(figure="handlers"),
    ("hbase-site", "hbase.ipc.server.callqueue.read.ratio"): Pin(figure="read_fraction", least=0, most=1, whole=False),
    ("hbase-site", "hbase.hfile.thread.prefetch"): Pin(figure="prefetch_threads"),
    ("hbase-site", "hbase.regionserver.executor.openregion.threads"): Pin(figure="open_region_threads"),
    ("hbase-site", "fs.s3a.connection.maximum"): Pin(figure="s3_connections"),
    ("emrfs-site", "fs.s3.maxConnections"): Pin(figure="s3_connections"),
    ("hbase-site", "hbase.hregion.max.filesize"): Pin(figure="split_bytes", most=LONG),
    ("hdfs-site", "dfs.namenode.handler.count"): Pin(figure="namenode_handlers"),
    ("hdfs-site", "dfs.datanode.handler.count"): Pin(figure="datanode_handlers"),
    ("hdfs-site", "dfs.datanode.max.transfer.threads"): Pin(figure="transfer_threads"),
    ("hbase-site", "hbase.master.scp.retain.assignment.force.retries"): Pin(
        figure="retain_retries", least=0, most=MOST_RETRIES
    ),
    ("hbase-site", "hbase.hstore.flusher.count"): Pin(figure="flushers"),
    ("hbase-site", "hbase.regionserver.thread.compaction.small"): Pin(figure="small_compactions"),
    ("hbase-site", "hbase.regionserver.thread.compaction.large"): Pin(figure="large_compactions"),
    ("hbase-site", "hbase.hstore.compaction.throughput.lower.bound"): Pin(figure="compaction_lower_bytes", most=LONG),
    ("hbase-site", "hbase.hstore.compaction.throughput.higher.bound"): Pin(figure="compaction_higher_bytes", most=LONG),
    ("hbase-site", "hbase.hstore.compaction.throughput.offpeak"): Pin(figure="night_bytes", most=LONG),
    ("hbase-site", "hbase.hstore.compaction.max.size"): Pin(figure="day_limit_bytes", most=LONG),
    ("hbase-site", "hbase.hstore.compaction.min.size"): Pin(figure="min_size_bytes", most=LONG),
    ("hbase-site", "hbase.hstore.blockingStoreFiles"): Pin(figure="blocking_store_files"),
}

FIX: Final = "remove it"
CACHE: Final = f"{FIX}, and set targets.hit_ratio, or pin clusters.NAME.core with its volumes"
BLOCKS: Final = f"{FIX}, and set workload.block_size, cell and compression, or name an inspection"
INDEXES: Final = f"{FIX}, and set workload.block_size and row, which decide how much L1 holds"
WRITES: Final = f"{FIX}, and set workload.writes, which decides how much the memstore holds"
NODES: Final = f"{FIX}, and set targets.lost_nodes, or pin clusters.NAME.core.count"

PLANNED: Final[Mapping[tuple[str, str], str]] = {
    ("hbase-site", "hbase.bucketcache.size"): CACHE,
    ("hbase-site", "hbase.bucketcache.bucket.sizes"): BLOCKS,
    ("hbase-site", "hbase.blockcache.minblocksize"): BLOCKS,
    ("hbase-site", "hbase.bucketcache.writer.threads"): FIX,
    ("hbase-site", "hbase.bucketcache.writer.queuelength"): FIX,
    ("hbase-site", "hbase.bucketcache.acceptfactor"): FIX,
    ("hbase-site", "hbase.bucketcache.minfactor"): FIX,
    ("hbase-site", "hbase.bucketcache.persist.intervalinmillis"): CACHE,
    ("hbase-site", "hbase.bucketcache.persistence.chunksize"): FIX,
    ("hbase-site", "hfile.block.cache.size"): INDEXES,
    ("hbase-site", "hfile.block.cache.memory.size"): INDEXES,
    ("hbase-site", "hfile.onheap.block.cache.fixed.size"): INDEXES,
    ("hbase-site", "hbase.regionserver.global.memstore.size"): WRITES,
    ("hbase-site", "hbase.regionserver.global.memstore.memory.size"): WRITES,
    ("hbase-site", "hbase.regionserver.global.memstore.size.lower.limit"): WRITES,
    ("hbase-site", "hbase.hregion.memstore.flush.size"): WRITES,
    ("hbase-site", "hbase.regionserver.offheap.global.memstore.size"): WRITES,
    ("hbase-site", "hbase.master.wait.on.regionservers.maxtostart"): NODES,
    ("hbase-site", "hbase.master.wait.on.regionservers.timeout"): CACHE,
    ("hbase-env/export", "HBASE_REGIONSERVER_OPTS"): f"{FIX}, and put further options of the JVM into HBASE_OPTS",
    ("hbase-env/export", "HBASE_STOP_TIMEOUT"): CACHE,
    ("hdfs-site", "dfs.replication"): NODES,
    ("yarn-site", "yarn.nodemanager.resource.memory-mb"): FIX,
    ("yarn-site", "yarn.scheduler.maximum-allocation-mb"): FIX,
}
"""Properties whose value follows from other inputs, each with the fix that replaces an override."""


def pins(overrides: Iterable[Override]) -> Pins:
    """Return the figures that the overrides pin. The reader has already refused invalid numbers."""
    figures: dict[str, Any] = {}
    for override in overrides:
        if (pin := PINNED.get((override.classification, override.key))) is not None:
            figures[pin.figure] = pin.value(override.value)
    return Pins(**figures)


EMR_TAG = "for-use-with-amazon-emr-managed-policies"
"""AmazonEMRServicePolicy_v2 may only touch what carries it (Management Guide, emr-managed-iam-policies)."""


ANALYTICS = "analytics"
"""The role of an analytics cluster, which neither reads nor writes the root."""


class Wal(StrEnum):
    """Where the write-ahead log lies: on the cluster's own HDFS, or in EMR's service, which outlives the cluster."""

    HDFS = "hdfs"
    EMR_WAL = "emr-wal"


class Network(Struct, frozen=True, kw_only=True):
    """The network of the nodes. `vpc` and `subnet` are ids of existing resources; None where warmbase creates both.

    `route_table` is the one of that subnet, if warmbase adds an S3 endpoint to it; otherwise None.
    `endpoint_policies`: whether the endpoints of a new VPC have policies that limit which accounts they reach.
    """

    availability_zone: str
    vpc: str | None = None
    subnet: str | None = None
    route_table: str | None = None
    endpoint_policies: bool = True


class Access(Struct, frozen=True, kw_only=True):
    """The clients, beside the cluster's own nodes, that may reach ZooKeeper, the master and the RegionServers."""

    security_groups: tuple[str, ...]
    cidrs: tuple[str, ...]


class Environment(EqualButFor, frozen=True, kw_only=True):
    """Everything a person decided about one environment. `source` is the file, for messages."""

    UNCOMPARED: ClassVar[str] = "explicit_keys"

    source: str
    name: str
    account: str | None
    region: str
    network: Network
    release: str
    os_release: str | None
    """The release of Amazon Linux; None is the newest that EMR has for its release when the cluster is launched."""
    mode: Mode
    root: Root
    wal: Wal
    access: Access
    certificates: str | None
    """s3:// URL of the PEM files by which nodes encrypt what they send each other; None where they do not."""
    encrypt_local_disks: bool
    tags: Mapping[str, str]
    workload: Workload
    targets: Targets
    clusters: Mapping[str, ClusterChoice]
    alarm_email: str | None
    discount: float
    """The fraction that a savings plan or private pricing takes off EC2's on-demand price of the instances."""
    overrides: tuple[Override, ...]
    kerberos: Kerberos | None = None
    """The realm in which new clusters are launched; None where HBase authenticates nobody."""
    fencing: Literal["alarm", "stop"] = "alarm"
    """The answer of a node to a claim that names another cluster: an alarm, or also the end of HBase on the node."""
    explicit_keys: frozenset[str] = frozenset()
    """The keys whose values somebody stated in the file, such as `workload.stored`; the others are assumed."""
    analytics: Mapping[str, Any] = {}
    """The analytics clusters, which neither read nor write the root. Each choice has the type of its engine."""
    snapshot_mappers: int | None = None
    """Mappers that copy a snapshot at the same time; None for one on each core node."""

    @property
    def log_bucket(self) -> str:
        """The bucket that takes EMR's logs and the root bucket's access log."""
        return f"warmbase-{self.name}-logs-{self.account or ACCOUNT_PSEUDO_PARAMETER}-{self.region}"

    @property
    def argument(self) -> str:
        """Return the environment's file for a printed command, quoted so that a shell passes it on as one word."""
        return shlex.quote(Path(self.source).stem)

    @property
    def wal_workspace(self) -> str:
        """Return the workspace of EMR's write-ahead logs: letters and digits, and a different one for each name."""
        return f"warmbase{self.name.replace('-', 'X')}"

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """Return the names of all clusters: those of HBase, then the analytics clusters."""
        return (*self.clusters, *self.analytics)

    def role(self, cluster_name: str) -> str:
        """Return `active` or `replica` for a cluster of HBase, and `analytics` for any other."""
        return ANALYTICS if cluster_name in self.analytics else self.clusters[cluster_name].role

    def engine(self, cluster_name: str) -> str:
        """Return the name of a cluster's engine, as the file states it."""
        return self.analytics[cluster_name].ENGINE if cluster_name in self.analytics else "hbase"

    def states(self, key: str) -> bool:
        """Return whether the file states the value of a key such as `targets.p99`."""
        return key in self.explicit_keys

    @property
    def active(self) -> ClusterChoice:
        """The one cluster that may write to the root."""
        return next(cluster for cluster in self.clusters.values() if cluster.role == "active")

    def in_account(self, text: str, account: str) -> str:
        """Return a text of ours with the account that CloudFormation fills in."""
        return text.replace(ACCOUNT_PSEUDO_PARAMETER, account)


INCOMPLETE_UPLOAD_DAYS: Final = 3  # judgement: no upload of a store file takes as long

ACCOUNT_PSEUDO_PARAMETER = "${AWS::AccountId}"
"""The placeholder that CloudFormation replaces with the account, in the names of a file that states no account."""
SOME_ACCOUNT: Final = re.compile(rf"[0-9]{{12}}|{re.escape(ACCOUNT_PSEUDO_PARAMETER)}")

METRICS_ID_LENGTH: Final = 64  # S3 API Reference, PutBucketMetricsConfiguration: letters, digits, ".", "-" and "_"
RULE_ID_LENGTH: Final = 255  # S3 API Reference, LifecycleRule
HASH_LENGTH: Final = 16  # judgement: 64 bits, and S3 allows a bucket 1,000 ids of either kind
UNCONDITIONAL: Final[Mapping[str, Mapping[str, str]]] = {
    "Null": {"s3:if-match": "true", "s3:if-none-match": "true"},
    # The parts of an upload carry no condition; the request that completes it does.
    "Bool": {"s3:ObjectCreationOperation": "true"},
}
"""The condition of a write that states none, which could take a claim from a cluster that still writes.

Source: Amazon S3 User Guide, conditional-writes-enforce.
"""
NOT_PLAIN: Final = re.compile(rb"[^A-Za-z0-9/-]")


class Root(Struct, frozen=True, kw_only=True):
    """`bucket` may carry `${AWS::AccountId}` for CloudFormation to fill in; `prefix` has no slash at its end.

    `existing`: the bucket was there before, and is its owner's to set up. `key`: the ARN of the KMS key that encrypts
    what is in it already; without one, or where the bucket is new, the environment's own key encrypts what is written.
    `owner`: the account that an existing bucket belongs to, if it is not that of the environment.
    """

    bucket: str
    prefix: str
    existing: bool = False
    key: str | None = None
    owner: str | None = None

    @property
    def url(self) -> str:
        """`hbase.rootdir`. The slash at the end matters: EMR asks for it."""
        return f"s3://{self.bucket}/{self.prefix}/"

    def bucket_in(self, account: str) -> str:
        """Return the name of the bucket, with this account if the file states none."""
        return self.bucket.replace(ACCOUNT_PSEUDO_PARAMETER, account)

    def owner_in(self, account: str) -> str:
        """Return the account that the bucket belongs to, for an environment in this account."""
        return self.owner or account

    @property
    def metrics_id(self) -> str:
        """Return the id of the bucket's request metrics for the prefix; no two prefixes share one.

        Every bucket that warmbase creates has the prefix `hbase`, and its id stays as it was.
        """
        return "hbase-root" if self.prefix == "hbase" else prefix_id("hbase-root", self.prefix, METRICS_ID_LENGTH)

    @property
    def uploads_rule_id(self) -> str:
        """Return the id of the lifecycle rule that deletes incomplete uploads below the prefix."""
        return prefix_id("warmbase-incomplete-uploads", self.prefix, RULE_ID_LENGTH)

    @property
    def claim_key(self) -> str:
        """The object beside the root that names the one cluster that may write to it."""
        return f"{self.prefix}.warmbase-claim"

    @property
    def objects(self) -> tuple[str, ...]:
        """Return patterns that match the keys that HBase's file systems request.

        The root is asked for by the key without its slash (S3A); EMRFS marks it and each directory above it by a key of
        its own.
        """
        parts = self.prefix.split("/")
        marks = (f"{'/'.join(parts[:count])}_$folder$" for count in range(1, len(parts) + 1))
        return (self.prefix, *marks, f"{self.prefix}/*")

    def overlaps(self, other: Root) -> bool:
        """Return whether one root is inside the other, or both are the same."""
        mine, theirs = self.url, other.url
        if ACCOUNT_PSEUDO_PARAMETER in mine + theirs:
            # A file that names no account may be deployed in any.
            mine, theirs = (SOME_ACCOUNT.sub("*", url) for url in (mine, theirs))
        return mine.startswith(theirs) or theirs.startswith(mine)


def prefix_id(name: str, prefix: str, length: int) -> str:
    """Return an id of letters, digits, ".", "-" and "_" that no other prefix has under this name.

    A slash becomes a dot, and each other byte that is not a letter, a digit or a dash becomes `_XX`, so that the prefix
    can be read back. An id that would be too long ends with `__`, which no shorter one contains, and a hash.
    """
    text = NOT_PLAIN.sub(lambda match: b"_%02X" % match[0][0], prefix.encode()).decode().replace("/", ".")
    whole = f"{name}.{text}"
    if len(whole) <= length:
        return whole
    return f"{whole[: length - HASH_LENGTH - 2]}__{hashlib.sha256(prefix.encode()).hexdigest()[:HASH_LENGTH]}"


class Kerberos(EqualButFor, frozen=True, kw_only=True):
    """How clients and servers prove who they are.

    `admin_password` is a dynamic reference that CloudFormation resolves, never the password. `kdc` and `admin_server`
    are those of an external KDC, each as HOST or HOST:PORT, which EMR neither creates nor backs up; both are None where
    each cluster has its own KDC, on its primary node. `where` is the place in the environment file.
    """

    UNCOMPARED: ClassVar[str] = "where"

    realm: str
    admin_password: str
    kdc: str | None = None
    admin_server: str | None = None
    where: str = ""

    @property
    def secret(self) -> tuple[str, str]:
        """Return the id of the secret with the password, and the key in it; the key is empty if there is none."""
        path = self.admin_password.removeprefix("{{resolve:secretsmanager:").removesuffix("}}")
        identity, _, rest = path.partition(":SecretString")
        return identity, rest.removeprefix(":").partition(":")[0]

    @classmethod
    def parse(cls, security_configuration: Mapping[str, Any], attributes: Mapping[str, str] | None) -> Kerberos | None:
        """Read both documents of a cluster, which a template and EMR spell alike; None without Kerberos."""
        kerberos = security_configuration.get("AuthenticationConfiguration", {}).get("KerberosConfiguration")
        if not kerberos or not attributes:
            return None
        servers = kerberos.get("ExternalKdcConfiguration") or {}
        return cls(
            realm=attributes["Realm"],
            admin_password=attributes["KdcAdminPassword"],
            kdc=servers.get("KdcServer"),
            admin_server=servers.get("AdminServer"),
        )

    def __str__(self) -> str:
        return f"realm {self.realm}, KDC {self.kdc or 'of the cluster'}"


class HBaseSecurity(Struct, frozen=True, kw_only=True):
    """The security settings of HBase that are fixed when a cluster is launched."""

    kerberos: Kerberos | None = None
    user_coprocessors: bool = False
    """True where tables may load coprocessors; a new cluster has an override for that."""
