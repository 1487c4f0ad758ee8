"""The tables of the Trino lab: TPC-H's lineitem as one file, and as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from lab.engines.trino.cluster import TrinoCluster
from lab.engines.trino.model import StoredObject
from lab.engines.trino.overlay import DATA, Catalog
from lab.engines.trino.parquet import parquet_layout
from sizing.problem import OperationFailed

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
