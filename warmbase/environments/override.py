"""A property that a person sets against the plan's own value.

A property that states a figure of the plan pins that figure, or is refused. So no property is rendered with a value
other than the plan's figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from warmbase.sizing.requirements import Pins
from warmbase.sizing.server.restart import MOST_RETRIES


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
