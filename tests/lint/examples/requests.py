"""Threads, buffers, time-outs and memstores of requests."""

from __future__ import annotations

from tests.lint.examples.case import Case, value_case
from tests.lint.examples.file import File

EXPORT = "hbase-env/export"
OPTS = "HBASE_REGIONSERVER_OPTS"
HANDLERS = "hbase.regionserver.handler.count"


def direct(mebibytes: int) -> File:
    """Return a file with 200 handlers and so much direct memory."""
    options = f'"$HBASE_REGIONSERVER_OPTS -Xms16g -Xmx16g -XX:MaxDirectMemorySize={mebibytes}m"'
    return File({HANDLERS: "200"}, others={EXPORT: {OPTS: options}})


REQUESTS = (
    Case(
        "WB414",
        f"{EXPORT} {OPTS}",
        "the handlers' buffers take up to 787.1 MiB, but direct memory is limited to 787 MiB",
        direct(787),
        direct(788),
    ),
    value_case("WB415", HANDLERS, "1001", "1000", "1,001 handlers compete for the cores"),
    value_case(
        "WB416", "zookeeper.session.timeout", "9999", "10000", "a server that pauses for 9.999 s loses its regions"
    ),
    value_case("WB417", "hbase.rpc.timeout", "999", "1000", "calls end after 999 ms"),
    value_case(
        "WB418",
        "hbase.client.operation.timeout",
        "59999",
        "60000",
        "an operation ends after 59,999 ms, but one call after 60,000 ms",
    ),
    value_case(
        "WB419", "hbase.regionserver.global.memstore.size", "0.03", "0.04", "492 MiB, room for 3.8 flushes of 128 MiB"
    ),
    value_case(
        "WB420", "hbase.hstore.blockingStoreFiles", "3", "4", "flushes wait above 3 files, and compactions start at 3"
    ),
    value_case("WB422", HANDLERS, "9", "10", "9 calls at a time, or about 90 reads a second that miss the cache"),
    Case(
        "WB423",
        "hbase.zookeeper.property.tickTime",
        "EMR's ZooKeeper does not read hbase.zookeeper.property.tickTime",
        File({"hbase.zookeeper.property.tickTime": "6000"}),
        File({"hbase.zookeeper.property.clientPort": "2181"}),
    ),
)
