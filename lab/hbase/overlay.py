"""The properties that the lab changes, each with its reason: addresses, paths, the store and the scale.

Everything else of the rendered files is given to HBase as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.paths import HOST, LabPaths
from lab.hbase.result import Substitution
from lab.hbase.store.processes import ROOT
from sizing.modes import Mode

PERSIST_INTERVAL_MS: Final = 10_000
"""Ten seconds stand for one minute: the plan's interval of ten minutes."""
SESSION_MS: Final = 20_000
FIRST_SERVER_MS: Final = 1_500
ALL_SERVERS_MS: Final = 60_000
"""A master that starts waits this long for several RegionServers, so that the first does not get every region."""

ADDRESSES: Final = "this machine's address; every port listens on loopback only"
PATHS: Final = "a directory of the lab"
STORE: Final = "the lab's S3 server, which stores objects in local files"
READ_POLICY: Final = (
    "with `sequential`, Hadoop's S3A requests the rest of the file at each miss and drops the connection at the next; "
    "a separate case measures the cost"
)
LOCAL_LOG: Final = "the write-ahead log is in local files, which stand for HDFS"
SCALE: Final = "the plan's figure at the scale of this machine"
CODECS: Final = "the Java codec, because Hadoop's native libraries are not installed here"
EMR_ONLY: Final = "only EMR's own HBase has this property"
QUIET: Final = "otherwise HBase logs its whole environment"
FRESH: Final = "counters every second instead of every ten, because the lab reads them"
PATIENCE: Final = "so that the lab notices an ended process within its minutes"
ENCRYPTED: Final = "EMR encrypts HDFS where it encrypts local disks (Management Guide, emr-data-encryption-options)"


class Overlay(Struct, frozen=True):
    """Properties of the lab by key, with the reason of each; None leaves a rendered one out."""

    entries: Mapping[str, tuple[str | None, str]]

    def __or__(self, above: Overlay) -> Overlay:
        """Return both overlays as one; `above` wins."""
        return Overlay({**self.entries, **above.entries})

    def laid_over(self, rendered: Mapping[str, str]) -> dict[str, str]:
        """Return the properties that HBase gets."""
        both = {**rendered, **{key: value for key, (value, _) in self.entries.items()}}
        return {key: value for key, value in both.items() if value is not None}

    def substitutions(self, rendered: Mapping[str, str]) -> tuple[Substitution, ...]:
        """Where they differ from what was rendered, in the order of keys."""
        return tuple(
            Substitution(key=key, rendered=rendered.get(key), lab=value, why=why)
            for key, (value, why) in sorted(self.entries.items())
            if rendered.get(key) != value
        )


class ServerIdentity(Struct, frozen=True, kw_only=True):
    """Which RegionServer it is, and the directory that its cache volume is mounted at."""

    number: int
    volume: Path


def varied(entries: Mapping[str, str | None], why: str) -> Overlay:
    """Return what an experiment varies."""
    return Overlay({key: (value, why) for key, value in entries.items()})


# The page names privacy of RPCs, and encrypted block transfer with AES 256. Without block tokens, a NameNode gives no
# key for the transfer, and without cipher suites HDFS would use the slow ciphers of DIGEST-MD5 (Hadoop 3.4 source).
HDFS_ENCRYPTION: Final = varied(
    {
        "hadoop.rpc.protection": "privacy",
        "dfs.block.access.token.enable": "true",
        "dfs.encrypt.data.transfer": "true",
        "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
        "dfs.encrypt.data.transfer.cipher.key.bitlength": "256",
    },
    ENCRYPTED,
)


def client_overlay(place: LabPaths) -> Overlay:
    """Return what every process needs to find the others, and to read store files."""
    ports = place.ports
    return Overlay(
        {
            "hbase.cluster.distributed": ("true", "each daemon runs in its own process, as on a cluster"),
            "hbase.zookeeper.quorum": (HOST, ADDRESSES),
            "hbase.zookeeper.property.clientPort": (str(ports.zookeeper), ADDRESSES),
            "hbase.zookeeper.property.clientPortAddress": (HOST, ADDRESSES),
            "hbase.zookeeper.property.dataDir": (str(place.scratch / "zookeeper"), PATHS),
            "hbase.client.retries.number": ("8", PATIENCE),
            "hbase.client.operation.timeout": ("45000", PATIENCE),
            "hbase.tmp.dir": (str(place.scratch), PATHS),
            "hbase.io.compress.zstd.codec": ("org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec", CODECS),
            "hbase.io.compress.snappy.codec": ("org.apache.hadoop.hbase.io.compress.xerial.SnappyCodec", CODECS),
        }
    )


def master_overlay(place: LabPaths, mode: Mode, servers: int = 1) -> Overlay:
    """Return what the master gets otherwise."""
    timeout_ms = FIRST_SERVER_MS if servers == 1 else ALL_SERVERS_MS
    return _daemons(place, mode) | Overlay(
        {
            "hbase.master.wait.on.regionservers.maxtostart": (str(servers), SCALE),
            "hbase.master.wait.on.regionservers.timeout": (str(timeout_ms), SCALE),
        }
    )


def server_overlay(place: LabPaths, mode: Mode, cache_mib: int, at: ServerIdentity) -> Overlay:
    """Return what a RegionServer gets otherwise."""
    number, volume = at.number, at.volume
    cached: dict[str, tuple[str | None, str]] = {
        "hbase.bucketcache.ioengine": (f"files:{volume / 'cache' / 'blocks'}", PATHS),
        "hbase.bucketcache.size": (str(cache_mib), SCALE),
        "hbase.bucketcache.persistent.path": (str(volume / "index" / "bucketcache.index"), PATHS),
        "hbase.bucketcache.persist.intervalinmillis": (str(PERSIST_INTERVAL_MS), SCALE),
    }
    ports: dict[str, tuple[str | None, str]] = {
        "hbase.regionserver.port": (str(place.ports.servers[number]), ADDRESSES),
        "hbase.regionserver.info.port": (str(place.ports.servers_info[number]), ADDRESSES),
    }
    return _daemons(place, mode) | Overlay(ports | (cached if mode.has_bucket_cache else {}))


def _daemons(place: LabPaths, mode: Mode) -> Overlay:
    return (
        client_overlay(place)
        | _addresses(place)
        | (_in_s3(place) if mode.keeps_data_in_s3 else _in_files(place))
        | _lab()
    )


def _addresses(place: LabPaths) -> Overlay:
    ports = place.ports
    values = {
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.ipc.address": HOST,
        "hbase.regionserver.ipc.address": HOST,
        "hbase.master.info.bindAddress": HOST,
        "hbase.regionserver.info.bindAddress": HOST,
        "hbase.master.port": str(ports.master),
        "hbase.master.info.port": str(ports.master_info),
    }
    return Overlay(
        {key: (value, ADDRESSES) for key, value in values.items()}
        | {
            "hbase.wal.dir": (f"file://{place.write_ahead_log}", LOCAL_LOG),
            "hbase.unsafe.stream.capability.enforce": ("false", LOCAL_LOG),
            "fs.s3a.buffer.dir": (str(place.scratch / "s3a"), PATHS),
        }
    )


def _in_s3(place: LabPaths) -> Overlay:
    values: dict[str, str | None] = {
        "hbase.rootdir": f"s3a://{ROOT}",
        "fs.s3a.endpoint": f"http://{HOST}:{place.ports.endpoint}",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.access.key": "lab",
        "fs.s3a.secret.key": "lab-secret",
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    store = Overlay({key: (value, STORE) for key, value in values.items()})
    return store | Overlay({"fs.s3a.experimental.input.fadvise": ("random", READ_POLICY)})


def _in_files(place: LabPaths) -> Overlay:
    return Overlay({"hbase.rootdir": (f"file://{place.objects / 'hbase'}", "local files stand for HDFS")})


def _lab() -> Overlay:
    return Overlay(
        {
            "hbase.envvars.logging.disabled": ("true", QUIET),
            "hbase.regionserver.metrics.period": ("1000", FRESH),
            "zookeeper.session.timeout": (str(SESSION_MS), PATIENCE),
            "emr.wal.client.endpoint": (None, EMR_ONLY),
            "emr.wal.workspace": (None, EMR_ONLY),
        }
    )
