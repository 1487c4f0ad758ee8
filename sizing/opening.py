"""How many regions a RegionServer opens at the same time.

Opening a region is a chain of requests to S3, and its thread waits for each: threads cost nothing but requests. When
all servers start together, their requests must stay below what S3 promises for one prefix.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Final

from sizing.resource import S3_GETS_PER_SECOND_PER_PREFIX

__all__ = ["DEFAULT_THREADS", "MOST_THREADS", "open_region_threads"]

DEFAULT_THREADS: Final = 3  # hbase.regionserver.executor.openregion.threads
# judgement: what opens beside each other also lists, reads trailers and starts prefetches; more than twenty at a time
# would take handlers' connections.
MOST_THREADS: Final = 20


def open_region_threads(regions: float, servers: int, s3_trip_seconds: float) -> int:
    """Return `hbase.regionserver.executor.openregion.threads` for a server with so many regions, one of `servers`."""
    for_s3 = floor(S3_GETS_PER_SECOND_PER_PREFIX * s3_trip_seconds / servers)
    return max(DEFAULT_THREADS, min(MOST_THREADS, ceil(regions), for_s3))
