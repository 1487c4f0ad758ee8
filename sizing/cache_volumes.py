"""A cache on several EBS volumes of one size and one speed, with a file on each.

`files:` is not striped: HBase fills one file before it uses the next, from the first one up, or from the last one down
if the blocks have the largest bucket size. If reads warm up a cache, the most popular blocks are in the file that HBase
fills first, and they stay there, because they are never evicted. That file is a cache of its own: it holds the blocks
that a cache of its size holds when it has just become full. So the busiest volume serves
hit ratio(cache / volumes) / hit ratio(cache) of all hits.

Measured with the BucketAllocator of HBase 2.6.2, Zipf reads and least-recently-used evictions: this share is within
2 % of the measured one when the cache becomes full, and up to 6 % above it after 250 evictions. ESTIMATE: prefetch
spreads the blocks more evenly.

Source: HBase 2.6.2 FileIOEngine, BucketAllocator.
"""

from __future__ import annotations

import numpy as np

from sizing.bucket_cache import CacheDemand
from sizing.popularity import Floats

__all__ = ["first_file_hit_ratio", "useful_volumes", "useful_volumes_of"]


def useful_volumes(hit_ratio: float, first_hit_ratio: float, volumes: int) -> float:
    """Return the load of all cache volumes divided by that of the busiest: between 1 and their number."""
    return float(_useful(np.array(hit_ratio), np.array(first_hit_ratio), volumes))


def first_file_hit_ratio(demand: CacheDemand, total_bytes: float, volumes: int, *, exact: bool) -> float:
    """Return the share of block reads that the first file of each cache answers if the caches hold this many bytes."""
    first_bytes = total_bytes / volumes
    return demand.hit_ratio(first_bytes) if exact else float(demand.chord_hit_ratios(np.array(first_bytes)))


def useful_volumes_of(demand: CacheDemand, sizes_mib: Floats, servers: int, volumes: int) -> Floats:
    """Return `useful_volumes` for caches of these effective sizes; shape as sizes_mib."""
    totals = demand.useful_totals(sizes_mib, servers)
    return _useful(demand.chord_hit_ratios(totals), demand.chord_hit_ratios(totals / volumes), volumes)


def _useful(hit_ratios: Floats, first_hit_ratios: Floats, volumes: int) -> Floats:
    """Return the hit ratio divided by the part of it that the busiest volume serves; 1 for caches without hits."""
    busiest = np.maximum(first_hit_ratios, hit_ratios / volumes)
    return np.divide(hit_ratios, busiest, out=np.ones_like(busiest), where=busiest > 0)
