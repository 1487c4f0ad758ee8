"""One environment file, read and checked: the proof that nothing in it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from environments.kerberos import Kerberos
from environments.override import Override
from environments.root import ACCOUNT_PSEUDO_PARAMETER, Root
from sizing.cluster import ClusterChoice
from sizing.engines.trino.request import TrinoChoice
from sizing.equality import EqualButFor
from sizing.modes import Mode
from sizing.targets import Targets
from sizing.workload import Workload

__all__ = ["ACCOUNT_PSEUDO_PARAMETER", "ANALYTICS", "EMR_TAG", "Access", "Environment", "Fencing", "Network", "Wal"]

EMR_TAG = "for-use-with-amazon-emr-managed-policies"
"""AmazonEMRServicePolicy_v2 may only touch what carries it (Management Guide, emr-managed-iam-policies)."""


ANALYTICS = "analytics"
"""The role of a cluster of Trino, which neither reads nor writes the root."""


class Wal(StrEnum):
    """Where the write-ahead log lies: on the cluster's own HDFS, or in EMR's service, which outlives the cluster."""

    HDFS = "hdfs"
    EMR_WAL = "emr-wal"


class Fencing(StrEnum):
    """The answer of a node to a claim that names another cluster: an alarm, or an alarm and the end of HBase there."""

    ALARM = "alarm"
    STOP = "stop"


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
    fencing: Fencing = Fencing.ALARM
    explicit_keys: frozenset[str] = frozenset()
    """The keys whose values somebody stated in the file, such as `workload.stored`; the others are assumed."""
    analytics: Mapping[str, TrinoChoice] = {}
    """The analytics clusters, which neither read nor write the root."""
    snapshot_mappers: int | None = None
    """Mappers that copy a snapshot at the same time; None for one on each core node."""

    @property
    def log_bucket(self) -> str:
        """The bucket that takes EMR's logs and the root bucket's access log."""
        return f"warmbase-{self.name}-logs-{self.account or ACCOUNT_PSEUDO_PARAMETER}-{self.region}"

    @property
    def wal_workspace(self) -> str:
        """Return the workspace of EMR's write-ahead logs: letters and digits, and a different one for each name."""
        return f"warmbase{self.name.replace('-', 'X')}"

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """Return the names of all clusters: those of HBase, then the analytics clusters."""
        return (*self.clusters, *self.analytics)

    def role(self, cluster_name: str) -> str:
        """Return `active` or `replica` for a cluster of HBase, and `analytics` for one of Trino."""
        return ANALYTICS if cluster_name in self.analytics else self.clusters[cluster_name].role

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
