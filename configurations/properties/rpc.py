"""How requests wait for a RegionServer and are served by it."""

from __future__ import annotations

from functools import partial
from typing import Final

from configurations.properties.property import BOTH, CORE, Applied, Property, Span
from configurations.properties.sources import EMR_HBASE_CONFIGURE, HBASE_262, HBASE_GUIDE, INTEL
from configurations.properties.values import LONG, Decimal, OneOf, Switch, Whole

__all__ = ["RPC"]

_core = partial(Property, classification="hbase-site", groups=CORE, applied=Applied.ROLLING_RESTART, source=HBASE_262)
_both = partial(_core, groups=BOTH)

RPC: Final = (
    _core(
        key="hbase.regionserver.handler.count",
        values=Whole(unit="threads", least=1),
        figure="handlers",
        reason="requests served at once on a RegionServer; handlers wait for disks most of the time",
        source=f"{HBASE_GUIDE}; {INTEL}",
    ),
    _core(
        key="hbase.ipc.server.callqueue.handler.factor",
        values=Decimal(unit="queues for each handler", most=1.0),
        reason="how many handlers share a queue; 0 is one queue for all",
    ),
    _core(
        key="hbase.ipc.server.callqueue.read.ratio",
        values=Decimal(unit="fractions of queues and handlers", most=1.0),
        figure="call_queues.read_fraction",
        reason="reads have queues of their own, so that a write that waits for a flush keeps no read waiting",
    ),
    _core(
        key="hbase.ipc.server.callqueue.scan.ratio",
        values=Decimal(unit="fractions of what reads have", most=1.0),
        reason="scans apart from gets; worth it where both are served",
    ),
    _core(
        key="hbase.ipc.server.callqueue.type",
        values=OneOf(names=("fifo", "deadline", "codel", "pluggable"), any_case=True),
        reason="in which order a queue is served",
    ),
    _core(
        key="hbase.ipc.server.max.callqueue.length",
        applied=Applied.LIVE,
        values=Whole(unit="calls", least=1),
        reason="calls that wait; beyond it clients are told CallQueueTooBig and try elsewhere or later",
    ),
    _core(
        key="hbase.ipc.server.max.callqueue.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the same in bytes",
    ),
    _core(
        key="hbase.server.allocator.pool.enabled",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="reads of the cache file go through pooled direct buffers",
    ),
    _core(
        key="hbase.server.allocator.buffer.size",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="one buffer of the pool; a block of 64 KiB takes one",
    ),
    _core(
        key="hbase.server.allocator.max.buffer.count",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="buffers", least=1),
        reason="the pool; when it is empty, reads allocate on the heap",
    ),
    _core(
        key="hbase.server.scanner.max.result.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="what one answer to a scan may hold",
    ),
    _core(
        key="hbase.client.scanner.caching",
        values=Whole(unit="rows", least=1),
        reason="rows for each answer to a scan, of clients that do not say",
    ),
    _core(
        key="hbase.client.scanner.max.result.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="bytes for each answer to a scan: the limit that counts",
    ),
    _both(
        key="zookeeper.session.timeout",
        values=Whole(unit="ms", least=1, most=LONG),
        reason="a RegionServer that is silent for so long is dead to the master",
        source=EMR_HBASE_CONFIGURE,
    ),
    _core(
        key="hbase.regionserver.slowlog.buffer.enabled",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
        values=Switch(),
        reason="slow requests are kept for get_slowlog_responses",
    ),
    _core(
        key="hbase.regionserver.slowlog.systable.enabled",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="and written to hbase:slowlog",
    ),
    _core(
        key="hbase.ui.blockcache.by.file.max",
        values=Whole(unit="blocks", least=1),
        reason="how many blocks the cache's page walks through",
    ),
)
