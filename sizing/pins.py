"""Figures of a RegionServer that somebody states with an override, and that the calculator then uses as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ["NO_PINS", "PINNED_BY", "Pins"]


class Pins(Struct, frozen=True, kw_only=True):
    """The pinned figures, by their names in the plan; the calculator chooses each figure that is None."""

    handlers: int | None = None
    read_fraction: float | None = None
    """The figure `call_queues.read_fraction` of the plan."""
    prefetch_threads: int | None = None
    open_region_threads: int | None = None
    s3_connections: int | None = None
    split_bytes: int | None = None
    """The figure `regions.split_bytes` of the plan."""
    retain_retries: int | None = None
    """The figure `restart.retain_retries` of the plan."""
    namenode_handlers: int | None = None
    """The figure `hdfs.namenode_handlers` of a plan for mode hdfs."""
    datanode_handlers: int | None = None
    """The figure `hdfs.datanode_handlers` of a plan for mode hdfs."""
    transfer_threads: int | None = None
    """The figure `hdfs.transfer_threads` of a plan for mode hdfs."""
    flushers: int | None = None
    """This figure and those below are in `writes.settings` of the plan."""
    small_compactions: int | None = None
    large_compactions: int | None = None
    compaction_lower_bytes: int | None = None
    compaction_higher_bytes: int | None = None
    night_bytes: int | None = None
    day_limit_bytes: int | None = None
    min_size_bytes: int | None = None
    blocking_store_files: int | None = None


NO_PINS: Final = Pins()

PINNED_BY: Final[Mapping[str, str]] = {
    "handlers": "hbase-site.hbase.regionserver.handler.count",
    "read_fraction": "hbase-site.hbase.ipc.server.callqueue.read.ratio",
    "prefetch_threads": "hbase-site.hbase.hfile.thread.prefetch",
    "open_region_threads": "hbase-site.hbase.regionserver.executor.openregion.threads",
    "s3_connections": "hbase-site.fs.s3a.connection.maximum",
    "split_bytes": "hbase-site.hbase.hregion.max.filesize",
    "retain_retries": "hbase-site.hbase.master.scp.retain.assignment.force.retries",
    "namenode_handlers": "hdfs-site.dfs.namenode.handler.count",
    "datanode_handlers": "hdfs-site.dfs.datanode.handler.count",
    "transfer_threads": "hdfs-site.dfs.datanode.max.transfer.threads",
    "flushers": "hbase-site.hbase.hstore.flusher.count",
    "small_compactions": "hbase-site.hbase.regionserver.thread.compaction.small",
    "large_compactions": "hbase-site.hbase.regionserver.thread.compaction.large",
    "compaction_lower_bytes": "hbase-site.hbase.hstore.compaction.throughput.lower.bound",
    "compaction_higher_bytes": "hbase-site.hbase.hstore.compaction.throughput.higher.bound",
    "night_bytes": "hbase-site.hbase.hstore.compaction.throughput.offpeak",
    "day_limit_bytes": "hbase-site.hbase.hstore.compaction.max.size",
    "min_size_bytes": "hbase-site.hbase.hstore.compaction.min.size",
    "blocking_store_files": "hbase-site.hbase.hstore.blockingStoreFiles",
}
"""The property whose override pins the figure, with its classification."""
