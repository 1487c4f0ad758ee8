"""Shares of the heap and of the caches, as HBase adds them up, and how blocks enter the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from warmbase.configurations.properties import CATALOGUE
from warmbase.emr.cluster_spec import Setting
from warmbase.linter.finding import REMOVED, Consequence, Severity
from warmbase.linter.node import SITE, LintedNode
from warmbase.linter.rule import BOOTED, NEEDS_LOAD, Rule, Violation
from warmbase.sizing.server.memory import within_heap_limit

HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
FACTORY: Final = "HBase 2.6.2 BlockCacheFactory"
FACTORS: Final = {
    "hbase.bucketcache.single.factor": 0.25,
    "hbase.bucketcache.multi.factor": 0.50,
    "hbase.bucketcache.memory.factor": 0.25,
}
L1_SHARES: Final = {
    "hbase.lru.blockcache.single.percentage": 0.25,
    "hbase.lru.blockcache.multi.percentage": 0.50,
    "hbase.lru.blockcache.memory.percentage": 0.25,
}
NO_L1: Final = 0.0001
L1: Final = "hfile.block.cache.size"
MEMSTORE: Final = "hbase.regionserver.global.memstore.size"
OLD_MEMSTORE: Final = "hbase.regionserver.global.memstore.upperLimit"
"""HBase reads this name where the new one is not set."""
L1_BYTES: Final = "hfile.block.cache.memory.size"
"""HBase reads this size instead of the fraction (HBASE-28600)."""
FREE_BYTES: Final = "hbase.regionserver.free.heap.min.memory.size"
"""HBase keeps this much heap free instead of a fifth."""
RANGES: Final = {
    L1: ("hfile.block.cache.size.min.range", "hfile.block.cache.size.max.range"),
    MEMSTORE: (
        "hbase.regionserver.global.memstore.size.min.range",
        "hbase.regionserver.global.memstore.size.max.range",
    ),
}
MOST_MEMSTORE: Final = 0.8
LRU_GOAL: Final = "hbase.lru.blockcache.min.factor"
LRU_ACCEPT: Final = "hbase.lru.blockcache.acceptable.factor"


def _states(node: LintedNode, key: str) -> bool:
    """Return whether a key is set that this release, or an unknown one, reads."""
    exists = node.release is None or CATALOGUE[SITE, key].exists_in(node.release)
    return exists and node.setting(key) is not None


def _setting_at_fault(node: LintedNode, *keys: str) -> Setting | None:
    """Return the first of these settings, or the first that overrides a rendered one: people mend what they wrote."""
    settings = [setting for key in keys if (setting := node.setting(key))]
    return next((setting for setting in settings if setting.overridden), settings[0] if settings else None)


@Rule(
    id="WB206",
    severity=Severity.ERROR,
    title="hbase.bucketcache single, multi and memory factors that do not add up to 1",
    because="the RegionServer does not start: HBase adds the factors in float32 and requires exactly 1",
    fix="use other decimals, such as 0.25, 0.50 and 0.25",
    source=HBASE,
    proof=BOOTED,
)
def _factors(node: LintedNode) -> Iterator[Violation]:
    return _not_one(node, FACTORS, "single, multi and memory factors")


@Rule(
    id="WB226",
    severity=Severity.ERROR,
    title="L1 percentages that do not add up to 1",
    because="the RegionServer does not start: HBase requires a sum of exactly 1 in float32",
    fix="use 0.25, 0.50 and 0.25",
    source="HBase 2.6.2 LruBlockCache",
    proof=BOOTED,
)
def _l1_shares(node: LintedNode) -> Iterator[Violation]:
    return _not_one(node, L1_SHARES, "single, multi and memory percentages")


def _not_one(node: LintedNode, defaults: Mapping[str, float], what: str) -> Iterator[Violation]:
    """Yield a violation where shares do not add up to 1; WB104 reports shares that are not from 0 to 1."""
    values = [node.number(key, default) for key, default in defaults.items()]
    at = _setting_at_fault(node, *defaults)
    shares = [share for share in values if share is not None and 0 <= share <= 1]
    if at is None or len(shares) < len(values):
        return
    added = sum(map(np.float32, shares), np.float32(0))  # rounded first, and added in this order, as HBase does
    if added != 1:
        yield Violation(at, f"{what} add up to {added:.8f} in float32, not to 1")


@Rule(
    id="WB207",
    severity=Severity.ERROR,
    title="hbase.bucketcache.minfactor above hbase.bucketcache.acceptfactor",
    because="the RegionServer does not start if minfactor is above acceptfactor",
    fix="set minfactor below acceptfactor",
    source=HBASE,
    proof=BOOTED,
)
def _thresholds(node: LintedNode) -> Iterator[Violation]:
    accept = node.number("hbase.bucketcache.acceptfactor", 0.95)
    goal = node.number("hbase.bucketcache.minfactor", 0.85)
    at = _setting_at_fault(node, "hbase.bucketcache.minfactor", "hbase.bucketcache.acceptfactor")
    if at and accept is not None and goal is not None and goal > accept:
        yield Violation(at, f"eviction would start at {accept:g} and stop only at {goal:g}, which is higher")


@Rule(
    id="WB208",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="hfile.block.cache.size of 0, which disables every cache",
    because="at 0.0001 or less HBase silently creates no block cache at all, the BucketCache included",
    fix="leave L1 enough for indexes and Bloom chunks: 0.05 or more",
    source=FACTORY,
    proof=BOOTED,
)
def _l1_off(node: LintedNode) -> Iterator[Violation]:
    fraction = node.number("hfile.block.cache.size", 0.4)
    at = node.setting("hfile.block.cache.size")
    if at and fraction is not None and fraction <= NO_L1 and not _states(node, L1_BYTES):
        caches = "L1 and the BucketCache" if node.caches else "L1"
        yield Violation(at, f"{fraction:g} turns every block cache off: {caches}")


@Rule(
    id="WB209",
    severity=Severity.ERROR,
    title="hfile.block.cache.size and memstore above 0.8 of the heap",
    because="the RegionServer does not start: HBase truncates each share to a whole percent in float32 "
    "and allows a sum of 80",
    fix="lower one of the two",
    source="HBase 2.6.2 MemorySizeUtil",
    proof=BOOTED,
)
def _heap_limit(node: LintedNode) -> Iterator[Violation]:
    memstore_key = MEMSTORE if node.setting(MEMSTORE) or not node.setting(OLD_MEMSTORE) else OLD_MEMSTORE
    l1, memstore = (node.number(key, 0.4) for key in (L1, memstore_key))
    at = node.setting(memstore_key) or node.setting(L1)
    if not at or l1 is None or memstore is None or _states(node, L1_BYTES) or _states(node, FREE_BYTES):
        return
    if 0 < l1 <= 1 and 0 < memstore <= MOST_MEMSTORE and not within_heap_limit(l1, memstore):
        yield Violation(at, f"L1 ({l1:g}) and memstore ({memstore:g}) exceed 0.8 of the heap, as HBase adds them")


@Rule(
    id="WB223",
    severity=Severity.WARNING,
    title="hfile.block.cache.size or memstore with a range, which makes HBase resize them",
    because="L1, which is sized for indexes, shrinks when memstores grow",
    fix="remove the ranges, and set both fractions",
    source="HBase 2.6.2 HeapMemoryManager",
    proof=NEEDS_LOAD,
)
def _ranges(node: LintedNode) -> Iterator[Violation]:
    """Yield a violation for each range that differs from its fraction."""
    for fraction, ends in RANGES.items():
        static = node.number(fraction, 0.4)
        moving = [setting for key in ends if (setting := node.setting(key)) and node.number(key) != static]
        if moving:
            yield Violation(moving[0], "HBase moves memory between L1 and memstore every minute")


@Rule(
    id="WB227",
    severity=Severity.ERROR,
    title="L1 eviction thresholds in the wrong order",
    because="the RegionServer does not start unless min.factor is below acceptable.factor, and that is below 1",
    fix="keep the defaults of 0.95 and 0.99",
    source="HBase 2.6.2 LruBlockCache",
    proof=BOOTED,
)
def _l1_thresholds(node: LintedNode) -> Iterator[Violation]:
    goal, accept = node.number(LRU_GOAL, 0.95), node.number(LRU_ACCEPT, 0.99)
    at = _setting_at_fault(node, LRU_GOAL, LRU_ACCEPT)
    if at and goal is not None and accept is not None and not goal < accept < 1:
        yield Violation(at, f"L1 would start to evict at {accept:g} and stop at {goal:g}")


FEW_PREFETCH_THREADS: Final = 4


@Rule(
    id="WB218",
    severity=Severity.WARNING,
    title="prefetch with hbase.bucketcache.queue.addition.waittime=0",
    because="HBase does not fetch a dropped block again until the region reopens",
    fix="set a wait, such as 1000 ms; it does not delay reads",
    source=HBASE,
    proof=NEEDS_LOAD,
)
def _drops_blocks(node: LintedNode) -> Iterator[Violation]:
    prefetches = node.switched("hbase.rs.prefetchblocksonopen", default=False)
    if node.caches and prefetches and node.number("hbase.bucketcache.queue.addition.waittime", 0) == 0:
        yield Violation(
            "hbase.bucketcache.queue.addition.waittime",
            "prefetch leaves files partly cached: it drops each block that finds a writer's queue full",
        )


@Rule(
    id="WB219",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="hbase.block.data.cacheonread=false",
    because="prefetch and compressed caching work only while this switch is on",
    fix="leave it at true",
    source="HBase 2.6.2 CacheConfig",
    proof=NEEDS_LOAD,
)
def _cache_on_read_off(node: LintedNode) -> Iterator[Violation]:
    if node.switched("hbase.block.data.cacheonread", default=True) is False:
        yield Violation(
            "hbase.block.data.cacheonread",
            "reads do not fill the cache, and prefetch and compressed caching are off too",
        )


@Rule(
    id="WB220",
    severity=Severity.WARNING,
    title="hbase.hfile.thread.prefetch of 4 or less with data in S3",
    because="prefetch speed is the number of threads divided by S3's first-byte latency, whatever the bandwidth "
    "(measured)",
    fix="use 16 or more",
    source="HBase 2.6.2 PrefetchExecutor",
    proof=NEEDS_LOAD,
)
def _few_prefetch_threads(node: LintedNode) -> Iterator[Violation]:
    threads = node.number("hbase.hfile.thread.prefetch", FEW_PREFETCH_THREADS)
    prefetches = node.switched("hbase.rs.prefetchblocksonopen", default=False)
    if node.in_s3 and prefetches and threads is not None and threads <= FEW_PREFETCH_THREADS:
        yield Violation(
            "hbase.hfile.thread.prefetch",
            f"warm-up is slow: {threads:g} threads prefetch one store file each, at S3's latency",
        )


@Rule(
    id="WB221",
    severity=Severity.WARNING,
    title="compactions whose output is not cached (hbase.rs.cachecompactedblocksonwrite)",
    because="a separate switch decides whether HBase caches the output of compactions",
    fix="set hbase.rs.cachecompactedblocksonwrite=true",
    source="HBase 2.6.2 CacheConfig",
    proof=NEEDS_LOAD,
)
def _compactions_lose_blocks(node: LintedNode) -> Iterator[Violation]:
    on_write = node.switched("hbase.rs.cacheblocksonwrite", default=False)
    compacted = node.switched("hbase.rs.cachecompactedblocksonwrite", default=False)
    if node.caches and on_write and compacted is False:
        yield Violation(
            "hbase.rs.cachecompactedblocksonwrite",
            "HBase caches flushed blocks, but the first compaction drops them again",
        )


@Rule(
    id="WB222",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="cache switch without effect (combinedcache.enabled, orphan.evictgraceperiod)",
    because="no HBase 2.6 implements what the switch promises",
    fix="remove it",
    source="HBase 2.6.0 to 2.6.7 sources",
    proof=NEEDS_LOAD,
)
def _does_nothing(node: LintedNode) -> Iterator[Violation]:
    combined = node.setting("hbase.bucketcache.combinedcache.enabled")
    if combined and combined.value.strip().lower() == "false":
        yield Violation(
            combined,
            "no effect: since HBase 2.0 the caches are always combined, and false only adds a log line",
            edit=REMOVED,
        )
    grace = node.setting("hbase.bucketcache.block.orphan.evictgraceperiod.seconds")
    if grace:
        yield Violation(
            grace, "no effect: HBase 2.6 does not evict orphans; besides, the value is in milliseconds", edit=REMOVED
        )


@Rule(
    id="WB225",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="external memcached together with a BucketCache",
    because="HBase has one L2 cache, and an external one takes precedence",
    fix="remove the switch",
    source=FACTORY,
    proof=BOOTED,
)
def _external(node: LintedNode) -> Iterator[Violation]:
    if node.caches and node.switched("hbase.blockcache.use.external", default=False):
        yield Violation("hbase.blockcache.use.external", "memcached replaces the BucketCache")
