"""Predictions for the scaled RegionServers of the lab under one load, made with the calculator's own rules.

YCSB's reads fall on blocks as its own hash puts its own draws, which are neither random nor quite zipfian. A row's key
is `user` and a hash of its number, and blocks hold neighbouring keys. Reads choose the number: of a hot set the first
so many, and of a zipfian choice the hash of a rank among 10,000,000,000, modulo the rows. Source: YCSB 0.17.0,
CoreWorkload.buildKeyName, HotspotIntegerGenerator, ScrambledZipfianGenerator, ZipfianGenerator, Utils.fnvhash64.

`filled_by_chance` is the number of blocks in a cache at its first eviction, when blocks come in random order.
`BucketAllocator.block_capacity` lets each length come in its proportion. In a cache of few buckets it matters how many
of a rare length come before the others: each size that is begun takes a whole bucket.

Other predictions are of reads skewed over regions and the load that volumes allow, the course from cold caches, how
long the regions of a RegionServer are offline when its process dies and does not return, and writes whose log alone
lies on a limited volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from lab.scaled_plan import ScaledPlan
from warmbase.ground.block import LengthHistogram
from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing.cache.bucket_sizes import BucketAllocator
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio
from warmbase.sizing.cache.warm_up import CacheCapacity
from warmbase.sizing.server.cold_start import ColdStart, Prefetching
from warmbase.sizing.server.restart import S3_TRIPS_PER_REGION, retention_window_seconds
from warmbase.sizing.server.writes import (
    FileWriting,
    Memstore,
    StoreWrites,
    WriteResource,
    WriteSettings,
    WritingServer,
    blocking_resource,
    write_resources,
)
from warmbase.sizing.service.inputs import CellSizes
from warmbase.sizing.service.queueing import Handlers, LoadResult, QueueingNetwork, Station, closed_load, network
from warmbase.sizing.service.resource import (
    DISK_RESOURCES,
    Disk,
    Rates,
    Resource,
    ServingCluster,
    bottleneck,
    delay_seconds,
    resources,
    seconds_alone,
)
from warmbase.sizing.workload.popularity import UNIFORM, YCSB_RANKS, Popularity, RowPopularity, block_popularity
from warmbase.sizing.workload.read import Hits, Read, Timings, block_cpu_seconds, mean_block_read
from warmbase.sizing.workload.workload import OpenLoad

# judgement: loopback is no network; this is far above the rate of two cores.
LOOPBACK_GBIT_PER_SECOND: Final = 100.0


class LabNode(Struct, frozen=True, kw_only=True):
    """The RegionServer's machine, and the number of clients that read at once."""

    vcpus: int
    handlers: int
    disk: Disk | None
    clients: int


class Expected(Struct, frozen=True, kw_only=True):
    """The result of a closed load, and the resource that limits it."""

    load: LoadResult
    bottleneck: str


def popularity_of(miniature: ScaledPlan, rows: RowPopularity) -> Popularity:
    """Return the popularity of blocks that follows from the popularity of rows."""
    blocks = miniature.demand.blocks
    return block_popularity(rows, blocks.count, blocks.rows / blocks.count)


def swing_of(miniature: ScaledPlan, cache_mib: int, sizes: Sequence[int]) -> OccupancyRange:
    """Return the range between which the number of blocks in such a cache moves."""
    allocator = BucketAllocator(capacity_bytes=cache_mib * MIB, sizes=tuple(sizes))
    return OccupancyRange.of(allocator, miniature.demand.blocks.lengths, promotes=miniature.demand.swing.promotes)


def expected_hit_ratio(miniature: ScaledPlan, popularity: Popularity, cache_mib: int, sizes: Sequence[int]) -> float:
    """Return the share of block reads that the warm cache answers."""
    return hit_ratio(popularity, swing_of(miniature, cache_mib, sizes))


def slot_bytes(miniature: ScaledPlan, cache_mib: int, sizes: Sequence[int]) -> float:
    """Return the mean slot of a cached block, where blocks of all lengths are cached in their proportions."""
    lengths = miniature.demand.blocks.lengths
    allocator = BucketAllocator(capacity_bytes=cache_mib * MIB, sizes=tuple(sizes))
    return lengths.mean_bytes / allocator.slot_efficiency_fraction(lengths)


def read_of(miniature: ScaledPlan, rows: int = 1) -> Read:
    """Return one request for so many single-cell rows that lie anywhere in the table."""
    blocks, workload = miniature.demand.blocks, miniature.workload
    return Read(
        blocks=rows * blocks.per_read,
        cached_length_bytes=round(blocks.cached_bytes),
        on_disk_length_bytes=round(blocks.on_disk_bytes),
        answer_bytes=rows * workload.row_bytes,
        runs=rows,
        of_lengths=mean_block_read(blocks.lengths.pairs),
    )


def expected(node: LabNode, read: Read, hits: Hits, timings: Timings) -> Expected:
    """Return the throughput and latency of that many clients, and the resource that limits them."""
    cluster = ServingCluster(
        servers=1,
        vcpus=node.vcpus,
        network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
        handlers=node.handlers,
        disk=node.disk,
    )
    capacities = resources(cluster, read, hits, timings)
    alone = Resource(
        name="concurrency",
        capacity=node.clients,
        unit="request",
        demand_per_read=seconds_alone(cluster, read, hits, timings),
    )
    stations = network(capacities, 1, node.vcpus, delay_seconds(cluster, read, hits, timings))
    load = closed_load(stations, node.clients, Handlers(servers=1, per_server=node.handlers))
    return Expected(load=load, bottleneck=bottleneck((*capacities, alone)).name)


def timings_of(miniature: ScaledPlan) -> Timings:
    """Return the calculator's own timings for such blocks."""
    blocks = miniature.demand.blocks
    return Timings(block_cpu_seconds=block_cpu_seconds(blocks.payload_bytes, compressed=miniature.workload.compressed))


Floats = NDArray[np.float64]
OFFSET: Final = np.uint64(0xCBF29CE484222325)
PRIME: Final = np.uint64(1_099_511_628_211)
OCTET: Final = np.uint64(0xFF)
ZIPFIAN_CONSTANT: Final = 0.99
ZETA: Final = 26.46902820178302
"""YCSB's zeta for that constant and its number of ranks."""
HASHED_RANKS: Final = 1 << 21
"""The ranks whose rows are computed; those beyond are thousands for each row."""


def hashed(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the absolute value of FNV-1 with 64 bits over eight octets, the lowest first."""
    hashes, rest = np.full(numbers.shape, OFFSET), numbers.copy()
    for _ in range(8):
        hashes = (hashes ^ (rest & OCTET)) * PRIME
        rest = rest >> np.uint64(8)
    return np.asarray(np.abs(hashes.view(np.int64)))


@cache
def hot_set_drawn(rows: int, blocks: int, *, rows_fraction: float, reads_fraction: float) -> Popularity:
    """A hot set of the first rows by number, which lie where their hashes put them."""
    hot = np.arange(rows) < int(rows * rows_fraction)
    weights = np.where(hot, reads_fraction / hot.sum(), (1 - reads_fraction) / (rows - hot.sum()))
    return _of_blocks(weights, blocks)


@cache
def zipfian_drawn(rows: int, blocks: int) -> Popularity:
    """A zipfian choice: each of the first ranks on the row that it is hashed to, the others evenly on all."""
    shares = np.diff(drawn_below(np.arange(HASHED_RANKS + 1, dtype=np.float64)))
    rows_of = hashed(np.arange(HASHED_RANKS, dtype=np.uint64)) % rows
    weights = np.bincount(rows_of, weights=shares, minlength=rows)
    return _of_blocks(weights + (1 - shares.sum()) / rows, blocks)


def drawn_below(ranks: Floats) -> Floats:
    """Share of draws below each rank. The first two are drawn as they should be, the others by an approximation.

    YCSB takes u, even between 0 and 1, to the rank n (η u - η + 1)^(1 / (1 - θ)) (Gray and others, SIGMOD 1994): this
    is its inverse. Of the hundred hottest ranks it draws 0.207 where the sum of their shares is 0.200.
    """
    first, both = 1 / ZETA, (1 + 0.5**ZIPFIAN_CONSTANT) / ZETA
    eta = (1 - (2 / YCSB_RANKS) ** (1 - ZIPFIAN_CONSTANT)) / (1 - both)
    beyond = ((ranks / YCSB_RANKS) ** (1 - ZIPFIAN_CONSTANT) - 1 + eta) / eta
    return np.select([ranks <= 0, ranks <= 1, ranks <= 2], [0.0, first, both], beyond)  # noqa: PLR2004 - two of its own


def _of_blocks(weights: Floats, blocks: int) -> Popularity:
    """Return the popularity of blocks of neighbouring keys, each with as many rows."""
    rows = len(weights)
    keys = hashed(np.arange(rows, dtype=np.uint64)).astype(str)
    of_block = np.arange(rows) * blocks // rows
    block_weights = np.sort(np.bincount(of_block, weights=weights[np.argsort(keys, kind="stable")], minlength=blocks))[
        ::-1
    ]
    return Popularity(weights=block_weights / block_weights.sum(), blocks=np.ones(blocks))


ORDERS: Final = 200  # judgement: the standard error of the mean is then a fourteenth of the deviation
SEED: Final = 1


class Filled(Struct, frozen=True, kw_only=True):
    """Blocks held before the first eviction: their mean over the orders, and the standard deviation."""

    mean: float
    deviation: float


def filled_by_chance(
    allocator: BucketAllocator, blocks: LengthHistogram, there: LengthHistogram | None = None, orders: int = ORDERS
) -> Filled:
    """Return how many blocks the cache holds at its first eviction, over seeded orders; all of them where all fit.

    `there` are blocks that the cache holds from before; they are not counted, and take their slots. Blocks longer than
    the largest size count for nothing.
    """
    claims = allocator.claims(blocks)
    slots = np.repeat(np.array(list(claims)), list(claims.values()))
    first = allocator.claims(there) if there else {}
    draws = np.random.default_rng(SEED)
    counts = [_blocks_until_full(allocator, draws.permutation(slots), first) for _ in range(orders)]
    return Filled(mean=float(np.mean(counts)), deviation=float(np.std(counts)))


def _blocks_until_full(
    allocator: BucketAllocator, slots: np.ndarray[tuple[int], np.dtype[np.int64]], first: Mapping[int, int]
) -> int:
    """Return how many slots fit, one after the other, before one finds neither slot nor bucket or the cache is full."""
    used = np.cumsum(slots) + sum(slot * blocks for slot, blocks in first.items())
    buckets = np.full(len(slots), len(allocator.sizes))
    for slot in {*np.unique(slots).tolist(), *first}:
        of_size = np.cumsum(slots == slot) + first.get(slot, 0)
        # Each size has a first bucket from the start, and gets another when the last one is full.
        buckets += np.maximum(0, -(-of_size // allocator.items(slot)) - 1)
    refused = (used > allocator.accept_bytes) | (buckets > allocator.buckets)
    return int(np.argmax(refused)) if refused.any() else len(slots)


def region_shares(regions: int, skew: float) -> tuple[float, ...]:
    """Return each region's share of the reads, the largest first, by Zipf's law with this exponent."""
    weights = [(region + 1) ** -skew for region in range(regions)]
    return tuple(weight / sum(weights) for weight in weights)


def server_shares(shares: Sequence[float], servers: Sequence[int]) -> tuple[float, ...]:
    """Return each server's share of the reads; `servers` has the number of each region's server."""
    regions = list(zip(shares, servers, strict=True))
    return tuple(sum(share for share, home in regions if home == server) for server in sorted(set(servers)))


def skewed_load(node: LabNode, read: Read, shares: Sequence[float], timings: Timings) -> LoadResult:
    """Return the throughput of clients whose reads all hit, with a volume for each server and one machine's cores.

    Each server's volume is a station that is visited as often as the server is read.
    """
    hits = Hits(ratio=1.0)
    one = ServingCluster(
        servers=1,
        vcpus=node.vcpus,
        network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
        handlers=node.handlers,
        disk=node.disk,
    )
    delay = delay_seconds(one, read, hits, timings)
    stations = network(resources(one, read, hits, timings), 1, node.vcpus, delay).stations
    disks = {name for names in DISK_RESOURCES.values() for name in names}
    apart = [station for station in stations if station.name not in disks]
    for disk in (station for station in stations if station.name in disks):
        apart += [_visited(disk, number, share) for number, share in enumerate(shares)]
    return closed_load(QueueingNetwork(stations=tuple(apart), delay_seconds=delay), node.clients)


def _visited(disk: Station, number: int, share: float) -> Station:
    return replace(disk, name=f"{disk.name} of server {number}", demand_seconds=share * disk.demand_seconds)


class ColdLab(Struct, frozen=True, kw_only=True):
    """A lab with cold caches that is offered more reads than it can serve, and S3's mean time to a first byte."""

    miniature: ScaledPlan
    vcpus: int
    handlers: int
    first_byte_seconds: float
    cached_blocks: float = 0.0
    """The blocks that are cached at the start."""

    @property
    def readers(self) -> float:
        """Return how many handlers of one server read at once, if a store file serves one of them at a time.

        S3A locks a file's stream for a positioned read. With handlers and files alike, a closed network of f files
        with n readers has n f / (n + f - 1) of them at work (balanced, by mean-value analysis).
        """
        files = self.miniature.regions / self.miniature.servers
        return self.handlers * files / (self.handlers + files - 1)


class Course(Struct, frozen=True):
    """Reads a second over time, from the first read on."""

    seconds: Sequence[float]
    per_second: Sequence[float]

    def mean_until(self, seconds: float) -> float:
        """Return the mean reads a second from the start until then."""
        at = np.linspace(0.0, seconds, 200)
        return float(np.mean(np.interp(at, self.seconds, self.per_second)))

    def seconds_to(self, per_second: float) -> float:
        """Return the time at which this many reads a second are served; infinite if they never are."""
        return next((at for at, rate in zip(self.seconds, self.per_second, strict=True) if rate >= per_second), inf)


def cold_course(lab: ColdLab, disk: Disk) -> Course:
    """Return the reads a second that the calculator predicts, if clients always ask for more."""
    miniature = lab.miniature
    blocks = popularity_of(miniature, UNIFORM).total_blocks
    start = ColdStart(
        cluster=ServingCluster(
            servers=miniature.servers,
            vcpus=lab.vcpus,
            network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
            handlers=lab.readers,  # type: ignore[arg-type]
            disk=disk,
        ),
        read=read_of(miniature),
        timings=Timings(
            block_cpu_seconds=block_cpu_seconds(
                miniature.demand.blocks.payload_bytes, compressed=miniature.workload.compressed
            ),
            s3_first_byte_seconds=lab.first_byte_seconds,
            s3_stream_bytes_per_second=GIB,
        ),
        load=OpenLoad(reads_per_second=1e6),
        popularity=popularity_of(miniature, UNIFORM),
        room=CacheCapacity.of(slots=2 * blocks, blocks_after_eviction=blocks),
        prefetching=Prefetching(blocks=0.0, blocks_per_second=1.0, s3_bytes=0.0, slot_bytes=0.0, get_bytes=1.0),
    )
    hours, ratios, per_second = zip(*start.course.points, strict=True)
    # The course begins with this many cached blocks.
    begun = float(np.interp(lab.cached_blocks / blocks, ratios, hours))
    first = float(np.interp(begun, hours, per_second))
    later = [
        (SECONDS_PER_HOUR * (hour - begun), rate) for hour, rate in zip(hours, per_second, strict=True) if hour > begun
    ]
    return Course([0.0, *(at for at, _ in later)], [first, *(rate for _, rate in later)])


# ZooKeeper's client pings after a third of the session time-out without traffic (ClientCnxn), so the last message
# before a crash is at most a third of the time-out old.
PING_FRACTION: Final = 1 / 3
TICK_SECONDS: Final = 3.0  # ZooKeeper ends sessions once in each tick; QuorumPeerConfig.tickTime
# judgement: a ServerCrashProcedure that splits a small log takes a second or two on the lab's two cores.
SPLIT_SECONDS: Final = 2.0


class Crash(Struct, frozen=True, kw_only=True):
    """The settings and quantities that decide how long the regions are offline.

    `retries` is `hbase.master.scp.retain.assignment.force.retries`, None without forced retention. `regions` are those
    that each surviving server opens. `has_meta` says whether hbase:meta was on the server.
    """

    session_seconds: float
    retries: int | None
    regions: float
    open_region_threads: int
    s3_trip_seconds: float
    has_meta: bool = False


def offline_seconds(crash: Crash) -> tuple[tuple[str, float], ...]:
    """Return the mean seconds of each phase, in order; a region is offline for their sum."""
    # ZooKeeper ends sessions once every tick.
    detection = crash.session_seconds * (1 - PING_FRACTION / 2) + TICK_SECONDS / 2
    window = 0.0 if crash.retries is None else retention_window_seconds(crash.retries)
    rounds = max(1.0, crash.regions / crash.open_region_threads)
    # The mean region opens in the middle of the rounds.
    opening = (rounds + 1) / 2 * S3_TRIPS_PER_REGION * crash.s3_trip_seconds
    # hbase:meta waits for its server first; until it is open, the master assigns no other region. The rule comes from
    # one run of 2.6.2, of 134 s where this gives 123; a later run, which it did not know, took 127 s.
    meta = window + S3_TRIPS_PER_REGION * crash.s3_trip_seconds if crash.has_meta else 0.0
    return (
        ("ZooKeeper ends its session", detection),
        ("hbase:meta is open elsewhere", meta),
        ("the master splits its log", SPLIT_SECONDS),
        ("the master waits for its return", window),
        ("survivors open the regions", opening),
    )


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


BITS_PER_BYTE: Final = 7
FILE_NAME_CHARACTERS: Final = 32
"""The length of a store file's name, which each entry repeats; bulk-loaded files have longer ones."""
FLAG_BYTES: Final = 2
"""A field of a small number: tag and value."""


class Numbers(Struct, frozen=True, kw_only=True):
    """How large the numbers of an index are: offsets and counters are spread evenly below these.

    `file_bytes` is the size of a store file, `cache_bytes` that of the cache, `block_bytes` a block's cached length,
    `accesses` how often blocks were cached or read since the server started, `up_seconds` how long the node is up.
    """

    file_bytes: float
    cache_bytes: float
    block_bytes: float
    accesses: float
    up_seconds: float


def entry_bytes(numbers: Numbers) -> float:
    """Return the mean length of a block's entry in the index of the cache, including its tag and length.

    An entry is protobuf fields. Numbers are varints, seven bits to a byte, so it is as long as its numbers are large.
    Source: HBase 2.6.2 BucketCacheEntry.proto and BucketProtoUtils.
    """
    key = [
        _delimited(FILE_NAME_CHARACTERS),
        1 + mean_varint_bytes(numbers.file_bytes),
        FLAG_BYTES,  # the block's type
        FLAG_BYTES,  # whether it is a primary replica's
    ]
    value = [
        1 + mean_varint_bytes(numbers.cache_bytes),
        1 + varint_bytes(numbers.block_bytes),
        1 + mean_varint_bytes(numbers.accesses),
        FLAG_BYTES,  # the deserialiser
        FLAG_BYTES,  # the priority
        1 + varint_bytes(1e9 * numbers.up_seconds),
        1 + varint_bytes(numbers.block_bytes),  # as it is in the store file
    ]
    return _delimited(_delimited(sum(key)) + _delimited(sum(value)))


def varint_bytes(number: float) -> int:
    """Return the length of one number, at least 0, as a varint."""
    return max(1, -(-int(number).bit_length() // BITS_PER_BYTE))


def mean_varint_bytes(limit: float) -> float:
    """Return the mean length of numbers that are spread evenly from 0 to the limit."""
    longer = (1 - float(1 << BITS_PER_BYTE * count) / limit for count in range(1, varint_bytes(limit)))
    return 1 + sum(max(0.0, share) for share in longer)


def _delimited(length: float) -> float:
    return 1 + varint_bytes(length) + length
