"""How large a compaction may be whose output enters the cache.

A compaction replaces the blocks of its input, so a cache that holds all the data caches its output. In a cache that
holds less, the output of one large compaction, most of which nobody reads, would replace blocks that are read often.
"""

from __future__ import annotations

from typing import Final

__all__ = ["THRESHOLD_FRACTION", "largest_cached_compaction_bytes"]

# judgement: one compaction replaces at most a tenth of a server's cache, and reads bring that back within minutes.
THRESHOLD_FRACTION: Final = 0.1


def largest_cached_compaction_bytes(cache_bytes: int, servers: int, data_bytes: int) -> int | None:
    """Return `hbase.rs.cachecompactedblocksonwrite.threshold`; None where the caches hold all the data."""
    if cache_bytes * servers >= data_bytes:
        return None
    return int(THRESHOLD_FRACTION * cache_bytes)
