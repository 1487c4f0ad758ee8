"""How many regions a RegionServer opens at the same time.

A thread that opens a region waits for one S3 request after another, so threads cost only requests. When all servers
start together, their requests must stay below S3's limit for one prefix.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Final

from sizing.resource import S3_GETS_PER_SECOND_PER_PREFIX

__all__ = ["DEFAULT_THREADS", "MOST_THREADS", "open_region_threads"]

DEFAULT_THREADS: Final = 3  # hbase.regionserver.executor.openregion.threads
# judgement: regions that open also list files, read trailers and start prefetches; more than twenty at a time would
# take connections away from handlers.
MOST_THREADS: Final = 20


def open_region_threads(regions: float, servers: int, s3_trip_seconds: float) -> int:
    """Return `hbase.regionserver.executor.openregion.threads` for one of `servers`, each with this many regions."""
    for_s3 = floor(S3_GETS_PER_SECOND_PER_PREFIX * s3_trip_seconds / servers)
    return max(DEFAULT_THREADS, min(MOST_THREADS, ceil(regions), for_s3))
