"""Where regions go: back to the server that holds their blocks, or to one that can."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import CORE, PRIMARY, Applied, Property, Span
from configurations.properties.sources import HBASE_262, HBASE_264, HBASE_266, RECIPE
from configurations.properties.values import LONG, Decimal, OneOf, Switch, Whole

__all__ = ["ASSIGNMENT"]

STOCHASTIC: Final = "org.apache.hadoop.hbase.master.balancer.StochasticLoadBalancer"
CACHE_AWARE: Final = "org.apache.hadoop.hbase.master.balancer.CacheAwareLoadBalancer"
_primary = partial(
    Property, classification="hbase-site", groups=PRIMARY, applied=Applied.ROLLING_RESTART, source=HBASE_262
)
_core = partial(_primary, groups=CORE)
_from_266 = partial(_primary, hbase=Span(since=(2, 6, 6)), values=Decimal(unit="ratio"), source=HBASE_266)

ASSIGNMENT: Final = (
    _primary(
        key="hbase.master.loadbalancer.class",
        values=OneOf(names=(CACHE_AWARE, STOCHASTIC), others=True),
        reason="regions go where their blocks are cached",
        source=RECIPE,
    ),
    _primary(
        key="hbase.master.balancer.stochastic.regionCountCost",
        applied=Applied.LIVE,
        values=Decimal(unit="weight"),
        reason="how much an even count of regions weighs against cached blocks; 20 for the cache-aware balancer",
    ),
    _primary(
        key="hbase.master.balancer.stochastic.cacheCost",
        applied=Applied.LIVE,
        values=Decimal(unit="weight"),
        reason="how much cached blocks weigh; 0 while the master does not know hbase.bucketcache.persistent.path",
        hbase=Span(since=(2, 6, 0)),
    ),
    _primary(
        key="hbase.master.balancer.stochastic.throttling.cacheRatio",
        applied=Applied.LIVE,
        values=Decimal(unit="fraction of a region", most=1.0),
        reason="a move to a server that still caches so much is not slowed down",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _primary(
        key="hbase.master.balancer.move.throttlingMillis",
        applied=Applied.LIVE,
        values=Whole(unit="ms", most=LONG),
        reason="wait after every other move: a thousand moves at the default of a minute are 17 hours",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.lowCacheRatioThreshold",
        reason="a region cached less than this where it is may move to free cache",
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.potentialCacheRatioAfterMove",
        reason="and counts as cached so much after the move",
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.minFreeCacheSpaceFactor",
        reason="how much of the region the free cache must hold",
    ),
    _primary(
        key="hbase.balancer.period",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="how often the balancer looks",
    ),
    _primary(
        key="hbase.master.balancer.stochastic.minCostNeedBalance",
        applied=Applied.LIVE,
        values=Decimal(unit="fractions of the cost", most=1.0),
        reason="below it the balancer leaves regions alone; each move is cached blocks left behind",
    ),
    _primary(
        key="hbase.master.balancer.stochastic.maxRunningTime",
        applied=Applied.LIVE,
        values=Whole(unit="ms", least=1, most=LONG),
        reason="how long one search for a better placement may take",
    ),
    _primary(
        key="hbase.master.scp.retain.assignment",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="regions return to the host they were on",
    ),
    _primary(
        key="hbase.master.scp.retain.assignment.force",
        hbase=Span(since=(2, 6, 0)),
        values=Switch(),
        reason="the master waits for that host instead of scattering the regions",
    ),
    _primary(
        key="hbase.master.scp.retain.assignment.force.wait-interval",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the first of those waits, which double",
    ),
    _primary(
        key="hbase.master.scp.retain.assignment.force.retries",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="doublings of 50 ms"),
        figure="restart.retain_retries",
        reason="the wait covers a restart and ends after it; the default of 600 never ends for a host that is gone",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.mintostart",
        values=Whole(unit="RegionServers", least=1),
        reason="a master waits for so many whatever the timeout: more than are left keep it waiting for ever",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.maxtostart",
        values=Whole(unit="RegionServers", least=1),
        figure="region_servers_to_start",
        reason="a full restart assigns when the servers that hold the cache are there, less those that may be lost",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.timeout",
        values=Whole(unit="ms", most=LONG),
        figure="restart.wait_for_servers_ms",
        reason="and no longer than a restart takes: then it assigns to whichever are there. Any master that starts "
        "waits so long when more servers are gone than may be",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.interval",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="and it begins when none has come for so long",
    ),
    _core(
        key="hbase.regionserver.executor.openregion.threads",
        values=Whole(unit="threads", least=1),
        reason="regions that open at once; each is a chain of S3 round trips",
    ),
    _core(
        key="hbase.regionserver.executor.closeregion.threads",
        values=Whole(unit="threads", least=1),
        reason="regions that close at once",
    ),
)
