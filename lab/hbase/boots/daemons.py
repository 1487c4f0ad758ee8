"""One daemon at a time with somebody's rendered files: started, heard, and ended by force.

Nothing is scaled but the heap. A cache file is sparse, so the planned cache has its planned size here too; and a master
waits for as many RegionServers as it was told to, for what it says is said before they come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from configurations import layout
from configurations.launch import Launch
from configurations.node_files import site_properties
from facts.releases import releases
from lab.hbase.admin import Admin
from lab.hbase.boots.boot_matrix import BootCase
from lab.hbase.boots.daemon_report import CACHE_CONFIG, MASTER_WAITS, DaemonReport
from lab.hbase.cluster import LabCluster, LabServer
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.laboratory import admin_command
from lab.hbase.overlay import Overlay, varied
from lab.hbase.paths import HOST, LabPaths, free_ports
from lab.hbase.software import software
from lab.hbase.store.processes import Program, store
from lab.model.scaled_plan import Small, miniature
from sizing.problem import OperationFailed
from sizing.units import GIB, MIB

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
        return self.witness()

    def start_server(self, launch: Launch, index: bytes | None = None) -> None:
        """A RegionServer with an empty cache, once it answers for its counters. Raises OperationFailed.

        `index` is what it finds where its persistence index would be.
        """
        self.clear()
        if index is not None:
            self.index_file.write_bytes(index)
        overlay = as_rendered(launch, "core", self.volume)
        replace(self.cluster, launch=launch).start_server(LabServer(varied=overlay))

    def clear(self) -> None:
        """Ends the RegionServer, and removes its cache, its index and its log."""
        self.end(SERVER)
        self.cluster.clear_cache()
        for file in (self.cache_file, self.index_file):
            file.parent.mkdir(parents=True, exist_ok=True)

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
            log=self.log("master"), configuration=configuration(place.ports.master_info), stands_for=self._stands_for
        )

    def witness(self) -> DaemonReport:
        """Return what the running RegionServer says."""
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
            stands_for=self._stands_for,
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
        return self.volume / Path(layout.CACHE_FILE).relative_to(layout.CACHE)

    @property
    def index_file(self) -> Path:
        """Where its index does."""
        return self.volume / Path(layout.INDEX_FILE).relative_to(layout.CACHE)

    @property
    def _stands_for(self) -> Mapping[str, str]:
        return {str(self.volume): layout.CACHE}


def as_rendered(launch: Launch, group: str, volume: Path) -> Overlay:
    """Return what the lab would have scaled, as it was rendered; a directory stands for the volume of the cache."""
    site = site_properties(launch.settings.effective(group))
    properties = {key: site[key].replace(layout.CACHE, str(volume)) if key in site else None for key in AS_RENDERED}
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
