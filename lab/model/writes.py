"""Writes to the lab's RegionServer, whose log alone lies on a limited volume: the calculator's own resources."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.model.prediction import LOOPBACK_GBIT_PER_SECOND
from lab.model.scaled_plan import ScaledPlan
from sizing.cells import CellSizes
from sizing.compaction import StoreWrites, WriteSettings
from sizing.file_writing import FileWriting
from sizing.memstore import Memstore
from sizing.units import GIB, MIB
from sizing.writes import WriteResource, blocking_resource, write_resources
from sizing.writing_server import Rates, WritingServer

UNLIMITED: Final = Rates(bytes_per_second=inf, ios_per_second=inf)
MEMSTORE: Final = "hbase.regionserver.global.memstore.size"
BYTES_PER_GBIT: Final = 125_000_000


class WritingLab(Struct, frozen=True, kw_only=True):
    """The RegionServer that is written to: its properties, its regions, and the cores of the machine."""

    miniature: ScaledPlan
    properties: Mapping[str, str]
    regions: int
    vcpus: int


def writing_server(lab: WritingLab) -> WritingServer:
    """Return the server as the calculator sees it, with settings as HBase gets them and S3 that answers at once."""
    number = {key: float(value) for key, value in lab.properties.items() if value.replace(".", "", 1).isdigit()}
    cells = CellSizes.of(lab.miniature.demand.blocks)
    memstore = Memstore(
        size_bytes=number[MEMSTORE] * lab.miniature.heap_mib * MIB,
        flush_size_bytes=int(number["hbase.hregion.memstore.flush.size"]),
        regions=lab.regions,
        lower_limit=number[f"{MEMSTORE}.lower.limit"],
    )
    flush_bytes = memstore.flush_heap_bytes / cells.heap_bytes * cells.stored_bytes
    writes = StoreWrites(
        flush_bytes=flush_bytes,
        min_size_bytes=int(number["hbase.hstore.compaction.min.size"]),
        region_bytes=lab.miniature.workload.stored_bytes / lab.regions,
    )
    return WritingServer(
        cells=cells,
        memstore=memstore,
        settings=_settings(number, memstore, writes),
        files=FileWriting(cached_fraction=1.0, caches=True, first_byte_seconds=0.0, stream_bytes_per_second=GIB),
        vcpus=lab.vcpus,
        network_bytes_per_second=LOOPBACK_GBIT_PER_SECOND * BYTES_PER_GBIT,
        ebs=UNLIMITED,
        disk=None,
        log=None,
        log_copies=1,
    )


def _settings(number: Mapping[str, float], memstore: Memstore, writes: StoreWrites) -> WriteSettings:
    return WriteSettings(
        flush_size_bytes=memstore.flush_size_bytes,
        lower_limit=memstore.lower_limit,
        flushers=int(number["hbase.hstore.flusher.count"]),
        small_compactions=int(number["hbase.regionserver.thread.compaction.small"]),
        large_compactions=int(number["hbase.regionserver.thread.compaction.large"]),
        compaction_lower_bytes=int(number["hbase.hstore.compaction.throughput.lower.bound"]),
        compaction_higher_bytes=int(number["hbase.hstore.compaction.throughput.higher.bound"]),
        night_bytes=int(number["hbase.hstore.compaction.throughput.offpeak"]),
        day_limit_bytes=int(number["hbase.hstore.compaction.max.size"]),
        blocking_store_files=int(number["hbase.hstore.blockingStoreFiles"]),
        min_size_bytes=int(writes.min_size_bytes),
        amplification=writes.amplification(writes.region_bytes),
    )


def write_limit(server: WritingServer, log: Rates) -> WriteResource:
    """Return the resource at which writes begin to block: the volume of the log, or another one.

    Parts of uploads lie elsewhere in the lab, so that the volume takes nothing but the log.
    """
    volume = WriteResource(
        name="log-throughput",
        capacity=log.bytes_per_second,
        unit="B/s",
        demand_per_byte=server.log_bytes / server.cells.value_bytes,
    )
    return blocking_resource((volume, *write_resources(replace(server, log=None), 1)))
