"""Daemons of HBase that boot with rendered files, one at a time, and the settings that they report.

The launches to boot are every environment file, and one environment in every mode and role on each HBase's releases. A
daemon reports its settings in lines of its log, in its JMX beans, and in the configuration that it serves; they are
compared with the figures that a plan expects. It is started, observed, and ended by force.

Nothing is scaled but the heap. A cache file is sparse, so the planned cache has its planned size here too. A master
waits for as many RegionServers as it was told to, because it reports its settings before they come.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from itertools import product
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from lab.hbase.admin import Admin
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.configuration import Overlay, varied
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.laboratory import admin_command
from lab.hbase.software import software
from lab.hbase.software.jars import HBASE, hbase_sets
from lab.hbase.software.setup import nearest_set
from lab.hbase.store import Program, store
from lab.machine.paths import HOST, LabPaths, free_ports
from lab.scaled_plan import Small, miniature
from warmbase.configurations import node_files
from warmbase.configurations.launch import Launch, classifications, launch_of
from warmbase.configurations.node_files import site_properties
from warmbase.environments.environment import Override
from warmbase.environments.planning import plans_by_mode
from warmbase.environments.reader import read_environment
from warmbase.facts.releases import releases
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.cache.bucket_sizes import BucketAllocator
from warmbase.sizing.modes import MODES

PROJECT: Final = Path(__file__).parents[3]
FOLDERS: Final = ("environments", "tests/environments/examples")
VARIED: Final = "prod"
WITHOUT_ZGC: Final = "emr-7.8.0"
"""A release with Java 17 and G1, EMRFS, and logging by hbase-log4j."""
DECOMPRESSED: Final = Override(
    classification="hbase-site", key="hbase.block.data.cachecompressed", value="false", where="the lab"
)


class BootContext(Struct, frozen=True, kw_only=True):
    """The parts that several boots share: a version of HBase, and a place for the data."""

    jars: str
    in_s3: bool

    @property
    def directory(self) -> str:
        """Return the name of its processes' directory."""
        return f"{self.jars}-{'s3' if self.in_s3 else 'files'}"


class BootCase(Struct, frozen=True, kw_only=True):
    """One launch to boot; `name` describes it without the instance group."""

    name: str
    launch: Launch

    @property
    def ground(self) -> BootContext:
        """Return the context in which the launch can boot."""
        plan = self.launch.plan
        return BootContext(jars=nearest_set(releases()[plan.release].hbase), in_s3=plan.mode.keeps_data_in_s3)


def environment_files() -> tuple[Path, ...]:
    """Return the project's environment files, and the examples of its tests where they exist."""
    return tuple(file for folder in FOLDERS for file in sorted((PROJECT / folder).glob("*.yaml")))


def cases() -> tuple[BootCase, ...]:
    """Return the launches to boot, each distinct rendering once: those of the files, and variants of one environment.

    The lab boots no other HBase in place of a release's own, so the varied environment has the newest release of each
    HBase that the lab has.
    """
    candidates = list[tuple[str, Launch]]()
    for file in environment_files():
        environment = read_environment(str(file))
        for name, cluster in environment.clusters.items():
            candidates.append((f"{environment.name} {name}", launch_of(environment, cluster)))
    environment = read_environment(VARIED)
    name = f"{environment.name} {environment.active.name}"
    newest = {f"{HBASE}{'.'.join(map(str, release.hbase))}": label for label, release in releases().items()}
    for label in (*(label for jars, label in newest.items() if jars in hbase_sets()), WITHOUT_ZGC):
        plans = plans_by_mode(replace(environment, release=label), environment.active)
        for mode, role in product(MODES.values(), ("active", "replica")):
            cluster = replace(environment.active, role=role)
            read = replace(environment, release=label, mode=mode, clusters={cluster.name: cluster})
            if role == "active" or mode.keeps_data_in_s3:
                settings = classifications(read, plans[mode])
                candidates.append((name, Launch(environment=read, plan=plans[mode], settings=settings)))
            if label == WITHOUT_ZGC:
                break
    read = replace(environment, overrides=(DECOMPRESSED,))
    candidates.append((f"{name}, cachecompressed=false", launch_of(read, read.active)))
    named = []
    for name, launch in candidates:
        role = launch.environment.clusters[launch.plan.cluster].role
        named.append(BootCase(name=f"{name}, {launch.plan.mode}, {role}, {launch.plan.release}", launch=launch))
    return tuple(distinct(named, "core"))


def distinct(candidates: Iterable[BootCase], group: str) -> Iterator[BootCase]:
    """Yield the cases whose `hbase-site`, Java and HBase differ from every earlier one's."""
    keys: set[tuple[object, ...]] = set()
    for case in candidates:
        settings = case.launch.settings.effective(group)
        others = [setting for setting in settings if setting.name == "hbase-env"]
        key = (case.ground, tuple(sorted(site_properties(settings).items())), str(others))
        if key not in keys:
            keys.add(key)
            yield case


Value = float | str
UNITS: Final = {
    "BucketCache": "MiB",
    "whole buckets": "B",
    "largest bucket size": "B",
    "index interval": "ms",
    "chunk of the index": "blocks",
    "L1": "of the heap",
    "memstore": "of the heap",
    "wait for RegionServers": "ms",
}
"""The units of the figures that have one."""
CACHE_SWITCHES: Final = {
    "cacheDataOnRead": ("hbase.block.data.cacheonread", "true"),
    "cacheDataOnWrite": ("hbase.rs.cacheblocksonwrite", "false"),
    "cacheEvictOnClose": ("hbase.rs.evictblocksonclose", "false"),
    "cacheDataCompressed": ("hbase.block.data.cachecompressed", "false"),
    "prefetchOnOpen": ("hbase.rs.prefetchblocksonopen", "false"),
}
"""Switches by the name that a store logs when it opens, with their property and HBase's own default."""
CACHE_AWARE: Final = "CacheAwareLoadBalancer"
STOCHASTIC: Final = "StochasticLoadBalancer"


def planned_of_core(launch: Launch) -> Mapping[str, Value]:
    """Return the figures that a RegionServer should report."""
    plan, site = launch.plan, site_properties(launch.settings.effective("core"))
    figures: dict[str, Value] = {
        "L1": plan.heap.l1_fraction,
        "memstore": plan.heap.memstore_fraction,
        "collector": plan.heap.collector,
        "handlers": float(plan.handlers),
        "handlers of reads": float(plan.call_queues.read_handlers) if plan.call_queues.read_fraction else "all",
        **{name: site.get(key, default) for name, (key, default) in CACHE_SWITCHES.items()},
    }
    if plan.mode.has_bucket_cache:
        cache = plan.cache
        allocator = BucketAllocator(capacity_bytes=cache.size_bytes, sizes=cache.bucket_sizes)
        figures |= {
            "engine": f"files:{node_files.cache_files(plan.core)}",
            "BucketCache": float(cache.size_mib),
            "capacity": byte_text(cache.size_bytes),
            "whole buckets": float(allocator.total_bytes),
            "bucket sizes": ",".join(map(str, cache.bucket_sizes)),
            "largest bucket size": float(cache.bucket_sizes[-1]),
            "nominal block": byte_text(cache.nominal_block_bytes),
            "writer threads": float(cache.writer_threads),
            "writer queue": float(cache.writer_queue_length),
            "persistence path": node_files.INDEX_FILE,
            "index interval": float(plan.persistence.interval_ms),
            "chunk of the index": float(plan.persistence.chunk_blocks),
            "prefetch threads": float(plan.prefetch_threads),
        }
    else:
        figures["engine"] = "none"
    if "fs.s3a.connection.maximum" in site:
        figures["S3 connections"] = float(plan.s3_connections)
    return figures


def planned_of_primary(launch: Launch) -> Mapping[str, Value]:
    """Return the figures that a master should report."""
    plan = launch.plan
    waits: dict[str, Value] = {
        "RegionServers waited for": float(plan.region_servers_to_start),
        "wait for RegionServers": float(plan.restart.wait_for_servers_ms),
    }
    if not plan.mode.has_bucket_cache:
        return waits | {"balancer": STOCHASTIC, "persistence path": "none", "retained assignment": "off"}
    return waits | {
        "balancer": CACHE_AWARE,
        "persistence path": node_files.INDEX_FILE,
        "retained assignment": f"forced, {plan.restart.retain_retries} retries",
    }


PREFIXES: Final = " KMGTPE"
KIBI: Final = 1024
WRITTEN: Final = re.compile(r"([\d.]+) ?([KMGTPE]?)B?")


def byte_text(size_bytes: int) -> str:
    """Return the size as Hadoop's StringUtils.byteDesc writes it: two decimals unless whole, with a binary unit."""
    power = 0
    while size_bytes >= KIBI ** (power + 1):
        power += 1
    if size_bytes % KIBI**power == 0:
        return f"{size_bytes // KIBI**power} {PREFIXES[power].strip()}B"
    text = f"{size_bytes / KIBI**power:.2f}"
    if text.startswith(str(KIBI)):
        power, text = power + 1, "1.00"
    return f"{text} {PREFIXES[power]}B"


def bytes_of(text: str) -> float:
    """Return the bytes of a logged size such as `69.1 M` or `2.08 TB`. Raises ValueError for any other text."""
    match = WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size of HBase's log")
    power = PREFIXES.index(match[2]) if match[2] else 0
    return float(match[1]) * float(KIBI) ** power


CACHE_STARTED: Final = re.compile(
    r"Started bucket cache; ioengine=(?P<engine>\S+), capacity=(?P<capacity>[^,]+), blockSize=(?P<block>[^,]+), "
    r"writerThreadNum=(?P<threads>\d+), writerQLen=(?P<queue>\d+), persistencePath=(?P<path>[^,]+),"
)
ALLOCATOR: Final = re.compile(
    r"Cache totalSize=(?P<total>\d+), buckets=\d+, bucket capacity=\d+=\(4\*(?P<largest>\d+)\)"
)
PERSISTER: Final = re.compile(r"BucketCachePersister started with interval: (?P<interval>\d+)")
MEMSTORE: Final = re.compile(r"globalMemStoreLimit=(?P<limit>[\d.]+ ?[KMGT]?),")
HANDLERS: Final = re.compile(r"Instantiated default\.\S+ with .*handlerCount=(?P<all>\d+)")
READ_HANDLERS: Final = re.compile(r"default\.\S+ writeQueues=.* readHandlers=(?P<reads>\d+)")
CACHE_CONFIG: Final = re.compile(r"Created cacheConfig: (?P<switches>.*?) for column family")
BALANCER: Final = re.compile(r"StochasticLoadBalancer: Loaded config;.*?CostFunctions=\[(?P<functions>[^\]]*)\]")
MASTER_WAITS: Final = re.compile(
    r"Waiting on regionserver count=\d+; waited=(?P<waited>\d+)ms, expecting min=(?P<least>\d+) server\(s\), "
    r"max=(?P<most>\S+) server\(s\), timeout=(?P<timeout>\d+)ms"
)
SERVED: Final = "the configuration that it serves at /conf"
JMX: Final = "JMX"
CACHE_AWARE_LINE: Final = "CacheAwareCostFunction"
DECIMALS: Final = 3
"""The tolerance for shares of the heap: the log rounds a memstore of 70 MiB to a tenth."""


class Reported(Struct, frozen=True):
    """A figure, and where it stands."""

    value: Value
    where: str


class DaemonReport(Struct, frozen=True, kw_only=True):
    """Everything that one daemon said. `stands_for` is what its paths are to be read as, by what they are here."""

    log: str
    configuration: Mapping[str, str] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    heap_bytes: int = 0
    collector: str = ""
    cache_file_bytes: int | None = None
    stands_for: Mapping[str, str] = field(default_factory=dict)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first line of its log that says so."""
        return pattern.search(self.log)

    def path(self, text: str) -> str:
        """As it would stand on a node."""
        for here, there in self.stands_for.items():
            text = text.replace(here, there)
        return text


def server_figures(witness: DaemonReport) -> Mapping[str, Reported]:
    """Return the figures that a RegionServer reports; a figure that it does not report is absent."""
    figures, server, site = dict[str, Reported](), witness.server, witness.configuration
    if witness.heap_bytes and "l1CacheFreeSize" in server:
        share = (server["l1CacheFreeSize"] + server["l1CacheSize"]) / witness.heap_bytes
        figures["L1"] = Reported(round(share, DECIMALS), f"{JMX}: l1CacheFreeSize and l1CacheSize")
    if witness.heap_bytes and (line := witness.match(MEMSTORE)):
        share = bytes_of(line["limit"]) / witness.heap_bytes
        figures["memstore"] = Reported(round(share, DECIMALS), f"its log: {line[0]}")
    if witness.collector:
        name = {"ZGC": "zgc", "G1": "g1"}.get(witness.collector.split()[0], witness.collector)
        figures["collector"] = Reported(name, f"{JMX}: {witness.collector}")
    if line := witness.match(HANDLERS):
        figures["handlers"] = Reported(float(line["all"]), f"its log: {line[0][:60]}…")
        reads = witness.match(READ_HANDLERS)
        figures["handlers of reads"] = (
            Reported(float(reads["reads"]), f"its log: {reads[0]}")
            if reads
            else Reported("all", "its log: queues are not split")
        )
    if line := witness.match(CACHE_CONFIG):
        # These are the switches of the first store that opens.
        switches = dict(pair.split("=", 1) for pair in line["switches"].rstrip(",").split(", "))
        said = CACHE_SWITCHES.keys() & switches.keys()
        figures |= {name: Reported(switches[name], "its log: Created cacheConfig") for name in said}
    if line := witness.match(CACHE_STARTED):
        started = "its log: Started bucket cache"
        figures |= {
            "engine": Reported(witness.path(line["engine"]), started),
            "capacity": Reported(line["capacity"], started),
            "nominal block": Reported(line["block"], started),
            "writer threads": Reported(float(line["threads"]), started),
            "writer queue": Reported(float(line["queue"]), started),
            "persistence path": Reported(witness.path(line["path"]), started),
        }
        if witness.cache_file_bytes is not None:
            figures["BucketCache"] = Reported(witness.cache_file_bytes / (1 << 20), "the length of its cache file")
        if "l2CacheFreeSize" in server:
            whole = float(server["l2CacheFreeSize"] + server["l2CacheSize"])
            figures["whole buckets"] = Reported(whole, f"{JMX}: l2CacheFreeSize and l2CacheSize")
        if allocator := witness.match(ALLOCATOR):
            figures["largest bucket size"] = Reported(float(allocator["largest"]), f"its log: {allocator[0]}")
        if persister := witness.match(PERSISTER):
            figures["index interval"] = Reported(float(persister["interval"]), f"its log: {persister[0]}")
        if sizes := site.get("hbase.bucketcache.bucket.sizes"):
            figures["bucket sizes"] = Reported(sizes, SERVED)
        if chunk := site.get("hbase.bucketcache.persistence.chunksize"):
            figures["chunk of the index"] = Reported(float(chunk), SERVED)
        if threads := site.get("hbase.hfile.thread.prefetch"):
            figures["prefetch threads"] = Reported(float(threads), SERVED)
    else:
        figures["engine"] = Reported("none", "its log: no bucket cache is started")
    if connections := site.get("fs.s3a.connection.maximum"):
        figures["S3 connections"] = Reported(float(connections), SERVED)
    return figures


def master_figures(witness: DaemonReport) -> Mapping[str, Reported]:
    """Return the figures of a master that waits for RegionServers."""
    figures, site = {}, witness.configuration
    if line := witness.match(BALANCER):
        name = CACHE_AWARE if CACHE_AWARE_LINE in line["functions"] else STOCHASTIC
        figures["balancer"] = Reported(name, f"its log: CostFunctions=[{line['functions'][:60]}…]")
    if line := witness.match(MASTER_WAITS):
        most: Value = float(line["most"]) if line["most"].isdigit() else line["most"]
        figures["RegionServers waited for"] = Reported(most, f"its log: {line[0]}")
        figures["wait for RegionServers"] = Reported(float(line["timeout"]), f"its log: {line[0]}")
    if site:
        path = site.get("hbase.bucketcache.persistent.path")
        figures["persistence path"] = Reported(witness.path(path) if path else "none", SERVED)
        retained = f"forced, {site.get('hbase.master.scp.retain.assignment.force.retries')} retries"
        if site.get("hbase.master.scp.retain.assignment") != "true":
            retained = "off"
        elif site.get("hbase.master.scp.retain.assignment.force") != "true":
            retained = "asked for"
        figures["retained assignment"] = Reported(retained, SERVED)
    return figures


SMALL: Final = Small(memory_bytes=2 * GIB, data_bytes=64 * MIB)
HEARD_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.2
MEMORY_BEAN: Final = "java.lang:type=Memory"
COLLECTOR_BEANS: Final = "java.lang:type=GarbageCollector,*"
AS_RENDERED: Final = (
    "hbase.bucketcache.size",
    "hbase.bucketcache.persist.intervalinmillis",
    "hbase.bucketcache.ioengine",
    "hbase.bucketcache.persistent.path",
    "hbase.master.wait.on.regionservers.maxtostart",
    "hbase.master.wait.on.regionservers.timeout",
)
"""Properties that the lab scales for measurements, and that keep their rendered values here."""
SERVER: Final = "server-0"


class Daemons(Struct, frozen=True, kw_only=True, dict=True):
    """The running processes of one boot context, which starts the next daemon with another launch's files."""

    cluster: LabCluster
    admin: Admin

    def serve(self, launch: Launch) -> DaemonReport:
        """A RegionServer with the core node's files, once its first store is open.

        Raises OperationFailed with the line of its log that says why it did not start.
        """
        self.start_server(launch)
        self.wait("RegionServer's first store", lambda: CACHE_CONFIG.search(self.log()) is not None)
        ports = self.cluster.place.ports
        collector = str(bean(ports.servers_info[0], COLLECTOR_BEANS).get("name", ""))
        memory = bean(ports.servers_info[0], MEMORY_BEAN)
        return DaemonReport(
            log=self.log(),
            configuration=configuration(ports.servers_info[0]),
            server=bean(ports.servers_info[0], SERVER_BEAN),
            heap_bytes=int(memory["HeapMemoryUsage"]["max"]) if memory else 0,
            collector=collector.rpartition("name=")[2],
            cache_file_bytes=self.cache_file.stat().st_size if self.cache_file.exists() else None,
            stands_for={str(self.volume): node_files.CACHE},
        )

    def start_server(self, launch: Launch, index: bytes | None = None) -> None:
        """A RegionServer with an empty cache, once it answers for its counters. Raises OperationFailed.

        `index` is what it finds where its persistence index would be.
        """
        self.end(SERVER)
        self.cluster.clear_cache()
        for file in (self.cache_file, self.index_file):
            file.parent.mkdir(parents=True, exist_ok=True)
        if index is not None:
            self.index_file.write_bytes(index)
        overlay = as_rendered(launch, "core", self.volume)
        replace(self.cluster, launch=launch).start_server(LabServer(varied=overlay))

    def end(self, name: str) -> None:
        """Kills a daemon, and forgets what it said."""
        if process := self.cluster.running.pop(name, None):
            process.kill()
        self.cluster.place.log(name).unlink(missing_ok=True)
        self.cluster.place.output(name).unlink(missing_ok=True)

    def master(self, launch: Launch) -> DaemonReport:
        """A master with the primary node's files, once it waits for RegionServers. Raises OperationFailed."""
        place = self.cluster.place
        self.end("master")
        overlay = as_rendered(launch, "primary", self.volume)
        replace(self.cluster, launch=launch).start_master(overlay)
        self.wait("waiting master", lambda: MASTER_WAITS.search(self.log("master")) is not None, "master")
        return DaemonReport(
            log=self.log("master"),
            configuration=configuration(place.ports.master_info),
            stands_for={str(self.volume): node_files.CACHE},
        )

    def log(self, name: str = SERVER) -> str:
        """Return what a daemon has logged and printed since it was started last."""
        files = (self.cluster.place.log(name), self.cluster.place.output(name))
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files if file.exists())

    def wait(self, what: str, ready: Callable[[], bool], name: str = SERVER) -> None:
        """Until it is so. Raises OperationFailed after a while, or when the daemon has ended."""
        end = time.monotonic() + HEARD_SECONDS
        while not ready():
            if not self.cluster.running[name].is_alive or time.monotonic() > end:
                raise OperationFailed.of(
                    where=name,
                    what=f"no {what} in its log",
                    why="the daemon ended, or was too slow",
                    fix=f"read {self.cluster.place.log(name)}",
                )
            time.sleep(POLL_SECONDS)

    def is_alive(self, name: str) -> bool:
        """Return whether a daemon that was started has not ended."""
        return name in self.cluster.running and self.cluster.running[name].is_alive

    @property
    def volume(self) -> Path:
        """Return what stands for the mounted volume of the cache."""
        return self.cluster.volume(LabServer())

    @property
    def cache_file(self) -> Path:
        """Where a rendered cache lies here."""
        return self.volume / Path(node_files.CACHE_FILE).relative_to(node_files.CACHE)

    @property
    def index_file(self) -> Path:
        """Where its index does."""
        return self.volume / Path(node_files.INDEX_FILE).relative_to(node_files.CACHE)


def as_rendered(launch: Launch, group: str, volume: Path) -> Overlay:
    """Return what the lab would have scaled, as it was rendered; a directory stands for the volume of the cache."""
    site = site_properties(launch.settings.effective(group))
    properties = {key: site[key].replace(node_files.CACHE, str(volume)) if key in site else None for key in AS_RENDERED}
    return varied(properties, "nothing is loaded here, so the plan's own figure is had")


@contextmanager
def daemons(case: BootCase, root: Path) -> Iterator[Daemons]:
    """Run ZooKeeper, a master and a store for launches like this one within the block."""
    launch = case.launch
    release = releases()[launch.plan.release]
    programs = software(release)
    place = LabPaths(root=root, ports=free_ports())
    place.make()
    with ExitStack() as stack:
        if case.ground.in_s3:
            stack.enter_context(store(place, Program(java=programs.java, class_path=programs.store_class_path)))
        cluster = LabCluster(
            software=programs,
            place=place,
            launch=launch,
            miniature=miniature(launch.plan, launch.environment.workload, release, SMALL),
        )
        stack.callback(cluster.end)
        cluster.begin()
        yield Daemons(cluster=cluster, admin=stack.enter_context(Admin(admin_command(programs, place))))


def configuration(port: int) -> Mapping[str, str]:
    """Return what a daemon serves at /conf; empty where it does not answer."""
    connection = HTTPConnection(HOST, port, timeout=HEARD_SECONDS)
    try:
        connection.request("GET", "/conf?format=json")
        properties = json.loads(connection.getresponse().read())["properties"]
    except (OSError, HTTPException, ValueError, KeyError):
        return {}
    finally:
        connection.close()
    return {str(entry["key"]): str(entry["value"]) for entry in properties}
