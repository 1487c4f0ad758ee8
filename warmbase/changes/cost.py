"""The cost of applying a set of changes, in time, cached data and dollars; all figures are the plan's estimates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from warmbase.changes.change import Change
from warmbase.configurations.properties.property import Applied, number
from warmbase.emr.cluster_spec import ClusterSpec
from warmbase.ground.prices import PriceTable
from warmbase.ground.units import HOURS_PER_MONTH, MIB, SECONDS_PER_HOUR
from warmbase.sizing.plan import Plan
from warmbase.sizing.server.region_server import GET_BYTES

SITE = "hbase-site"
PATH = "hbase.bucketcache.persistent.path"
SIZE = "hbase.bucketcache.size"
ENGINE = "hbase.bucketcache.ioengine"
MOST_MIB = 2**24
"""HBase reads whole MiB exactly up to this number."""


class ImpactCost(Struct, frozen=True, kw_only=True):
    """The cost of applying a set of changes.

    `restart_seconds` is for one RegionServer after the other; it is 0 if HBase does not restart on core nodes.
    `cache_lost_bytes` is cluster-wide and None where the old size is not known; `warm_up_seconds` pass until the cache
    is prefetched again. `get_usd` pays for the requests that fill it, `node_usd` for the nodes of a new cluster while
    they warm up beside the old ones.
    """

    applied: Applied | None
    region_servers: int
    restart_seconds: float
    cache_lost_bytes: int | None
    warm_up_seconds: float
    get_usd: float
    node_usd: float

    @property
    def usd(self) -> float:
        """The dollars that are spent once, on requests and on nodes."""
        return self.get_usd + self.node_usd


def impact_cost(changes: Sequence[Change], before: ClusterSpec, plan: Plan, prices: PriceTable) -> ImpactCost:
    """Return the cost of all changes together: they share one restart, and a new cluster replaces every other cost."""
    applied = max((change.applied for change in changes), key=list(Applied).index, default=None)
    new = applied is Applied.NEW_CLUSTER
    restarts = not new and any(change.restarts_region_servers for change in changes)
    empties = any(change.empties_cache for change in changes) or (SITE, PATH) not in before.effective("core")
    cold = new or (restarts and empties)
    # A cold RegionServer has no index to restore.
    restart_seconds = plan.restart.seconds - (plan.restart.restore_seconds if cold else 0.0)
    warm_up = plan.warm_up.prefetch_seconds if cold else 0.0
    filled = plan.cache.size_bytes * plan.core.count if plan.bucket_cache and cold else 0
    nodes = [line.usd_per_month for line in plan.cost.lines if line.item.startswith(("core ", "primary "))]
    return ImpactCost(
        applied=applied,
        region_servers=plan.core.count,
        restart_seconds=plan.core.count * restart_seconds if restarts else 0.0,
        cache_lost_bytes=_cache_lost(before, plan, whole=cold),
        warm_up_seconds=warm_up,
        get_usd=filled / GET_BYTES * prices.usd("s3-get"),
        node_usd=sum(nodes) / HOURS_PER_MONTH * warm_up / SECONDS_PER_HOUR if new else 0.0,
    )


def _cache_lost(before: ClusterSpec, plan: Plan, *, whole: bool) -> int | None:
    """Return the bytes of the old cache, or of the nodes that are removed; None where count or size is not known."""
    core, task, settings = before.group("core"), before.group("task"), before.effective("core")
    # The nodes that lose their cache, task nodes among them.
    nodes = task.count if task else 0
    if core is None or core.count is None or nodes is None:
        nodes = None if whole else nodes
    else:
        nodes += core.count if whole else max(0, core.count - plan.core.count)
    size = settings.get((SITE, SIZE))
    if nodes == 0 or (size is None and before.only is None and (SITE, ENGINE) not in settings):
        return 0
    size_mib = number(size.value) if size else None
    if nodes is None or size_mib is None or not 1 <= size_mib <= MOST_MIB:
        return None
    return int(size_mib * MIB) * nodes
