"""The properties that the lab gives Trino, each with its reason: addresses, paths, the store and the scale."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.overlay import ADDRESSES, PATHS, SCALE, STORE, Overlay
from lab.hbase.paths import HOST
from lab.hbase.store.processes import BUCKET
from sizing.units import MIB

ENVIRONMENT: Final = "lab"
HEAP_MIB: Final = 1200
QUERY_MEMORY_MIB: Final = 500
HEADROOM_MIB: Final = 300
METASTORE: Final = f"s3://{BUCKET}/metastore"
DATA: Final = f"s3://{BUCKET}/data"
"""The place of tables. The proxy counts GETs below `/data/`, so that those of table definitions do not count."""
ALONE: Final = "the lab has no other metastore, and its statements write tables outside the metastore's directory"
NOT_READ_BACK: Final = "otherwise Trino reads 5 % of the files that it writes back, which brings them into a cache"
NOT_A_WORKER: Final = "so that only workers read data, and their counters are those of the data"


class Catalog(Struct, frozen=True, kw_only=True):
    """A catalog over the lab's tables, with a file-system cache of its own in each server."""

    name: str
    cache_mib: int
    """`fs.cache.max-sizes` of the one cache directory."""
    preferred_hosts: int | None = None
    """`fs.cache.preferred-hosts-count`; None leaves Trino's default, which is 2."""

    def cache(self, node_directory: Path) -> Path:
        """Return the cache directory of one server."""
        return node_directory / "cache" / self.name

    def overlay(self, node_directory: Path, endpoint: str) -> Overlay:
        """Return `etc/catalog/NAME.properties` of one server."""
        preferred = (
            {}
            if self.preferred_hosts is None
            else {
                "fs.cache.preferred-hosts-count": (str(self.preferred_hosts), "each file on one worker only"),
            }
        )
        return Overlay(
            {
                "connector.name": ("hive", ALONE),
                "hive.metastore": ("file", ALONE),
                "hive.metastore.catalog.dir": (METASTORE, ALONE),
                "hive.metastore.disable-location-checks": ("true", ALONE),
                "hive.non-managed-table-writes-enabled": ("true", ALONE),
                "parquet.writer.validation-percentage": ("0", NOT_READ_BACK),
                "fs.native-s3.enabled": ("true", STORE),
                "s3.endpoint": (endpoint, STORE),
                "s3.region": ("us-east-1", STORE),
                "s3.path-style-access": ("true", STORE),
                "s3.aws-access-key": ("lab", STORE),
                "s3.aws-secret-key": ("lab-secret", STORE),
                "fs.cache.enabled": ("true", "the cache that is measured"),
                "fs.cache.directories": (str(self.cache(node_directory)), PATHS),
                "fs.cache.max-sizes": (f"{self.cache_mib * MIB}B", SCALE),
                **preferred,
            }
        )


def server_overlay(*, is_coordinator: bool, port: int, coordinator_port: int, etc: Path, plugins: Path) -> Overlay:
    """Return `etc/config.properties` of one server."""
    scheduling = {"node-scheduler.include-coordinator": ("false", NOT_A_WORKER)} if is_coordinator else {}
    return Overlay(
        {
            "coordinator": (str(is_coordinator).lower(), ADDRESSES),
            **scheduling,
            "http-server.http.port": (str(port), ADDRESSES),
            "discovery.uri": (f"http://{HOST}:{coordinator_port}", ADDRESSES),
            "node.internal-address": (HOST, ADDRESSES),
            "node.bind-ip": (HOST, ADDRESSES),
            "http-server.http.acceptor-threads": ("1", SCALE),
            "query.max-memory": (f"{QUERY_MEMORY_MIB}MB", SCALE),
            "query.max-memory-per-node": (f"{QUERY_MEMORY_MIB}MB", SCALE),
            "memory.heap-headroom-per-node": (f"{HEADROOM_MIB}MB", SCALE),
            "task.concurrency": ("2", SCALE),
            "plugin.dir": (str(plugins), PATHS),
            "catalog.config-dir": (str(etc / "catalog"), PATHS),
        }
    )


def properties_text(properties: Mapping[str, str]) -> str:
    """Return a properties file."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
