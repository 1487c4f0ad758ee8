"""Properties of region assignment: back to the server that holds a region's blocks, or to one that can serve it."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.property import (
    HBASE_262,
    HBASE_264,
    HBASE_266,
    HUBSPOT_TABLES,
    PERIOD_MS,
    PRIMARY,
    RECIPE,
    SWITCH,
    THREADS,
    WAIT_MS,
    Applied,
    Decimal,
    OneOf,
    RenderingContext,
    Span,
    Whole,
    hbase_site,
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
        "hbase.master.loadbalancer.class",
        OneOf(names=(CACHE_AWARE, STOCHASTIC), others=True),
        "the balancer prefers to place a region on the server that caches its blocks",
        value=CACHE_AWARE,
        needed_by="restarts that keep the cache, heal",
        source=RECIPE,
    ),
    _live(
        "hbase.master.balancer.stochastic.regionCountCost",
        Decimal(unit="weight"),
        "the weight of an even number of regions against cached blocks; the cache-aware balancer uses 20. "
        "warmbase does not raise it, because a larger weight moves regions away from their cached blocks: retention "
        "brings regions back to their servers, and the dashboard shows an uneven number of regions",
    ),
    _cached(
        "hbase.master.balancer.maxRitPercent",
        Decimal(unit="fraction of all regions, despite its name", most=1.0, above=0.0),
        f"the balancer moves at most {MOVING_FRACTION:.0%} of the regions at the same time, but at least one. A "
        "region that moves leaves its cached blocks behind, and by default any number of regions moves at once",
        value=str(MOVING_FRACTION),
        needed_by="hit ratio while the balancer works",
    ),
    _live(
        "hbase.master.balancer.stochastic.cacheCost",
        Decimal(unit="weight"),
        "the weight of cached blocks; it is 0 while the master does not know hbase.bucketcache.persistent.path",
        hbase=Span(since=(2, 6, 0)),
    ),
    _live(
        "hbase.master.balancer.stochastic.throttling.cacheRatio",
        Decimal(unit="fraction of a region", most=1.0),
        "a move to a server that still caches this fraction of the region is not throttled",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _live(
        "hbase.master.balancer.move.throttlingMillis",
        WAIT_MS,
        "the wait after each other move; with the default of a minute, a thousand moves take 17 hours",
        source=HBASE_264,
        hbase=Span(since=(2, 6, 3)),
    ),
    _from_266(
        "hbase.master.balancer.cacheaware.lowCacheRatioThreshold",
        reason="a region may move to free cache when its server caches less than this fraction of it",
    ),
    _from_266(
        "hbase.master.balancer.cacheaware.potentialCacheRatioAfterMove",
        reason="the fraction of such a region that counts as cached after the move",
    ),
    _from_266(
        "hbase.master.balancer.cacheaware.minFreeCacheSpaceFactor",
        reason="the fraction of the region that must fit into the free cache",
    ),
    _primary(
        "hbase.balancer.period",
        PERIOD_MS,
        "the interval between two runs of the balancer",
        value=str(BALANCER_MS),
        needed_by="the time until a new node has regions",
    ),
    _primary(
        "hbase.balancer.max.balancing",
        PERIOD_MS,
        "the longest time for which one run of the balancer moves regions; HBase's default is the period",
        value=str(BALANCER_MS),
        needed_by="the time until a new node has regions",
    ),
    _primary(
        "hbase.balancer.tablesOnMaster",
        SWITCH,
        "false: the master serves no regions. EMR 5 set this key for HBase on S3",
        value="false",
        hbase=Span(until=(3, 0, 0)),
        needed_by="the share of a RegionServer in the load",
    ),
    _primary(
        "hbase.master.loadbalance.bytable",
        SWITCH,
        "false: the balancer counts the regions of all tables together",
        value="false",
        needed_by="the load of the busiest RegionServer, heal",
    ),
    _primary(
        "hbase.master.balancer.uselocality",
        SWITCH,
        "true: the balancer prefers the server whose DataNode has the blocks; it has no effect on S3",
        value="true",
        when=RenderingContext.has_data_in_hdfs,
        needed_by="heal in mode hdfs, and local reads",
    ),
    _live(
        "hbase.master.balancer.stochastic.minCostNeedBalance",
        Decimal(unit="fractions of the cost", most=1.0),
        "below this cost the balancer moves no region; each move leaves cached blocks behind",
    ),
    _live(
        "hbase.master.balancer.stochastic.maxRunningTime",
        PERIOD_MS,
        "the time limit of one search for a better placement",
    ),
    _cached(
        "hbase.master.scp.retain.assignment",
        SWITCH,
        "after a crash or restart, regions return to the server that had them",
        value="true",
        needed_by="restarts that keep the cache",
        hbase=Span(since=(2, 4, 17)),
    ),
    _cached(
        "hbase.master.scp.retain.assignment.force",
        SWITCH,
        "the master waits for that server instead of spreading its regions over the others",
        value="true",
        needed_by="restarts that keep the cache",
        hbase=Span(since=(2, 6, 0)),
    ),
    _cached(
        "hbase.master.scp.retain.assignment.force.wait-interval",
        PERIOD_MS,
        "the first of those waits; each one doubles",
        value=str(RETAIN_WAIT_MS),
        needed_by="the outage after a crash, and the time of a restart",
        hbase=Span(since=(2, 6, 0)),
    ),
    _cached(
        "hbase.master.scp.retain.assignment.force.retries",
        Whole(unit="doublings of 50 ms"),
        "the wait covers a restart and ends soon after it; with the default of 600 the master waits forever for "
        "a server that is gone",
        hbase=Span(since=(2, 6, 0)),
        figure="restart.retain_retries",
    ),
    _primary(
        "hbase.master.wait.on.regionservers.mintostart",
        Whole(unit="RegionServers", least=1),
        "a master waits for this many servers, whatever the timeout says; if fewer are left, it waits forever",
    ),
    _primary(
        "hbase.master.wait.on.regionservers.maxtostart",
        Whole(unit="RegionServers", least=1),
        "after a full restart the master assigns regions once this many servers are back: all of them, less "
        "those that may be lost",
        figure="region_servers_to_start",
    ),
    _primary(
        "hbase.master.wait.on.regionservers.timeout",
        WAIT_MS,
        "the master waits no longer than a restart takes, and then assigns regions to the servers that are "
        "back. When more servers are missing than may be lost, every start of a master takes this long",
        figure="restart.wait_for_servers_ms",
    ),
    _primary(
        "hbase.master.wait.on.regionservers.interval",
        PERIOD_MS,
        "the master stops waiting when no server has joined for this long",
    ),
    _live(
        "hbase.reopen.table.regions.progressive.batch.size.max",
        Whole(unit="regions", least=1),
        "a change of a table reopens one region, then two, then four, up to one for each RegionServer; without "
        "a limit all its regions are unavailable at once. From HBase 2.6.4 on a table may state its own limit",
        value=lambda context: str(context.plan.core.count),
        needed_by="the outage when a table changes",
        hbase=Span(since=(2, 6, 1)),
        source=f"{HBASE_262}; {HUBSPOT_TABLES}",
    ),
    _live(
        "hbase.reopen.table.regions.progressive.batch.backoff.ms",
        WAIT_MS,
        f"the pause between two such batches; in {BACKOFF_MS:,} ms, the requests that waited are served",
        value=str(BACKOFF_MS),
        needed_by="the outage when a table changes",
        hbase=Span(since=(2, 6, 1)),
        source=f"{HBASE_262}; {HUBSPOT_TABLES}",
    ),
    hbase_site(
        "hbase.regionserver.executor.openregion.threads",
        THREADS,
        "the number of regions that open at the same time; a thread that opens a region waits for one S3 "
        "request after another, so more threads cost only more requests at a time",
        figure="open_region_threads",
    ),
    hbase_site(
        "hbase.regionserver.executor.closeregion.threads", THREADS, "the number of regions that close at the same time"
    ),
)
