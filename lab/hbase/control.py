"""The lab's HBase as the commands that keep caches warm see it: regions, caches, and the restart of one process.

A `SteadyCluster` has caches that hold all data, under steady reads: the state from which operations on warm caches
begin.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from msgspec import Struct, field

from lab.hbase.admin import Admin
from lab.hbase.bench import PREFETCHED_SECONDS
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.configuration import PERSIST_INTERVAL_MS, varied
from lab.hbase.experiment import Experiment
from lab.hbase.recording import ReadHistory, read_history
from lab.hbase.ycsb import SteadyReads
from warmbase.facts.releases import releases
from warmbase.hfile.cache_index import cached_files
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.hbase_control import (
    CacheContents,
    CacheReads,
    HBaseState,
    Region,
    RegionMove,
    StoredRegion,
)
from warmbase.operations.cluster.journals import Journals, OperationJournal
from warmbase.operations.hbase.emr_hbase import STALE_INTERVALS

PERIOD_SECONDS: Final = 10.0
"""The shortest time over which a hit ratio counts: JMX serves copies of counters that are up to 2.5 s old."""


class LabControl(Struct, kw_only=True):
    """Reads and changes the lab's HBase; `history` is recorded meanwhile. A server is named `localhost:port`."""

    cluster: LabCluster
    admin: Admin
    history: ReadHistory
    restarts: dict[int, float] = field(default_factory=dict)
    """When each server began to restart (seconds since 1970), by its number."""

    def state(self, say: Say) -> HBaseState:  # noqa: ARG002 - the protocol's
        """Return the answer of the master and of hbase:meta."""
        answer = self.admin.state()
        return HBaseState(
            servers=answer["servers"],
            regions={
                name: Region(table=region["table"], server=region.get("server"), moved=region["moved"])
                for name, region in answer["regions"].items()
            },
            in_transition=answer["in_transition"],
            balancer_is_on=answer["balancer_is_on"],
        )

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        """Switch the balancer, and wait for its moves."""
        say(f"switching the balancer {'on' if on else 'off'}")
        self.admin.switch_balancer(on=on)

    def reopen(self, tables: Sequence[str], say: Say) -> None:
        """Modify each table without a change, for which the master reopens its regions in place."""
        for table in tables:
            say(f"reopening {table}")
            self.admin.reopen(table)

    def region_files(self, say: Say) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - the protocol's
        """Return the names of the store files of every region of a user table."""
        return self.admin.files()

    def cache_contents(self, servers: Sequence[str], say: Say) -> Mapping[str, CacheContents]:  # noqa: ARG002 - the protocol's
        """Return what the index of each server's cache has; one with another number of blocks is behind the cache."""
        return {server: self._contents(self._number(server)) for server in servers}

    def _contents(self, number: int) -> CacheContents:
        index = self.cluster.volume(LabServer(number=number)) / "index" / "bucketcache.index"
        streamed = releases()[self.cluster.launch.plan.release].index_restored_in_background
        age = time.time() - index.stat().st_mtime
        files = cached_files(index, "streamed" if streamed else "chunked")
        counters = self.cluster.counters(number)
        is_same = counters is not None and counters.l2_blocks == sum(file.blocks for file in files.values())
        return CacheContents(
            age_seconds=age,
            behind_seconds=0.0 if is_same else age,
            longest_seconds=STALE_INTERVALS * PERSIST_INTERVAL_MS / 1000,
            files=files,
        )

    def move(self, moves: Sequence[RegionMove], pause_seconds: float, say: Say) -> None:
        """Move one region after another, with a pause after each."""
        for move in moves:
            seconds = self.admin.move(move.region, move.target.replace(":", ","))
            say(f"moved {move.region} to {move.target} in {seconds:.1f} s")
            time.sleep(pause_seconds)

    def stored_regions(self, say: Say) -> Mapping[str, StoredRegion]:  # noqa: ARG002 - the protocol's
        """Return every region of a user table with its store files."""
        return {name: StoredRegion(**region) for name, region in self.admin.stored().items()}

    def compact(self, regions: Sequence[str], say: Say) -> None:
        """Run a major compaction of each of these regions, and wait for the end."""
        stored = self.stored_regions(say)
        for table in sorted({stored[name].table for name in regions}):
            self.admin.major_compact(table, regions=[name for name in regions if stored[name].table == table])

    def unready(self, servers: Sequence[str], say: Say) -> Mapping[str, str]:  # noqa: ARG002 - the protocol's
        """Return the servers without an index of their cache on disk."""
        indexes = {server: self.cluster.place.volumes / str(self._number(server)) / "index" for server in servers}
        return {
            server: f"no index of its cache is in {directory}"
            for server, directory in indexes.items()
            if not any(file.stat().st_size for file in directory.glob("*"))
        }

    def lost_servers(self, servers: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - the protocol's
        """Return an empty set: a server of the lab always returns under its own name."""
        return frozenset()

    def restart(self, server: str, say: Say) -> None:
        """Stop the process as `systemctl stop` does, and start it again with the same files and ports."""
        number = self._number(server)
        self.restarts[number] = self.history.ticks[-1].at
        say("stopping the process")
        self.cluster.stop_server(number)
        say("starting it again")
        self.cluster.start_server(LabServer(number=number))

    def now(self) -> float:
        """Return the time of this machine, which is that of the servers."""
        return time.time()

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        """Return the reads of each server that has answered for ten seconds since then."""
        return {
            f"localhost:{port}": self.history.reads(number, since, float("inf"))
            for number, port in enumerate(self.cluster.place.ports.servers)
            if self.history.seconds(number, since) >= PERIOD_SECONDS
        }

    def _number(self, server: str) -> int:
        return self.cluster.place.ports.servers.index(int(server.rpartition(":")[2]))


T = TypeVar("T", bound=OperationJournal)


class MemoryJournal(Generic[T]):
    """The journal of an operation whose process does not end before the operation."""

    def __init__(self) -> None:
        self._journal: T | None = None

    def read(self) -> T | None:
        """Return the journal; None after the operation."""
        return self._journal

    def write(self, journal: T) -> None:
        """Replace any other journal with this one."""
        self._journal = journal

    def clear(self) -> None:
        """Forget the journal."""
        self._journal = None


def memory_journals() -> Journals:
    """Return the journals of operations whose process does not end before them."""
    return Journals(restart=MemoryJournal(), heal=MemoryJournal(), table=MemoryJournal())


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
    lab.bench.wait_until_full(lab.miniature.demand.blocks.count)


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
