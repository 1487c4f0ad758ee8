"""What a set of changes costs to apply: time, the cache, dollars. All of it is the plan's estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from configurations.impact.change import Change
from configurations.lint.subject import Subject
from configurations.properties.property import Applied
from configurations.properties.values import number
from sizing.plan import Plan
from sizing.prefetching import GET_BYTES
from sizing.prices import PriceTable
from sizing.units import HOURS_PER_MONTH, MIB, SECONDS_PER_HOUR

__all__ = ["ImpactCost", "impact_cost"]

SITE = "hbase-site"
PATH = "hbase.bucketcache.persistent.path"
SIZE = "hbase.bucketcache.size"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactCost:
    """`restart_seconds` is for one RegionServer after the other; 0 without a restart of HBase on core nodes.

    `cache_lost_bytes` is cluster-wide, `warm_up_seconds` until it is prefetched again. `usd` is what applying it
    costs once: GETs that fill the cache anew, and nodes of a new cluster while it warms up beside the old one.
    """

    applied: Applied | None
    region_servers: int
    restart_seconds: float
    cache_lost_bytes: int
    warm_up_seconds: float
    get_usd: float
    node_usd: float

    @property
    def usd(self) -> float:
        """Both together."""
        return self.get_usd + self.node_usd


def impact_cost(found: Sequence[Change], before: Subject, plan: Plan, prices: PriceTable) -> ImpactCost:
    """Of all changes together: whatever needs a restart shares one, and a new cluster takes up all the rest."""
    asked = max((change.applied for change in found), key=list(Applied).index, default=None)
    new = asked is Applied.NEW_CLUSTER
    restarts = not new and any(change.restarts_region_servers for change in found)
    lost = _cache_lost(found, before, plan) if new or restarts else 0
    warm_up = plan.warm_up.prefetch_seconds if lost or new else 0.0
    filled = plan.cache.size_bytes * plan.core.count if plan.bucket_cache and (lost or new) else 0
    return ImpactCost(
        applied=asked,
        region_servers=plan.core.count,
        restart_seconds=plan.core.count * plan.restart.seconds if restarts else 0.0,
        cache_lost_bytes=lost,
        warm_up_seconds=warm_up,
        get_usd=filled / GET_BYTES * prices.usd("s3-get"),
        node_usd=_nodes_usd_per_hour(plan) * warm_up / SECONDS_PER_HOUR if new else 0.0,
    )


def _cache_lost(found: Sequence[Change], before: Subject, plan: Plan) -> int:
    """The old cache, where a change empties it, or where it does not survive a restart anyhow."""
    was = before.effective("core")
    size = was.get((SITE, SIZE))
    size_mib = number(size.value) if size else None
    survives = (SITE, PATH) in was and not any(change.empties_cache for change in found)
    return 0 if survives or size_mib is None else int(size_mib * MIB) * plan.core.count


def _nodes_usd_per_hour(plan: Plan) -> float:
    nodes = [line for line in plan.cost.lines if line.item.startswith(("core ", "primary "))]
    return sum(line.usd_per_month for line in nodes) / HOURS_PER_MONTH
