"""The index that lets the cache survive a restart, and how long the master waits for a server that has one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from warmbase.configurations.properties.property import Span
from warmbase.ground.units import GIB, MIB, format_duration
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import LintedNode, jvm_options
from warmbase.linter.rule import BOOTED, NEEDS_RESTARTS, Rule, Violation
from warmbase.sizing.server.restart import (
    BOOT_SECONDS,
    CHUNK_HEAP_BYTES_PER_BLOCK,
    MOST_RETRIES,
    RETAIN_MARGIN,
    SHORTEST_INTERVAL_MS,
    RestartLoad,
    restart,
    retention_window_seconds,
)

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


RETAIN: Final = "hbase.master.scp.retain.assignment"
FORCE: Final = "hbase.master.scp.retain.assignment.force"
RETRIES: Final = "hbase.master.scp.retain.assignment.force.retries"
WAIT: Final = "hbase.master.scp.retain.assignment.force.wait-interval"
LEAST: Final = "hbase.master.wait.on.regionservers.mintostart"
MOST: Final = "hbase.master.wait.on.regionservers.maxtostart"
TIMEOUT: Final = "hbase.master.wait.on.regionservers.timeout"
DEFAULT_TIMEOUT_MS: Final = 4_500
DEFAULT_RETRIES: Final = 600
DEFAULT_WAIT_MS: Final = 50
LONG_SECONDS: Final = 3_600  # judgement: no restart of a RegionServer takes an hour
MOST_BLOCKS: Final = 2**31  # WB224; beyond, no restart comes to pass
WAIT_FOR_MOST: Final = f"leave mintostart at 1, and set {MOST} and {TIMEOUT}"
NEVER_ENDS: Final = "below mintostart the master keeps waiting, whatever the timeout, and no region is served"
BALANCER: Final = "org.apache.hadoop.hbase.master.balancer.CacheAwareLoadBalancer"
MASTER: Final = "HBase 2.6.2 master, ServerCrashProcedure"
master_rule = partial(Rule, proof=NEEDS_RESTARTS, roles=("primary",))


def _retries(node: LintedNode) -> float | None:
    return node.number(RETRIES, DEFAULT_RETRIES)


@master_rule(
    id="WB307",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="master that waits forever for a lost server (hbase.master.scp.retain.assignment.force.retries)",
    because="a node that EMR replaces has a new name, so its regions stay offline until somebody notices",
    fix="use 12 to 14, depending on how long a restart takes",
    source=MASTER,
)
def _waits_for_ever(node: LintedNode) -> Iterator[Violation]:
    retries = _retries(node)
    if node.switched(FORCE, default=False) and retries is not None and retries > MOST_RETRIES:
        yield Violation(
            RETRIES,
            f"{retries:g} retries, each twice as long as the last from 50 ms on, never "
            "end; after 39 days the wait overflows an int",
        )


@master_rule(
    id="WB315",
    severity=Severity.WARNING,
    title="master that waits for hours (…retain.assignment.force.retries)",
    because="a node that EMR replaces has a new name, and no server has its regions until the wait ends",
    fix="use 12 to 14, depending on how long a restart takes",
    source=MASTER,
)
def _waits_for_hours(node: LintedNode) -> Iterator[Violation]:
    retries = _retries(node)
    if not node.switched(FORCE, default=False) or retries is None or not 0 <= retries <= MOST_RETRIES:
        return
    window = retention_window_seconds(int(retries))
    if window > LONG_SECONDS:
        yield Violation(
            RETRIES, f"{retries:g} retries keep the regions of a lost server offline for {format_duration(window)}"
        )


@master_rule(
    id="WB308",
    severity=Severity.ERROR,
    consequence=Consequence.SLOW_OR_DEAR,
    title="master that gives up before a restart ends (…retain.assignment.force.retries)",
    because="the master moves the regions to other servers, and they lose the cache that was kept for them",
    fix="use more retries; each one doubles the wait",
    source=f"{MASTER}; index restore measured with HBase 2.6.2",
)
def _window_too_short(node: LintedNode) -> Iterator[Violation]:
    """Yield a violation where the master gives up too soon; the wait scales with the first interval of 50 ms."""
    retries, away, first = _retries(node), _away_seconds(node), node.number(WAIT, DEFAULT_WAIT_MS)
    if not _core(node).persists or not node.switched(FORCE, default=False):
        return
    if retries is None or away is None or not first or not 0 <= retries <= MOST_RETRIES:
        return
    windows = [retention_window_seconds(tries) * first / DEFAULT_WAIT_MS for tries in range(MOST_RETRIES + 1)]
    window = windows[int(retries)]
    if window < away:
        enough = next((tries for tries, window in enumerate(windows) if window >= RETAIN_MARGIN * away), None)
        yield Violation(
            RETRIES,
            f"the master waits {format_duration(window)} ({retries:g} retries), but a restart takes "
            f"{format_duration(away)} (estimate)",
            fix=None if enough is None else f"use {enough}, which waits {format_duration(windows[enough])}",
        )


def _core(node: LintedNode) -> LintedNode:
    """Return the core nodes, which hold the cache."""
    return LintedNode(
        subject=node.subject,
        role="core",
        release=node.release,
        exact=node.exact,
        settings=node.subject.effective("core"),
    )


def _away_seconds(node: LintedNode) -> float | None:
    """Return an estimate of how long a RegionServer is away during a restart; None where it is unknown."""
    core = _core(node)
    blocks, options = core.cached_blocks, jvm_options(core)
    if blocks is None or not 0 <= blocks < MOST_BLOCKS or node.release is None:
        return None
    return restart(
        RestartLoad(
            heap_bytes=int((options.xmx_mib or 0) * MIB),
            cached_blocks=int(blocks),
            regions=1,
            open_region_threads=3,
            s3_trip_seconds=0.0,
            pre_touch=options.with_flag("+AlwaysPreTouch") is not None,
            restores_in_background=node.release.index_restored_in_background,
        )
    ).away_seconds


@master_rule(
    id="WB309",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="hbase.master.scp.retain.assignment.force without hbase.master.scp.retain.assignment",
    because="force only strengthens retention, which the other switch turns on",
    fix=f"also set {RETAIN}=true",
    source=MASTER,
)
def _force_alone(node: LintedNode) -> Iterator[Violation]:
    if node.switched(FORCE, default=False) and node.switched(RETAIN, default=False) is False:
        yield Violation(FORCE, f"no effect without {RETAIN}")


@master_rule(
    id="WB310",
    severity=Severity.WARNING,
    title="persistent cache whose regions do not return to their server",
    because="the master reassigns a server's regions as soon as the server is gone",
    fix=f"set {RETAIN} and {FORCE} to true, with 12 to 14 retries",
    source=MASTER,
)
def _nothing_retains(node: LintedNode) -> Iterator[Violation]:
    switched_on = [node.switched(key, default=False) for key in (RETAIN, FORCE)]
    if _core(node).persists and False in switched_on:
        yield Violation(
            FORCE, "after a restart a server's regions are elsewhere, and the cache that it kept is of no use to them"
        )


@master_rule(
    id="WB311",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="cache-aware balancer without the path of the cache index",
    because="CacheAwareLoadBalancer turns its cache cost off when the master does not have that path",
    fix=f"set {PATH} for the primary nodes too",
    source="HBase 2.6.2 CacheAwareLoadBalancer",
)
def _balancer_blind(node: LintedNode) -> Iterator[Violation]:
    if node.text("hbase.master.loadbalancer.class") == BALANCER and not node.persists:
        yield Violation(
            "hbase.master.loadbalancer.class",
            f"the balancer ignores the cache, because the master does not have {PATH}",
        )


@master_rule(
    id="WB312",
    severity=Severity.WARNING,
    title="full restart that does not wait for the servers with the caches",
    because="the master assigns regions once mintostart servers (default 1) have reported and 4.5 s have passed",
    fix=f"set {MOST} to the core nodes minus those that may be lost, and {TIMEOUT} to the length of a restart",
    source="HBase 2.6.2 ServerManager",
)
def _starts_too_soon(node: LintedNode) -> Iterator[Violation]:
    """Yield nothing where mintostart or the timeout is a placeholder.

    A timeout that covers a restart is enough; maxtostart only ends the wait as soon as all servers have reported.
    """
    if not (_core(node).persists and node.switched(RETAIN, default=False)):
        return
    least, timeout_ms = node.number(LEAST, 1), node.number(TIMEOUT, DEFAULT_TIMEOUT_MS)
    if least is None or least > 1 or timeout_ms is None:
        return
    waits, away = timeout_ms / 1000, _away_seconds(node) or BOOT_SECONDS
    if waits < away:
        yield Violation(
            TIMEOUT,
            "the first RegionServers to report get the regions of the others: the master waits "
            f"{format_duration(waits)}, but a restart takes {format_duration(away)} (estimate)",
        )


@master_rule(
    id="WB313",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="hbase.master.wait.on.regionservers.maxtostart below mintostart",
    because="HBase logs a warning and ignores maxtostart",
    fix="remove it",
    source="HBase 2.6.2 ServerManager",
    proof=BOOTED,
)
def _max_below_min(node: LintedNode) -> Iterator[Violation]:
    least = node.number(LEAST, 1)
    most = node.number(MOST) if node.setting(MOST) else None
    if least is not None and most is not None and most < least:
        yield Violation(MOST, f"HBase ignores {most:g}, because it is below mintostart ({least:g})")


@master_rule(
    id="WB316",
    severity=Severity.ERROR,
    title="hbase.master.wait.on.regionservers.mintostart above the number of RegionServers",
    because=NEVER_ENDS,
    fix=WAIT_FOR_MOST,
    source="HBase 2.6.2 ServerManager",
    proof=BOOTED,
)
def _never_enough(node: LintedNode) -> Iterator[Violation]:
    least, servers = node.number(LEAST, 1), _server_count(node)
    if least is not None and servers is not None and least > max(1, servers):
        yield Violation(
            LEAST, f"HBase never serves: the master waits for {least:g} RegionServers, and there are {servers}"
        )


@master_rule(
    id="WB317",
    severity=Severity.WARNING,
    title="hbase.master.wait.on.regionservers.mintostart above half of the RegionServers",
    because=NEVER_ENDS,
    fix=WAIT_FOR_MOST,
    source="HBase 2.6.2 ServerManager",
)
def _hardly_enough(node: LintedNode) -> Iterator[Violation]:
    least, servers = node.number(LEAST, 1), _server_count(node)
    if least is not None and servers is not None and max(1, servers / 2) < least <= servers:
        yield Violation(
            LEAST, f"if more than {servers - least:g} of {servers} RegionServers are lost, the master never starts"
        )


def _server_count(node: LintedNode) -> int | None:
    """Return the number of core and task nodes, which run RegionServers in S3 mode; None where a count is missing."""
    groups = [group for group in node.subject.groups if group.role in {"core", "task"}]
    counts = [group.count for group in groups if group.count is not None]
    return sum(counts) if counts and len(counts) == len(groups) else None
