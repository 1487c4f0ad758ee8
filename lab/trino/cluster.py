"""A Trino cluster on this machine: a coordinator, which reads no data, and two workers, each with its own caches.

The properties that the lab changes each have a reason: addresses, paths, the store and the scale. `TrinoClient` sends a
statement over Trino's HTTP protocol, follows the answer to its last page, and returns the rows. Source: "Trino client
REST API" in Trino's documentation.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from lab.hbase.configuration import ADDRESSES, FIRST_TIER, PATHS, SCALE, STORE, Overlay
from lab.hbase.store import BUCKET
from lab.machine.paths import HOST, LabPaths
from lab.machine.process import Command, RunningProcess, start, stop_together
from lab.trino.prediction import QueryBytes
from lab.trino.software import TrinoSoftware
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB

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
        preferred = (str(self.preferred_hosts), "each file on one worker only")
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
                **({"fs.cache.preferred-hosts-count": preferred} if self.preferred_hosts is not None else {}),
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


USER: Final = "lab"
ANSWER_SECONDS: Final = 30.0
STATEMENT_SECONDS: Final = 180.0  # judgement: the longest statement, which writes a table, takes about 20 s


class Answer(Struct, frozen=True):
    """The rows of a statement, and how long the client waited for them."""

    rows: tuple[tuple[Any, ...], ...]
    seconds: float


class TrinoClient(Struct, frozen=True, kw_only=True):
    """Sends statements to the coordinator on a port of this machine."""

    port: int
    session: Mapping[str, str] = field(default_factory=dict)
    """Session properties of every statement."""

    def run(self, statement: str) -> Answer:
        """Run a statement to its end. Raises OperationFailed where it fails, or where there is no answer in time."""
        began, rows = time.monotonic(), list[tuple[Any, ...]]()
        page = self._ask("POST", "/v1/statement", statement)
        while True:
            rows += map(tuple, page.get("data", ()))
            if "error" in page:
                # Join the message of the error with those of its causes.
                error = page["error"]
                messages, cause = [str(error.get("message"))], error.get("failureInfo", {}).get("cause")
                while cause:
                    messages.append(str(cause.get("message")))
                    cause = cause.get("cause")
                raise self._failed(statement, "; ".join(messages))
            if "nextUri" not in page:
                return Answer(tuple(rows), time.monotonic() - began)
            if time.monotonic() - began > STATEMENT_SECONDS:
                raise self._failed(statement, f"it did not end within {STATEMENT_SECONDS:.0f} s")
            page = self._ask("GET", urlsplit(page["nextUri"]).path)

    def is_ready(self) -> bool:
        """Return whether the server answers and has finished starting."""
        try:
            return self._ask("GET", "/v1/info").get("starting") is False
        except OperationFailed:
            return False

    def _ask(self, method: str, path: str, body: str | None = None) -> dict[str, Any]:
        headers = {"X-Trino-User": USER, "Content-Type": "text/plain; charset=utf-8"}
        if self.session:
            headers["X-Trino-Session"] = ",".join(f"{name}={value}" for name, value in self.session.items())
        connection = HTTPConnection(HOST, self.port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body=body and body.encode(), headers=headers)
            return dict(json.loads(connection.getresponse().read()))
        except (OSError, HTTPException, ValueError) as error:
            raise self._failed(f"{method} {path}", str(error)) from None
        finally:
            connection.close()

    def _failed(self, what: str, why: str) -> OperationFailed:
        return OperationFailed.of(where=f"Trino on port {self.port}", what=what, why=why, fix="read the server's log")


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
            answer = self.client.run("SELECT node_id FROM system.runtime.nodes WHERE state = 'active'")
            all_active = {str(node) for (node,) in answer.rows} >= set(self.workers)
            active = (active or time.monotonic()) if all_active else None
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
