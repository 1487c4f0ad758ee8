"""A storage mode: where the data is kept, and what serves the reads."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

__all__ = ["Board", "CompositeName", "DataVolume", "Mode", "TeardownStep"]

DataVolume = Literal["cache", "data"]
Board = Literal["cache", "reads", "nodes"]
CompositeName = Literal["servers", "cache", "writes-to-cache", "room", "reads"]
TeardownStep = Literal["find-exports", "disable-tables", "verify-exports", "flush-meta", "stop-hbase", "check-log"]


class Mode(Struct, frozen=True, kw_only=True):
    """One way to keep the data and to serve reads from it.

    Every room asks this object for what depends on the mode, so adding a mode means adding one object here and one
    template of `hbase-site` properties. Sizing does no I/O: the attributes are data, and the other rooms act on them.
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

    site_template: str
    """The template, below `configurations/templates/`, of the `hbase-site` properties that only this mode sets."""

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
