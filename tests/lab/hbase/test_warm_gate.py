"""The progress that `warm wait` reads while caches fill at a constant rate, and when each gate opens."""

from __future__ import annotations

import pytest

from lab.hbase.jmx import CacheCounters
from lab.hbase.recording import ReadHistory, Tick
from lab.hbase.scenarios.warm_gate import FIXED, GATE, OPEN, WARM, Fill, Reading, read_servers
from warmbase.ground.units import MIB
from warmbase.sizing.recovery.warmth import slowest_seconds, target

SERVERS = range(3)
TARGET = target(100 * MIB, 60 * MIB)
OPENED, BEGAN, SECONDS = 20, 22, 100
WARM_AT = BEGAN + GATE.share * SECONDS


def filled(at: int) -> float:
    return min(1.0, max(0.0, (at - BEGAN) / SECONDS))


def counters(at: int) -> CacheCounters:
    """Return the counters of one server, from which clients read three blocks a second."""
    reads = 3 * max(0, at - OPENED)
    hits = round(3 * sum(filled(second) for second in range(OPENED, at)))
    return CacheCounters(
        l2_hits=hits,
        l2_misses=2 * (reads - hits),
        l2_blocks=0,
        l2_bytes=round(filled(at) * TARGET.warm_bytes),
        l2_evictions=0,
        failed_insertions=0,
        l1_blocks=0,
        reads=reads,
        regions=8,
    )


def history(until: int) -> ReadHistory:
    """Return the counters of every second; the servers answer after the tenth."""
    seconds = range(until + 1)
    return ReadHistory(
        [Tick(at=at, gets=at, servers={n: counters(at) for n in SERVERS} if at > 10 else {}) for at in seconds]
    )


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_remaining_time_follows_from_the_rate(share: float) -> None:
    at = BEGAN + round(share * SECONDS)
    seconds = slowest_seconds(read_servers(history(at), SERVERS, TARGET, OPENED))
    assert seconds == pytest.approx(WARM_AT - at, abs=8)


def test_each_gate_opens_at_its_time() -> None:
    readings = [Reading(at=at, servers=read_servers(history(at), SERVERS, TARGET, OPENED)) for at in (100, 121, 126)]
    assert [{server.verdict for server in reading.servers} for reading in readings] == [
        {"filling"},
        {"filling"},
        {"warm"},
    ]
    fill = Fill(history=history(190), numbers=SERVERS, target=TARGET, opened=OPENED, readings=readings, fixed=50)
    assert fill.warm_at == pytest.approx(WARM_AT, abs=1)
    assert fill.gates == {WARM: 126, OPEN: OPENED, FIXED: pytest.approx(BEGAN + 50, abs=1)}
    assert fill.hit_ratio(126) == 1
    assert fill.share(fill.at(OPENED + 52)) == pytest.approx(0.5)
