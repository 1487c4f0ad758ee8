"""A RegionServer that is lost for good: how long its rows are offline, and how long its cache takes to refill."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.candidate import Candidate
from sizing.prefetching import fill_seconds

__all__ = ["LostNode", "lost_node"]

FEWEST_OTHERS: Final = 1


class LostNode(Struct, frozen=True, kw_only=True):
    """One core node crashes and never returns under its name, as on EMR.

    `rows_fraction` of the rows is offline for `offline_seconds`: until ZooKeeper gives the server up (`detection`), its
    log is split, the master stops waiting for it (`retention`) and other servers have opened its regions. With
    `meta_probability`, the node had `hbase:meta`. Then its rows are offline for `offline_with_meta_seconds`, and
    clients cannot find a region that they have not looked up before. `hit_ratio`, `reads_per_second` and
    `p99_latency_ms` are those of the other nodes once their caches are warm again; at first, the hit ratio is
    `cold_hit_ratio`. `refill_seconds` is how long a new node takes to prefetch its share.
    """

    rows_fraction: float
    meta_probability: float
    detection_seconds: float
    split_seconds: float
    retention_seconds: float
    opening_seconds: float
    offline_seconds: float
    offline_with_meta_seconds: float
    hit_ratio: float
    cold_hit_ratio: float
    reads_per_second: float
    p99_latency_ms: float
    refill_seconds: float


def lost_node(candidate: Candidate) -> LostNode | None:
    """Return the figures of a candidate that has lost one node; None for a single node."""
    others = candidate.count - 1
    if others < FEWEST_OTHERS:
        return None
    offline, reads = candidate.offline, candidate.performance(others)
    share, cluster = 1 / candidate.count, replace(candidate.cluster(candidate.count), servers=1)
    refill = 0.0
    if candidate.cache_mib:
        mine = candidate.share_of(candidate.count)
        refill = fill_seconds(candidate.question.demand, mine, cluster, candidate.prefetch_threads).seconds
    return LostNode(
        rows_fraction=share,
        meta_probability=share,
        detection_seconds=offline.detection_seconds,
        split_seconds=offline.split_seconds,
        retention_seconds=offline.retention_seconds,
        opening_seconds=offline.opening_seconds,
        offline_seconds=offline.seconds,
        offline_with_meta_seconds=offline.seconds + offline.meta_seconds,
        hit_ratio=candidate.hit_ratio(others),
        cold_hit_ratio=others / candidate.count * candidate.hit_ratio(candidate.count),
        reads_per_second=reads.load.reads_per_second,
        p99_latency_ms=reads.percentiles.p99_ms,
        refill_seconds=refill,
    )
