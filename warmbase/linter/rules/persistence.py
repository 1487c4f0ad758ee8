"""The index on disk that lets the cache survive a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.configurations.properties.property import Span
from warmbase.ground.units import GIB
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode
from warmbase.linter.rule import BOOTED, NEEDS_RESTARTS, Rule, Violation
from warmbase.sizing.server.restart import CHUNK_HEAP_BYTES_PER_BLOCK, SHORTEST_INTERVAL_MS

PATH: Final = "hbase.bucketcache.persistent.path"
CHUNK: Final = "hbase.bucketcache.persistence.chunksize"
DEFAULT_CHUNK: Final = 10_000_000
DEFAULT_INTERVAL_MS: Final = 1_000
LARGE_CHUNK_BYTES: Final = (
    GIB  # judgement: a gigabyte of garbage for each dump is what ten RegionServers in a rack feel
)


@Rule(
    id="WB301",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="persistent cache on a release that has none",
    because="before HBase 2.6 only a clean stop writes an index, so any other restart starts with a cold cache",
    fix="use emr-7.6.0 or later",
    source="EMR Release Guide, emr-release-app-versions-7.x",
    proof="the lab has no HBase before 2.6",
    emr=Span(until=(7, 6, 0)),
    of_hbase_1=True,
)
def _too_old(node: LintedNode) -> Iterator[Violation]:
    if node.persists:
        label = node.release.label if node.release else ""
        yield Violation(PATH, f"{label} cannot keep the cache across a restart; emr-7.6.0 can")


@Rule(
    id="WB302",
    severity=Severity.ERROR,
    consequence=Consequence.IGNORED,
    title="hbase.bucketcache.persistent.path without a file engine",
    because="only the engines file: and files: keep blocks across a restart",
    fix="use files: with a path, or remove hbase.bucketcache.persistent.path",
    source="HBase 2.6.2 BucketCache",
    proof=BOOTED,
)
def _no_file_engine(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine")
    if node.persists and engine is not None and not node.cache_files and not _until_a_clean_stop(engine):
        yield Violation(
            PATH, f"a restart loses the cache: the engine {engine} keeps no blocks that an index could point to"
        )


def _until_a_clean_stop(engine: str) -> bool:
    return engine.startswith(("mmap:", "pmem:"))


@Rule(
    id="WB303",
    severity=Severity.WARNING,
    title="engine that writes its index only at a clean stop",
    because="after a crash the cache is cold",
    fix="use files:",
    source="HBase 2.6.2 BucketCache",
    proof=NEEDS_RESTARTS,
)
def _only_after_a_clean_stop(node: LintedNode) -> Iterator[Violation]:
    engine = node.text("hbase.bucketcache.ioengine") or ""
    if node.persists and _until_a_clean_stop(engine):
        yield Violation(
            "hbase.bucketcache.ioengine",
            f"{engine.partition(':')[0]} writes its index only at a clean stop, and does not stamp blocks",
        )


@Rule(
    id="WB304",
    severity=Severity.WARNING,
    title="hbase.bucketcache.persist.intervalinmillis below five minutes",
    because="each dump writes 82 bytes for every cached block to the volume of the cache",
    fix="use 300000 to 900000 ms",
    source="measured with HBase 2.6.2",
    proof=NEEDS_RESTARTS,
)
def _never_ending_dump(node: LintedNode) -> Iterator[Violation]:
    key = "hbase.bucketcache.persist.intervalinmillis"
    interval = node.number(key, DEFAULT_INTERVAL_MS)
    if node.persists and interval is not None and interval < SHORTEST_INTERVAL_MS:
        yield Violation(key, f"HBase rewrites the whole index every {interval / 1000:g} s")


@Rule(
    id="WB305",
    severity=Severity.WARNING,
    title="hbase.bucketcache.persistence.chunksize that uses over 1 GiB of heap",
    because="while HBase writes a chunk, it holds 200 bytes of heap for each block",
    fix="set hbase.bucketcache.persistence.chunksize=1000000",
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
            CHUNK, f"a dump of {blocks / 1e6:,.1f} million blocks uses {chunk_bytes / GIB:.1f} GiB of heap at a time"
        )


@Rule(
    id="WB306",
    severity=Severity.WARNING,
    title="hbase.rs.evictblocksonclose=true with a persistent cache",
    because="a restart closes every region, and so empties the cache",
    fix="leave it at false",
    source="HBase 2.6.2 CacheConfig",
    proof=NEEDS_RESTARTS,
)
def _evicts_on_close(node: LintedNode) -> Iterator[Violation]:
    if node.persists and node.switched("hbase.rs.evictblocksonclose", default=False):
        yield Violation("hbase.rs.evictblocksonclose", "HBase drops the cached blocks of a region that it closes")


@Rule(
    id="WB314",
    severity=Severity.INFO,
    title="index that can keep a RegionServer from starting",
    because="if the cache was empty, or evicted blocks during the write, the file announces a chunk that it lacks",
    fix="before each start, move aside an index with fewer chunks than it announces; warmbase's "
    "bootstrap action does that",
    source="reproduced with HBase 2.6.2; HBASE-28839",
    proof=BOOTED,
    hbase=Span(since=(2, 6, 1), until=(2, 6, 5)),
)
def _damaged_index(node: LintedNode) -> Iterator[Violation]:
    if node.persists:
        yield Violation(PATH, "the RegionServer does not start if the last chunk of its index was never written")
