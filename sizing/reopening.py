"""How a change of a table reopens its regions: a few at a time, so that most of the table stays available.

HBase reopens one region, then two, then four, up to a limit, and pauses after each batch. Without a limit it reopens
every region of the table at once. Source: HBase 2.6.2 and 2.6.4 ReopenTableRegionsProcedure.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sizing.restart import S3_TRIPS_PER_REGION

__all__ = ["BACKOFF_MS", "Reopening", "reopening"]

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
