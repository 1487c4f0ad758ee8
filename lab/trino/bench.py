"""The bench of Trino's scenarios: a cluster, its store and tables, and the counters before and after a query.

The tables are TPC-H's lineitem as one file, and as several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.hbase.store import Settings, StoreClient, StoreCounters, store
from lab.machine.paths import LabPaths, free_ports, unused_ports
from lab.trino.cluster import DATA, WORKERS, Catalog, TrinoCluster
from lab.trino.prediction import QueryBytes, StoredObject, parquet_layout
from lab.trino.software import TrinoSoftware
from warmbase.ground.errors import OperationFailed

SCHEMA: Final = "lab"
COLUMNS: Final = (
    "orderkey",
    "partkey",
    "suppkey",
    "linenumber",
    "quantity",
    "extendedprice",
    "discount",
    "tax",
    "returnflag",
    "linestatus",
    "shipdate",
    "commitdate",
    "receiptdate",
    "shipinstruct",
    "shipmode",
    "comment",
)


class LabTable(Struct, frozen=True, kw_only=True):
    """A table, with the session properties that make its writers write one file or several."""

    name: str
    scale: str
    """The scale factor of TPC-H; 0.15 makes 900,368 rows, about 21 MB as Parquet."""
    session: tuple[tuple[str, str], ...]

    def query(self, catalog: Catalog, columns: Sequence[str]) -> str:
        """Return the statement that reads every value of these columns, and of no other."""
        values = ", ".join(f"count({column})" for column in columns)
        return f"SELECT {values} FROM {catalog.name}.{SCHEMA}.{self.name}"  # noqa: S608 - names of the lab


ONE_FILE: Final = LabTable(name="one_file", scale="0.15", session=(("writer_scaling_min_data_processed", "1TB"),))
SEVERAL_FILES: Final = LabTable(
    name="several_files",
    scale="0.2",
    session=(("scale_writers", "false"), ("task_scale_writers_enabled", "false"), ("task_min_writer_count", "8")),
)


def fill(cluster: TrinoCluster, catalog: Catalog) -> None:
    """Write both tables. Raises OperationFailed where they have other numbers of files."""
    cluster.client.run(f"CREATE SCHEMA {catalog.name}.{SCHEMA}")
    for table in (ONE_FILE, SEVERAL_FILES):
        replace(cluster.client, session=dict(table.session)).run(
            f"CREATE TABLE {catalog.name}.{SCHEMA}.{table.name} "  # noqa: S608 - names of the lab
            f"WITH (format = 'PARQUET', external_location = '{DATA}/{table.name}') "
            f'AS SELECT * FROM tpch."sf{table.scale}".lineitem'
        )
    files = len(stored_objects(cluster, ONE_FILE)), len(stored_objects(cluster, SEVERAL_FILES))
    if files[0] != 1 or files[1] == 1:
        raise OperationFailed.of(
            where="the lab's tables",
            what=f"{files[0]} and {files[1]} files were written",
            why="the scenario needs one file, and several",
            fix="run the scenario again",
        )


def stored_objects(cluster: TrinoCluster, table: LabTable) -> tuple[StoredObject, ...]:
    """Return the files of a table, as the S3 server stores them."""
    directory = cluster.place.objects / DATA.removeprefix("s3://") / table.name
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return tuple(StoredObject(name=path.name, layout=parquet_layout(path.read_bytes())) for path in files)


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
