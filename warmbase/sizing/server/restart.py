"""The restarts of a RegionServer: the index that keeps its cache, how long it is away, a crash, and reopened regions.

HBase rewrites the whole index of the BucketCache every `hbase.bucketcache.persist.intervalinmillis` if anything
changed, so the interval trades what a crash forgets against the share of time and of the cache volume that dumping
takes. An entry of the index is one cached block as protobuf fields. Numbers are varints, seven bits to a byte, so an
entry is as long as its numbers are large: offsets grow with the store files and with the cache, the access counter with
reads, the time with how long the node is up. Source: HBase 2.6.2 BucketCacheEntry.proto and BucketProtoUtils; checked
against the index of a real RegionServer.

In a restart, the master holds the regions for their old server (`hbase.master.scp.retain.assignment.force`), sleeping
50 ms, 100 ms, 200 ms … between looks. `hbase.master.scp.retain.assignment.force.retries` ends that: the default of 600
never does, so a server that does not come back (a replaced EMR node has a new name) would keep its regions offline for
good.

If a RegionServer crashes and does not return, as on a node that EMR replaces, ZooKeeper ends the session, the master
splits the log and waits for the server until the retention window ends, and survivors open the regions. The lab's crash
scenario measures these phases on HBase 2.6.2. If the server had `hbase:meta`, the master first waits for that table in
the same way, and assigns nothing else meanwhile.

Clients must outlast all that. A client waits 0.1, 0.2, 0.3, 0.5, 1, 2, 4, 10 and then 20 s between its tries. HBase's
default of 15 retries ends after two minutes, but the master may wait much longer for a lost server before it moves the
regions. Source: HBase 2.6.2 HConstants.RETRY_BACKOFF, ConnectionUtils.getPauseTime.

A change of a table reopens its regions: HBase reopens one region, then two, then four, up to a limit, and pauses after
each batch, so that most of the table stays available. Without a limit it reopens every region of the table at once.
Source: HBase 2.6.2 and 2.6.4 ReopenTableRegionsProcedure.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Final

from msgspec import Struct

from warmbase.ground.release import Release
from warmbase.ground.units import GIB, MIB

# judgement: for a large cache and its numbers after months, because what is planned must find room then: store files of
# 10 GiB, a cache of 1 TiB, blocks of 64 KiB, 2^32 accesses, and 90 days without a restart.
INDEX_BYTES_PER_BLOCK: Final = 83.9
# From 2.6.5 an entry also carries region and family: about 36 bytes more.
REGION_AND_FAMILY_BYTES_PER_BLOCK: Final = 36
# Measured with HBase 2.6.2: 0.5 to 2.4 µs a block, by collector and load.
DUMP_SECONDS_PER_BLOCK: Final = 2.4e-6
# Measured with HBase 2.6.2: heap of one chunk while it is serialised.
CHUNK_HEAP_BYTES_PER_BLOCK: Final = 200
# The default of 10,000,000 blocks would hold 2 GB of heap; a tenth holds 200 MB.
CHUNK_BLOCKS: Final = 1_000_000
# The default of 1,000 ms makes the dump of a large cache continuous; five to fifteen minutes do not.
SHORTEST_INTERVAL_MS: Final = 300_000
LONGEST_INTERVAL_MS: Final = 900_000
MINUTE_MS: Final = 60_000
# judgement: dumping keeps one thread busy; one minute in twenty of one core among eight or more is not
# noticed.
DUMP_TIME_FRACTION: Final = 0.05
# HBase's own HBASE_STOP_TIMEOUT, after which hbase-daemon.sh kills: for flushing and closing regions.
STOP_SECONDS: Final = 1_200
# A stop writes the index before it closes regions, and may find another dump at work.
DUMPS_OF_STOP: Final = 2
# HBase writes a temporary file beside the old index and renames it.
COPIES_ON_DISK: Final = 2


class Persistence(Struct, frozen=True, kw_only=True):
    """The persisted index of one RegionServer; `dump_seconds` at worst, `dump_fraction` = its share of time.

    `stop_timeout_seconds`: how long a stop may take before the server is killed, and what it had cached is lost.
    `dump_fraction` is above what was asked for when the longest interval is still too short: that wants a
    warning. `file_bytes` is what the disk must have room for, `write_bytes_per_second` what dumping takes
    from the volume.
    """

    interval_ms: int
    chunk_blocks: int
    chunk_heap_bytes: int
    index_bytes: int
    file_bytes: int
    dump_seconds: float
    dump_fraction: float
    write_bytes_per_second: float
    stop_timeout_seconds: int


def index_bytes_per_block(release: Release) -> float:
    """Return the mean length of an index entry; a release reads only one of the two formats of the index file."""
    return INDEX_BYTES_PER_BLOCK + (REGION_AND_FAMILY_BYTES_PER_BLOCK if release.index_restored_in_background else 0)


def dump_seconds(blocks: int, file_bytes: int, disk_bytes_per_second: float) -> float:
    """Time of one dump at worst: serialising, or writing when the volume is slower."""
    return max(blocks * DUMP_SECONDS_PER_BLOCK, file_bytes / disk_bytes_per_second)


def chunk_heap_bytes(blocks: int) -> int:
    """Return the heap that one chunk of a dump takes."""
    return CHUNK_HEAP_BYTES_PER_BLOCK * min(blocks, CHUNK_BLOCKS)


def persistence(blocks: int, disk_bytes_per_second: float, release: Release) -> Persistence:
    """Return settings and cost of the persisted index of one RegionServer that caches `blocks` blocks."""
    size = ceil(blocks * index_bytes_per_block(release))
    seconds = dump_seconds(blocks, size, disk_bytes_per_second)
    # Choose whole minutes between dumps, so that dumping takes at most a twentieth of the time.
    wanted_ms = ceil(seconds * 1000 / DUMP_TIME_FRACTION / MINUTE_MS) * MINUTE_MS
    interval_ms = min(LONGEST_INTERVAL_MS, max(SHORTEST_INTERVAL_MS, wanted_ms))
    return Persistence(
        interval_ms=interval_ms,
        chunk_blocks=CHUNK_BLOCKS,
        chunk_heap_bytes=chunk_heap_bytes(blocks),
        index_bytes=size,
        file_bytes=COPIES_ON_DISK * size,
        dump_seconds=seconds,
        dump_fraction=seconds * 1000 / interval_ms,
        write_bytes_per_second=size * 1000 / interval_ms,
        stop_timeout_seconds=STOP_SECONDS + ceil(DUMPS_OF_STOP * seconds),
    )


# judgement: pre-touching zeroes every page; kernels zero 4-10 GiB/s with several threads, and less while the
# other services of the node start.
PRE_TOUCH_BYTES_PER_SECOND: Final = 2 * GIB
# Measured with HBase 2.6.2: 9.5 µs a block for 2 million of them; one thread rebuilds a skip list, and each block finds
# its place in as many steps as the list has levels. 26 and 186 thousand blocks took 0.8 to 1.1 times what that gives.
RESTORE_SECONDS_PER_LEVEL: Final = 9.5e-6 / log2(2_000_000)
# judgement: measured, 24.8 s from start to the last of 18 regions on two shared cores, of which opening them
# is about 4; a node of eight cores will boot its JVM and RegionServer faster.
BOOT_SECONDS: Final = 20.0
# judgement: measured, 140-200 GETs to open 18 regions, and about as many HEADs and LISTs.
S3_TRIPS_PER_REGION: Final = 22
RETAIN_WAIT_MS: Final = 50  # hbase.master.scp.retain.assignment.force.wait-interval
RETAIN_WAIT_SECONDS: Final = RETAIN_WAIT_MS / 1000
# 50 ms x 2^26 is more than an int holds: that look throws instead of giving up (measured with HBase 2.6.2).
MOST_RETRIES: Final = 25
# judgement: an estimate made of four judgements is easily half too short, and the window doubles anyway.
RETAIN_MARGIN: Final = 1.5
NO_MARGIN: Final = 1.0


class RestartLoad(Struct, frozen=True, kw_only=True):
    """The quantities that decide how long one RegionServer takes to restart."""

    heap_bytes: int
    cached_blocks: int
    regions: int
    open_region_threads: int
    s3_trip_seconds: float
    pre_touch: bool
    restores_in_background: bool
    retained: bool = True
    """True if the master waits for the server, because the server has a cache to return to."""


class Restart(Struct, frozen=True, kw_only=True):
    """One restart in seconds; `retain_retries` is the value for `…retain.assignment.force.retries`.

    stop = the index is written before the regions close. away = from the server's end in ZooKeeper to its return, which
    the retention window must cover. late = the rest of the master's current sleep. opening = regions open; from HBase
    2.6.5 on, the index is restored meanwhile, and each store file waits for it. `seconds` = the sum.
    `crash_offline_seconds`: the master waits this long for a server that never returns, then others open its regions,
    uncached. That is the price of retention; `offline` adds the other phases. Without retention, it is 0.
    `retain_margin`: how many restarts fit into the window at least. `wait_for_servers_ms` = how long a starting master
    waits for the servers of a full restart.
    """

    stop_seconds: float
    pre_touch_seconds: float
    restore_seconds: float
    boot_seconds: float
    away_seconds: float
    late_seconds: float
    opening_seconds: float
    seconds: float
    retain_retries: int
    retain_margin: float
    retention_window_seconds: float
    crash_offline_seconds: float
    wait_for_servers_ms: int


def retention_window_seconds(retries: int) -> float:
    """How long the master waits for a server: 50 ms x (2^retries - 1). Raises ValueError past 25 retries."""
    if not 0 <= retries <= MOST_RETRIES:
        raise ValueError(f"retries must be from 0 to {MOST_RETRIES}, not {retries}: 50 ms x 2^26 overflows an int")
    return RETAIN_WAIT_SECONDS * ((1 << retries) - 1)


def retain_retries(seconds: float) -> int:
    """The fewest retries whose window is at least that long. Raises ValueError past 19 days."""
    retries = 1
    while retention_window_seconds(retries) < seconds:
        retries += 1
    return retries


def restore_seconds(blocks: float) -> float:
    """Return the time to read back the index of this many cached blocks."""
    return blocks * RESTORE_SECONDS_PER_LEVEL * log2(max(2.0, blocks))


def late_seconds(away_seconds: float) -> float:
    """Return what is left of the master's sleep when the server is back: at most as long again as it was away."""
    return retention_window_seconds(retain_retries(away_seconds)) - away_seconds


def opening_seconds(server: RestartLoad) -> float:
    """Time to open all regions, a few at a time, each a chain of S3 round trips."""
    rounds = ceil(server.regions / server.open_region_threads)
    return rounds * S3_TRIPS_PER_REGION * server.s3_trip_seconds


def restart(
    server: RestartLoad, pinned_retries: int | None = None, most_window_seconds: float | None = None
) -> Restart:
    """The phases of one clean restart, and the retries that let the server keep its regions through it.

    If the usual window would exceed the longest possible one, it has no margin, but a restart still fits. The window
    covers the restore, even in the background, and the opening of regions: if the first region opens slowly, the server
    must not lose the others. Source of the phases: HBase 2.6.2-2.6.5, read and measured.
    """
    pre_touch = server.heap_bytes / PRE_TOUCH_BYTES_PER_SECOND if server.pre_touch else 0.0
    restore = restore_seconds(server.cached_blocks)
    away = BOOT_SECONDS + pre_touch + (0.0 if server.restores_in_background else restore)
    late = late_seconds(away) if server.retained else 0.0
    opening = opening_seconds(server) + (max(0.0, restore - late) if server.restores_in_background else 0.0)
    stop = server.cached_blocks * DUMP_SECONDS_PER_BLOCK
    chosen, margin = retain_retries(RETAIN_MARGIN * (away + opening)) if server.retained else 0, RETAIN_MARGIN
    retries = chosen if pinned_retries is None else pinned_retries
    window = retention_window_seconds(retries)
    if most_window_seconds is not None and not pinned_retries and window > most_window_seconds:
        retries, margin = retain_retries(away + opening), NO_MARGIN
        window = retention_window_seconds(retries)
    return Restart(
        stop_seconds=stop,
        pre_touch_seconds=pre_touch,
        restore_seconds=restore,
        boot_seconds=BOOT_SECONDS,
        away_seconds=away,
        late_seconds=late,
        opening_seconds=opening,
        seconds=stop + away + late + opening,
        retain_retries=retries,
        retain_margin=margin,
        retention_window_seconds=window,
        crash_offline_seconds=window,
        wait_for_servers_ms=1000 * ceil(RETAIN_MARGIN * away),
    )


# judgement: the log is read from HDFS, sorted by region, written again and replayed, at tens of MiB/s in all.
SPLIT_BYTES_PER_SECOND: Final = 20 * MIB
SPLIT_START_SECONDS: Final = 2.0  # judgement: the log of a few seconds is split in a second or two


class Crash(Struct, frozen=True, kw_only=True):
    """The quantities of the dead server and of the others that decide how long rows are offline."""

    session_seconds: float
    retention_seconds: float
    unflushed_bytes: float
    regions_of_survivor: float
    open_region_threads: int
    s3_trip_seconds: float


class Offline(Struct, frozen=True, kw_only=True):
    """The phases during which the rows of a server that never returns are offline."""

    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    meta_seconds: float

    @property
    def seconds(self) -> float:
        """Return the sum of the phases, if `hbase:meta` was elsewhere."""
        return self.detection_seconds + self.split_seconds + self.retention_seconds + self.opening_seconds


def offline(crash: Crash) -> Offline:
    """Return the phases after a crash; if the server had `hbase:meta`, they last `meta_seconds` longer."""
    trips = S3_TRIPS_PER_REGION * crash.s3_trip_seconds
    return Offline(
        detection_seconds=crash.session_seconds,
        split_seconds=SPLIT_START_SECONDS + crash.unflushed_bytes / SPLIT_BYTES_PER_SECOND,
        retention_seconds=crash.retention_seconds,
        opening_seconds=ceil(crash.regions_of_survivor / crash.open_region_threads) * trips,
        meta_seconds=crash.retention_seconds + trips,
    )


PAUSE_MS: Final = 100  # hbase.client.pause
BACKOFF: Final = (1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200)
DEFAULT_RETRIES: Final = 15  # hbase.client.retries.number
SESSION_TIMEOUT_MS: Final = 40_000  # EMR Release Guide, emr-hbase-configure: zookeeper.session.timeout
CALL_P99S: Final = 10  # judgement: an answer that takes ten times the p99 is more likely lost than late
SHORTEST_CALL_SECONDS: Final = 10  # judgement: a region that has just opened reads indexes and blocks from S3
LONGEST_CALL_SECONDS: Final = 60  # hbase.rpc.timeout
# judgement: the master also splits the write-ahead log of the lost server, and the times are estimates.
RESERVE: Final = 1.2
SECONDS_PER_MINUTE: Final = 60


class ClientSettings(Struct, frozen=True, kw_only=True):
    """The settings with which a client outlasts `outage_seconds`; its waits add up to `patience_seconds`."""

    outage_seconds: float
    retries: int
    patience_seconds: float
    rpc_timeout_ms: int
    operation_timeout_ms: int


def patience_seconds(retries: int) -> float:
    """Return the sum of a client's waits between this many retries."""
    return PAUSE_MS / 1000 * sum(BACKOFF[min(number, len(BACKOFF) - 1)] for number in range(retries))


def client_settings(restart: Restart, p99_seconds: float, *, retains: bool) -> ClientSettings:
    """Return the settings of clients that lose no request when a server is lost.

    Its regions are unavailable until ZooKeeper notices, until the master stops waiting for the server (if it `retains`
    regions), and until other servers open them.
    """
    window = restart.retention_window_seconds if retains else 0.0
    outage = SESSION_TIMEOUT_MS / 1000 + window + restart.opening_seconds
    retries = DEFAULT_RETRIES
    while patience_seconds(retries) < RESERVE * outage:
        retries += 1
    call_seconds = min(LONGEST_CALL_SECONDS, max(SHORTEST_CALL_SECONDS, ceil(CALL_P99S * p99_seconds)))
    operation_seconds = SECONDS_PER_MINUTE * ceil((patience_seconds(retries) + call_seconds) / SECONDS_PER_MINUTE)
    return ClientSettings(
        outage_seconds=outage,
        retries=retries,
        patience_seconds=patience_seconds(retries),
        rpc_timeout_ms=1000 * call_seconds,
        operation_timeout_ms=1000 * operation_seconds,
    )


BACKOFF_MS: Final = 1_000  # judgement: requests that waited for one batch are served before the next batch begins


class Reopening(Struct, frozen=True, kw_only=True):
    """One change of a table: the most regions that reopen at a time, the number of batches, and the time."""

    most_regions: int
    batches: int
    seconds: float


def reopening(regions: int, servers: int, s3_trip_seconds: float) -> Reopening:
    """Return how the regions of a table reopen: at most one region of each server at a time."""
    batches, waiting, size = 0, regions, 1
    while waiting > 0:
        batches, waiting, size = batches + 1, waiting - size, min(servers, 2 * size)
    seconds_of_batch = S3_TRIPS_PER_REGION * s3_trip_seconds + BACKOFF_MS / 1000
    return Reopening(most_regions=min(servers, regions), batches=batches, seconds=batches * seconds_of_batch)
