"""The properties of an analytics cluster: their values, reasons and sources; and the paths on its nodes.

EMR writes jvm.config itself and does not let it be configured, so the heap and the Java of Trino are EMR's. Source: EMR
Release Guide, emr-trino-deployment-config.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from warmbase.configurations.node_files import HDFS_LOG, YARN_LOCAL, cache_mounts
from warmbase.configurations.properties.hadoop import UNHEALTHY_DISK_PERCENT
from warmbase.configurations.properties.property import (
    BEST_PRACTICES,
    BOTH,
    CORE,
    EMR_REPLACEMENT,
    PRIMARY,
    AnyText,
    Property,
)
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.request import Catalog
from warmbase.ground.units import GIB

PAGES: Final = "trino"
"""The directory on each cache volume; the bootstrap action gives it to the user trino."""
SPILL: Final = "/warmbase/system/trino-spill"
COORDINATOR_CACHE: Final = "/tmp/trino-cache"  # noqa: S108 - the coordinator's own directory, on its root disk
COORDINATOR_SPILL: Final = "/tmp/trino-spill"  # noqa: S108 - as above


def cache_directories(plan: TrinoPlan) -> tuple[str, ...]:
    """Return the directory of pages on each cache volume of a worker."""
    return tuple(f"{mount}/{PAGES}" for mount in cache_mounts(plan.workers))


METASTORE_KEYS: Final[Mapping[Catalog, str]] = {
    "hive": "hive.metastore",
    "iceberg": "iceberg.catalog.type",
    "delta": "hive.metastore",
}
FS_CACHE: Final = "Trino 476 documentation, file system cache"
MEMORY: Final = "Trino 476 documentation, resource management"
SPILLING: Final = "Trino 476 documentation, spill to disk"
CONNECTORS: Final[Mapping[Catalog, str]] = {"hive": "hive", "iceberg": "iceberg", "delta": "delta_lake"}
TABLE_FORMATS: Final = "EMR Release Guide, emr-iceberg-use-trino-cluster and Deltacluster-trino"
GLUE: Final = "EMR Release Guide, emr-trino-getting-started-launch"
COPIES: Final = 2
COORDINATOR_CACHE_SIZE: Final = "1GB"  # judgement: it holds the footers and manifests that planning reads


def _memory(plan: TrinoPlan) -> str:
    """Return the size as Trino writes it: its GB is 2^30 bytes."""
    return f"{max(1, plan.memory.query_bytes // GIB)}GB"


def _cache_sizes(plan: TrinoPlan) -> str:
    return ",".join([f"{plan.cache.size_gib // plan.cache.directories}GB"] * plan.cache.directories)


_trino = partial(Property[TrinoPlan], groups=BOTH, values=AnyText())

SERVERS: Final = (
    _trino(
        classification="trino-config",
        key="query.max-memory",
        value=_memory,
        figure="memory.query_bytes",
        reason="the memory of one query on all workers together; Trino's default of 20 GB ignores how many there are",
        source=MEMORY,
    ),
    _trino(
        classification="trino-config",
        key="node-scheduler.include-coordinator",
        value="false",
        groups=PRIMARY,
        reason="the coordinator plans queries and has no cache for data",
        source="Trino 476 documentation, cluster sizing",
    ),
    _trino(
        classification="trino-config",
        key="spill-enabled",
        value="true",
        reason="a join or an aggregation that needs more memory than a worker has continues on its disk",
        source=SPILLING,
    ),
    _trino(
        classification="trino-config",
        key="spiller-spill-path",
        value=SPILL,
        groups=CORE,
        reason="spilled data goes to the system volume and never fills the cache volume",
        source=SPILLING,
    ),
    _trino(
        classification="trino-config",
        key="spiller-spill-path",
        value=COORDINATOR_SPILL,
        groups=PRIMARY,
        reason="every node with spill-enabled needs a directory that it may write; a coordinator spills nothing",
        source=SPILLING,
    ),
)
LIBRARIES_AND_DISKS: Final = (
    _trino(
        classification="iceberg-defaults",
        key="iceberg.enabled",
        value="true",
        when=lambda plan: plan.catalog == "iceberg",
        reason="EMR puts the libraries of Iceberg in place",
        source=TABLE_FORMATS,
    ),
    _trino(
        classification="delta-defaults",
        key="delta.enabled",
        value="true",
        when=lambda plan: plan.catalog == "delta",
        reason="EMR puts the libraries of Delta Lake in place",
        source=TABLE_FORMATS,
    ),
    _trino(
        classification="trino-connector-jmx",
        key="connector.name",
        value="jmx",
        reason="SQL can read what each worker's cache does: SELECT * FROM jmx.current",
        source="Trino 476 documentation, JMX connector",
    ),
    _trino(
        classification="hdfs-site",
        key="dfs.datanode.data.dir",
        value=HDFS_LOG,
        groups=CORE,
        reason="HDFS stays off the cache volume",
        source=BEST_PRACTICES,
    ),
    _trino(
        classification="hdfs-site",
        key="dfs.replication",
        value=lambda plan: str(min(COPIES, plan.workers.count)),
        reason="HDFS holds hardly anything here; two copies outlive a worker",
        source=BEST_PRACTICES,
    ),
    _trino(
        classification="yarn-site",
        key="yarn.nodemanager.local-dirs",
        value=YARN_LOCAL,
        groups=CORE,
        reason="YARN stays off the cache volume: it calls a disk over 90 % unhealthy, and EMR then replaces the node",
        source=BEST_PRACTICES,
    ),
    _trino(
        classification="yarn-site",
        key="yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage",
        value=str(UNHEALTHY_DISK_PERCENT),
        groups=CORE,
        reason="EMR does not replace a worker and its cache because of a full system volume; broken disks still count",
        source=EMR_REPLACEMENT,
    ),
)


def _of_connector(catalog: Catalog) -> tuple[Property[TrinoPlan], ...]:
    connector = partial(_trino, classification=f"trino-connector-{catalog}")
    return (
        connector(
            key="fs.cache.enabled",
            value="true",
            reason="workers keep the pages of files that they read from S3",
            source=FS_CACHE,
        ),
        connector(
            key="fs.cache.directories",
            value=lambda plan: ",".join(cache_directories(plan)),
            groups=CORE,
            figure="cache.directories",
            reason="one directory on each cache volume; Alluxio spreads pages over them",
            source=FS_CACHE,
        ),
        connector(
            key="fs.cache.max-sizes",
            value=_cache_sizes,
            groups=CORE,
            figure="cache.size_gib",
            reason="the cache stays below 85 % of its volume, and never fills it",
            source=FS_CACHE,
        ),
        connector(
            key="fs.cache.directories",
            value=COORDINATOR_CACHE,
            groups=PRIMARY,
            reason="the directory must exist on the coordinator, too, or Trino does not start; the coordinator "
            "has no cache volume",
            source=FS_CACHE,
        ),
        connector(
            key="fs.cache.max-sizes",
            value=COORDINATOR_CACHE_SIZE,
            groups=PRIMARY,
            reason="the coordinator reads only metadata",
            source=FS_CACHE,
        ),
        connector(
            key="fs.cache.preferred-hosts-count",
            figure="cache.preferred_hosts",
            reason="each worker that Trino prefers for a file comes to hold a copy of it; the default is 2",
            source=FS_CACHE,
        ),
        connector(
            key=METASTORE_KEYS[catalog],
            value="glue",
            reason="tables are in the AWS Glue Data Catalog, which outlives the cluster",
            source=GLUE,
        ),
        connector(
            key="connector.name",
            value=CONNECTORS[catalog],
            when=lambda plan: plan.catalog in {"iceberg", "delta"},
            reason="the connector of the catalog; EMR states it for Hive alone",
            source=TABLE_FORMATS,
        ),
    )


def trino_properties(catalog: Catalog) -> tuple[Property[TrinoPlan], ...]:
    """Return every property that warmbase renders for an analytics cluster with that catalog, in their order."""
    return (*SERVERS, *_of_connector(catalog), *LIBRARIES_AND_DISKS)
