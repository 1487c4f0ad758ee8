"""The truth about hit ratios, from every sample of every server and by no code of the nodes; and the naive ratio."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lab.preview.replay import MINUTE, ReplayedServer

MISSES_COUNTED = 2  # of HBase, for one


def true_ratio(servers: Sequence[ReplayedServer], begins: int) -> float | None:
    """Of all block reads that the servers counted in that minute, from one sample to the next; None of none."""
    hits = misses = 0.0
    for server in servers:
        for before, after in pairwise(server.moments):
            if not begins < after.second <= begins + MINUTE:
                continue
            base = before if before.starts == after.starts else None
            hits += after.hits - (base.hits if base else 0)
            misses += (after.misses - (base.misses if base else 0)) / MISSES_COUNTED
    return hits / (hits + misses) if hits + misses else None


def lifetime_ratio(servers: Sequence[ReplayedServer], second: int) -> float | None:
    """Return what a graph of `l2CacheHitRatio`, averaged over servers, would show."""
    moments = [found for server in servers if (found := server.at(second)) is not None]
    ratios = [moment.hits / (moment.hits + moment.misses) if moment.hits + moment.misses else 0.0 for moment in moments]
    return sum(ratios) / len(ratios) if ratios else None
