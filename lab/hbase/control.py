"""The lab's HBase as the commands that keep caches warm see it: regions, caches, and the restart of one process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from facts.releases import releases
from hfile.cache_index import cached_files
from lab.hbase.admin import Admin
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.overlay import PERSIST_INTERVAL_MS
from lab.hbase.read_history import ReadHistory
from operations.compaction_waves import StoredRegion
from operations.emr_hbase import STALE_INTERVALS
from operations.hbase_control import CacheContents, CacheReads, HBaseState, Region, RegionMove
from operations.progress import Say
from operations.restart_journal import RestartJournal

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

    def cache_reads(self, since: float) -> Mapping[str, CacheReads]:
        """Return the reads of each server that has answered for ten seconds since then."""
        return {
            f"localhost:{port}": self.history.reads(number, since, float("inf"))
            for number, port in enumerate(self.cluster.place.ports.servers)
            if self.history.seconds(number, since) >= PERIOD_SECONDS
        }

    def _number(self, server: str) -> int:
        return self.cluster.place.ports.servers.index(int(server.rpartition(":")[2]))


class MemoryHealJournal(Struct):
    """The journal of a heal whose process does not end before it."""

    balancer_was_on: bool | None = None

    def read(self) -> bool | None:
        """Return whether the balancer was on; None where no heal runs."""
        return self.balancer_was_on

    def write(self, balancer_was_on: bool) -> None:  # noqa: FBT001 - the value of the journal
        """Keep this in place of any other."""
        self.balancer_was_on = balancer_was_on

    def clear(self) -> None:
        """Forget it."""
        self.balancer_was_on = None


class MemoryJournal(Struct):
    """The journal of a restart whose process does not end before the restart."""

    journal: RestartJournal | None = None

    def read(self) -> RestartJournal | None:
        """Return the journal; None after the restart."""
        return self.journal

    def write(self, journal: RestartJournal) -> None:
        """Replace any other journal with this one."""
        self.journal = journal

    def clear(self) -> None:
        """Forget the journal."""
        self.journal = None
