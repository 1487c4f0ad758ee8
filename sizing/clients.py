"""Settings of clients that outlast a lost server and slow answers, as the plan expects them.

A client waits 0.1, 0.2, 0.3, 0.5, 1, 2, 4, 10 and then 20 s between its tries. HBase's default of 15 retries ends after
two minutes, but the master may wait much longer for a lost server before it moves the regions.

Source: HBase 2.6.2 HConstants.RETRY_BACKOFF, ConnectionUtils.getPauseTime.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from msgspec import Struct

from sizing.restart import Restart

__all__ = ["PAUSE_MS", "SESSION_TIMEOUT_MS", "ClientSettings", "client_settings", "patience_seconds"]

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
