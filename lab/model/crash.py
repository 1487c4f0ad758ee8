"""How long the regions of a RegionServer are offline when its process dies and does not return."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.restart import S3_TRIPS_PER_REGION, retention_window_seconds

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
