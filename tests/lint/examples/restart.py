"""Restarts that keep the cache."""

from __future__ import annotations

from tests.lint.examples.case import Case
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
        id="WB301",
        faulty=File(release="emr-7.5.0", others=OLD_JAVA),
        right=File(release="emr-7.6.0", others=OLD_JAVA),
        at=PATH,
        says="emr-7.5.0 cannot keep the cache across a restart; emr-7.6.0 can",
        with_it=("WB116",),
    ),
    Case(
        id="WB302",
        faulty=File(site={"hbase.bucketcache.ioengine": "offheap"}),
        right=File(site={"hbase.bucketcache.ioengine": "file:/mnt1/hbase/cache"}),
        at=PATH,
        says="a restart loses the cache",
    ),
    Case(
        id="WB303",
        faulty=File(site={"hbase.bucketcache.ioengine": "mmap:/mnt1/hbase/cache"}),
        right=File(site={"hbase.bucketcache.ioengine": "file:/mnt1/hbase/cache"}),
        at="hbase.bucketcache.ioengine",
        says="mmap writes its index only at a clean stop, and does not stamp blocks",
    ),
    Case(
        id="WB304",
        faulty=File(site={"hbase.bucketcache.persist.intervalinmillis": None}),
        right=File(site={"hbase.bucketcache.persist.intervalinmillis": "300000"}),
        at="hbase.bucketcache.persist.intervalinmillis",
        says="HBase rewrites the whole index every 1 s",
    ),
    Case(
        id="WB305",
        faulty=File(site={"hbase.bucketcache.persistence.chunksize": None}),
        right=File(site={"hbase.bucketcache.persistence.chunksize": "5000000"}),
        at="hbase.bucketcache.persistence.chunksize",
        says="a dump of 7.7 million blocks uses 1.4 GiB of heap at a time",
    ),
    Case(
        id="WB306",
        faulty=File(site={"hbase.rs.evictblocksonclose": "true"}),
        right=File(site={"hbase.rs.evictblocksonclose": "false"}),
        at="hbase.rs.evictblocksonclose",
        says="HBase drops the cached blocks of a region that it closes",
    ),
    Case(
        id="WB307",
        faulty=File(site={RETRIES: None}),
        right=File(site={RETRIES: "25"}),
        at=RETRIES,
        says="each twice as long as the last from 50 ms on",
    ),
    Case(
        id="WB308",
        faulty=File(site={RETRIES: "10"}),
        right=File(site={RETRIES: "11"}),
        at=RETRIES,
        says="the master waits 51.2 s (10 retries)",
    ),
    Case(
        id="WB309",
        faulty=File(site={**NOT_PERSISTENT, FORCE: "true", RETRIES: "12"}),
        right=File(site={**NOT_PERSISTENT, FORCE: "true", RETRIES: "12", "hbase.master.scp.retain.assignment": "true"}),
        at=FORCE,
        says="no effect without hbase.master.scp.retain.assignment",
    ),
    Case(
        id="WB310",
        faulty=File(site={FORCE: "false"}),
        at=FORCE,
        says="a server's regions are elsewhere",
    ),
    Case(
        id="WB311",
        faulty=File(site={**NOT_PERSISTENT, "hbase.master.loadbalancer.class": BALANCER}),
        right=File(site={"hbase.master.loadbalancer.class": BALANCER}),
        at="hbase.master.loadbalancer.class",
        says="the balancer ignores the cache",
    ),
    Case(
        id="WB312",
        faulty=File(site={TIMEOUT: "99000"}),
        right=File(site={TIMEOUT: "100000"}),
        at=TIMEOUT,
        says="the first RegionServers to report get the regions of the others",
    ),
    Case(
        id="WB313",
        faulty=File(site={LEAST: "3", MOST: "2"}),
        right=File(site={LEAST: "3", MOST: "3"}),
        at=MOST,
        says="HBase ignores 2, because it is below mintostart (3)",
    ),
    Case(
        id="WB314",
        faulty=File(),
        right=File(site=NOT_PERSISTENT),
        at=PATH,
        says="the RegionServer does not start if the last chunk of its",
    ),
    Case(
        id="WB315",
        faulty=File(site={RETRIES: "17"}),
        right=File(site={RETRIES: "16"}),
        at=RETRIES,
        says="17 retries keep the regions of a lost server offline for 1.82 h",
    ),
    Case(
        id="WB316",
        faulty=File(site={LEAST: "7", MOST: "7"}),
        right=File(site={LEAST: "6", MOST: "6"}),
        at=LEAST,
        says="the master waits for 7 RegionServers",
    ),
    Case(
        id="WB317",
        faulty=File(site={LEAST: "4"}),
        right=File(site={LEAST: "3"}),
        at=LEAST,
        says="if more than 2 of 6 RegionServers are lost, the master never starts",
    ),
)
