"""The releases that the tables cover, and the modules whose jars are searched for keys."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from facts.keys.maven import Artifact

__all__ = ["HADOOP", "HBASE", "CatalogueColumn"]

HBASE_GROUP: Final = "org.apache.hbase"
HADOOP_GROUP: Final = "org.apache.hadoop"

HBASE_1: Final = (
    "hbase-client",
    "hbase-common",
    "hbase-external-blockcache",
    "hbase-hadoop-compat",
    "hbase-hadoop2-compat",
    "hbase-metrics",
    "hbase-metrics-api",
    "hbase-prefix-tree",
    "hbase-procedure",
    "hbase-rest",
    "hbase-rsgroup",
    "hbase-server",
    "hbase-thrift",
)
HBASE_2_4: Final = (
    "hbase-asyncfs",
    "hbase-client",
    "hbase-common",
    "hbase-endpoint",
    "hbase-external-blockcache",
    "hbase-hadoop-compat",
    "hbase-hadoop2-compat",
    "hbase-http",
    "hbase-logging",
    "hbase-mapreduce",
    "hbase-metrics",
    "hbase-metrics-api",
    "hbase-procedure",
    "hbase-replication",
    "hbase-rest",
    "hbase-rsgroup",
    "hbase-server",
    "hbase-thrift",
    "hbase-zookeeper",
)
HBASE_2_5: Final = (
    *HBASE_2_4,
    "hbase-compression-aircompressor",
    "hbase-compression-brotli",
    "hbase-compression-lz4",
    "hbase-compression-snappy",
    "hbase-compression-xz",
    "hbase-compression-zstd",
)
HBASE_2_6: Final = (*HBASE_2_5, "hbase-backup")
HBASE_3: Final = tuple(
    # hadoop2-compat and rsgroup were merged into hadoop-compat and server; the balancer was split from server.
    module
    for module in (*HBASE_2_6, "hbase-balancer")
    if module not in {"hbase-hadoop2-compat", "hbase-rsgroup"}
)
HADOOP_3: Final = (
    "hadoop-auth",
    "hadoop-aws",
    "hadoop-common",
    "hadoop-hdfs",
    "hadoop-hdfs-client",
    "hadoop-yarn-api",
    "hadoop-yarn-common",
    "hadoop-yarn-server-common",
    "hadoop-yarn-server-nodemanager",
    "hadoop-yarn-server-resourcemanager",
)


class CatalogueColumn(Struct, frozen=True, kw_only=True):
    """A column of a table: a release, its modules, and the versions whose jars replace a missing module."""

    version: str
    group: str
    modules: tuple[str, ...]
    nearest: tuple[str, ...] = ()

    def artifacts(self, version: str) -> tuple[Artifact, ...]:
        """Return the modules in that version."""
        return tuple(Artifact(group=self.group, module=module, version=version) for module in self.modules)


HBASE: Final = (
    CatalogueColumn(version="1.4.14", group=HBASE_GROUP, modules=HBASE_1, nearest=("1.4.13",)),
    CatalogueColumn(version="2.4.17", group=HBASE_GROUP, modules=HBASE_2_4, nearest=("2.4.18", "2.6.1")),
    CatalogueColumn(
        version="2.5.13",
        group=HBASE_GROUP,
        modules=HBASE_2_5,
        nearest=("2.5.13-hadoop3", "2.6.1", "3.0.0-alpha-3"),
    ),
    CatalogueColumn(version="2.6.1", group=HBASE_GROUP, modules=HBASE_2_6, nearest=("3.0.0-alpha-3",)),
    CatalogueColumn(
        version="2.6.2", group=HBASE_GROUP, modules=HBASE_2_6, nearest=("2.6.2-hadoop3", "2.6.1", "3.0.0-alpha-3")
    ),
    CatalogueColumn(version="2.6.4", group=HBASE_GROUP, modules=HBASE_2_6, nearest=("2.6.3", "2.6.1", "3.0.0-alpha-3")),
    CatalogueColumn(
        version="2.6.5",
        group=HBASE_GROUP,
        modules=HBASE_2_6,
        nearest=("2.6.6", "2.6.4", "2.6.1", "3.0.0-alpha-3"),
    ),
    CatalogueColumn(
        version="2.6.6",
        group=HBASE_GROUP,
        modules=HBASE_2_6,
        nearest=("2.6.7", "2.6.5", "2.6.4", "2.6.1", "3.0.0-alpha-3"),
    ),
    CatalogueColumn(
        version="3.0.0",
        group=HBASE_GROUP,
        modules=HBASE_3,
        nearest=("3.0.0-beta-1", "3.0.0-alpha-4", "3.0.0-alpha-3"),
    ),
)
HADOOP: Final = tuple(
    CatalogueColumn(version=version, group=HADOOP_GROUP, modules=HADOOP_3) for version in ("3.4.0", "3.4.1", "3.4.2")
)
