"""How long a RegionServer is away when it restarts with its cache kept, and how long its regions wait for it.

The master holds the regions for their old server (`hbase.master.scp.retain.assignment.force`), sleeping 50
ms, 100 ms, 200 ms … between looks. `hbase.master.scp.retain.assignment.force.retries` ends that: the default
of 600 never does, so a server that does not come back (a replaced EMR node has a new name) would keep its
regions offline for good.
"""

from math import ceil, log2
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.persistence import DUMP_SECONDS_PER_BLOCK
from sizing.units import GIB

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
    uncached. That is the price of retention; `sizing.offline` adds the other phases. Without retention, it is 0.
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


def restart(server: RestartLoad, pinned_retries: int | None = None) -> Restart:
    """The phases of one clean restart, and the retries that let the server keep its regions through it.

    The window covers the restore even where it runs in the background, and the opening too: a first region
    that is slow to open must not lose the rest. Source of the phases: HBase 2.6.2-2.6.5, read and measured.
    """
    pre_touch = server.heap_bytes / PRE_TOUCH_BYTES_PER_SECOND if server.pre_touch else 0.0
    restore = restore_seconds(server.cached_blocks)
    away = BOOT_SECONDS + pre_touch + (0.0 if server.restores_in_background else restore)
    late = late_seconds(away) if server.retained else 0.0
    opening = opening_seconds(server) + (max(0.0, restore - late) if server.restores_in_background else 0.0)
    stop = server.cached_blocks * DUMP_SECONDS_PER_BLOCK
    chosen = retain_retries(RETAIN_MARGIN * (away + opening)) if server.retained else 0
    retries = chosen if pinned_retries is None else pinned_retries
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
        retain_margin=RETAIN_MARGIN,
        retention_window_seconds=retention_window_seconds(retries),
        crash_offline_seconds=retention_window_seconds(retries),
        wait_for_servers_ms=1000 * ceil(RETAIN_MARGIN * away),
    )


def shortened(timing: Restart, most_seconds: float) -> Restart:
    """Return the restart with a window without margin if the usual window is too long; a restart still fits."""
    if timing.retention_window_seconds <= most_seconds:
        return timing
    retries = retain_retries(timing.away_seconds + timing.opening_seconds)
    window = retention_window_seconds(retries)
    return replace(
        timing,
        retain_retries=retries,
        retain_margin=NO_MARGIN,
        retention_window_seconds=window,
        crash_offline_seconds=window,
    )
