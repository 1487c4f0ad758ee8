"""The published EMR benchmark, as the calculator sees it under each reading of the source.

The numbers that the source gives are here one by one. It contradicts itself about the size of a row and does not give
its cache size, handlers or region count. Nothing here is fitted to what it measured: a reading changes an input that
the source leaves open, and no constant. `slots` and `worth` are figures that sources leave to the reader: the list of
bucket sizes, and the worth of the GETs saved.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmbase.ground.block import block_lengths
from warmbase.ground.units import HOURS_PER_MONTH, KIB, MIB, TIB
from warmbase.sizing import gp3
from warmbase.sizing.cache.bucket_sizes import DEFAULT_BUCKET_SIZES, BucketAllocator, bucket_sizes
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan
from warmbase.sizing.requirements import Requirements, Volume, World
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.disks import VolumeChoice, layout
from warmbase.sizing.server.memory import index_bytes_per_block
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.service.queueing import Handlers, closed_load, network
from warmbase.sizing.service.resource import (
    Resource,
    ServingCluster,
    bottleneck,
    delay_seconds,
    disk_bytes_per_read,
    disk_ios_per_read,
    resources,
)
from warmbase.sizing.workload.popularity import YCSB_RANKS, RowPopularity, Zipf, block_popularity
from warmbase.sizing.workload.read import Hits, Read, Timings
from warmbase.sizing.workload.workload import ClosedLoad, Workload, stored_blocks

# What the source does not state: HBase's default of 30 and what is commonly set; S3 near to far, idle to busy.
HANDLERS: Final = (30, 64, 100, 200)
ROUND_TRIPS_MS: Final = (20, 50, 100, 200)
EVERYWHERE: Final = 240  # prefixes, one for each region: enough that S3's limit for each never binds
ZIPF: Final = Zipf(theta=0.99)
YCSB_ZIPF: Final = Zipf(theta=0.99, ranks=YCSB_RANKS)


class BenchmarkReading(Struct, frozen=True, kw_only=True):
    """One way to read the benchmark's source: `limits` are all resources, `bottleneck` gives out first."""

    row_bytes: float
    disk_bytes: float
    reads_per_second: float
    latency_seconds: float
    limits: tuple[Resource, ...]

    @property
    def bottleneck(self) -> Resource:
        """The resource that allows the fewest reads a second."""
        return bottleneck(self.limits)

    @property
    def in_flight(self) -> float:
        """Requests in flight by Little's law."""
        return self.reads_per_second * self.latency_seconds


class Uncached(Struct, frozen=True, kw_only=True):
    """The cluster without a cache, for one number of handlers on each node and one time to S3's first byte.

    `several_prefixes` is the same where S3's limit for one prefix does not bind.
    """

    handlers: int
    round_trip_ms: int
    one_prefix: BenchmarkReading
    several_prefixes: BenchmarkReading


class Provisioned(Struct, frozen=True, kw_only=True):
    """The same cluster with volumes that use what the instance sustains."""

    volume: Volume
    predicted: BenchmarkReading
    usd_per_month_more: float


class Benchmark(Struct, frozen=True, kw_only=True, dict=True):
    """The pinned cluster of the source, whose requirements and world are given."""

    requirements: Requirements
    world: World

    @cached_property
    def plan(self) -> Plan:
        """Return the calculator's own answer."""
        return plan(self.requirements, self.world)

    @cached_property
    def candidate(self) -> Candidate:
        """The cluster as the calculator evaluates it."""
        return _candidate(self.requirements, self.world)

    @property
    def workload(self) -> Workload:
        """Return what the cluster is asked."""
        return self.requirements.workload

    @property
    def records_row_bytes(self) -> float:
        """A row if the stated bytes are spread over the stated records."""
        return STORED_BYTES / RECORDS

    @property
    def page_cache_bytes(self) -> int:
        """Page cache of all nodes, which the plan leaves free and counts on for nothing."""
        return self.plan.memory.parts["page_cache"] * self.plan.core.count

    @property
    def cache_volume(self) -> Volume:
        """The volume of each node that its cache lies on."""
        return next(volume for volume in self.plan.core.volumes if volume.purpose == "cache")

    def as_published(self) -> BenchmarkReading:
        """A row holds 850 kB, and its blocks are in neighbouring slots."""
        return _reading(self.candidate, self.candidate.inputs.read)

    def scattered(self) -> BenchmarkReading:
        """The same row, each block in a slot of its own somewhere, so that edge pages are not shared."""
        read = self.candidate.inputs.read
        return _reading(self.candidate, replace(read, runs=read.blocks))

    def missing(self, hit_ratio: float) -> BenchmarkReading:
        """The same row from caches that answer so many block reads; the others are read from S3 and cached."""
        return _reading(self.candidate, self.candidate.inputs.read, Hits(ratio=hit_ratio))

    def serialised(self) -> BenchmarkReading:
        """A value holds 850 kB, and HBase stores a key beside each cell."""
        return self._with_row(FIELDS * self.workload.key_value_bytes)

    def together(self, hits: Hits) -> BenchmarkReading:
        """Cells with their keys, slots apart, and these hits: all that the prediction leaves out."""
        candidate = self._candidate_with(FIELDS * self.workload.key_value_bytes)
        read = candidate.inputs.read
        return _reading(candidate, replace(read, runs=read.blocks), hits)

    def by_records(self) -> BenchmarkReading:
        """A row is the bytes of the table divided by its records, as the source gives both."""
        return self._with_row(round(self.records_row_bytes))

    def page_cached(self, popularity: RowPopularity, row_bytes: float) -> tuple[float, BenchmarkReading]:
        """The share of block reads that the page cache answers under that skew, and what follows for 850 kB rows."""
        rows = block_popularity(popularity, STORED_BYTES / row_bytes, 1.0)
        cached_rows = self.page_cache_bytes / row_bytes
        share = hit_ratio(rows, OccupancyRange(full_blocks=cached_rows, blocks_after_eviction=cached_rows))
        hits = Hits(ratio=1.0, page_cache_fraction=share)
        return share, _reading(self.candidate, self.candidate.inputs.read, hits)

    def compressed_heap_bytes(self) -> float:
        """Heap of one RegionServer's cache index if the stated bytes were the values, compressed and cached so."""
        ratio = RECORDS * FIELDS * FIELD_BYTES / STORED_BYTES
        blocks = stored_blocks(replace(self.workload, codec="zstd", compression_ratio=ratio)).count
        return blocks / self.candidate.count * index_bytes_per_block(self.world.release.collector)

    def uncached(self) -> tuple[Uncached, ...]:
        """Every stated combination of handlers and round trips."""
        candidate, read, combinations = self.candidate, self.candidate.inputs.read, []
        for handlers, trip_ms in product(HANDLERS, ROUND_TRIPS_MS):
            timings = replace(candidate.inputs.timings, s3_first_byte_seconds=trip_ms / 1000)
            one = replace(candidate.cluster(candidate.count), disk=None, handlers=handlers)
            one_prefix, several_prefixes = (
                _load(candidate, cluster, read, Hits(ratio=0.0), timings)
                for cluster in (one, replace(one, s3_prefixes=EVERYWHERE))
            )
            combinations.append(
                Uncached(
                    handlers=handlers,
                    round_trip_ms=trip_ms,
                    one_prefix=one_prefix,
                    several_prefixes=several_prefixes,
                )
            )
        return tuple(combinations)

    def provisioned(self) -> Provisioned:
        """Return throughput to the instance's sustained limit, and the fewest IOPS on sale that carry it."""
        instance, read = self.candidate.instance, self.candidate.inputs.read
        throughput_mib_s = instance.ebs_sustained_bytes_per_second // MIB
        hits = Hits(ratio=1.0)
        ios_per_byte = disk_ios_per_read(read, hits, "ebs") / disk_bytes_per_read(read, hits)
        iops = gp3.IOPS_STEP * math.ceil(throughput_mib_s * MIB * ios_per_byte / gp3.IOPS_STEP)
        volume = replace(self.cache_volume, throughput_mib_s=throughput_mib_s, iops=iops)
        others = (other for other in self.plan.core.volumes if other.purpose != "cache")
        cluster = self.requirements.cluster
        core = replace(cluster.core, volumes=(volume, *others))
        changed = replace(self.requirements, cluster=replace(cluster, core=core))
        candidate = _candidate(changed, self.world)
        more = plan(changed, self.world).cost.usd_per_month - self.plan.cost.usd_per_month
        return Provisioned(volume=volume, predicted=_reading(candidate, candidate.inputs.read), usd_per_month_more=more)

    def _candidate_with(self, row_bytes: int) -> Candidate:
        changed = replace(self.requirements, workload=replace(self.workload, row_bytes=row_bytes))
        return _candidate(changed, self.world)

    def _with_row(self, row_bytes: int) -> BenchmarkReading:
        candidate = self._candidate_with(row_bytes)
        return _reading(candidate, candidate.inputs.read)


def _candidate(requirements: Requirements, world: World) -> Candidate:
    """The pinned cluster under these requirements. Raises ValueError where it is not pinned."""
    core, inputs = requirements.cluster.core, SizingInputs.new(requirements, world)
    if core.type is None or core.count is None or core.volumes is None:
        raise ValueError("the published cluster must be pinned")
    instance = world.instance_types[core.type]
    volumes = layout(inputs, "pinned", VolumeChoice(instance=instance), core.count)
    return Candidate(inputs=inputs, instance=instance, count=core.count, layout=volumes, exact=True)


def _reading(candidate: Candidate, read: Read, hits: Hits | None = None) -> BenchmarkReading:
    """Return a read on the warm cluster."""
    warm = hits or Hits(ratio=candidate.hit_ratio(candidate.count))
    return _load(candidate, candidate.cluster(candidate.count), read, warm, candidate.inputs.timings)


def _load(candidate: Candidate, cluster: ServingCluster, read: Read, hits: Hits, timings: Timings) -> BenchmarkReading:
    load = candidate.inputs.requirements.workload.load
    if not isinstance(load, ClosedLoad):
        raise TypeError("the benchmark keeps a fixed number of requests in flight")
    limits = resources(cluster, read, hits, timings)
    delay = delay_seconds(cluster, read, hits, timings)
    stations = network(limits, cluster.servers, candidate.instance.vcpus, delay)
    handlers = Handlers(servers=cluster.servers, per_server=cluster.handlers)
    result = closed_load(stations, load.concurrency, handlers)
    return BenchmarkReading(
        row_bytes=read.answer_bytes,
        disk_bytes=disk_bytes_per_read(read, hits),
        reads_per_second=result.reads_per_second,
        latency_seconds=result.latency_seconds,
        limits=limits,
    )


RECORDS: Final = 49_828_500
FIELDS: Final = 2_000
FIELD_BYTES: Final = 425
STORED_BYTES: Final = 7_900_000_000_000
# Operations a second and their mean latency, without the cache and with it.
COLD: Final = 371.93
COLD_MS: Final = 2_680
WARM: Final = 888.67
WARM_MS: Final = 1_127
# GETs an hour: at the start, after 24 h, and the peak of figure 4.
COLD_GETS: Final = 95_000
WARM_GETS: Final = 1_000
PEAK_GETS: Final = 900_000
NODE_CACHE_GB: Final = (18, 20)
"""The bytes that the caches of the three nodes held in the restart test (figure 5)."""


BLOCK_BYTES: Final = 64 * KIB
CELLS_BYTES: Final = (100, 480, 1_536, 2_048, 10_240)  # as serialised; 480 is the benchmark's


class Slots(Struct, frozen=True, kw_only=True):
    """Payload over slot bytes and blocks held, under HBase's default list of sizes and under ours."""

    cell_bytes: int
    default_fraction: float
    ours_fraction: float
    more_blocks_fraction: float
    sizes: tuple[int, ...]


class Worth(Struct, frozen=True, kw_only=True):
    """GETs saved in an hour, what they would cost in a month, and what the volumes of the cache cost."""

    gets_per_hour: int
    usd_per_month: float
    cache_usd_per_month: float


def slots() -> tuple[Slots, ...]:
    """Return how many blocks of 64 KiB a TiB of cache holds, for cells from small to large."""
    results = []
    for cell_bytes in CELLS_BYTES:
        lengths = block_lengths(BLOCK_BYTES, cell_bytes)
        ours = bucket_sizes(lengths, must_fit_bytes=lengths.largest_bytes)
        default, chosen = (BucketAllocator(capacity_bytes=TIB, sizes=sizes) for sizes in (DEFAULT_BUCKET_SIZES, ours))
        results.append(
            Slots(
                cell_bytes=cell_bytes,
                default_fraction=default.slot_efficiency_fraction(lengths),
                ours_fraction=chosen.slot_efficiency_fraction(lengths),
                more_blocks_fraction=chosen.block_capacity(lengths) / default.block_capacity(lengths) - 1,
                sizes=ours,
            )
        )
    return tuple(results)


def worth(benchmark: Benchmark) -> tuple[Worth, ...]:
    """By the GETs of the source's table, and by those of its figure 4."""
    prices = benchmark.world.prices
    cache = benchmark.plan.core.count * gp3.usd_per_month(benchmark.cache_volume, prices)
    return tuple(
        Worth(
            gets_per_hour=gets,
            usd_per_month=gets * HOURS_PER_MONTH * prices.usd("s3-get"),
            cache_usd_per_month=cache,
        )
        for gets in (COLD_GETS - WARM_GETS, PEAK_GETS - WARM_GETS)
    )
