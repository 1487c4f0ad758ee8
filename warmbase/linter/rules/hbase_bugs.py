"""Bugs of HBase that affect a cached cluster, in the versions that have them.

From the log of branch-2.6. Amazon does not publish which fixes it has taken into its own builds. To add a bug, declare
it here with the versions that have it and what to do until a fix arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NotRequired, TypedDict, Unpack

from warmbase.configurations.properties.property import Span
from warmbase.ground.release import Version
from warmbase.linter.finding import Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import Rule, Violation
from warmbase.linter.rules.persistence import BALANCER

FIRST: Final = (2, 6, 0)
"""The first HBase with a cache that survives a restart: older ones are not examined for bugs."""


class _Bug(TypedDict):
    id: str
    severity: NotRequired[Severity]
    title: str
    issue: str
    fix: str
    fixed: Version | None
    meets: Callable[[LintedNode], bool | None]
    role: NotRequired[str]


def _bug(**bug: Unpack[_Bug]) -> Rule:
    """Return the rule that reports a bug on each node that `meets` it; `fixed` is None where no release has the fix."""
    fixed, title = bug["fixed"], bug["title"]

    @Rule(
        id=bug["id"],
        severity=bug.get("severity", Severity.INFO),
        title=title,
        because=f"{bug['issue']}; {f'fixed in HBase {_dotted(fixed)}' if fixed else 'no release has a fix'}",
        fix=bug["fix"],
        source="log of HBase branch-2.6",
        proof="the bug shows only under load or after a failure; its issue describes it",
        roles=(bug.get("role", "core"),),
        hbase=Span(since=FIRST, until=fixed) if fixed else Span(since=FIRST),
    )
    def check(node: LintedNode) -> Iterator[Violation]:
        if bug["meets"](node):
            yield Violation("", title)

    return check


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _caches(node: LintedNode) -> bool:
    return node.caches


def _persists(node: LintedNode) -> bool:
    return node.persists


def _balances_by_cache(node: LintedNode) -> bool:
    return node.text("hbase.master.loadbalancer.class") == BALANCER


def _moves_without_limit(node: LintedNode) -> bool:
    moving = node.number("hbase.master.balancer.maxRitPercent", 1.0)
    return _balances_by_cache(node) and moving is not None and moving >= 1


def _prefetches(node: LintedNode) -> bool | None:
    return node.caches and node.switched("hbase.rs.prefetchblocksonopen", default=False)


def _caches_on_write(node: LintedNode) -> bool | None:
    return node.switched("hbase.rs.cacheblocksonwrite", default=False)


def _caches_indexes_on_write(node: LintedNode) -> bool | None:
    return node.switched("hfile.block.index.cacheonwrite", default=False) or _caches_on_write(node)


NO_SCAN_RESISTANCE: Final = _bug(
    id="WB501",
    severity=Severity.WARNING,
    title="a full table scan evicts hot blocks, because every block enters the cache as one that is read often",
    issue="HBASE-29667",
    fixed=(2, 6, 5),
    fix="set cacheBlocks=false on scans of whole tables",
    meets=_caches,
)
RESTORE_BEFORE_REGISTRATION: Final = _bug(
    id="WB502",
    title="a restart takes 2 to 2.5 minutes longer for each TiB of 64 KiB blocks, because the RegionServer restores "
    "its index before it registers",
    issue="HBASE-28804",
    fixed=(2, 6, 5),
    fix="make the master wait that long (see WB308)",
    meets=_persists,
)
RESTORED_BLOCKS_OUTLIVE_NEW: Final = _bug(
    id="WB503",
    title="after a restart that keeps the cache, blocks read since then look oldest and are evicted first",
    issue="no issue found",
    fixed=None,
    fix="keep the blocks in use below 95 % of the cache so that none is evicted, or remove the index before a start",
    meets=_persists,
)
ENCODED_FILES_NOT_COUNTED: Final = _bug(
    id="WB504",
    title="cache ratios are wrong after a restart, because files of encoded column families never count as fully "
    "cached",
    issue="HBASE-29243",
    fixed=(2, 6, 3),
    fix="judge by l2CacheCount, and keep the balancer off after a restart if you have such tables",
    meets=_prefetches,
)
PREFETCHED_ONCE: Final = _bug(
    id="WB505",
    title="a file that was once fully cached is not prefetched again, even after its blocks are evicted",
    issue="HBASE-29326",
    fixed=(2, 6, 3),
    fix="let reads bring the blocks back, or restart without the index",
    meets=_prefetches,
)
SPLITS_DROP_BLOCKS: Final = _bug(
    id="WB506",
    title="splits and merges drop the cached blocks of the parent regions, and each prefetched file walks the whole "
    "index",
    issue="HBASE-28596",
    fixed=(2, 6, 3),
    fix="presplit tables, and raise hbase.hregion.max.filesize",
    meets=_caches,
)
UNTHROTTLED_BALANCER: Final = _bug(
    id="WB507",
    severity=Severity.WARNING,
    title="the cache-aware balancer can move any number of regions at once, which causes a burst of reads from S3",
    issue="HBASE-29168",
    fixed=(2, 6, 3),
    fix="set hbase.master.balancer.maxRitPercent to 0.01, or turn the balancer off and run it only in short windows",
    meets=_moves_without_limit,
    role="primary",
)
CACHE_ERRORS_FAIL_READS: Final = _bug(
    id="WB508",
    title="an exception in the cache fails the client's read; HBase does not fall back to the store file",
    issue="HBASE-29627",
    fixed=(2, 6, 4),
    fix="let clients retry, and watch the logs for exceptions from BucketCache",
    meets=_caches,
)
CACHED_DESPITE_BLOCKCACHE_FALSE: Final = _bug(
    id="WB509",
    title="column families with BLOCKCACHE=false are still cached on write",
    issue="HBASE-29623",
    fixed=(2, 6, 4),
    fix="keep such families in tables of their own, and include them in the cache size",
    meets=_caches_on_write,
)
REGION_RATIO_DRIFTS: Final = _bug(
    id="WB510",
    title="currentRegionCacheRatio drifts from the truth as blocks are evicted",
    issue="HBASE-29707",
    fixed=(2, 6, 5),
    fix="judge by hits and misses over a window, not by currentRegionCacheRatio",
    meets=_balances_by_cache,
    role="primary",
)
BALANCER_IGNORES_COUNT: Final = _bug(
    id="WB511",
    title="the cache-aware balancer leaves region counts uneven in favour of cached regions, and picks its moves at "
    "random",
    issue="HBASE-30300",
    fixed=(2, 6, 7),
    fix="check the regions per server after it runs, and raise hbase.master.balancer.stochastic.regionCountCost",
    meets=_balances_by_cache,
    role="primary",
)
SLOTS_LOST_TO_STAMPS: Final = _bug(
    id="WB512",
    title="a cache slot whose timestamp does not match is lost until the RegionServer restarts",
    issue="HBASE-30285",
    fixed=(2, 6, 7),
    fix="stop RegionServers cleanly; SIGKILL leaves such slots behind",
    meets=_persists,
)
INDEX_BLOCKS_LEAK: Final = _bug(
    id="WB513",
    title="index blocks that are cached on write leak references",
    issue="HBASE-30038",
    fixed=(2, 6, 6),
    fix="watch the direct memory of each RegionServer",
    meets=_caches_indexes_on_write,
)
DAMAGED_HEADER: Final = _bug(
    id="WB514",
    title="a damaged header byte in a store file fails the read with a checksum exception; HBase does not retry",
    issue="HBASE-29158",
    fixed=(2, 6, 3),
    fix="move the region to another server, or restore the file",
    meets=_caches,
)
BROKEN_JSON: Final = _bug(
    id="WB515",
    title="the JSON for the BucketCache on the RegionServer's web page is invalid",
    issue="HBASE-29215, HBASE-29362",
    fixed=(2, 6, 3),
    fix="read the figures over JMX",
    meets=_caches,
)
FACTORS_NEED_RESTART: Final = _bug(
    id="WB516",
    title="a change of the cache factors takes effect only after a restart",
    issue="HBASE-29249",
    fixed=(2, 6, 3),
    fix="plan such changes with the next rolling restart",
    meets=_caches,
)
