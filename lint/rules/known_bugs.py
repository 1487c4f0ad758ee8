"""WB5..: bugs of HBase that a cached cluster meets, by the versions that have them. What to do about each is its fix.

From the log of branch-2.6; what EMR has taken back into its own builds is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.properties.property import Span
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import Check, Rule, Violation
from lint.rules.retention import BALANCER
from sizing.release import Version

__all__ = ["KNOWN_BUGS"]


def _always(node: LintedNode) -> bool:
    return node.caches


def _persisted(node: LintedNode) -> bool:
    return node.persists


def _cache_aware(node: LintedNode) -> bool:
    return node.text("hbase.master.loadbalancer.class") == BALANCER


def _prefetched(node: LintedNode) -> bool:
    return bool(node.caches and node.switched("hbase.rs.prefetchblocksonopen", default=False))


def _index_on_write(node: LintedNode) -> bool:
    keys = ("hfile.block.index.cacheonwrite", "hbase.rs.cacheblocksonwrite")
    return any(node.switched(key, default=False) for key in keys)


def _on_write(node: LintedNode) -> bool:
    return bool(node.switched("hbase.rs.cacheblocksonwrite", default=False))


OPEN: Final = (99, 0, 0)
"""No release has the fix."""

_ROWS: Final = (
    # id, issue, fixed in, meets it, severity, roles, what, what to do
    (
        "WB501", "HBASE-29667", (2, 6, 5), _always, "warning", "core",
        "every block enters the cache as one that was read often: a full scan flushes hot blocks",
        "set cacheBlocks=false on scans of whole tables",
    ),
    (
        "WB502", "HBASE-28804", (2, 6, 5), _persisted, "info", "core",
        "the index is restored before the RegionServer registers: 2 to 2.5 minutes for each TiB of 64 KiB blocks",
        "let the master wait for it (WB308)",
    ),
    (
        "WB503", "no issue found", OPEN, _persisted, "info", "core",
        "after a restart with the cache kept, blocks read since look oldest and are evicted first",
        "keep the blocks in use below 95 % of the cache, so that none is evicted; else remove the index before a start",
    ),
    (
        "WB504", "HBASE-29243", (2, 6, 3), _prefetched, "info", "core",
        "files of encoded column families never count as fully cached: after a restart cache ratios are wrong",
        "judge by l2CacheCount; leave the balancer off after a restart of such tables",
    ),
    (
        "WB505", "HBASE-29326", (2, 6, 3), _prefetched, "info", "core",
        "a file that was once fully cached is not prefetched again, evicted blocks or not",
        "reads bring the blocks back; or restart without the index",
    ),
    (
        "WB506", "HBASE-28596", (2, 6, 3), _always, "info", "core",
        "splits and merges throw the cached blocks of their parents away; each prefetched file walks the whole index",
        "presplit tables; raise hbase.hregion.max.filesize",
    ),
    (
        "WB507", "HBASE-29168", (2, 6, 3), _cache_aware, "warning", "primary",
        "the cache-aware balancer moves any number of regions at once: a storm of reads from S3",
        "balance_switch false, and balance in short windows",
    ),
    (
        "WB508", "HBASE-29627", (2, 6, 4), _always, "info", "core",
        "an exception while the cache is read fails the client's read instead of falling back to the file",
        "clients try again; watch for exceptions of BucketCache",
    ),
    (
        "WB509", "HBASE-29623", (2, 6, 4), _on_write, "info", "core",
        "column families with BLOCKCACHE=false are cached on write all the same",
        "keep such families in tables of their own, and count them in the size",
    ),
    (
        "WB510", "HBASE-29707", (2, 6, 5), _cache_aware, "info", "primary",
        "the ratio at which a region is cached drifts as blocks are evicted",
        "judge by windowed hits and misses, not by currentRegionCacheRatio",
    ),
    (
        "WB511", "HBASE-30300", (2, 6, 7), _cache_aware, "info", "primary",
        "the cache-aware balancer gives an even count of regions up for cached ones, and chooses moves at random",
        "look at regions per server after it ran; raise hbase.master.balancer.stochastic.regionCountCost",
    ),
    (
        "WB512", "HBASE-30285", (2, 6, 7), _persisted, "info", "core",
        "a slot whose stamp does not match is lost until the RegionServer restarts",
        "restart cleanly; SIGKILL leaves such slots",
    ),
    (
        "WB513", "HBASE-30038", (2, 6, 6), _index_on_write, "info", "core",
        "index blocks that are cached on write leak references", "watch direct memory",
    ),
    (
        "WB514", "HBASE-29158", (2, 6, 3), _always, "info", "core",
        "a damaged header byte in a store file is an exception about its checksum instead of a second try",
        "move the region, or restore the file",
    ),
    (
        "WB515", "HBASE-29215, HBASE-29362", (2, 6, 3), _always, "info", "core",
        "the BucketCache's JSON on the RegionServer's page is broken", "use JMX",
    ),
    (
        "WB516", "HBASE-29249", (2, 6, 3), _always, "info", "core",
        "cache factors cannot be changed without a restart", "plan them with the next rolling restart",
    ),
)  # fmt: skip


def _check(meets: Check | object, what: str) -> Check:
    def check(node: LintedNode) -> Iterator[Violation]:
        if callable(meets) and meets(node):
            yield Violation(message=what)

    return check


def _span(fixed: Version) -> Span:
    return Span(since=(2, 6, 0)) if fixed == OPEN else Span(since=(2, 6, 0), until=fixed)


def _mended(fixed: Version) -> str:
    return "no release has the fix" if fixed == OPEN else f"fixed in HBase {'.'.join(map(str, fixed))}"


KNOWN_BUGS: Final = tuple(
    Rule(
        id=number,
        severity=Severity(severity),
        what=what,
        because=f"{issue}; {_mended(fixed)}",
        fix=fix,
        source="log of HBase branch-2.6",
        check=_check(meets, what),
        roles=(role,),
        hbase=_span(fixed),
    )
    for number, issue, fixed, meets, severity, role, what, fix in _ROWS
)
