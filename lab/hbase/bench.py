"""What experiments work with: a cluster, its store, its tables, and windows in which all counters are read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from configurations.metrics import MISSES_FOR_ONE
from lab.hbase.admin import Admin, StoreFileBlocks, TableFamily
from lab.hbase.admin import TableSpec as TableDefinition
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.jmx import CacheCounters, hit_ratio
from lab.hbase.limits.machine import IdleCpu
from lab.hbase.overlay import varied
from lab.hbase.process import RunningProcess
from lab.hbase.recording import Sample
from lab.hbase.store.client import StoreClient
from lab.hbase.store.processes import ROOT
from lab.hbase.store.settings import Settings
from lab.hbase.ycsb import Ycsb, YcsbLoad, YcsbResult, YcsbTable
from lab.model.scaled_plan import REGIONS
from sizing.problem import OperationFailed

__all__ = ["COLD", "Bench", "Window"]

FRESH_SECONDS: Final = 2.5  # the daemons refresh their counters each second, and JMX serves copies a second old
SAMPLE_SECONDS: Final = 1.0
STARTING_SECONDS: Final = 30.0  # a JVM, and its connections
ENDING_SECONDS: Final = 3.0  # before the clients' end, which was seen to begin up to two seconds late
REGIONS_SECONDS: Final = 240.0
LOADING: Final = varied(
    {
        "hbase.bucketcache.ioengine": None,
        "hbase.bucketcache.persistent.path": None,
        "hbase.regionserver.global.memstore.size": "0.4",
        "hbase.rs.prefetchblocksonopen": "false",
        "hbase.rs.cacheblocksonwrite": "false",
        "hbase.rs.cachecompactedblocksonwrite": "false",
        "hbase.hstore.compaction.throughput.lower.bound": "1073741824",
        "hbase.hstore.compaction.throughput.higher.bound": "1073741824",
    },
    "while tables are filled",
)
COLD: Final = varied({"hbase.rs.prefetchblocksonopen": "false"}, "so that reads alone warm the cache")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What happened while a load ran: what its clients measured, and differences of counters."""

    load: YcsbLoad
    measured: YcsbResult
    hits: int
    misses: int
    gets: int
    evictions: int
    idle: float | None
    samples: tuple[Sample, ...]

    @property
    def hit_ratio(self) -> float:
        """Share of block reads that the BucketCache answered."""
        return hit_ratio(self.hits, self.misses)

    @property
    def lookups(self) -> float:
        """Blocks that were looked for in the BucketCache."""
        return self.hits + self.misses / MISSES_FOR_ONE

    @property
    def gets_per_1000_reads(self) -> float:
        """GETs of store files for each thousand operations."""
        return 1000 * self.gets / max(1.0, self.measured.reads)


@dataclass(kw_only=True)
class Bench:
    """A lab at work. `say` takes a line of progress."""

    cluster: LabCluster
    store: StoreClient
    admin: Admin
    ycsb: Ycsb
    say: Callable[[str], None]
    latency: Settings
    filled: dict[str, StoreFileBlocks] = field(default_factory=dict)

    def table(self, table: YcsbTable, family: TableFamily) -> StoreFileBlocks:
        """The blocks of the table, once it is filled and compacted to one file for each region.

        At once when it is there already. Raises OperationFailed where it is not stored in so many files.
        """
        if table.name in self.filled:
            return self.filled[table.name]
        for other in tuple(self.filled):
            # Only a RegionServer can tell the master where its regions are.
            if not self.cluster.serves:
                self.serve(LabServer(varied=LOADING), cold=True)
            # It would be prefetched, too, and take room in the cache.
            self.admin.drop(other)
            del self.filled[other]
        self.say(f"filling {table.name}: {table.rows:,} rows of {table.value_bytes:,} B")
        self.store.set(Settings())
        self.serve(LabServer(varied=LOADING), cold=True)
        self.admin.create(TableDefinition(name=table.name, families=(family,), regions=REGIONS))
        self.ycsb.fill(table)
        self.admin.flush(table.name)
        self.admin.major_compact(table.name)
        self.filled[table.name] = self._measured_experiment(table)
        return self.filled[table.name]

    def _measured_experiment(self, table: YcsbTable) -> StoreFileBlocks:
        """Return what its store files hold. The server ends first, for only then are the files of before gone."""
        self.cluster.stop_server()
        found = self.admin.blocks(table.name, table.family, self.cluster.place.objects / ROOT)
        if found.files != REGIONS:
            raise OperationFailed(f"{table.name}: {found.files} store files in {REGIONS} regions after a compaction")
        return found

    def serve(self, server: LabServer, *, cold: bool) -> float:
        """One RegionServer with these settings and all regions open; returns the seconds until they were.

        `cold` removes what its cache holds. S3 answers at once while regions open.
        """
        self.store.set(Settings())
        began = time.monotonic()
        if server.name in self.cluster.running:
            self.cluster.stop_server(server.number)
        if cold:
            self.cluster.clear_cache(server.number)
        self.cluster.start_server(server)
        self.await_regions()
        seconds = time.monotonic() - began
        self.say(f"  a RegionServer serves its regions after {seconds:.0f} s")
        return seconds

    def await_regions(self) -> float:
        """Until every region of every table answers; returns the seconds."""
        began = time.monotonic()
        self.cluster.wait_for_master()
        for table in self.filled:
            self.admin.await_regions(table, seconds=REGIONS_SECONDS)
        return time.monotonic() - began

    def measure(self, table: YcsbTable, load: YcsbLoad) -> Window:
        """Return the load, and what the counters moved meanwhile."""
        before = self.sample(0.0)
        with self.sampled() as samples:
            clients = self.ycsb.start(table, load)
            idle_fraction = self._idle_while_reading(clients, before.cache.reads, load.seconds)
            measured = self.ycsb.finish(clients, load)
        time.sleep(FRESH_SECONDS)
        after = self.sample(0.0)
        window = Window(
            load=load,
            measured=measured,
            hits=after.cache.l2_hits - before.cache.l2_hits,
            misses=after.cache.l2_misses - before.cache.l2_misses,
            gets=after.store.store_file_gets - before.store.store_file_gets,
            evictions=after.cache.l2_evictions - before.cache.l2_evictions,
            idle=idle_fraction,
            samples=tuple(samples),
        )
        self.say(
            f"  {load.threads} clients for {load.seconds:.0f} s: {measured.operations_per_second:,.0f}/s, "
            f"hit ratio {window.hit_ratio:.3f}"
        )
        return window

    def _idle_while_reading(self, clients: RunningProcess, reads: int, seconds: float) -> float | None:
        """The idle share of all cores from the first read on; the start of the clients' JVM is not of it."""
        self.wait_until(lambda now: now.reads > reads or not clients.is_alive, STARTING_SECONDS)
        idle = IdleCpu()
        time.sleep(max(0.0, seconds - ENDING_SECONDS))
        return idle.fraction()

    def settle(self, table: YcsbTable, load: YcsbLoad, blocks: float) -> None:
        """The load until so many blocks were asked for: what a window then finds is what it will find.

        The counters are fresh afterwards, so that none of these reads counts as the next window's. Raises
        OperationFailed where the load's time is up before.
        """
        before = self.sample(0.0).cache
        clients = self.ycsb.start(table, load, "ycsb-settling")
        try:
            self.wait_until(lambda now: now.lookups - before.lookups >= blocks, load.seconds)
        finally:
            clients.kill()
        time.sleep(FRESH_SECONDS)
        asked = self.sample(0.0).cache.lookups - before.lookups
        if asked < blocks:
            raise OperationFailed(
                f"{table.name}: {asked:,} of {blocks:,.0f} blocks in {load.seconds:.0f} s, the cache is not yet"
                " what it will be\n  fix: a quieter machine, or less --data"
            )

    def sample(self, seconds: float, number: int = 0) -> Sample:
        """All counters now. Raises OperationFailed when the server does not say, though asked again and again."""
        return Sample(seconds=seconds, cache=self.cluster.answered(number), store=self.store.counters())

    @contextmanager
    def sampled(self, every_seconds: float = SAMPLE_SECONDS) -> Iterator[list[Sample]]:
        """Samples taken while the block runs; moments at which the server does not answer are left out."""
        samples: list[Sample] = []
        ended = threading.Event()
        began = time.monotonic()

        def take() -> None:
            while not ended.wait(every_seconds):
                cache = self.cluster.counters()
                with suppress(OperationFailed):
                    if cache is not None:
                        seconds = time.monotonic() - began
                        samples.append(Sample(seconds=seconds, cache=cache, store=self.store.counters()))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield samples
        finally:
            ended.set()
            thread.join()

    def wait_until(self, ready: Callable[[CacheCounters], bool], seconds: float) -> float:
        """Until the server's counters are so, at most that long; returns the seconds."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            found = self.cluster.counters()
            if found is not None and ready(found):
                break
            time.sleep(SAMPLE_SECONDS / 2)
        return time.monotonic() - began

    def wait_until_still(self, seconds: float, still_seconds: float = 6.0) -> float:
        """Until the count of cached blocks has not changed for a while (a prefetch has ended); returns the seconds.

        Until the first block is cached nothing has begun that could end. Raises OperationFailed when time is up.
        """
        began, last, since = time.monotonic(), 0, time.monotonic()
        while time.monotonic() - began < seconds:
            found = self.cluster.counters()
            if found is not None and found.l2_blocks != last:
                last, since = found.l2_blocks, time.monotonic()
            if last > 0 and time.monotonic() - since > still_seconds:
                return since - began
            time.sleep(SAMPLE_SECONDS / 2)
        raise OperationFailed(
            f"the cache had {last:,} blocks and was still filling, or had not begun, in {seconds:.0f} s"
        )
