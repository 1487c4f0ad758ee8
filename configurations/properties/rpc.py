"""Properties of requests: how they wait for a RegionServer and are served, and who may make which.

Where HBase has Kerberos, properties decide who may connect to it, and what each user may do there.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from warmbase.configurations.properties.property import (
    BOTH,
    BYTES,
    CLASS_NAMES,
    CORE,
    EMR_ENCRYPTION,
    EMR_HBASE_CONFIGURE,
    EMR_UTILITIES_SECURITY,
    HBASE_262,
    HBASE_GUIDE,
    HBASE_SECURITY,
    INTEL,
    PERIOD_MS,
    PRIMARY,
    SWITCH,
    THREADS,
    AnyText,
    Applied,
    Decimal,
    ListOf,
    OneOf,
    RenderingContext,
    Span,
    Whole,
    hbase_site,
)
from warmbase.sizing.server.memory import POOL_BUFFER_BYTES, POOL_BUFFERS_PER_HANDLER
from warmbase.sizing.server.restart import SESSION_TIMEOUT_MS

_both = partial(hbase_site, groups=BOTH)
PORT: Final = Whole(unit="port", least=1, most=65_535)

RPC: Final = (
    hbase_site(
        "hbase.regionserver.handler.count",
        THREADS,
        "the number of requests that a RegionServer processes at the same time; most of the time a handler "
        "waits for a disk",
        figure="handlers",
        source=f"{HBASE_GUIDE}; {INTEL}",
    ),
    hbase_site(
        "hbase.ipc.server.callqueue.handler.factor",
        Decimal(unit="queues for each handler", most=1.0),
        "the ratio of queues to handlers; 0 means one queue for all",
    ),
    hbase_site(
        "hbase.ipc.server.callqueue.read.ratio",
        Decimal(unit="fractions of queues and handlers", most=1.0),
        "reads have their own queues, so that no read waits behind a write that waits for a flush",
        when=lambda context: context.plan.call_queues.read_fraction > 0,
        figure="call_queues.read_fraction",
    ),
    hbase_site(
        "hbase.ipc.server.callqueue.scan.ratio",
        Decimal(unit="fractions of what reads have", most=1.0),
        "scans have their own queues; useful where gets and scans are served together",
    ),
    hbase_site(
        "hbase.ipc.server.callqueue.type",
        OneOf(names=("fifo", "deadline", "codel", "pluggable"), any_case=True),
        "the order in which a queue is served",
    ),
    hbase_site(
        "hbase.ipc.server.max.callqueue.length",
        Whole(unit="calls", least=1),
        "the number of requests that may wait; beyond it clients get CallQueueTooBig, and retry later or elsewhere",
        applied=Applied.LIVE,
    ),
    hbase_site("hbase.ipc.server.max.callqueue.size", BYTES, "the same limit in bytes"),
    hbase_site(
        "hbase.server.allocator.pool.enabled",
        SWITCH,
        "reads of the cache file use pooled direct buffers",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hbase.server.allocator.buffer.size",
        BYTES,
        "the size of one buffer of the pool; a block of 64 KiB takes one",
        value=str(POOL_BUFFER_BYTES),
        needed_by="direct memory, and so the memory of a node",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hbase.server.allocator.max.buffer.count",
        Whole(unit="buffers", least=1),
        "the number of buffers in the pool; when none is left, reads allocate on the heap",
        value=lambda context: str(context.plan.handlers * POOL_BUFFERS_PER_HANDLER),
        needed_by="direct memory, and so the memory of a node",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site("hbase.server.scanner.max.result.size", BYTES, "the largest response to a scan"),
    hbase_site(
        "hbase.client.scanner.caching",
        Whole(unit="rows", least=1),
        "rows in one response to a scan, for clients that do not set it",
    ),
    hbase_site(
        "hbase.client.scanner.max.result.size", BYTES, "bytes in one response to a scan; usually the limit that applies"
    ),
    _both(
        "zookeeper.session.timeout",
        PERIOD_MS,
        f"the master declares a RegionServer dead after {SESSION_TIMEOUT_MS / 1000:.0f} s of silence. This is "
        "EMR's default; warmbase sets it because the plan's outage after a crash begins with it. ZooKeeper allows at "
        "most 20 of its ticks, which are 2 s by default",
        value=str(SESSION_TIMEOUT_MS),
        needed_by="the outage after a crash",
        source=EMR_HBASE_CONFIGURE,
    ),
    hbase_site(
        "hbase.regionserver.port",
        PORT,
        "the port for clients",
        value="16020",
        needed_by="security groups, and every command that names a RegionServer",
    ),
    hbase_site(
        "hbase.regionserver.info.port",
        PORT,
        "the port of the web pages, of /jmx and of /conf",
        value="16030",
        needed_by="the publisher of metrics, verify, restart and heal",
    ),
    hbase_site(
        "hbase.master.port", PORT, "the port for clients", value="16000", groups=PRIMARY, needed_by="security groups"
    ),
    hbase_site(
        "hbase.master.info.port",
        PORT,
        "the port of the web pages, of /jmx and of /conf",
        value="16010",
        groups=PRIMARY,
        needed_by="the web pages of the master",
    ),
    hbase_site(
        "hbase.regionserver.slowlog.buffer.enabled",
        SWITCH,
        "slow requests are kept in memory for get_slowlog_responses",
        hbase=Span(since=(2, 4, 17)),
        applied=Applied.LIVE,
    ),
    hbase_site(
        "hbase.regionserver.slowlog.systable.enabled",
        SWITCH,
        "slow requests are also written to hbase:slowlog",
        hbase=Span(since=(2, 4, 17)),
    ),
    hbase_site(
        "hbase.ui.blockcache.by.file.max",
        Whole(unit="blocks", least=1),
        "the number of blocks that the web page of the cache examines",
    ),
)


ACCESS_CONTROLLER: Final = "org.apache.hadoop.hbase.security.access.AccessController"
TOKENS: Final = "org.apache.hadoop.hbase.security.token.TokenProvider"
_secured = partial(hbase_site, groups=BOTH, when=RenderingContext.has_kerberos, source=HBASE_SECURITY)
_secured_server = partial(_secured, groups=CORE)

SECURITY: Final = (
    _secured(
        "hbase.security.authentication",
        OneOf(names=("kerberos", "simple")),
        "a client without a ticket is refused. EMR sets it with the principals and keytabs of the daemons; "
        "warmbase states it so that a difference is noticed. Without Kerberos, HBase believes whatever user name a "
        "client sends",
        value="kerberos",
        needed_by="verify, which tries to connect without a ticket",
        applied=Applied.NEW_CLUSTER,
        source=EMR_UTILITIES_SECURITY,
    ),
    _secured(
        "hbase.security.authorization",
        SWITCH,
        "HBase checks what a user may do. EMR sets it with Kerberos, but loads no coprocessor that checks it",
        value="true",
        source=EMR_UTILITIES_SECURITY,
    ),
    _secured(
        "hbase.coprocessor.master.classes",
        CLASS_NAMES,
        "the AccessController checks who creates, changes and drops tables; EMR does not load it, so any user "
        "with a ticket could",
        value=ACCESS_CONTROLLER,
        groups=PRIMARY,
    ),
    _secured_server(
        "hbase.coprocessor.region.classes",
        CLASS_NAMES,
        "the AccessController checks each read and write, and the TokenProvider gives MapReduce jobs the tokens "
        "with which they run for a user",
        value=f"{TOKENS},{ACCESS_CONTROLLER}",
    ),
    _secured_server(
        "hbase.coprocessor.regionserver.classes",
        CLASS_NAMES,
        "the AccessController checks who stops a RegionServer or rolls its log",
        value=ACCESS_CONTROLLER,
    ),
    _secured_server(
        "hbase.security.exec.permission.checks",
        SWITCH,
        "a user needs the permission EXEC to call endpoints of a coprocessor",
        value="true",
    ),
    _secured(
        "hbase.rpc.protection",
        ListOf(member=OneOf(names=("authentication", "integrity", "privacy"))),
        "requests and responses are encrypted; clients must state the same value. EMR sets it only with "
        "encryption in transit",
        value="privacy",
        source=f"{EMR_ENCRYPTION}; {HBASE_SECURITY}",
    ),
    _secured_server(
        "hbase.coprocessor.user.enabled",
        SWITCH,
        "tables load no coprocessors: whoever may create a table could otherwise run their own code in every "
        "RegionServer. A running cluster keeps what it was launched with. Phoenix needs true",
        value="false",
        when=lambda context: not context.security.user_coprocessors,
        source=HBASE_262,
    ),
    _secured(
        "hbase.superuser",
        ListOf(member=AnyText(described="a user, or @GROUP")),
        "more superusers besides the user that runs HBase; warmbase's own steps run as that user",
    ),
    _secured(
        "hbase.security.authentication.ui",
        OneOf(names=("simple", "kerberos")),
        "the web pages and JMX need no ticket, so the publisher on each node can read its own RegionServer; "
        "`access` does not open their ports",
    ),
)
