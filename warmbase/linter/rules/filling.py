"""How blocks enter the cache, and what keeps them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.linter.finding import REMOVED, Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import BOOTED, NEEDS_LOAD, Rule, Violation

HBASE: Final = "HBase 2.6.2 BucketCache, BucketAllocator"
FACTORY: Final = "HBase 2.6.2 BlockCacheFactory"
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
