"""The configuration of the lab's processes: rendered files with the lab's overlay, and their command lines.

The overlay is the properties that the lab changes, each with its reason: addresses, paths, the store and the scale.
Everything else of the rendered files is given to HBase as it is. Command lines have the options of `bin/hbase` and the
rendered flags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.result import Substitution
from lab.hbase.software import Software
from lab.hbase.store import ROOT
from lab.machine.paths import HOST, LabPaths
from warmbase.configurations.launch import Launch
from warmbase.configurations.node_files import hbase_site_xml, region_server_flags, site_properties
from warmbase.emr.cluster_spec import Classification
from warmbase.sizing.modes import Mode

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
    waits = {
        "hbase.master.wait.on.regionservers.maxtostart": str(servers),
        "hbase.master.wait.on.regionservers.timeout": str(timeout_ms),
    }
    return _daemons(place, mode) | varied(waits, SCALE)


def server_overlay(place: LabPaths, mode: Mode, cache_mib: int, at: ServerIdentity) -> Overlay:
    """Return what a RegionServer gets otherwise."""
    number, volume = at.number, at.volume
    entries: dict[str, tuple[str | None, str]] = {
        "hbase.regionserver.port": (str(place.ports.servers[number]), ADDRESSES),
        "hbase.regionserver.info.port": (str(place.ports.servers_info[number]), ADDRESSES),
    }
    if mode.has_bucket_cache:
        entries |= {
            "hbase.bucketcache.ioengine": (f"files:{volume / 'cache' / 'blocks'}", PATHS),
            "hbase.bucketcache.size": (str(cache_mib), SCALE),
            "hbase.bucketcache.persistent.path": (str(volume / "index" / "bucketcache.index"), PATHS),
            "hbase.bucketcache.persist.intervalinmillis": (str(PERSIST_INTERVAL_MS), SCALE),
        }
    return _daemons(place, mode) | Overlay(entries)


def _daemons(place: LabPaths, mode: Mode) -> Overlay:
    """Return what every daemon gets: addresses, paths, the store, and the lab's own intervals."""
    ports = place.ports
    addresses = {
        "hbase.master.hostname": "localhost",
        "hbase.regionserver.hostname": "localhost",
        "hbase.master.ipc.address": HOST,
        "hbase.regionserver.ipc.address": HOST,
        "hbase.master.info.bindAddress": HOST,
        "hbase.regionserver.info.bindAddress": HOST,
        "hbase.master.port": str(ports.master),
        "hbase.master.info.port": str(ports.master_info),
    }
    others: dict[str, tuple[str | None, str]] = {
        "hbase.wal.dir": (f"file://{place.write_ahead_log}", LOCAL_LOG),
        "hbase.unsafe.stream.capability.enforce": ("false", LOCAL_LOG),
        "fs.s3a.buffer.dir": (str(place.scratch / "s3a"), PATHS),
        "hbase.envvars.logging.disabled": ("true", QUIET),
        "hbase.regionserver.metrics.period": ("1000", FRESH),
        "zookeeper.session.timeout": (str(SESSION_MS), PATIENCE),
        "emr.wal.client.endpoint": (None, EMR_ONLY),
        "emr.wal.workspace": (None, EMR_ONLY),
    }
    store = varied({"hbase.rootdir": f"file://{place.objects / 'hbase'}"}, "local files stand for HDFS")
    if mode.keeps_data_in_s3:
        store = varied(
            {
                "hbase.rootdir": f"s3a://{ROOT}",
                "fs.s3a.endpoint": f"http://{HOST}:{ports.endpoint}",
                "fs.s3a.path.style.access": "true",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.access.key": "lab",
                "fs.s3a.secret.key": "lab-secret",
                "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            },
            STORE,
        ) | varied({"fs.s3a.experimental.input.fadvise": "random"}, READ_POLICY)
    return client_overlay(place) | varied(addresses, ADDRESSES) | store | Overlay(others)


# The options that bin/hbase of HBase 2.6 passes to Java 11 and newer.
OPENED: Final = (
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
    "--add-modules=jdk.unsupported",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.nio",
            "sun.nio.ch",
            "java.lang",
            "jdk.internal.ref",
            "java.lang.reflect",
            "java.util",
            "java.util.concurrent",
            "java.io",
        )
    ),
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
)
FIRST_TIER: Final = ("-XX:TieredStopAtLevel=1",)
"""The second compiler is off: it would take much of the few cores at every start, and processes live only minutes."""
CLIENT_LOGGING: Final = "client.log4j2.properties"
SCALED_FLAGS: Final = re.compile(
    r"-Xm[sx]\w+|-XX:MaxDirectMemorySize=\w+|-Xlog:gc\S*|-XX:HeapDumpPath=\S+|-XX:\+HeapDump\S+"
)
"""Flags of a rendered RegionServer that name sizes and paths of a real node."""

QUIET_FLAGS: Final = (
    ("org.apache.hadoop", "WARN"),
    ("org.apache.zookeeper", "WARN"),
    ("org.apache.hadoop.hbase", "INFO"),
    ("org.apache.hadoop.hbase.zookeeper", "WARN"),
    ("org.apache.hadoop.metrics2", "ERROR"),
    ("org.apache.hadoop.util.NativeCodeLoader", "ERROR"),
    ("org.apache.hbase.thirdparty.org.eclipse.jetty", "WARN"),
    ("software.amazon.awssdk", "WARN"),
    ("http.requests", "WARN"),
)
"""Loggers and their levels; otherwise `http.requests` logs a line for each read of JMX."""
PATTERN: Final = "%d{ISO8601} %-5p [%t] %c{2}: %m%n%ex{6}%n"


class Java(Struct, frozen=True, kw_only=True):
    """One JVM: its flags, the directory in front of its class path, its temporary directory and its main class."""

    software: Software
    configuration: Path
    scratch: Path
    flags: Sequence[str]

    def arguments(self, *main: str) -> tuple[str, ...]:
        """Return the command line, with a main class and its arguments if any are given."""
        class_path = ":".join((str(self.configuration), *self.software.class_path))
        temporary = f"-Djava.io.tmpdir={self.scratch}"
        return (str(self.software.java), *self.flags, temporary, *OPENED, "-cp", class_path, *main)


def rendered_flags(variables: Mapping[str, str], *, heap_mib: int, direct_mib: int, log: Path) -> tuple[str, ...]:
    """Return a RegionServer's flags as rendered for `hbase-env`, with this machine's sizes and paths."""
    flags = [flag for flag in region_server_flags(variables) if not SCALED_FLAGS.fullmatch(flag)]
    sizes = (f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", f"-XX:MaxDirectMemorySize={direct_mib}m")
    return (*flags, *sizes, f"-Xlog:gc*=info:file={log}:time,uptime,level,tags")


def logging_file(levels: Mapping[str, str], *, to_file: bool) -> str:
    """Return `log4j2.properties` that log to the file `lab.log` names, or to stderr; `levels` are rendered loggers."""
    lines = ["status = error", "name = lab", f"rootLogger = {'INFO' if to_file else 'WARN'}, out"]
    lines += (
        ["appender.out.type = File", "appender.out.fileName = ${sys:lab.log}"]
        if to_file
        else ["appender.out.type = Console", "appender.out.target = SYSTEM_ERR"]
    )
    lines += [
        "appender.out.name = out",
        "appender.out.layout.type = PatternLayout",
        f"appender.out.layout.pattern = {PATTERN}",
    ]
    for number, (name, level) in enumerate(QUIET_FLAGS):
        lines += [
            f"logger.q{number}.name = {name}",
            f"logger.q{number}.level = {level if to_file or level != 'INFO' else 'WARN'}",
        ]
    lines += [f"{key} = {value}" for key, value in levels.items()]
    return "\n".join(lines) + "\n"


NOTHING_VARIED: Final = Overlay({})
METRICS: Final = "*.period=1\n"
HADOOP_KEYS: Final = ("hadoop.security.", "hadoop.rpc.")


class Site(Struct, frozen=True, kw_only=True):
    """One daemon's configuration: `rendered` for its group, the lab's `overlay`, and an experiment's variations."""

    rendered: tuple[Classification, ...]
    overlay: Overlay
    varied: Overlay = NOTHING_VARIED

    @property
    def properties(self) -> Mapping[str, str]:
        """Return the properties of `hbase-site` in the lab."""
        return (self.overlay | self.varied).laid_over(site_properties(self.rendered))

    @property
    def as_rendered(self) -> int:
        """Return how many rendered properties of `hbase-site` are the same here as on EMR."""
        mine = self.properties
        return sum(mine.get(key) == value for key, value in site_properties(self.rendered).items())

    @property
    def substitutions(self) -> tuple[Substitution, ...]:
        """Return the properties that the lab changes, without those that an experiment varies."""
        return self.overlay.substitutions(site_properties(self.rendered))

    @property
    def tried(self) -> tuple[Substitution, ...]:
        """Return the properties that an experiment varies, beside the lab's own values."""
        return self.varied.substitutions(self.overlay.laid_over(site_properties(self.rendered)))


def server_site(launch: Launch, place: LabPaths, cache_mib: int, at: ServerIdentity) -> Site:
    """Return the configuration of a core node."""
    overlay = server_overlay(place, launch.plan.mode, cache_mib, at)
    return Site(rendered=launch.settings.effective("core"), overlay=overlay)


def write_site(site: Site, place: LabPaths, name: str) -> None:
    """Write the directory of one daemon: its sites, logging, metrics, and empty directories for its web pages."""
    directory = place.configuration(name)
    for pages in ("master", "regionserver", "static"):
        # The info server needs its pages' directories before it serves JMX; the jars do not contain them.
        (directory / "hbase-webapps" / pages).mkdir(parents=True, exist_ok=True)
    files = {classification.name: classification for classification in site.rendered}
    (directory / "hbase-site.xml").write_text(_xml("hbase-site", site.properties), encoding="utf-8")
    # Hadoop looks for its own keys there, before HBase has read its site.
    hadoop = {key: value for key, value in site.properties.items() if key.startswith(HADOOP_KEYS)}
    if core := files.get("core-site"):
        core_site = _xml("hbase-site", {**core.properties, **hadoop})
        (directory / "core-site.xml").write_text(core_site, encoding="utf-8")
    logging = files["hbase-log4j2"].properties if "hbase-log4j2" in files else {}
    (directory / "log4j2.properties").write_text(logging_file(logging, to_file=True), encoding="utf-8")
    (directory / "hadoop-metrics2-hbase.properties").write_text(METRICS, encoding="utf-8")


def write_client(place: LabPaths) -> None:
    """Write the directory of load generators and of the admin process."""
    directory = place.configuration("client")
    directory.mkdir(parents=True, exist_ok=True)
    properties = client_overlay(place).laid_over({})
    (directory / "hbase-site.xml").write_text(_xml("hbase-site", properties), encoding="utf-8")
    (directory / CLIENT_LOGGING).write_text(logging_file({}, to_file=False), encoding="utf-8")


def _xml(name: str, properties: Mapping[str, str]) -> str:
    return hbase_site_xml([Classification(name=name, properties=properties)])
