"""Threads, buffers, time-outs and memstores of requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from warmbase.ground.units import MIB
from warmbase.linter.finding import Consequence, Severity
from warmbase.linter.node import EXPORT, SITE, JvmOptions, LintedNode, is_all_placeholder, jvm_options, size_mib
from warmbase.linter.rule import NEEDS_LOAD, Rule, Violation, emr_hbase_rule
from warmbase.sizing.server.memory import POOL_BUFFER_BYTES

HANDLERS: Final = "hbase.regionserver.handler.count"
OPTIONS: Final = "HBASE_REGIONSERVER_OPTS"
DIRECT: Final = "-XX:MaxDirectMemorySize"
SESSION: Final = "zookeeper.session.timeout"
OPERATION: Final = "hbase.client.operation.timeout"
RPC: Final = "hbase.rpc.timeout"
ZOOKEEPER: Final = "hbase.zookeeper.property."
CLIENT_PORT: Final = "hbase.zookeeper.property.clientPort"
"""The one key of ZooKeeper's that clients of HBase read, too."""
LONGEST_ANSWER_BYTES: Final = 2 * MIB
"""HBase keeps this much in buffers for each direction of a handler (ByteBuffAllocator)."""
# judgement: published clusters run 30 to a few hundred handlers; beyond a thousand, threads and their buffers cost more
# in memory than they gain in time.
MOST_HANDLERS: Final = 1_000
# judgement: a read that misses the cache holds its handler while S3 answers, for 0.1 s or more, so ten handlers serve
# some 100 misses a second; HBase's default is 30.
FEWEST_HANDLERS: Final = 10
MISSES_PER_HANDLER: Final = 10
# judgement: a busy node may pause for seconds while it waits for a disk or for memory, or collects garbage.
SHORTEST_SESSION_MS: Final = 10_000
# judgement: the first byte from S3 takes up to 0.2 s, and a read may need several GETs, one after the other.
SHORTEST_CALL_MS: Final = 1_000
CALL_TIMEOUTS: Final = (
    RPC,
    OPERATION,
    "hbase.rpc.read.timeout",
    "hbase.rpc.write.timeout",
    "hbase.rpc.shortoperation.timeout",
    "hbase.client.scanner.timeout.period",
    "hbase.client.meta.operation.timeout",
)
# judgement: warmbase's smallest memstore, 512 MiB, has room for four flushes of 128 MiB.
FEWEST_FLUSHES: Final = 4


@Rule(
    id="WB414",
    severity=Severity.ERROR,
    consequence=Consequence.NOT_SAFE,
    title="-XX:MaxDirectMemorySize below the buffers of the handlers",
    because="the pool grows under load to 4 MiB for each handler, and then allocation fails with OutOfMemoryError",
    fix="raise -XX:MaxDirectMemorySize to the pool plus 512 MiB for network clients, or use fewer handlers",
    source="HBase 2.6.2 ByteBuffAllocator, and an allocation of the whole pool with it",
    proof="a pool fills only under load; HBase's own class, made to allocate all its buffers, throws the error",
)
def _direct_below_pool(node: LintedNode) -> Iterator[Violation]:
    pool, options = _pool_bytes(node), jvm_options(node)
    direct_mib = _direct_mib(node, options)
    if pool is None or direct_mib is None or pool <= direct_mib * MIB:
        return
    yield Violation(
        options.with_flag(DIRECT) or node.setting(HANDLERS) or OPTIONS,
        f"the handlers' buffers take up to {pool / MIB:,.1f} MiB, but direct memory is limited to "
        f"{direct_mib:,.0f} MiB",
        classification=EXPORT,
    )


def _pool_bytes(node: LintedNode) -> float | None:
    """Return the size to which the pool of buffers can grow; None where there is no pool, or its size is unknown."""
    handlers = node.number(HANDLERS, 30)
    buffer_bytes = node.number("hbase.server.allocator.buffer.size", POOL_BUFFER_BYTES)
    if not node.switched("hbase.server.allocator.pool.enabled", default=True):
        return None
    if handlers is None or buffer_bytes is None or buffer_bytes <= 0:
        return None
    buffers = node.number(
        "hbase.server.allocator.max.buffer.count", 2 * handlers * (LONGEST_ANSWER_BYTES // buffer_bytes)
    )
    return None if buffers is None else buffers * buffer_bytes


def _direct_mib(node: LintedNode, options: JvmOptions) -> float | None:
    """Return the limit of direct memory: the stated one, or else the size of the heap; None where it is unknown."""
    if options.direct_mib is not None:
        return options.direct_mib
    if any(DIRECT in setting.value or is_all_placeholder(setting) for setting in options.settings):
        return None
    offheap = node.setting("HBASE_OFFHEAPSIZE", EXPORT)
    if offheap is not None:
        return None if offheap.is_placeholder else size_mib(offheap.value, plain_is_mib=True)
    return options.xmx_mib


@Rule(
    id="WB415",
    severity=Severity.WARNING,
    title=f"more than {MOST_HANDLERS:,} handlers",
    because="each handler is a thread with 4 MiB of direct memory, and all of them compete for the same few cores",
    fix="let warmbase plan compute the number of handlers from the load and the time of a read",
    source="HBase 2.6.2 ByteBuffAllocator; HBase Reference Guide",
    proof=NEEDS_LOAD,
)
def _many_handlers(node: LintedNode) -> Iterator[Violation]:
    handlers, at = node.number(HANDLERS), node.setting(HANDLERS)
    if at is not None and handlers is not None and handlers > MOST_HANDLERS:
        yield Violation(at, f"{handlers:,.0f} handlers compete for the cores of one node")


@Rule(
    id="WB422",
    severity=Severity.WARNING,
    title=f"fewer than {FEWEST_HANDLERS} handlers",
    because="a read that misses the cache holds its handler while S3 answers, and all other calls wait in the queue",
    fix="use 30, HBase's default, or more; keep fewer only where each call carries many megabytes",
    source="HBase Reference Guide, hbase.regionserver.handler.count; S3's documented first byte of 0.1 to 0.2 s",
    proof=NEEDS_LOAD,
    of_hbase_1=True,
)
def _few_handlers(node: LintedNode) -> Iterator[Violation]:
    handlers, at = node.number(HANDLERS), node.setting(HANDLERS)
    if at is not None and handlers is not None and 0 < handlers < FEWEST_HANDLERS:
        yield Violation(
            at,
            f"each server answers {handlers:g} calls at a time, or about "
            f"{handlers * MISSES_PER_HANDLER:g} reads a second that miss the cache",
        )


@emr_hbase_rule(
    id="WB423",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="setting of a ZooKeeper that HBase would run itself (hbase.zookeeper.property)",
    because="EMR runs ZooKeeper as an application of its own, which reads zoo.cfg; HBase passes these keys only to a "
    "ZooKeeper that it starts",
    fix="set it in the classification zookeeper-config, by the part of its name that follows property",
    source="HBase Reference Guide, ZooKeeper; HBase 2.6.2 ZKConfig; EMR Release Guide, emr-zookeeper",
    roles=("primary", "core"),
)
def _zookeeper_of_hbase(node: LintedNode) -> Iterator[Violation]:
    for (path, key), setting in node.settings.items():
        if path == SITE and key.startswith(ZOOKEEPER) and key != CLIENT_PORT:
            yield Violation(setting, f"EMR's ZooKeeper does not read {key}")


@Rule(
    id="WB416",
    severity=Severity.WARNING,
    title="zookeeper.session.timeout shorter than a pause of a node",
    because="the master declares a server dead when it pauses: its regions move, and their cached blocks stay behind",
    fix="use 30000 ms or more",
    source="HBase Reference Guide, zookeeper.session.timeout",
    proof=NEEDS_LOAD,
    roles=("primary", "core"),
)
def _short_session(node: LintedNode) -> Iterator[Violation]:
    timeout_ms, at = node.number(SESSION), node.setting(SESSION)
    if at is not None and timeout_ms is not None and 0 < timeout_ms < SHORTEST_SESSION_MS:
        yield Violation(at, f"a server that pauses for {timeout_ms / 1000:g} s loses its regions")


@Rule(
    id="WB417",
    severity=Severity.WARNING,
    title="time-out of a call shorter than a read from S3",
    because="clients give up while the server still works, and try again: the load rises, and cache misses fail",
    fix="use 1000 ms or more; the value is in milliseconds",
    source="HBase 2.6.2 RpcServer drops calls whose time is over; S3's documented first byte",
    proof=NEEDS_LOAD,
    roles=("primary", "core"),
)
def _short_call(node: LintedNode) -> Iterator[Violation]:
    for key in CALL_TIMEOUTS:
        timeout_ms, at = node.number(key), node.setting(key)
        if at is not None and timeout_ms is not None and 0 < timeout_ms < SHORTEST_CALL_MS:
            yield Violation(at, f"calls end after {timeout_ms:g} ms")


@Rule(
    id="WB418",
    severity=Severity.WARNING,
    consequence=Consequence.IGNORED,
    title="hbase.client.operation.timeout below hbase.rpc.timeout",
    because="the first call may use up the time of the operation, so a call that hangs is never tried again",
    fix="set hbase.client.operation.timeout to several times hbase.rpc.timeout",
    source="HBase Reference Guide, hbase.client.operation.timeout",
    proof=NEEDS_LOAD,
    roles=("primary", "core"),
)
def _no_second_try(node: LintedNode) -> Iterator[Violation]:
    operation_ms, rpc_ms, at = node.number(OPERATION), node.number(RPC), node.setting(OPERATION)
    if at is None or operation_ms is None or rpc_ms is None or operation_ms < SHORTEST_CALL_MS:
        return
    if operation_ms < rpc_ms:
        yield Violation(at, f"an operation ends after {operation_ms:,.0f} ms, but one call after {rpc_ms:,.0f} ms")


@Rule(
    id="WB419",
    severity=Severity.WARNING,
    title="memstore with room for few flushes",
    because="HBase flushes regions early to make room, which makes small files and many compactions",
    fix="raise hbase.regionserver.global.memstore.size or lower hbase.hregion.memstore.flush.size",
    source="HBase 2.6.2 MemStoreFlusher",
    proof=NEEDS_LOAD,
)
def _few_flushes(node: LintedNode) -> Iterator[Violation]:
    fraction_key, size_key = "hbase.regionserver.global.memstore.size", "hbase.hregion.memstore.flush.size"
    fraction, size = node.number(fraction_key), node.number(size_key)
    at, xmx_mib = node.setting(fraction_key) or node.setting(size_key), jvm_options(node).xmx_mib
    if at is None or fraction is None or size is None or xmx_mib is None or size <= 0:
        return
    flushes = fraction * xmx_mib * MIB / size
    if 0 < flushes < FEWEST_FLUSHES:
        yield Violation(
            at,
            f"all memstores together have {fraction * xmx_mib:,.0f} MiB, room for {flushes:.1f} flushes of "
            f"{size / MIB:,.0f} MiB",
        )


@Rule(
    id="WB420",
    severity=Severity.WARNING,
    title="hbase.hstore.blockingStoreFiles at or below the files that start a compaction",
    because="a store that is due for compaction delays its flush by up to 90 s, so memstores fill and refuse writes",
    fix="use 16, HBase's default, or more",
    source="HBase 2.6.2 MemStoreFlusher; hbase.hstore.blockingWaitTime",
    proof=NEEDS_LOAD,
)
def _blocks_early(node: LintedNode) -> Iterator[Violation]:
    blocking, at = node.number("hbase.hstore.blockingStoreFiles"), node.setting("hbase.hstore.blockingStoreFiles")
    least = node.number("hbase.hstore.compaction.min", node.number("hbase.hstore.compactionThreshold", 3))
    if at is not None and blocking is not None and least is not None and 0 < blocking <= least:
        yield Violation(at, f"flushes wait above {blocking:g} files, and compactions start at {least:g}")
