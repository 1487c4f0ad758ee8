"""The index on disk that lets the cache survive a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from configurations.properties.property import Span
from lint.finding import Severity
from lint.node import LintedNode
from lint.rule import BOOTED, NEEDS_RESTARTS, Violation, rule
from sizing.persistence import CHUNK_HEAP_BYTES_PER_BLOCK, SHORTEST_INTERVAL_MS
from sizing.units import GIB

PATH: Final = "hbase.bucketcache.persistent.path"
CHUNK: Final = "hbase.bucketcache.persistence.chunksize"
DEFAULT_CHUNK: Final = 10_000_000
DEFAULT_INTERVAL_MS: Final = 1_000
LARGE_CHUNK_BYTES: Final = (
    GIB  # judgement: a gigabyte of garbage for each dump is what ten RegionServers in a rack feel
)


@rule(
    id="WB301",
    severity=Severity.ERROR,
    title="a persistent cache on a release without one",
    because="before HBase 2.6 an index is written at a clean stop at best: any other restart starts cold",
    fix="use emr-7.6.0 or later",
    source="EMR Release Guide, emr-release-app-versions-7.x",
    proof="the lab has no HBase before 2.6",
    emr=Span(until=(7, 6, 0)),
    of_hbase_1=True,
)
def _too_old(node: LintedNode) -> Iterator[Violation]:
    if node.persists:
        label = node.release.label if node.release else ""
        yield Violation(at=node.setting(PATH), message=f"{label} has no cache that survives a restart; emr-7.6.0 has")


@rule(
    id="WB302",
    severity=Severity.ERROR,
    title="hbase.bucketcache.persistent.path without a file engine",
    because="only file: and files: keep blocks over a restart",
    fix="use files: with a path, or remove the path",
    source="HBase 2.6.2 BucketCache",
    proof=BOOTED,
)
def _no_file_engine(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine")
    if node.persists and engine is not None and not node.cache_files and not _until_a_clean_stop(engine):
        yield Violation(at=node.setting(PATH), message=f"engine {engine} keeps nothing that an index could point to")


def _until_a_clean_stop(engine: str) -> bool:
    return engine.startswith(("mmap:", "pmem:"))


@rule(
    id="WB303",
    severity=Severity.WARNING,
    title="an index that only a clean stop writes",
    because="after a crash the cache is cold",
    fix="use files:",
    source="HBase 2.6.2 BucketCache",
    proof=NEEDS_RESTARTS,
)
def _only_after_a_clean_stop(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine") or ""
    if node.persists and _until_a_clean_stop(engine):
        yield Violation(
            at=node.setting("hbase.bucketcache.ioengine"),
            message=f"{engine.partition(':')[0]} writes its index at a clean stop only, and stamps no block",
        )


@rule(
    id="WB304",
    severity=Severity.WARNING,
    title="hbase.bucketcache.persist.intervalinmillis below five minutes",
    because="each dump writes 82 bytes for every cached block to the cache's own volume",
    fix="use 300000 to 900000 ms",
    source="measured with HBase 2.6.2",
    proof=NEEDS_RESTARTS,
)
def _never_ending_dump(node: LintedNode) -> Iterator[Violation]:
    key = "hbase.bucketcache.persist.intervalinmillis"
    interval = node.number(key, DEFAULT_INTERVAL_MS)
    if node.persists and interval is not None and interval < SHORTEST_INTERVAL_MS:
        yield Violation(
            at=node.setting(key),
            property=key,
            message=f"the whole index is written anew every {interval / 1000:g} s",
        )


@rule(
    id="WB305",
    severity=Severity.WARNING,
    title="hbase.bucketcache.persistence.chunksize that takes a gigabyte of heap",
    because="a chunk takes 200 bytes of heap for each block while it is written",
    fix="state hbase.bucketcache.persistence.chunksize=1000000",
    source="measured with HBase 2.6.2",
    proof=NEEDS_RESTARTS,
)
def _large_chunk(node: LintedNode) -> Iterator[Violation]:
    chunk, blocks = node.number(CHUNK, DEFAULT_CHUNK), node.cached_blocks
    if not node.persists or chunk is None or blocks is None:
        return
    chunk_bytes = min(chunk, blocks) * CHUNK_HEAP_BYTES_PER_BLOCK
    if chunk_bytes > LARGE_CHUNK_BYTES:
        yield Violation(
            at=node.setting(CHUNK),
            property=CHUNK,
            message=f"a dump of {blocks / 1e6:,.1f} million blocks holds {chunk_bytes / GIB:.1f} GiB of heap at a time",
        )


@rule(
    id="WB306",
    severity=Severity.WARNING,
    title="hbase.rs.evictblocksonclose at true with a persistent cache",
    because="a restart closes every region",
    fix="leave it at false",
    source="HBase 2.6.2 CacheConfig",
    proof=NEEDS_RESTARTS,
)
def _evicts_on_close(node: LintedNode) -> Iterator[Violation]:
    if node.persists and node.switched("hbase.rs.evictblocksonclose", default=False):
        yield Violation(
            at=node.setting("hbase.rs.evictblocksonclose"), message="closing a region throws its cached blocks away"
        )


@rule(
    id="WB314",
    severity=Severity.INFO,
    title="an index that can stop a RegionServer",
    because="the cache was empty, or evicted blocks while it was written: a chunk is missing, and the start fails",
    fix="before each start move an index with fewer chunks than it announces aside; warmbase's bootstrap does",
    source="reproduced with HBase 2.6.2; HBASE-28839",
    proof=BOOTED,
    hbase=Span(since=(2, 6, 1), until=(2, 6, 5)),
)
def _damaged_index(node: LintedNode) -> Iterator[Violation]:
    if node.persists:
        yield Violation(
            at=node.setting(PATH),
            message="an index whose last chunk was never written stops the RegionServer from starting",
        )
