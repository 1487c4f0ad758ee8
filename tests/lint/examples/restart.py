"""Restarts that keep the cache."""

from __future__ import annotations

from tests.lint.examples.case import Case, value_case
from tests.lint.examples.file import BALANCER, NOT_PERSISTENT, File

PATH = "hbase.bucketcache.persistent.path"
FORCE = "hbase.master.scp.retain.assignment.force"
RETRIES = "hbase.master.scp.retain.assignment.force.retries"
LEAST = "hbase.master.wait.on.regionservers.mintostart"
MOST = "hbase.master.wait.on.regionservers.maxtostart"
TIMEOUT = "hbase.master.wait.on.regionservers.timeout"
OLD_JAVA = {
    "hbase": {"hbase.regionserver.fixed.heap.enabled": None},
    "hbase-env/export": {"JAVA_HOME": None, "HBASE_REGIONSERVER_GC_OPTS": None},
}

RESTART = (
    Case(
        "WB301",
        PATH,
        "emr-7.5.0 cannot keep the cache across a restart; emr-7.6.0 can",
        File(release="emr-7.5.0", others=OLD_JAVA),
        File(release="emr-7.6.0", others=OLD_JAVA),
        with_it=("WB116",),
    ),
    Case(
        "WB302",
        PATH,
        "a restart loses the cache",
        File({"hbase.bucketcache.ioengine": "offheap"}),
        File({"hbase.bucketcache.ioengine": "file:/mnt1/hbase/cache"}),
    ),
    value_case(
        "WB303",
        "hbase.bucketcache.ioengine",
        "mmap:/mnt1/hbase/cache",
        "file:/mnt1/hbase/cache",
        "mmap writes its index only at a clean stop, and does not stamp blocks",
    ),
    value_case(
        "WB304",
        "hbase.bucketcache.persist.intervalinmillis",
        None,
        "300000",
        "HBase rewrites the whole index every 1 s",
    ),
    value_case(
        "WB305",
        "hbase.bucketcache.persistence.chunksize",
        None,
        "5000000",
        "a dump of 7.7 million blocks uses 1.4 GiB of heap at a time",
    ),
    value_case(
        "WB306",
        "hbase.rs.evictblocksonclose",
        "true",
        "false",
        "HBase drops the cached blocks of a region that it closes",
    ),
    value_case("WB307", RETRIES, None, "25", "each twice as long as the last from 50 ms on"),
    value_case("WB308", RETRIES, "10", "11", "the master waits 51.2 s (10 retries)"),
    Case(
        "WB309",
        FORCE,
        "no effect without hbase.master.scp.retain.assignment",
        File({**NOT_PERSISTENT, FORCE: "true", RETRIES: "12"}),
        File({**NOT_PERSISTENT, FORCE: "true", RETRIES: "12", "hbase.master.scp.retain.assignment": "true"}),
    ),
    value_case("WB310", FORCE, "false", None, "a server's regions are elsewhere"),
    Case(
        "WB311",
        "hbase.master.loadbalancer.class",
        "the balancer ignores the cache",
        File({**NOT_PERSISTENT, "hbase.master.loadbalancer.class": BALANCER}),
        File({"hbase.master.loadbalancer.class": BALANCER}),
    ),
    value_case("WB312", TIMEOUT, "99000", "100000", "the first RegionServers to report get the regions of the others"),
    Case(
        "WB313",
        MOST,
        "HBase ignores 2, because it is below mintostart (3)",
        File({LEAST: "3", MOST: "2"}),
        File({LEAST: "3", MOST: "3"}),
    ),
    Case("WB314", PATH, "the RegionServer does not start if the last chunk of its", File(), File(NOT_PERSISTENT)),
    value_case("WB315", RETRIES, "17", "16", "17 retries keep the regions of a lost server offline for 1.82 h"),
    Case(
        "WB316",
        LEAST,
        "the master waits for 7 RegionServers",
        File({LEAST: "7", MOST: "7"}),
        File({LEAST: "6", MOST: "6"}),
    ),
    value_case("WB317", LEAST, "4", "3", "if more than 2 of 6 RegionServers are lost, the master never starts"),
)
