"""The system volume of a core node, for the write-ahead log, YARN and uploads, and HDFS as the store of the data.

The volume has the size and the rates that gp3 includes, or what the writes need. HBase leaves a log in HDFS until no
memstore needs it, and then moves it to `oldWALs`. The master deletes it there in its next round after ten minutes.
Source: HBase 2.6.2 AbstractFSWAL, TimeToLiveLogCleaner, HMaster.

`Hdfs` is how long HDFS takes to copy a lost node's data again, and the threads of its daemons.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing import gp3
from warmbase.sizing.cost import EMR_ROOT_VOLUME
from warmbase.sizing.requirements import Layout, Pins, Volume
from warmbase.sizing.server.writes import (
    LOG_IO_BYTES,
    FileWriting,
    Memstore,
    WritingServer,
    flush_size_bytes,
    memstore_bytes,
    write_settings,
)
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs, WriteShare
from warmbase.sizing.service.resource import DISK_LATENCY_SECONDS, Disk, Rates
from warmbase.sizing.workload.read import S3_FIRST_BYTE_SECONDS

# judgement: HBase keeps some 32 WALs of 128 MiB for each RegionServer, in two copies, and EMR's logs and YARN's local
# files take as much again.
SYSTEM_GIB: Final = 64
RESERVED_SIZES_GIB: Final = frozenset({SYSTEM_GIB, EMR_ROOT_VOLUME.size_gib})
"""Sizes by which a node knows its other disks."""
HEAP_DUMP_GIB: Final = 24  # judgement: the JVM writes one dump and never overwrites it; most heaps are smaller
OTHER_FILES_GIB: Final = HEAP_DUMP_GIB + 16  # judgement: EMR's logs, YARN's local files, and uploads
FILL_FRACTION: Final = 0.85  # judgement: room for what nobody planned; EMR by itself replaces a node above 90 %
LIVE_LOGS_BYTES: Final = 32 * 128 * MIB  # hbase.regionserver.maxlogs, where the memstore is small
LOGS_OF_A_MEMSTORE: Final = 2  # AbstractFSWAL.calculateMaxLogFiles
CLEANER_MS: Final = 600_000  # hbase.master.logcleaner.ttl and hbase.master.cleaner.interval, each
ARCHIVE_SECONDS: Final = 2 * CLEANER_MS // 1000
FEWEST_LOG_COPIES: Final = 2  # judgement: a write-ahead log on one disk is lost with it; EMR's own default is 1
SPARE_COPIES: Final = 1  # one copy is left when as many nodes are lost as may be
SERVERS: Final = 1_024  # whose results are cached: a search asks for each at every speed of the volumes
UNLIMITED: Final = Rates(bytes_per_second=math.inf, ios_per_second=math.inf)


def hdfs_replication(inputs: SizingInputs, count: int) -> int:
    """Return the copies in HDFS: those of the mode for data, and one more than nodes that may be lost for a log."""
    of_log = max(FEWEST_LOG_COPIES, inputs.requirements.targets.lost_nodes + SPARE_COPIES)
    return min(count, max(inputs.mode.data_copies, of_log))


def distinct_size(size_gib: int) -> int:
    """Return the size, or 1 GiB more if another disk of the node has it: a node identifies its disks by size."""
    return size_gib + (size_gib in RESERVED_SIZES_GIB)


def heap_dump_bytes(size_gib: int) -> int:
    """Return the largest heap dump that a system volume of this size takes beside the logs in HDFS and other files.

    A volume larger than the smallest one has its extra room for the logs, so it takes no larger dump.
    """
    return min(size_gib, SYSTEM_GIB) * GIB * HEAP_DUMP_GIB // SYSTEM_GIB


@lru_cache(maxsize=SERVERS)
def write_share(inputs: SizingInputs, servers: int) -> WriteShare:
    """Return the share of the writes that each of this many RegionServers receives."""
    workload = inputs.requirements.workload
    return WriteShare.of(inputs.demand.blocks, workload.write_bytes_per_second / servers, workload.regions / servers)


@lru_cache(maxsize=SERVERS)
def writing_server(
    inputs: SizingInputs, instance: InstanceType, cache_mib: int, servers: int, size_bytes: float | None = None
) -> WritingServer:
    """Return one of this many RegionServers with a memstore of this size, or of the size that its writes need.

    It has no disks yet, and its log has no limit.
    """
    share, demand, in_hdfs = write_share(inputs, servers), inputs.demand, not inputs.mode.keeps_data_in_s3
    # A thread writes store files to S3 and to the cache, to S3 only, or to HDFS.
    blocks = demand.blocks_prefetched(cache_mib, servers) * servers if cache_mib else 0
    files = FileWriting(
        cached_fraction=1.0 if in_hdfs else min(1.0, blocks / demand.blocks.count),
        caches=cache_mib > 0 and not in_hdfs,
        first_byte_seconds=DISK_LATENCY_SECONDS if in_hdfs else S3_FIRST_BYTE_SECONDS,
        compresses=inputs.requirements.workload.compressed,
    )
    memstore = Memstore(
        size_bytes=memstore_bytes(share, files) if size_bytes is None else size_bytes,
        flush_size_bytes=flush_size_bytes(share),
        regions=share.regions,
    )
    nodes = servers + inputs.requirements.targets.lost_nodes
    return WritingServer(
        cells=share.cells,
        memstore=memstore,
        settings=write_settings(share, memstore, files, instance.vcpus, inputs.requirements.pins),
        files=files,
        vcpus=instance.vcpus,
        network_bytes_per_second=instance.network_sustained_bytes_per_second,
        ebs=Rates(bytes_per_second=instance.ebs_sustained_bytes_per_second, ios_per_second=instance.ebs_sustained_iops),
        disk=None,
        log=None if in_hdfs else UNLIMITED,
        log_copies=0 if inputs.requirements.wal_service else hdfs_replication(inputs, nodes),
        data_copies=inputs.mode.data_copies if in_hdfs else 0,
        block_bytes=round(demand.cacheable.cached_bytes),
        encrypts_hdfs=inputs.requirements.encrypts_hdfs,
    )


def with_disks(server: WritingServer, disk: Disk | None, layout: Layout) -> WritingServer:
    """Return the server with the disk of its cache or data, and with the log on the system volume of its layout."""
    log = server.log
    for volume in layout.volumes:
        if log is not None and volume.purpose == "system":
            log = Rates(bytes_per_second=volume.bytes_per_second, ios_per_second=volume.iops)
    return replace(server, disk=disk, log=log)


@lru_cache(maxsize=SERVERS)
def system_volume(inputs: SizingInputs, instance: InstanceType, cache_mib: int, servers: int) -> Volume:
    """Return the system volume of each of this many nodes, with what gp3 includes if that carries the writes.

    If the instance sustains less than the writes need, the volume has what the instance sustains.
    """
    server = writing_server(inputs, instance, cache_mib, servers)
    cells = write_share(inputs, servers).cells_per_second
    needed = cells * server.log_volume_bytes / UTILISATION
    throughput, iops = gp3.Provisions.of(instance).sufficient(np.array(needed / MIB), np.array(needed / LOG_IO_BYTES))
    size_gib = max(SYSTEM_GIB, int(gp3.least_gib(iops)))
    if server.log is not None and server.log_copies:
        # The logs in use, the logs that wait for deletion, and everything else.
        live = max(LIVE_LOGS_BYTES, LOGS_OF_A_MEMSTORE * server.memstore.size_bytes)
        log_bytes = server.log_copies * live + cells * server.log_bytes * ARCHIVE_SECONDS
        size_gib = max(size_gib, math.ceil((OTHER_FILES_GIB + log_bytes / GIB) / FILL_FRACTION))
    return gp3.gp3_volume("system", size_gib, (int(throughput), int(iops)))


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


class Hdfs(Struct, frozen=True, kw_only=True):
    """The figures of HDFS in a plan in which HDFS stores the data."""

    recovery_seconds: float
    namenode_handlers: int
    datanode_handlers: int
    transfer_threads: int
    refreshes_per_second: float

    @classmethod
    def of(cls, load: HdfsLoad, pins: Pins) -> Hdfs:
        """Return the figures for this load; overrides may pin some of them.

        If no block is local, an open store file asks the NameNode once in each interval for block locations. Source:
        Hadoop 3.4, LocatedBlocksRefresher.
        """
        for_nodes = max(FEWEST_HANDLERS, math.ceil(NAMENODE_HANDLERS_PER_LN * math.log(load.nodes)))
        for_regions = max(TRANSFER_THREADS, TRANSFERS_PER_REGION * math.ceil(load.regions / load.nodes))
        return cls(
            recovery_seconds=load.recovery_seconds,
            namenode_handlers=pins.namenode_handlers or for_nodes,
            datanode_handlers=pins.datanode_handlers or max(FEWEST_HANDLERS, load.volumes),
            transfer_threads=pins.transfer_threads or for_regions,
            refreshes_per_second=1000 * STORE_FILES_PER_REGION * load.regions / LOCATION_REFRESH_MS,
        )
