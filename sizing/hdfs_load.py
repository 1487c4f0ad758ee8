"""HDFS as the store of the data: how long it takes to copy a lost node's data again, and the threads of its daemons."""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct

from sizing.pins import Pins
from sizing.units import SECONDS_PER_HOUR

# judgement: until then, another lost node leaves a single copy of some blocks; within four hours that is rare.
LONGEST_RECOVERY_SECONDS: Final = 4.0 * SECONDS_PER_HOUR
RECOVERY_FRACTION: Final = (
    0.5  # judgement: meanwhile, the other half of every disk serves reads, flushes and compactions
)
# judgement: the usual rule of operators for dfs.namenode.handler.count, 20 x ln(nodes).
NAMENODE_HANDLERS_PER_LN: Final = 20
FEWEST_HANDLERS: Final = 10  # dfs.namenode.handler.count and dfs.datanode.handler.count
# HBase reference guide, "dfs.datanode.max.transfer.threads": 4,096 or more; an open file of a region may take one.
TRANSFER_THREADS: Final = 4_096
# judgement: four store files, each read and written by two threads at the worst moment.
TRANSFERS_PER_REGION: Final = 16
STORE_FILES_PER_REGION: Final = 4  # judgement: a compaction begins at three files, and a flush adds one while it runs
# dfs.client.refresh.read-block-locations.ms of the RegionServers: HubSpot's interval (HDFS-16262).
LOCATION_REFRESH_MS: Final = 30_000
# Source: HubSpot, NNThroughputBenchmark on a NameNode with four vCPUs, which were 30 to 40 % idle.
NAMENODE_REQUESTS_PER_SECOND: Final = 22_000


class HdfsLoad(Struct, frozen=True, kw_only=True):
    """HDFS with the data of HBase on `nodes` DataNodes: one node's bytes, and how fast its disks move them."""

    nodes: int
    copies: int
    node_bytes: float
    disk_bytes_per_second: float
    volumes: int
    regions: int

    @property
    def recovery_seconds(self) -> float:
        """Return how long it takes until every block of a lost node has all its copies again.

        Every surviving node reads its part of the lost blocks from its disks, and writes as much. If fewer nodes than
        copies survive, the node with which EMR replaces the lost one writes all of them.
        """
        survivors = self.nodes - 1
        moved_bytes = 2 * self.node_bytes / survivors if survivors >= self.copies else self.node_bytes
        return moved_bytes / (RECOVERY_FRACTION * self.disk_bytes_per_second)

    @property
    def namenode_handlers(self) -> int:
        """Return `dfs.namenode.handler.count`."""
        return max(FEWEST_HANDLERS, math.ceil(NAMENODE_HANDLERS_PER_LN * math.log(self.nodes)))

    @property
    def datanode_handlers(self) -> int:
        """Return `dfs.datanode.handler.count`: the default, or one for each volume."""
        return max(FEWEST_HANDLERS, self.volumes)

    @property
    def transfer_threads(self) -> int:
        """Return `dfs.datanode.max.transfer.threads`."""
        return max(TRANSFER_THREADS, TRANSFERS_PER_REGION * math.ceil(self.regions / self.nodes))

    @property
    def refreshes_per_second(self) -> float:
        """Return how often the RegionServers ask the NameNode for block locations when no block is local.

        An open store file asks once in each interval, and only if one of its blocks is not local. Source: Hadoop 3.4,
        LocatedBlocksRefresher.
        """
        return 1000 * STORE_FILES_PER_REGION * self.regions / LOCATION_REFRESH_MS


class Hdfs(Struct, frozen=True, kw_only=True):
    """The figures of HDFS in a plan in which HDFS stores the data."""

    recovery_seconds: float
    namenode_handlers: int
    datanode_handlers: int
    transfer_threads: int
    refreshes_per_second: float

    @classmethod
    def of(cls, load: HdfsLoad, pins: Pins) -> Hdfs:
        """Return the figures for this load; overrides may pin some of them."""
        return cls(
            recovery_seconds=load.recovery_seconds,
            namenode_handlers=pins.namenode_handlers or load.namenode_handlers,
            datanode_handlers=pins.datanode_handlers or load.datanode_handlers,
            transfer_threads=pins.transfer_threads or load.transfer_threads,
            refreshes_per_second=load.refreshes_per_second,
        )
