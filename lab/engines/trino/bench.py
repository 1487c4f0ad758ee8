"""The bench of Trino's scenarios: a cluster, its store and tables, and the counters before and after a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from lab.engines.trino.cluster import WORKERS, TrinoCluster
from lab.engines.trino.model import QueryBytes, StoredObject
from lab.engines.trino.overlay import Catalog
from lab.engines.trino.software import TrinoSoftware
from lab.engines.trino.tables import LabTable, fill, stored_objects
from lab.hbase.paths import LabPaths, free_ports, unused_ports
from lab.hbase.store.client import StoreClient, StoreCounters
from lab.hbase.store.processes import store
from lab.hbase.store.settings import Settings


class QueryWindow(Struct, frozen=True, kw_only=True):
    """The reads of one query: by the workers' counters, and by the counters in front of the S3 server."""

    seconds: float
    read: QueryBytes
    store: StoreCounters


class TrinoBench(Struct, frozen=True, kw_only=True):
    """A running Trino lab; `say` takes a line of progress."""

    cluster: TrinoCluster
    store: StoreClient
    latency: Settings
    say: Callable[[str], None]

    def fill(self, catalog: Catalog) -> None:
        """Write the tables while S3 answers at once; afterwards it answers with its latency."""
        self.say("writing the tables")
        fill(self.cluster, catalog)
        self.store.set(self.latency)

    def stored(self, table: LabTable) -> tuple[StoredObject, ...]:
        """Return the files of a table."""
        return stored_objects(self.cluster, table)

    def query(self, catalog: Catalog, table: LabTable, columns: Sequence[str]) -> QueryWindow:
        """Read columns of a table; return the changes of all counters."""
        before, stored = self.cluster.read_bytes(catalog), self.store.counters()
        answer = self.cluster.client.run(table.query(catalog, columns))
        window = QueryWindow(
            seconds=answer.seconds,
            read=self.cluster.read_bytes(catalog) - before,
            store=self.store.counters() - stored,
        )
        self.say(
            f"  {len(columns)} columns of {table.name} in {window.seconds:.2f} s: hit ratio "
            f"{window.read.hit_ratio:.3f}, {window.store.store_file_gets} GETs"
        )
        return window


@contextmanager
def trino_bench(
    software: TrinoSoftware, catalogs: Sequence[Catalog], latency: Settings, root: Path, say: Callable[[str], None]
) -> Iterator[TrinoBench]:
    """Run a store and a Trino cluster with these catalogs within the block."""
    place = LabPaths(root=root, ports=free_ports())
    place.make()
    with ExitStack() as stack:
        running = stack.enter_context(store(place, software.store))
        cluster = TrinoCluster(
            software=software,
            place=place,
            catalogs=catalogs,
            endpoint=running.endpoint,
            ports=unused_ports(1 + WORKERS),
        )
        stack.callback(cluster.end)
        say(f"the servers of Trino are up after {cluster.begin():.0f} s")
        yield TrinoBench(cluster=cluster, store=running, latency=latency, say=say)
