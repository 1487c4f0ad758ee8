"""The resources that writes use up, and the rate at which HBase begins to block them.

The bound of compactions is the rate at which they fall behind. HBase blocks only later, in the lab at twice that rate,
because one compaction merges more files when more of them wait.

Every demand is for one byte of values, with sustained limits only, so the limit of a resource is its capacity divided
by its demand. Reads get what the offered writes leave, and writes get what the offered reads leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from operator import attrgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.sizing.server.write_path import (
    FILES_PER_FLUSH,
    LOG_IO_BYTES,
    REQUESTS_PER_FILE,
    WriteSettings,
    WritingServer,
)
from warmbase.sizing.service.resource import DISK_RESOURCES, PUT_BYTES, Resource, ServingCluster, bottleneck

# Amazon S3 User Guide, "Optimizing performance": at least 3,500 PUT, COPY, POST or DELETE a second for each prefix.
S3_PUTS_PER_SECOND_PER_PREFIX: Final = 3_500
LEAST_FREE_FRACTION: Final = 0.01  # the share that is left at least, so that none is negative


class WriteResource(Struct, frozen=True, kw_only=True):
    """One thing that writes use up: the reads leave `capacity` of it, and each byte takes its demand."""

    name: str
    capacity: float
    unit: str
    demand_per_byte: float

    @property
    def max_bytes_per_second(self) -> float:
        """Return the bytes of values a second that use up this resource; infinite if writes need none."""
        return self.capacity / self.demand_per_byte if self.demand_per_byte > 0 else inf


class Writes(Struct, frozen=True, kw_only=True):
    """The offered writes, in bytes of values, and the writes that the cluster carries beside its reads."""

    offered_bytes_per_second: float
    saturation_bytes_per_second: float
    bottleneck: str
    settings: WriteSettings
    resources: tuple[WriteResource, ...]
    encryption_cpu_fraction: float = 0.0
    """The share of the CPU of a written cell that encrypts what HDFS transfers of it."""


def write_resources(
    server: WritingServer, servers: int, reads: Mapping[str, float] | None = None
) -> tuple[WriteResource, ...]:
    """Return every resource that writes to this many servers use, in the order in which a cell reaches them.

    `reads` is how much of a shared resource the reads use, by name.
    """

    def row(name: str, per_server: float, unit: str, demand_of_cell: float) -> WriteResource:
        capacity = servers * per_server - (reads or {}).get(name, 0.0)
        return WriteResource(
            name=name, capacity=max(0.0, capacity), unit=unit, demand_per_byte=demand_of_cell / server.cells.value_bytes
        )

    rows = [
        row("cpu", server.vcpus, "core", server.cpu_seconds),
        row("network", server.network_bytes_per_second, "B/s", server.network_bytes),
    ]
    if server.log is not None:
        rows += [
            row("log-throughput", server.log.bytes_per_second, "B/s", server.log_volume_bytes),
            row("log-iops", server.log.ios_per_second, "IO/s", server.log_volume_bytes / LOG_IO_BYTES),
        ]
    if server.disk is not None:
        throughput, iops = DISK_RESOURCES[server.disk.kind]
        rows += [
            row(throughput, server.disk.bytes_per_second, "B/s", server.disk_bytes),
            row(iops, server.disk.ios_per_second, "IO/s", server.disk_ios),
        ]
    settings, memstore, cells = server.settings, server.memstore, server.cells
    # A flush frees the heap of its cells. From the lower limit of the memstore to the upper one, which blocks, there is
    # room for the writes that arrive meanwhile.
    flush_seconds = server.files.flush_seconds(cells, server.flush_cells)
    room_bytes = (1 - memstore.lower_limit) * memstore.size_bytes
    # Compactions rewrite as many cells as their threads can, or HBase's own limit; the thread for large ones takes
    # small ones, too.
    threads = (settings.small_compactions + settings.large_compactions) / server.files.compaction_seconds(cells)
    compacted = min(threads, settings.compaction_higher_bytes / cells.key_value_bytes)
    rows += [
        row("instance-ebs-throughput", server.ebs.bytes_per_second, "B/s", server.ebs_bytes),
        row("instance-ebs-iops", server.ebs.ios_per_second, "IO/s", server.ebs_ios),
        row("memstore", room_bytes, "B", cells.heap_bytes * flush_seconds),
        row("flushes", settings.flushers * server.flush_cells / flush_seconds, "cells/s", 1.0),
        row("compactions", compacted, "cells/s", settings.amplification - 1),
    ]
    if not server.data_copies:
        files = FILES_PER_FLUSH * cells.heap_bytes / memstore.flush_heap_bytes
        requests = server.uploaded_bytes / PUT_BYTES + REQUESTS_PER_FILE * files
        rows.append(row("s3-puts", S3_PUTS_PER_SECOND_PER_PREFIX / servers, "PUT/s", requests))
    return tuple(rows)


def blocking_resource(resources: Iterable[WriteResource]) -> WriteResource:
    """Return the resource with the lowest limit, at which HBase begins to block writes; the first of equals."""
    return min(resources, key=attrgetter("max_bytes_per_second"))


def write_load(
    server: WritingServer, servers: int, bytes_per_second: float, reads: Sequence[Resource], reads_per_second: float
) -> Writes:
    """Return the writes on this many servers, which also serve the offered reads, or as many as the writes leave."""
    served = min(reads_per_second, bottleneck(reads).max_reads_per_second)
    used = dict[str, float]()
    for resource in reads:
        used[resource.name] = served * resource.demand_per_read
        if resource.name.startswith("ebs-"):
            used[f"instance-{resource.name}"] = used[resource.name]
    resources = write_resources(server, servers, used)
    limit = blocking_resource(resources)
    return Writes(
        offered_bytes_per_second=bytes_per_second,
        saturation_bytes_per_second=limit.max_bytes_per_second,
        bottleneck=limit.name,
        settings=server.settings,
        resources=resources,
        encryption_cpu_fraction=server.encryption_cpu_seconds / server.cpu_seconds,
    )


def without_writes(cluster: ServingCluster, server: WritingServer, bytes_per_second: float) -> ServingCluster:
    """Return the cluster that is left for reads after this many bytes of values a second in the whole cluster.

    Its disk lacks the cache's writes, and has no more than the log leaves of the instance's EBS throughput.
    """
    cells, disk = bytes_per_second / server.cells.value_bytes / cluster.servers, cluster.disk
    if disk is not None:
        most_bytes = most_ios = math.inf
        if disk.kind == "ebs":
            most_bytes = rest(server.ebs.bytes_per_second, cells * server.ebs_bytes)
            most_ios = rest(server.ebs.ios_per_second, cells * server.ebs_ios)
        written_bytes, written_ios = cells * server.disk_bytes, cells * server.disk_ios
        disk = replace(
            disk,
            bytes_per_second=min(rest(disk.bytes_per_second, written_bytes), most_bytes),
            ios_per_second=min(rest(disk.ios_per_second, written_ios), most_ios),
            one_bytes_per_second=min(rest(disk.one_bytes_per_second, written_bytes), most_bytes),
            one_ios_per_second=min(rest(disk.one_ios_per_second, written_ios), most_ios),
        )
    return replace(
        cluster,
        vcpus=rest(cluster.vcpus, cells * server.cpu_seconds),
        network_gbit_per_second=rest(1.0, cells * server.network_bytes / server.network_bytes_per_second)
        * cluster.network_gbit_per_second,
        disk=disk,
    )


def rest(whole: float, used: float) -> float:
    """Return the part of a resource that writes leave, which is never nothing."""
    return max(LEAST_FREE_FRACTION * whole, whole - used)
