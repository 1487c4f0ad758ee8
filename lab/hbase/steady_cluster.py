"""A cluster whose caches hold all data, under steady reads: the state from which operations on warm caches begin."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from lab.hbase.cluster import LabServer
from lab.hbase.control import LabControl
from lab.hbase.experiment import Experiment
from lab.hbase.overlay import varied
from lab.hbase.read_history import ReadHistory, read_history
from lab.hbase.ycsb import SteadyReads

PREFETCHED_SECONDS: Final = 600.0
WARM_SECONDS: Final = 20.0
"""The seconds of reads before an operation begins, whose hit ratio its gates compare with."""
AFTER_SECONDS: Final = {False: 60.0, True: 20.0}
"""The seconds of reads after an operation that count: a minute, or less in the short form."""
READS_PER_SECOND: Final = 80.0  # judgement: two cores serve this beside a JVM that starts, or regions that open
THREADS: Final = 16  # judgement: while some threads wait for a region that is away, others still read
LOAD_SECONDS: Final = 3600.0  # longer than any operation takes; the load ends with it


class SteadyCluster(Struct, frozen=True, kw_only=True):
    """The cluster as the commands see it, and its clients, which read since `warm_at` (seconds since 1970)."""

    control: LabControl
    clients: SteadyReads
    warm_at: float

    @property
    def history(self) -> ReadHistory:
        """Return the counters since shortly before the reads began."""
        return self.control.history

    @property
    def now(self) -> float:
        """Return the time of the last counters."""
        return self.history.ticks[-1].at


def roomy(lab: Experiment, times: float, why: str) -> LabServer:
    """Return a server whose cache is `times` as large as in the other scenarios."""
    return LabServer(varied=varied({"hbase.bucketcache.size": str(round(times * lab.miniature.cache_mib))}, why))


def prefetch(lab: Experiment, server: LabServer | None = None) -> None:
    """Start all servers with these settings and empty caches, and wait until a prefetch has filled them."""
    lab.bench.serve(server or LabServer(), cold=True)
    lab.bench.wait_until_full(lab.miniature.demand.blocks.count, PREFETCHED_SECONDS)


@contextmanager
def steady_cluster(lab: Experiment, client: Mapping[str, str] | None = None) -> Iterator[SteadyCluster]:
    """Read from the running servers for as long as the block runs, which begins after some seconds of reads.

    `client` has HBase's settings of the clients.
    """
    bench = lab.bench
    bench.store.set(bench.latency)
    load = lab.load(seconds=LOAD_SECONDS, threads=THREADS, target_per_second=READS_PER_SECOND)
    start = bench.sample(0.0).cache
    with (
        read_history(bench.cluster, bench.store) as history,
        bench.ycsb.steady(lab.table, load, client or {}) as clients,
    ):
        bench.wait_until(lambda now: now.reads > start.reads + READS_PER_SECOND, PREFETCHED_SECONDS)
        control = LabControl(cluster=bench.cluster, admin=bench.admin, history=history)
        warm_at = history.ticks[-1].at
        time.sleep(WARM_SECONDS)
        yield SteadyCluster(control=control, clients=clients, warm_at=warm_at)
