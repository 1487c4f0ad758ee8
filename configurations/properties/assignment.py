"""Properties of region assignment: back to the server that holds a region's blocks, or to one that can serve it."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import RenderingContext, hbase_site
from warmbase.configurations.properties.property import (
    HBASE_262,
    HBASE_264,
    HBASE_266,
    HUBSPOT_TABLES,
    LONG,
    PRIMARY,
    RECIPE,
    Applied,
    Decimal,
    OneOf,
    Span,
    Switch,
    Whole,
)
from warmbase.sizing.recovery.bad_hours import BALANCER_MS
from warmbase.sizing.server.restart import BACKOFF_MS, RETAIN_WAIT_MS

STOCHASTIC: Final = "org.apache.hadoop.hbase.master.balancer.StochasticLoadBalancer"
CACHE_AWARE: Final = "org.apache.hadoop.hbase.master.balancer.CacheAwareLoadBalancer"
# judgement: of 240 regions two move at a time, each for some seconds, so that their reads from S3 stay few.
MOVING_FRACTION: Final = 0.01
_primary = partial(hbase_site, groups=PRIMARY)
_cached = partial(_primary, when=RenderingContext.has_bucket_cache)
_live = partial(_primary, applied=Applied.LIVE)
_from_266 = partial(_primary, hbase=Span(since=(2, 6, 6)), values=Decimal(unit="ratio"), source=HBASE_266)

ASSIGNMENT: Final = (
    _cached(
        key="hbase.master.loadbalancer.class",
        value=CACHE_AWARE,
        needed_by="restarts that keep the cache, heal",
        values=OneOf(names=(CACHE_AWARE, STOCHASTIC), others=True),
        reason="the balancer prefers to place a region on the server that caches its blocks",
        source=RECIPE,
    ),
    _live(
        key="hbase.master.balancer.stochastic.regionCountCost",
        values=Decimal(unit="weight"),
        reason="the weight of an even number of regions against cached blocks; the cache-aware balancer uses 20. "
        "warmbase does not raise it, because a larger weight moves regions away from their cached blocks: retention "
        "brings regions back to their servers, and the dashboard shows an uneven number of regions",
    ),
    _cached(
        key="hbase.master.balancer.maxRitPercent",
        value=str(MOVING_FRACTION),
        needed_by="hit ratio while the balancer works",
        values=Decimal(unit="fraction of all regions, despite its name", most=1.0, above=0.0),
        reason=f"the balancer moves at most {MOVING_FRACTION:.0%} of the regions at the same time, but at least one. A "
        "region that moves leaves its cached blocks behind, and by default any number of regions moves at once",
    ),
    _live(
        key="hbase.master.balancer.stochastic.cacheCost",
        values=Decimal(unit="weight"),
        reason="the weight of cached blocks; it is 0 while the master does not know hbase.bucketcache.persistent.path",
        hbase=Span(since=(2, 6, 0)),
    ),
    _live(
        key="hbase.master.balancer.stochastic.throttling.cacheRatio",
        values=Decimal(unit="fraction of a region", most=1.0),
        reason="a move to a server that still caches this fraction of the region is not throttled",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _live(
        key="hbase.master.balancer.move.throttlingMillis",
        values=Whole(unit="ms", most=LONG),
        reason="the wait after each other move; with the default of a minute, a thousand moves take 17 hours",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.lowCacheRatioThreshold",
        reason="a region may move to free cache when its server caches less than this fraction of it",
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.potentialCacheRatioAfterMove",
        reason="the fraction of such a region that counts as cached after the move",
    ),
    _from_266(
        key="hbase.master.balancer.cacheaware.minFreeCacheSpaceFactor",
        reason="the fraction of the region that must fit into the free cache",
    ),
    _primary(
        key="hbase.balancer.period",
        value=str(BALANCER_MS),
        needed_by="the time until a new node has regions",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the interval between two runs of the balancer",
    ),
    _primary(
        key="hbase.balancer.max.balancing",
        value=str(BALANCER_MS),
        needed_by="the time until a new node has regions",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the longest time for which one run of the balancer moves regions; HBase's default is the period",
    ),
    _primary(
        key="hbase.balancer.tablesOnMaster",
        value="false",
        hbase=Span(until=(3, 0, 0)),
        needed_by="the share of a RegionServer in the load",
        values=Switch(),
        reason="false: the master serves no regions. EMR 5 set this key for HBase on S3",
    ),
    _primary(
        key="hbase.master.loadbalance.bytable",
        value="false",
        needed_by="the load of the busiest RegionServer, heal",
        values=Switch(),
        reason="false: the balancer counts the regions of all tables together",
    ),
    _primary(
        key="hbase.master.balancer.uselocality",
        value="true",
        when=RenderingContext.has_data_in_hdfs,
        needed_by="heal in mode hdfs, and local reads",
        values=Switch(),
        reason="true: the balancer prefers the server whose DataNode has the blocks; it has no effect on S3",
    ),
    _live(
        key="hbase.master.balancer.stochastic.minCostNeedBalance",
        values=Decimal(unit="fractions of the cost", most=1.0),
        reason="below this cost the balancer moves no region; each move leaves cached blocks behind",
    ),
    _live(
        key="hbase.master.balancer.stochastic.maxRunningTime",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the time limit of one search for a better placement",
    ),
    _cached(
        key="hbase.master.scp.retain.assignment",
        value="true",
        needed_by="restarts that keep the cache",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="after a crash or restart, regions return to the server that had them",
    ),
    _cached(
        key="hbase.master.scp.retain.assignment.force",
        value="true",
        needed_by="restarts that keep the cache",
        hbase=Span(since=(2, 6, 0)),
        values=Switch(),
        reason="the master waits for that server instead of spreading its regions over the others",
    ),
    _cached(
        key="hbase.master.scp.retain.assignment.force.wait-interval",
        value=str(RETAIN_WAIT_MS),
        needed_by="the outage after a crash, and the time of a restart",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the first of those waits; each one doubles",
    ),
    _cached(
        key="hbase.master.scp.retain.assignment.force.retries",
        hbase=Span(since=(2, 6, 0)),
        values=Whole(unit="doublings of 50 ms"),
        figure="restart.retain_retries",
        reason="the wait covers a restart and ends soon after it; with the default of 600 the master waits forever for "
        "a server that is gone",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.mintostart",
        values=Whole(unit="RegionServers", least=1),
        reason="a master waits for this many servers, whatever the timeout says; if fewer are left, it waits forever",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.maxtostart",
        values=Whole(unit="RegionServers", least=1),
        figure="region_servers_to_start",
        reason="after a full restart the master assigns regions once this many servers are back: all of them, less "
        "those that may be lost",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.timeout",
        values=Whole(unit="ms", most=LONG),
        figure="restart.wait_for_servers_ms",
        reason="the master waits no longer than a restart takes, and then assigns regions to the servers that are "
        "back. When more servers are missing than may be lost, every start of a master takes this long",
    ),
    _primary(
        key="hbase.master.wait.on.regionservers.interval",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="the master stops waiting when no server has joined for this long",
    ),
    _live(
        key="hbase.reopen.table.regions.progressive.batch.size.max",
        value=lambda context: str(context.plan.core.count),
        needed_by="the outage when a table changes",
        hbase=Span(since=(2, 6, 1)),
        values=Whole(unit="regions", least=1),
        reason="a change of a table reopens one region, then two, then four, up to one for each RegionServer; without "
        "a limit all its regions are unavailable at once. From HBase 2.6.4 on a table may state its own limit",
        source=f"{HBASE_262}; {HUBSPOT_TABLES}",
    ),
    _live(
        key="hbase.reopen.table.regions.progressive.batch.backoff.ms",
        value=str(BACKOFF_MS),
        needed_by="the outage when a table changes",
        hbase=Span(since=(2, 6, 1)),
        values=Whole(unit="ms", most=LONG),
        reason=f"the pause between two such batches; in {BACKOFF_MS:,} ms, the requests that waited are served",
        source=f"{HBASE_262}; {HUBSPOT_TABLES}",
    ),
    hbase_site(
        key="hbase.regionserver.executor.openregion.threads",
        values=Whole(unit="threads", least=1),
        figure="open_region_threads",
        reason="the number of regions that open at the same time; a thread that opens a region waits for one S3 "
        "request after another, so more threads cost only more requests at a time",
    ),
    hbase_site(
        key="hbase.regionserver.executor.closeregion.threads",
        values=Whole(unit="threads", least=1),
        reason="the number of regions that close at the same time",
    ),
)
