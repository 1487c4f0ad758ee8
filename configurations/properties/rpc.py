"""Properties of how requests wait for a RegionServer and are served by it."""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.context import hbase_site
from warmbase.configurations.properties.property import (
    BOTH,
    EMR_HBASE_CONFIGURE,
    HBASE_GUIDE,
    INTEL,
    LONG,
    PRIMARY,
    Applied,
    Decimal,
    OneOf,
    Span,
    Switch,
    Whole,
)
from warmbase.sizing.server.memory import POOL_BUFFER_BYTES, POOL_BUFFERS_PER_HANDLER
from warmbase.sizing.server.restart import SESSION_TIMEOUT_MS

_both = partial(hbase_site, groups=BOTH)
_port = partial(hbase_site, values=Whole(unit="port", least=1, most=65_535))

RPC: Final = (
    hbase_site(
        key="hbase.regionserver.handler.count",
        values=Whole(unit="threads", least=1),
        figure="handlers",
        reason="the number of requests that a RegionServer processes at the same time; most of the time a handler "
        "waits for a disk",
        source=f"{HBASE_GUIDE}; {INTEL}",
    ),
    hbase_site(
        key="hbase.ipc.server.callqueue.handler.factor",
        values=Decimal(unit="queues for each handler", most=1.0),
        reason="the ratio of queues to handlers; 0 means one queue for all",
    ),
    hbase_site(
        key="hbase.ipc.server.callqueue.read.ratio",
        when=lambda context: context.plan.call_queues.read_fraction > 0,
        values=Decimal(unit="fractions of queues and handlers", most=1.0),
        figure="call_queues.read_fraction",
        reason="reads have their own queues, so that no read waits behind a write that waits for a flush",
    ),
    hbase_site(
        key="hbase.ipc.server.callqueue.scan.ratio",
        values=Decimal(unit="fractions of what reads have", most=1.0),
        reason="scans have their own queues; useful where gets and scans are served together",
    ),
    hbase_site(
        key="hbase.ipc.server.callqueue.type",
        values=OneOf(names=("fifo", "deadline", "codel", "pluggable"), any_case=True),
        reason="the order in which a queue is served",
    ),
    hbase_site(
        key="hbase.ipc.server.max.callqueue.length",
        applied=Applied.LIVE,
        values=Whole(unit="calls", least=1),
        reason="the number of requests that may wait; beyond it clients get CallQueueTooBig, and retry later or "
        "elsewhere",
    ),
    hbase_site(
        key="hbase.ipc.server.max.callqueue.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the same limit in bytes",
    ),
    hbase_site(
        key="hbase.server.allocator.pool.enabled",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="reads of the cache file use pooled direct buffers",
    ),
    hbase_site(
        key="hbase.server.allocator.buffer.size",
        value=str(POOL_BUFFER_BYTES),
        needed_by="direct memory, and so the memory of a node",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the size of one buffer of the pool; a block of 64 KiB takes one",
    ),
    hbase_site(
        key="hbase.server.allocator.max.buffer.count",
        value=lambda context: str(context.plan.handlers * POOL_BUFFERS_PER_HANDLER),
        needed_by="direct memory, and so the memory of a node",
        hbase=Span(since=(2, 4, 17)),
        values=Whole(unit="buffers", least=1),
        reason="the number of buffers in the pool; when none is left, reads allocate on the heap",
    ),
    hbase_site(
        key="hbase.server.scanner.max.result.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="the largest response to a scan",
    ),
    hbase_site(
        key="hbase.client.scanner.caching",
        values=Whole(unit="rows", least=1),
        reason="rows in one response to a scan, for clients that do not set it",
    ),
    hbase_site(
        key="hbase.client.scanner.max.result.size",
        values=Whole(unit="bytes", least=1, most=LONG),
        reason="bytes in one response to a scan; usually the limit that applies",
    ),
    _both(
        key="zookeeper.session.timeout",
        value=str(SESSION_TIMEOUT_MS),
        needed_by="the outage after a crash",
        values=Whole(unit="ms", least=1, most=LONG),
        reason=f"the master declares a RegionServer dead after {SESSION_TIMEOUT_MS / 1000:.0f} s of silence. This is "
        "EMR's default; warmbase sets it because the plan's outage after a crash begins with it. ZooKeeper allows at "
        "most 20 of its ticks, which are 2 s by default",
        source=EMR_HBASE_CONFIGURE,
    ),
    _port(
        key="hbase.regionserver.port",
        value="16020",
        needed_by="security groups, and every command that names a RegionServer",
        reason="the port for clients",
    ),
    _port(
        key="hbase.regionserver.info.port",
        value="16030",
        needed_by="the publisher of metrics, verify, restart and heal",
        reason="the port of the web pages, of /jmx and of /conf",
    ),
    _port(
        key="hbase.master.port",
        value="16000",
        groups=PRIMARY,
        needed_by="security groups",
        reason="the port for clients",
    ),
    _port(
        key="hbase.master.info.port",
        value="16010",
        groups=PRIMARY,
        needed_by="the web pages of the master",
        reason="the port of the web pages, of /jmx and of /conf",
    ),
    hbase_site(
        key="hbase.regionserver.slowlog.buffer.enabled",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
        values=Switch(),
        reason="slow requests are kept in memory for get_slowlog_responses",
    ),
    hbase_site(
        key="hbase.regionserver.slowlog.systable.enabled",
        hbase=Span(since=(2, 4, 17)),
        values=Switch(),
        reason="slow requests are also written to hbase:slowlog",
    ),
    hbase_site(
        key="hbase.ui.blockcache.by.file.max",
        values=Whole(unit="blocks", least=1),
        reason="the number of blocks that the web page of the cache examines",
    ),
)
