"""How long it takes to copy a table out of a cluster, as a snapshot or by a scan, and a snapshot into one.

`ExportSnapshot` copies store files with as many mappers as it is given; each is one stream. A copy into HDFS sends
every byte again for each further replica, and that network is what a restore of a large table is bound by.

A scan goes through the RegionServers but does not fill their caches. The client sets `setCacheBlocks(false)`. HBase
then takes each block from the cache if it is there, and otherwise from S3, and does not cache it (HBase 2.6.2,
HFileReaderImpl.readBlock). After the first blocks of a region, HBase reads the store file as a stream, so with S3A's
policy `sequential`, which warmbase sets, neighbouring blocks that are not cached come with one GET. The export uses
what the load leaves of every resource.
"""

from __future__ import annotations

import math
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.units import MIB
from warmbase.sizing.plan import ScanExport
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.service.inputs import UTILISATION
from warmbase.sizing.service.resource import resources, seconds_alone
from warmbase.sizing.workload.popularity import EVEN
from warmbase.sizing.workload.read import Hits

Limit = Literal["network", "disk", "streams"]

# judgement: 40-90 MB/s for one stream to or from S3; the low end.
STREAM_BYTES_PER_SECOND: Final = 40e6
# judgement: mappers share the node with RegionServers that serve; a quarter of the network is left to these.
NETWORK_FRACTION: Final = 0.75


class Copy(Struct, frozen=True, kw_only=True):
    """A copy of `copied_bytes` by `mappers` over `servers` nodes, writing each byte `replicas` times.

    `replicas` is 1 into S3 and the replication of HDFS into HDFS: the first copy is local to its mapper.
    `disk_bytes_per_second` per node is what its HDFS volumes read or write; None where none takes part.
    """

    copied_bytes: int
    servers: int
    mappers: int
    network_bytes_per_second: float
    disk_bytes_per_second: float | None = None
    replicas: int = 1
    stream_bytes_per_second: float = STREAM_BYTES_PER_SECOND
    network_fraction: float = NETWORK_FRACTION


class Eta(Struct, frozen=True, kw_only=True):
    """Estimated time of a copy, its rate over the cluster, and what binds it."""

    seconds: float
    bytes_per_second: float
    limit: Limit


def eta(copy: Copy) -> Eta:
    """Divide bytes by min(network / replicas, disks / replicas, mappers x stream rate).

    A node receives each byte once from where it comes and once for each replica that another node sends it.
    What leaves HDFS by short-circuit reads takes the network once. Source: HBase reference guide,
    ExportSnapshot.
    """
    rates: dict[Limit, float] = {
        "network": copy.servers * copy.network_bytes_per_second * copy.network_fraction / copy.replicas,
        "streams": copy.mappers * copy.stream_bytes_per_second,
    }
    if copy.disk_bytes_per_second is not None:
        rates["disk"] = copy.servers * copy.disk_bytes_per_second / copy.replicas
    limit = min(rates, key=rates.__getitem__)
    return Eta(seconds=copy.copied_bytes / rates[limit], bytes_per_second=rates[limit], limit=limit)


def export_copy(candidate: Candidate) -> Copy:
    """Return the copy of all data to another bucket, with one mapper per node or as many as the environment states."""
    return Copy(
        copied_bytes=candidate.inputs.requirements.workload.stored_bytes,
        servers=candidate.count,
        mappers=candidate.inputs.requirements.snapshot_mappers or candidate.count,
        network_bytes_per_second=candidate.instance.network_sustained_bytes_per_second,
    )


def import_copy(candidate: Candidate) -> Copy:
    """Return the copy of all data into the cluster; HDFS receives every byte as often as it keeps copies."""
    return replace(export_copy(candidate), replicas=candidate.inputs.mode.data_copies if candidate.data_volume else 1)


ANSWER_BYTES: Final = 2 * MIB  # hbase.client.scanner.max.result.size: one scanner call returns about this much
GETS_TO_OPEN: Final = 2  # measured: 1.6 to 1.9 GETs to open the store file of a region for its stream
REGIONS: Final = "regions"
"""The limit of an export that reads every region with one scanner, block after block."""


def scan_exports(candidate: Candidate) -> tuple[ScanExport, ...]:
    """Return the export of each table while all nodes are warm; none for a closed load, which leaves no capacity.

    The export runs beside the load outside the peak. A table whose peak has no stated length counts with its peak load.
    """
    inputs, servers, in_s3 = candidate.inputs, candidate.count, candidate.inputs.mode.keeps_data_in_s3
    beside = inputs.outside_peak.offered_reads_per_second
    if beside is None:
        return ()
    hit_ratio, cluster = candidate.hit_ratio(servers), replace(candidate.cluster(servers), imbalance=EVEN)
    in_cache = inputs.tables_in_cache(hit_ratio) if inputs.mode.has_bucket_cache else ()
    exports = []
    for number, (blocks, table) in enumerate(zip(inputs.demand.blocks.parts, inputs.table_reads, strict=True)):
        cached = hit_ratio
        if in_cache:
            # The curves count cached blocks in units of the mean length over all tables.
            cached_bytes = in_cache[number][1] * inputs.demand.cacheable.cached_bytes
            cached = min(1.0, cached_bytes / (blocks.count * blocks.cached_bytes))
        # This is the next block of an export. If it is not cached, the export does not put it into the cache, either.
        read = replace(table.read, blocks=1.0, cacheable=cached, answer_bytes=math.ceil(blocks.payload_bytes))
        hits = Hits(ratio=1.0 if cached else 0.0)
        missing = blocks.count * (1 - cached) if in_s3 else 0.0
        gets = min(missing, blocks.count * cached * (1 - cached) + GETS_TO_OPEN * blocks.workload.regions)
        gets_per_block = gets / missing if missing else 1.0
        timings = replace(
            table.timings,
            rpc_cpu_seconds=table.timings.rpc_cpu_seconds * read.answer_bytes / ANSWER_BYTES,
            get_cpu_seconds=table.timings.get_cpu_seconds * gets_per_block,
            s3_first_byte_seconds=table.timings.s3_first_byte_seconds * gets_per_block,
        )
        needs = {one.name: one for one in resources(cluster, read, hits, timings)}
        requests = needs["s3-requests"]
        needs["s3-requests"] = replace(requests, demand_per_read=gets_per_block * requests.demand_per_read)
        rates: dict[str, float] = {}
        for load in candidate.resources_outside_peak(servers):
            if needs[load.name].demand_per_read:
                # The share of a resource of the busiest server that the load leaves to the export.
                left = max(0.0, UTILISATION - beside / load.max_reads_per_second)
                rates[load.name] = left * needs[load.name].max_reads_per_second
        rates[REGIONS] = blocks.workload.regions / seconds_alone(cluster, read, hits, timings)
        limit = min(rates, key=rates.__getitem__)
        exports.append(
            ScanExport(
                table=blocks.workload.name,
                blocks=blocks.count,
                cached_fraction=cached,
                beside_reads_per_second=beside,
                blocks_per_second=rates[limit],
                limit=limit,
                seconds=blocks.count / rates[limit] if rates[limit] else None,
                gets=gets,
                gets_usd=gets * inputs.world.prices.usd("s3-get"),
            )
        )
    return tuple(exports)
