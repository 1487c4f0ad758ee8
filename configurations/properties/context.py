"""The HBase cluster for which a property is rendered: what a property's value, and its condition, may depend on."""

from __future__ import annotations

from functools import partial

from msgspec import Struct

from warmbase.configurations.properties.property import CORE, HBASE_262, Property
from warmbase.environments.environment import HBaseSecurity
from warmbase.ground.release import Release
from warmbase.sizing.plan import Plan


class RenderingContext(Struct, frozen=True, kw_only=True):
    """One cluster of an environment. `wal_workspace` is empty where EMR does not keep the write-ahead log.

    The questions below are conditions of properties: `when=RenderingContext.is_active`.
    """

    plan: Plan
    release: Release
    role: str
    region: str
    security: HBaseSecurity
    wal_workspace: str

    def figure(self, path: str) -> object:
        """Return the figure of the plan at a path. Raises LookupError where the plan has none."""
        return self.plan.figure(path)

    def is_active(self) -> bool:
        """Return whether the cluster writes; the others are replicas."""
        return self.role == "active"

    def has_root_in_s3(self) -> bool:
        """Return whether the data is in a bucket."""
        return self.plan.mode.keeps_data_in_s3

    def has_data_in_hdfs(self) -> bool:
        """Return whether the data is on the disks of the nodes."""
        return not self.plan.mode.keeps_data_in_s3

    def has_bucket_cache(self) -> bool:
        """Return whether a BucketCache on the disks of the nodes serves the reads."""
        return self.plan.mode.has_bucket_cache

    def has_s3a(self) -> bool:
        """Return whether S3A is the S3 client of the release; the other one is EMRFS."""
        return self.release.s3_connector == "s3a"

    def has_root_on_s3a(self) -> bool:
        """Return whether HBase reads and writes its data through S3A."""
        return self.has_root_in_s3() and self.has_s3a()

    def has_emr_wal(self) -> bool:
        """Return whether the cluster writes its log to EMR WAL."""
        return bool(self.wal_workspace)

    def has_kerberos(self) -> bool:
        """Return whether a KDC authenticates the clients."""
        return self.security.kerberos is not None


HBaseProperty = Property[RenderingContext]
"""A property of a cluster with HBase."""
hbase_site = partial(HBaseProperty, classification="hbase-site", groups=CORE, source=HBASE_262)
"""Most properties are those of a RegionServer, and are read when it starts."""
