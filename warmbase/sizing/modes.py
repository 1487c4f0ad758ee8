"""The storage modes, each of which is one object: where the data is kept, and what serves the reads.

A new mode needs an object here and its place in `MODES`, and its name in the schema (`environments/reader/schema.py`,
from which `environments/schema.json` is generated). A room changes only if the mode has something that no other mode
has: a property (`configurations/properties/`), another kind of data volume (`search/disks.py`), dashboard
(`dashboards/boards.py`), notification (`dashboards/alarms.py`) or teardown step (`operations/deploy/teardown.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

DataVolume = Literal["cache", "data"]
Board = Literal["cache", "reads", "nodes"]
CompositeName = Literal["servers", "cache", "writes-to-cache", "room", "reads"]
TeardownStep = Literal["find-exports", "disable-tables", "verify-exports", "flush-meta", "stop-hbase", "check-log"]


class Mode(Struct, frozen=True, kw_only=True):
    """One way to keep the data and to serve reads from it.

    Every room asks this object for what depends on the mode, so adding a mode means adding one object here. Sizing
    does no I/O: the attributes are data, and the other rooms act on them.
    """

    name: str
    """The value of `storage.mode` in an environment file, and of `mode` in JSON."""

    title: str
    """The system in a few words, for the head of a page."""

    summary: str
    """One line for a comparison of modes."""

    keeps_data_in_s3: bool
    """The HBase root is a bucket, so the data outlives the cluster and another cluster can reach it.

    Such a root needs a bucket, permissions of the nodes on it, and a claim that admits one writer.
    """

    data_volume: DataVolume | None
    """The purpose of the volume that serves reads: `cache` for a BucketCache, `data` for HDFS, None for S3 alone."""

    data_copies: int
    """Copies of each stored byte that the cluster writes; S3 makes its own copies, and they are not counted."""

    min_core_nodes: int
    """The smallest number of core nodes to which `warmbase plan` sizes a cluster."""

    dashboards: tuple[Board, ...]
    """The dashboards that have something to show."""

    composite_alarms: tuple[CompositeName, ...]
    """The notifications: the causes for which a composite alarm pages somebody."""

    teardown: tuple[TeardownStep, ...]
    """The steps on the primary node of an active cluster, in order, before EMR terminates it."""

    @property
    def has_bucket_cache(self) -> bool:
        """Return whether reads are served from a BucketCache on the nodes' disks."""
        return self.data_volume == "cache"

    @property
    def emr_storage_mode(self) -> str:
        """Return the value of `hbase.emr.storageMode`."""
        return "s3" if self.keeps_data_in_s3 else "hdfs"

    @property
    def needs_export(self) -> bool:
        """Return whether the data ends with the cluster unless snapshots of it were exported."""
        return "verify-exports" in self.teardown

    def __str__(self) -> str:
        """Return the name, as people write it."""
        return self.name


S3_CACHED: Final = Mode(
    name="s3-cached",
    title="HBase on S3 with a disk cache",
    summary="data in S3; a cache on the nodes' disks serves the reads",
    keeps_data_in_s3=True,
    data_volume="cache",
    data_copies=1,
    min_core_nodes=2,
    dashboards=("cache", "reads", "nodes"),
    composite_alarms=("servers", "cache", "writes-to-cache", "room", "reads"),
    teardown=("disable-tables", "flush-meta", "stop-hbase", "check-log"),
)


S3_PLAIN: Final = Mode(
    name="s3-plain",
    title="HBase on S3 without a disk cache",
    summary="data in S3; every read goes to S3 (for disaster recovery)",
    keeps_data_in_s3=True,
    data_volume=None,
    data_copies=1,
    min_core_nodes=2,
    dashboards=("reads", "nodes"),
    composite_alarms=("servers", "cache", "reads"),
    teardown=("disable-tables", "flush-meta", "stop-hbase", "check-log"),
)


HDFS_REPLICATION: Final = 3
"""EMR's default from ten core nodes on, and what data that is stored nowhere else needs."""

HDFS: Final = Mode(
    name="hdfs",
    title="HBase on HDFS",
    summary="data on the nodes' disks, in three copies; lost when the cluster ends",
    keeps_data_in_s3=False,
    data_volume="data",
    data_copies=HDFS_REPLICATION,
    min_core_nodes=HDFS_REPLICATION,
    dashboards=("reads", "nodes"),
    composite_alarms=("servers",),
    teardown=("find-exports", "disable-tables", "verify-exports"),
)


MODES: Final[Mapping[str, Mode]] = {mode.name: mode for mode in (S3_CACHED, S3_PLAIN, HDFS)}
"""Every mode by its name, in the order in which they are compared."""
