"""Bugs of HBase 2.6.2, each with a cluster that meets it and one that does not."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import BALANCER, NO_CACHE, NOT_PERSISTENT, File

UNCACHED = File(site=NO_CACHE)
LOST_AT_A_RESTART = File(site=NOT_PERSISTENT)
NOT_PREFETCHED = File(site={"hbase.rs.prefetchblocksonopen": "false"})
CACHE_AWARE = File(site={"hbase.master.loadbalancer.class": BALANCER})
LIMITED = File(
    site={"hbase.master.loadbalancer.class": BALANCER, "hbase.master.balancer.maxRitPercent": "0.01"},
)
CACHED_ON_WRITE = File(
    site={"hbase.rs.cacheblocksonwrite": "true", "hbase.rs.cachecompactedblocksonwrite": "true"},
)

BUGS = (
    Case(id="WB501", faulty=File(), right=UNCACHED, says="a full table scan evicts hot blocks"),
    Case(id="WB502", faulty=File(), right=LOST_AT_A_RESTART, says="restores its index before it registers"),
    Case(id="WB503", faulty=File(), right=LOST_AT_A_RESTART, says="look oldest and are evicted first"),
    Case(id="WB504", faulty=File(), right=NOT_PREFETCHED, says="never count as fully cached"),
    Case(id="WB505", faulty=File(), right=NOT_PREFETCHED, says="is not prefetched again"),
    Case(id="WB506", faulty=File(), right=UNCACHED, says="splits and merges", with_it=("WB501",)),
    Case(id="WB507", faulty=CACHE_AWARE, right=LIMITED, says="a burst of reads"),
    Case(id="WB508", faulty=File(), right=UNCACHED, says="fails the client's read", with_it=("WB501",)),
    Case(id="WB509", faulty=CACHED_ON_WRITE, says="BLOCKCACHE=false"),
    Case(id="WB510", faulty=CACHE_AWARE, says="drifts", with_it=("WB507",)),
    Case(id="WB511", faulty=CACHE_AWARE, says="picks its moves at random", with_it=("WB507",)),
    Case(id="WB512", faulty=File(), right=LOST_AT_A_RESTART, says="whose timestamp does not match"),
    Case(id="WB513", faulty=CACHED_ON_WRITE, says="leak references"),
    Case(id="WB514", faulty=File(), right=UNCACHED, says="damaged header byte", with_it=("WB501",)),
    Case(id="WB515", faulty=File(), right=UNCACHED, says="JSON", with_it=("WB501",)),
    Case(id="WB516", faulty=File(), right=UNCACHED, says="only after a restart", with_it=("WB501",)),
)
