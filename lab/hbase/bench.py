"""The bench of experiments: a cluster, its store and tables, and windows over which all counters are read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from msgspec import Struct, field

from lab.hbase.admin import Admin, StoreFileBlocks, TableFamily, TableSpec
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.configuration import varied
from lab.hbase.jmx import CacheCounters
from lab.hbase.recording import Sample, Window
from lab.hbase.store import ROOT, Settings, StoreClient
from lab.hbase.ycsb import Ycsb, YcsbLoad, YcsbTable
from lab.machine import IdleCpu
from lab.machine.process import RunningProcess
from warmbase.configurations.properties.cache import PREFETCH_DELAY_MS
from warmbase.ground.errors import OperationFailed

FRESH_SECONDS: Final = (
    2.5  # the daemons refresh their counters every second, and JMX serves copies that are a second old
)
QUIETER: Final = "run it again on a quieter machine, or with less --data"
SAMPLE_SECONDS: Final = 1.0
# judgement: measured, a prefetch skipped one block of 85 in a few of 24 files; reads bring them.
NEARLY_FULL: Final = 0.97
STILL_SECONDS: Final = PREFETCH_DELAY_MS / 1000 + 3.0
"""If no block is added for so long, no prefetch is outstanding: its delay plus the age of the counters."""
STARTING_SECONDS: Final = 30.0  # start of a JVM and its connections
ENDING_SECONDS: Final = 3.0  # before the clients' end, which began up to two seconds late in trials
REGIONS_SECONDS: Final = 900.0
PREFETCHED_SECONDS: Final = 600.0
"""The longest time that a prefetch of all regions may take."""
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
    "while the lab fills its tables",
)
COLD: Final = varied({"hbase.rs.prefetchblocksonopen": "false"}, "so that reads alone warm the cache")


class Bench(Struct, kw_only=True, dict=True):
    """A running lab with its clients; `say` takes a line of progress."""

    cluster: LabCluster
    store: StoreClient
    admin: Admin
    ycsb: Ycsb
    say: Callable[[str], None]
    latency: Settings
    filled: dict[str, StoreFileBlocks] = field(default_factory=dict)

    def table(self, table: YcsbTable, family: TableFamily, regions: int | None = None) -> StoreFileBlocks:
        """Fill the table and compact it to one file for each region; return its blocks.

        It has as many regions as the scaled plan, where no number is stated. A table that is there already is left as
        it is, and others are dropped. Raises OperationFailed where it is not stored in so many files.
        """
        return self.tables({table: family}, regions)[0]

    def tables(self, wanted: Mapping[YcsbTable, TableFamily], regions: int | None = None) -> list[StoreFileBlocks]:
        """Fill several tables, each as `table` does; return the blocks of each."""
        names = [table.name for table in wanted]
        # Other tables would be prefetched too, and take room in the cache.
        self._drop(name for name in tuple(self.filled) if name not in names)
        for table, family in wanted.items():
            if table.name not in self.filled:
                self.filled[table.name] = self._fill(table, family, regions or self.cluster.miniature.regions)
        return [self.filled[name] for name in names]

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            # Only a RegionServer can tell the master where its regions are.
            if not self.cluster.serves:
                self.serve(LabServer(varied=LOADING), cold=True)
            self.admin.drop(name)
            del self.filled[name]

    def _fill(self, table: YcsbTable, family: TableFamily, regions: int) -> StoreFileBlocks:
        self.say(f"filling {table.name}: {table.rows:,} rows of {table.value_bytes:,} B")
        self.store.set(Settings())
        self.serve(LabServer(varied=LOADING), cold=True)
        self.admin.create(TableSpec(name=table.name, families=(family,), regions=regions))
        self.ycsb.fill(table)
        self.admin.flush(table.name)
        self.admin.major_compact(table.name)
        return self._stored_blocks(table, regions)

    def _stored_blocks(self, table: YcsbTable, regions: int) -> StoreFileBlocks:
        """Stop the servers, which deletes the earlier files, and return the blocks of the table's store files."""
        self.cluster.stop_servers()
        blocks = self.admin.blocks(table.name, table.family, self.cluster.place.objects / ROOT)
        if blocks.files != regions:
            raise OperationFailed.of(
                where=table.name,
                what=f"has {blocks.files} store files in {regions} regions after a major compaction",
                why="one store file per region was expected",
                fix="run the scenario again; if it happens again, read the RegionServer's log",
            )
        return blocks

    def serve(self, server: LabServer, *, cold: bool) -> float:
        """Start every RegionServer with these settings and wait until all regions are open; return the seconds.

        `cold` empties their caches first. S3 answers at once while regions open.
        """
        self.store.set(Settings())
        began = time.monotonic()
        self.cluster.stop_servers()
        if cold:
            for number in self.cluster.numbers:
                self.cluster.clear_cache(number)
        self.cluster.start_servers(self.cluster.alike(server))
        self.await_regions()
        self._check_spread()
        seconds = time.monotonic() - began
        servers = len(self.cluster.numbers)
        who = "a RegionServer serves its" if servers == 1 else f"{servers} RegionServers serve their"
        self.say(f"  {who} regions after {seconds:.0f} s")
        return seconds

    def _check_spread(self) -> None:
        """Raise OperationFailed where one of several RegionServers has more regions than another."""
        for table in self.filled:
            homes = [self.cluster.number_of(server) for server in self.admin.regions(table).values()]
            counts = {number: homes.count(number) for number in self.cluster.numbers}
            if len(set(counts.values())) > 1:
                raise OperationFailed.of(
                    where=table,
                    what=f"has {', '.join(map(str, counts.values()))} regions on the RegionServers",
                    why="each server's cache has room for its share only",
                    fix="run the scenario again",
                )

    def await_regions(self) -> float:
        """Wait until every region of every table answers; return the seconds."""
        began = time.monotonic()
        self.cluster.wait_for_master()
        for table in self.filled:
            self.admin.await_regions(table, seconds=REGIONS_SECONDS)
        return time.monotonic() - began

    def measure(self, table: YcsbTable, load: YcsbLoad) -> Window:
        """Run the load; return its figures and the changes of all counters."""
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
        """Return the idle share of all cores from the first read on, which leaves out the start of the clients' JVM."""
        self.wait_until(lambda now: now.reads > reads or not clients.is_alive, STARTING_SECONDS)
        idle = IdleCpu()
        time.sleep(max(0.0, seconds - ENDING_SECONDS))
        return idle.fraction()

    def settle(self, table: YcsbTable, load: YcsbLoad, blocks: float) -> None:
        """Run the load until so many blocks have been looked up, so that the next window measures a steady state.

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
        lookups = self.sample(0.0).cache.lookups - before.lookups
        if lookups < blocks:
            raise OperationFailed.of(
                where=table.name,
                what=f"the clients read {lookups:,} of {blocks:,.0f} blocks in {load.seconds:.0f} s",
                why="the cache has not reached its steady state",
                fix=QUIETER,
            )

    def sample(self, seconds: float) -> Sample:
        """Return the current counters. Raises OperationFailed if a server does not answer in time."""
        return Sample(seconds=seconds, cache=self.cluster.answered(), store=self.store.counters())

    @contextmanager
    def sampled(self, every_seconds: float = SAMPLE_SECONDS) -> Iterator[list[Sample]]:
        """Take samples while the block runs; moments at which a server does not answer are left out."""
        samples: list[Sample] = []
        ended = threading.Event()
        began = time.monotonic()

        def take() -> None:
            while not ended.wait(every_seconds):
                cache = self.cluster.total()
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
        """Wait until the servers' counters satisfy the condition, at most so many seconds; return the seconds."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            counters = self.cluster.total()
            if counters is not None and ready(counters):
                break
            time.sleep(SAMPLE_SECONDS / 2)
        return time.monotonic() - began

    def wait_until_full(self, blocks: float, seconds: float = PREFETCHED_SECONDS) -> None:
        """Wait until this many blocks are cached, but for the few that a prefetch skips, and until it has ended.

        Raises OperationFailed when time is up.
        """
        waited = self.wait_until(lambda now: now.l2_blocks >= NEARLY_FULL * blocks, seconds)
        cached = self.sample(0.0).cache.l2_blocks
        if cached < NEARLY_FULL * blocks:
            raise OperationFailed.of(
                where="the BucketCache",
                what=f"holds {cached:,} of {blocks:,.0f} blocks after {waited:.0f} s",
                why="the prefetch is late, or skipped blocks",
                fix=QUIETER,
            )
        self.wait_until_still(seconds)

    def wait_until_still(self, seconds: float = PREFETCHED_SECONDS, still_seconds: float = STILL_SECONDS) -> float:
        """Wait until the count of cached blocks stops changing, as when a prefetch has ended; return the seconds.

        Until the first block is cached nothing has begun that could end. Raises OperationFailed when time is up.
        """
        began, last, since = time.monotonic(), 0, time.monotonic()
        while time.monotonic() - began < seconds:
            counters = self.cluster.total()
            if counters is not None and counters.l2_blocks != last:
                last, since = counters.l2_blocks, time.monotonic()
            if last > 0 and time.monotonic() - since > still_seconds:
                return since - began
            time.sleep(SAMPLE_SECONDS / 2)
        raise OperationFailed.of(
            where="the BucketCache",
            what=f"did not come to rest in {seconds:.0f} s",
            why=f"it holds {last:,} blocks, and is still filling or has not begun",
            fix=QUIETER,
        )
