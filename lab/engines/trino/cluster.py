"""A Trino cluster on this machine: a coordinator, which reads no data, and two workers, each with its own caches."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from lab.engines.trino.client import TrinoClient
from lab.engines.trino.model import QueryBytes
from lab.engines.trino.overlay import ENVIRONMENT, HEAP_MIB, Catalog, properties_text, server_overlay
from lab.engines.trino.software import TrinoSoftware
from lab.hbase.jvm import FIRST_TIER
from lab.hbase.paths import LabPaths
from lab.hbase.process import Command, RunningProcess, start, stop_together
from sizing.problem import OperationFailed

WORKERS: Final = 2
COORDINATOR: Final = "coordinator"
MAIN: Final = "io.trino.server.TrinoServer"
FLAGS: Final = (
    f"-Xmx{HEAP_MIB}m",
    "-XX:+UseG1GC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:ReservedCodeCacheSize=256m",
    "-Djdk.attach.allowAttachSelf=true",
    *FIRST_TIER,
)
LEVELS: Final = "io.trino=INFO\nalluxio.client.file.cache=INFO\n"
START_SECONDS: Final = 900.0  # judgement: three servers on two idle cores take 40 s; this ends only what hangs
STOP_SECONDS: Final = 30.0
RING_SECONDS: Final = 6.0
"""The coordinator looks every 5 s which workers there are (ConsistentHashingHostAddressProvider)."""
ANNOUNCED_SECONDS: Final = 30.0
"""The time for which the coordinator counts on an announcement of a worker that has died (`discovery.max-age`)."""
POLL_SECONDS: Final = 0.5
RESTORED: Final = re.compile(r"PageStore \((?P<root>\S+)\) restored with (?P<pages>\d+) pages")
STORE_TYPE: Final = "LOCAL"
"""The directory below a cache directory in which Alluxio's page store in local files has its pages."""


class TrinoCluster(Struct, kw_only=True):
    """Starts and ends the servers; `ports` has the coordinator's first."""

    software: TrinoSoftware
    place: LabPaths
    catalogs: Sequence[Catalog]
    endpoint: str
    ports: Sequence[int]
    running: dict[str, RunningProcess] = field(default_factory=dict)

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the names of the workers."""
        return tuple(f"worker-{number}" for number in range(1, WORKERS + 1))

    @property
    def client(self) -> TrinoClient:
        """Return a client of the coordinator."""
        return TrinoClient(port=self.ports[0])

    def directory(self, node: str) -> Path:
        """Return the directory of one server's files."""
        return self.place.root / node

    def pages(self, catalog: Catalog) -> tuple[int, ...]:
        """Return how many pages of a catalog each worker has on disk."""
        caches = (catalog.cache(self.directory(worker)) for worker in self.workers)
        return tuple(sum(1 for path in cache.rglob("*") if path.is_file()) for cache in caches)

    def begin(self) -> float:
        """Start every server and wait until the workers can be given splits; return the seconds."""
        return self._start(COORDINATOR, *self.workers, active_seconds=0.0)

    def restart(self) -> float:
        """Stop the first worker, kill the others, and start all; return the seconds until they are active for good.

        Until the announcements of the old processes have expired, the coordinator may lose a worker again, and give its
        files to another.
        """
        first, *others = (self.running[worker] for worker in self.workers)
        first.stop(STOP_SECONDS)
        for other in others:
            other.kill()
        return self._start(*self.workers, active_seconds=ANNOUNCED_SECONDS)

    def _start(self, *nodes: str, active_seconds: float) -> float:
        """Start servers; return the seconds until all workers are active, and stay so for at least that time."""
        began = time.monotonic()
        for node in nodes:
            self.running[node] = start(self._command(node))
        for node in nodes:
            client = TrinoClient(port=self._port(node))
            self.running[node].wait_until(client.is_ready, START_SECONDS, "answer that it has started")
        active = self._wait_until_active(active_seconds)
        time.sleep(RING_SECONDS)
        return active - began

    def end(self) -> None:
        """End every server that runs."""
        stop_together([process for process in self.running.values() if process.is_alive], STOP_SECONDS)

    def read_bytes(self, catalog: Catalog) -> QueryBytes:
        """Return what the workers have read of a catalog since they started, from Trino's own counters."""
        answer = self.client.run(
            'SELECT "cachereads.alltime.total", "externalreads.alltime.total", "externalreads.alltime.count" '  # noqa: S608 - names of the lab
            f'FROM jmx.current."io.trino.filesystem.alluxio:catalog={catalog.name},name={catalog.name},'
            f"type=alluxiocachestats\" WHERE node <> '{COORDINATOR}'"
        )
        cached, fetched, gets = (round(sum(column)) for column in zip(*answer.rows, strict=True))
        return QueryBytes(cached_bytes=cached, fetched_bytes=fetched, gets=gets)

    def restored_pages(self, catalog: Catalog) -> tuple[int, ...]:
        """Return how many pages each worker restored from its cache directory when it last started, as it logged."""
        restored = []
        for worker in self.workers:
            root = str(catalog.cache(self.directory(worker)) / STORE_TYPE)
            log = self.place.output(worker).read_text(encoding="utf-8", errors="replace")
            restored.append(sum([int(line["pages"]) for line in RESTORED.finditer(log) if line["root"] == root][-1:]))
        return tuple(restored)

    def _active(self) -> set[str]:
        answer = self.client.run("SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
        return {str(node) for (node,) in answer.rows}

    def _wait_until_active(self, seconds: float) -> float:
        """Wait until all workers have been active for so many seconds; return the moment at which that began."""
        deadline, active = time.monotonic() + START_SECONDS, None
        while active is None or time.monotonic() - active < seconds:
            if time.monotonic() > deadline:
                raise OperationFailed.of(
                    where="the Trino cluster",
                    what=f"its workers are not all active for {seconds:.0f} s within {START_SECONDS:.0f} s",
                    why="",
                    fix=f"read the logs in {self.place.logs}",
                )
            active = (active or time.monotonic()) if self._active() >= set(self.workers) else None
            time.sleep(POLL_SECONDS)
        return active

    def _port(self, node: str) -> int:
        return self.ports[(COORDINATOR, *self.workers).index(node)]

    def _command(self, node: str) -> Command:
        """Write the configuration of a server, and return how it is started."""
        directory = self.directory(node)
        etc = directory / "etc"
        (etc / "catalog").mkdir(parents=True, exist_ok=True)
        server = server_overlay(
            is_coordinator=node == COORDINATOR,
            port=self._port(node),
            coordinator_port=self.ports[0],
            etc=etc,
            plugins=self.software.server / "plugin",
        )
        (etc / "config.properties").write_text(properties_text(server.laid_over({})), encoding="ascii")
        (etc / "log.properties").write_text(LEVELS, encoding="ascii")
        catalogs = {"jmx": {"connector.name": "jmx"}, "tpch": {"connector.name": "tpch"}}
        catalogs |= {one.name: one.overlay(directory, self.endpoint).laid_over({}) for one in self.catalogs}
        for name, properties in catalogs.items():
            (etc / "catalog" / f"{name}.properties").write_text(properties_text(properties), encoding="ascii")
        settings = {
            "node.id": node,
            "node.environment": ENVIRONMENT,
            "node.data-dir": directory / "data",
            "config": etc / "config.properties",
            "log.levels-file": etc / "log.properties",
            "java.io.tmpdir": self.place.scratch,
        }
        flags = [f"-D{key}={value}" for key, value in settings.items()]
        class_path = str(self.software.server / "lib" / "*")
        return Command(
            name=node,
            arguments=(str(self.software.java), *FLAGS, *flags, "-cp", class_path, MAIN),
            directory=directory,
            output=self.place.output(node),
        )
