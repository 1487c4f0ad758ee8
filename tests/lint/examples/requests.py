"""Threads, buffers, time-outs and memstores of requests."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import File

EXPORT = "hbase-env/export"
OPTS = "HBASE_REGIONSERVER_OPTS"
HANDLERS = "hbase.regionserver.handler.count"


def direct(mebibytes: int) -> File:
    """Return a file with 200 handlers and so much direct memory."""
    options = f'"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g -XX:MaxDirectMemorySize={mebibytes}m"'
    return File(site={HANDLERS: "200"}, others={EXPORT: {OPTS: options}})


def site(key: str, value: str) -> File:
    """Return a file with this property in hbase-site."""
    return File(site={key: value})


REQUESTS = (
    Case(
        id="WB414",
        faulty=direct(787),
        right=direct(788),
        at=f"{EXPORT} {OPTS}",
        says="the handlers' buffers take up to 787.1 MiB, but direct memory is limited to 787 MiB",
    ),
    Case(
        id="WB415",
        faulty=site(HANDLERS, "1001"),
        right=site(HANDLERS, "1000"),
        at=HANDLERS,
        says="1,001 handlers compete for the cores",
    ),
    Case(
        id="WB416",
        faulty=site("zookeeper.session.timeout", "9999"),
        right=site("zookeeper.session.timeout", "10000"),
        at="zookeeper.session.timeout",
        says="a server that pauses for 9.999 s loses its regions",
    ),
    Case(
        id="WB417",
        faulty=site("hbase.rpc.timeout", "999"),
        right=site("hbase.rpc.timeout", "1000"),
        at="hbase.rpc.timeout",
        says="calls end after 999 ms",
    ),
    Case(
        id="WB418",
        faulty=site("hbase.client.operation.timeout", "59999"),
        right=site("hbase.client.operation.timeout", "60000"),
        at="hbase.client.operation.timeout",
        says="an operation ends after 59,999 ms, but one call after 60,000 ms",
    ),
    Case(
        id="WB419",
        faulty=site("hbase.regionserver.global.memstore.size", "0.03"),
        right=site("hbase.regionserver.global.memstore.size", "0.04"),
        at="hbase.regionserver.global.memstore.size",
        says="492 MiB, room for 3.8 flushes of 128 MiB",
    ),
    Case(
        id="WB420",
        faulty=site("hbase.hstore.blockingStoreFiles", "3"),
        right=site("hbase.hstore.blockingStoreFiles", "4"),
        at="hbase.hstore.blockingStoreFiles",
        says="flushes wait above 3 files, and compactions start at 3",
    ),
    Case(
        id="WB422",
        faulty=site(HANDLERS, "9"),
        right=site(HANDLERS, "10"),
        at=HANDLERS,
        says="9 calls at a time, or about 90 reads a second that miss the cache",
    ),
    Case(
        id="WB423",
        faulty=site("hbase.zookeeper.property.tickTime", "6000"),
        right=site("hbase.zookeeper.property.clientPort", "2181"),
        at="hbase.zookeeper.property.tickTime",
        says="EMR's ZooKeeper does not read hbase.zookeeper.property.tickTime",
    ),
)
