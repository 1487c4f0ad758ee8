"""The targets of the cluster, as the environment file states them."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Targets"]


class Targets(Struct, frozen=True, kw_only=True):
    """The targets, which must hold after losing `lost_nodes` core nodes; None is no target.

    `warm_up_seconds` is how long a cold cluster may take until everything that fits is prefetched, and
    `carries_load_within_seconds` how long until it serves every read that is offered.
    `offline_after_crash_seconds` is how long the rows of one crashed node may be offline.
    """

    hit_ratio: float
    p99_seconds: float | None
    warm_up_seconds: float | None
    lost_nodes: int
    budget_usd_per_month: float | None
    carries_load_within_seconds: float | None = None
    offline_after_crash_seconds: float | None = None
