"""Bugs of HBase 2.6.2, each with a cluster that meets it and one that does not."""

from __future__ import annotations

from tests.lint.examples.case import Case
from tests.lint.examples.file import BALANCER, NO_CACHE, NOT_PERSISTENT, File

UNCACHED = File(NO_CACHE)
LOST_AT_A_RESTART = File(NOT_PERSISTENT)
NOT_PREFETCHED = File({"hbase.rs.prefetchblocksonopen": "false"})
CACHE_AWARE = File({"hbase.master.loadbalancer.class": BALANCER})
LIMITED = File({"hbase.master.loadbalancer.class": BALANCER, "hbase.master.balancer.maxRitPercent": "0.01"})
CACHED_ON_WRITE = File({"hbase.rs.cacheblocksonwrite": "true", "hbase.rs.cachecompactedblocksonwrite": "true"})

BUGS = (
    Case("WB501", "", "a full table scan evicts hot blocks", File(), UNCACHED),
    Case("WB502", "", "restores its index before it registers", File(), LOST_AT_A_RESTART),
    Case("WB503", "", "look oldest and are evicted first", File(), LOST_AT_A_RESTART),
    Case("WB504", "", "never count as fully cached", File(), NOT_PREFETCHED),
    Case("WB505", "", "is not prefetched again", File(), NOT_PREFETCHED),
    Case("WB506", "", "splits and merges", File(), UNCACHED, with_it=("WB501",)),
    Case("WB507", "", "a burst of reads", CACHE_AWARE, LIMITED),
    Case("WB508", "", "fails the client's read", File(), UNCACHED, with_it=("WB501",)),
    Case("WB509", "", "BLOCKCACHE=false", CACHED_ON_WRITE),
    Case("WB510", "", "drifts", CACHE_AWARE, with_it=("WB507",)),
    Case("WB511", "", "picks its moves at random", CACHE_AWARE, with_it=("WB507",)),
    Case("WB512", "", "whose timestamp does not match", File(), LOST_AT_A_RESTART),
    Case("WB513", "", "leak references", CACHED_ON_WRITE),
    Case("WB514", "", "damaged header byte", File(), UNCACHED, with_it=("WB501",)),
    Case("WB515", "", "JSON", File(), UNCACHED, with_it=("WB501",)),
    Case("WB516", "", "only after a restart", File(), UNCACHED, with_it=("WB501",)),
)
