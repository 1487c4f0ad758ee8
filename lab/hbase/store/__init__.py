"""The S3 of the lab: a real S3-protocol server on local files, and in front of it a proxy that counts and delays.

Both are processes, and HBase talks to the proxy only. `Settings` make it behave like S3: latency, bandwidth of one
connection, and refusals. What differs from Amazon S3: the proxy's delays are drawn, not caused by load; a limit of
requests holds for the whole bucket, not for a prefix; signatures are not checked.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from math import isfinite, log
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any, Final, Self

from msgspec import Struct
from msgspec.structs import asdict, fields

from lab.machine.paths import HOST, LabPaths, Ports
from lab.machine.process import Command, RunningProcess, start
from warmbase.ground.errors import OperationFailed

P99: Final = NormalDist().inv_cdf(0.99)
"""Standard deviations from the median to the 99th percentile."""
BURST_SECONDS: Final = 0.1  # judgement: requests come in bursts; ten bursts a second still make a rate


class Settings(Struct, frozen=True, kw_only=True):
    """The delays, limits and refusals of the proxy; the defaults change nothing.

    Latency is added to the server's own time before a response's first byte: constant, or with `latency_p99_ms` a
    lognormal whose median is `latency_ms`. Raises ValueError for what makes no sense.
    """

    latency_ms: float = 0.0
    latency_p99_ms: float | None = None
    stream_bytes_per_second: float | None = None
    """The bandwidth of one connection, in each direction separately."""
    slowed_fraction: float = 0.0
    """The share of requests, drawn with the seed, that are answered 503 SlowDown, which S3 asks to repeat later."""
    allowed_requests_per_second: float | None = None
    """The rate above which requests are answered 503 SlowDown."""

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in asdict(self).items() if value is not None}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value!r}; it must be a number that is not negative")
        for name in ("stream_bytes_per_second", "allowed_requests_per_second"):
            if numbers.get(name) == 0:
                raise ValueError(f"{name} is 0; leave it out for no limit")
        if self.slowed_fraction > 1:
            raise ValueError(f"slowed_fraction is {self.slowed_fraction}; it must be from 0 to 1")
        if self.latency_p99_ms is not None and not 0 < self.latency_ms <= self.latency_p99_ms:
            raise ValueError(
                f"latency_p99_ms is {self.latency_p99_ms}; its median, {self.latency_ms}, must be"
                " above 0 and at most as large"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Return the settings in a JSON object. Raises ValueError for an unknown key."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"{', '.join(unknown)}; the proxy has no such setting")
        return cls(**values)


class Conditions:
    """Settings in use: the same settings and seed give the same draws, request by request."""

    __slots__ = ("_allowance", "_as_of", "_latencies", "_mu", "_refusals", "_sigma", "settings")

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self._latencies = Random(f"latency {seed}")  # noqa: S311 - it must repeat
        self._refusals = Random(f"refusal {seed}")  # noqa: S311 - it must repeat
        is_spread = settings.latency_p99_ms is not None
        self._mu = log(settings.latency_ms) if is_spread else 0.0
        self._sigma = (log(settings.latency_p99_ms) - self._mu) / P99 if settings.latency_p99_ms else 0.0
        self._allowance = self._burst
        self._as_of: float | None = None

    def latency_seconds(self) -> float:
        """Return the latency of the next response."""
        if self.settings.latency_p99_ms is None:
            return self.settings.latency_ms / 1e3
        return self._latencies.lognormvariate(self._mu, self._sigma) / 1e3

    def refuses(self, now: float) -> bool:
        """Return whether to refuse the request that came `now`, in seconds of a monotonic clock."""
        fraction = self.settings.slowed_fraction
        # Each request takes one draw while any are refused, so that the rate does not change which ones.
        if fraction and self._refusals.random() < fraction:
            return True
        return self.settings.allowed_requests_per_second is not None and not self._is_allowed(now)

    @property
    def _burst(self) -> float:
        return max(1.0, (self.settings.allowed_requests_per_second or 0.0) * BURST_SECONDS)

    def _is_allowed(self, now: float) -> bool:
        passed = 0.0 if self._as_of is None else now - self._as_of
        self._as_of = now
        rate = self.settings.allowed_requests_per_second or 0.0
        self._allowance = min(self._burst, self._allowance + passed * rate)
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True


STORE_FILES: Final = b"/data/"
"""The part of a path that every object of a table has below `hbase.rootdir`, in the archive too."""
SYSTEM_TABLES: Final = b"/data/hbase/"
"""The path of HBase's own tables, in which each starting client looks up every region."""
OF_BUCKET: Final = re.compile(rb"/[^/]*/?")
TABLE: Final = re.compile(rb"/data/default/([^/]+)/")
"""The path of a table's objects, which contains the name of the table."""
PARTS: Final = re.compile(rb"(^|&)uploadId=")


class StoreCounters(Struct, frozen=True, kw_only=True):
    """Requests by kind, bytes with their heads, and the proxy's own CPU time. The difference of two is a window."""

    gets: int = 0
    """GETs of objects, including those of store files."""
    store_file_gets: int = 0
    """GETs of store files of tables, without HBase's own tables."""
    heads: int = 0
    lists: int = 0
    """Listings: GETs of a bucket, or of the parts of an upload."""
    puts: int = 0
    posts: int = 0
    deletes: int = 0
    others: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    slowed: int = 0
    """Requests that the proxy answered 503 SlowDown; each is counted under its kind too."""
    open_connections: int = 0
    """Connections that are open now; a window keeps the current number."""
    cpu_seconds: float = 0.0

    @property
    def requests(self) -> int:
        """Return the number of requests of all kinds."""
        return self.gets + self.heads + self.lists + self.puts + self.posts + self.deletes + self.others

    def __sub__(self, earlier: Self) -> StoreCounters:
        """Return the counts between the two."""
        before = asdict(earlier) | {"open_connections": 0}
        return StoreCounters(**{name: value - before[name] for name, value in asdict(self).items()})

    @classmethod
    def of(cls, values: Mapping[str, float]) -> StoreCounters:
        """Return the counters that the proxy reports. Raises TypeError or KeyError for any other answer."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})  # type: ignore[arg-type]


class Tally:
    """The proxy's running counters: `counts` has each field of StoreCounters, `table_gets` the GETs of each table."""

    __slots__ = ("counts", "table_gets")

    def __init__(self) -> None:
        self.counts = dict.fromkeys((field.name for field in fields(StoreCounters)), 0)
        self.table_gets: Counter[str] = Counter()

    def request(self, method: bytes, target: bytes) -> None:
        """Count one request."""
        path, _, query = target.partition(b"?")
        kind = _kind(method, path, query)
        self.counts[kind] += 1
        if kind == "gets":
            self.counts["store_file_gets"] += STORE_FILES in path and SYSTEM_TABLES not in path
            if table := TABLE.search(path):
                self.table_gets[table[1].decode()] += 1

    def add(self, name: str, count: int) -> None:
        """Add to one counter."""
        self.counts[name] += count

    def reset(self) -> None:
        """Start counting from zero again; open connections stay counted."""
        open_connections = self.counts["open_connections"]
        self.counts = dict.fromkeys(self.counts, 0) | {"open_connections": open_connections}
        self.table_gets.clear()


KINDS: Final = {b"HEAD": "heads", b"PUT": "puts", b"POST": "posts", b"DELETE": "deletes"}


def _kind(method: bytes, path: bytes, query: bytes) -> str:
    if method != b"GET":
        return KINDS.get(method, "others")
    return "lists" if OF_BUCKET.fullmatch(path) or PARTS.search(query) else "gets"


ANSWER_SECONDS: Final = 10.0


class StoreClient(Struct, frozen=True, kw_only=True):
    """A running store. Every method raises OperationFailed when its proxy does not answer."""

    port: int
    control_port: int

    @property
    def endpoint(self) -> str:
        """Return the address for `fs.s3a.endpoint`."""
        return f"http://{HOST}:{self.port}"

    @property
    def is_up(self) -> bool:
        """Return whether the proxy answers."""
        try:
            self.settings()
        except OperationFailed:
            return False
        return True

    def counters(self) -> StoreCounters:
        """Return the counts since the start or the last reset."""
        return StoreCounters.of(self._ask("GET", "/counters"))

    def table_gets(self) -> Counter[str]:
        """Return the GETs of the store files of each table since the start or the last reset."""
        return Counter(self._ask("GET", "/table-gets"))

    def settings(self) -> Settings:
        """Return the settings in force."""
        return Settings.of(self._ask("GET", "/settings"))

    def set(self, settings: Settings) -> None:
        """Apply the settings from the next request on; random draws restart from the seed."""
        self._ask("POST", "/settings", asdict(settings))

    def reset(self) -> None:
        """Reset every counter to zero."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str, value: object = None) -> dict[str, Any]:
        connection = HTTPConnection(HOST, self.control_port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body=json.dumps(value).encode())
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != HTTPStatus.OK:
                raise OperationFailed.of(
                    where="the store's proxy",
                    what=f"refused {method} {path}",
                    why=body.decode(errors="replace"),
                    fix="read the proxy's log",
                )
            return dict(json.loads(body))
        except (OSError, HTTPException, ValueError) as error:
            raise OperationFailed.of(
                where="the store's proxy",
                what=f"does not answer {method} {path}",
                why=str(error),
                fix="end the lab and start it again",
            ) from None
        finally:
            connection.close()


BUCKET: Final = "lab"
ROOT: Final = f"{BUCKET}/hbase"
"""`hbase.rootdir` without its scheme; the same path below `objects` holds its files."""
MAIN: Final = "org.gaul.s3proxy.Main"
# Uploads by S3A in parts of 16 MiB, 1 GiB in all, and reads by eight connections at once ran in 64 MiB; twice that.
HEAP_MIB: Final = 128
# The second compiler makes reads cheaper only after tens of thousands, more than most runs of the lab need: measured,
# 0.23 ms of CPU for each of the first 20,000 GETs of 64 KiB with the first compiler alone, 0.55 ms with both.
FLAGS: Final = (f"-Xmx{HEAP_MIB}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
# S3A's largest request that is signed whole: a part, 64 MiB unless `fs.s3a.multipart.size` says otherwise; twice that.
SIGNED_BYTES: Final = 128 * 1024 * 1024
START_SECONDS: Final = 900.0  # judgement: seconds on two idle cores; this ends only what hangs
REQUEST_SECONDS: Final = 5.0

LOGGING: Final = """\
<configuration>
  <statusListener class="ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{ISO8601} %-5level %logger{1}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"""


class Program(Struct, frozen=True, kw_only=True):
    """S3Proxy's jars, and the `java` executable that runs them."""

    java: Path
    class_path: Sequence[str]


def start_server(place: LabPaths, program: Program, *, stays: bool = False) -> RunningProcess:
    """Start the server with an empty bucket and wait until that answers. Raises OperationFailed."""
    directory = place.configuration("store")
    directory.mkdir(parents=True, exist_ok=True)
    (place.objects / BUCKET).mkdir(parents=True, exist_ok=True)
    properties = directory / "s3proxy.properties"
    properties.write_text(_properties(place), encoding="ascii")
    logging = directory / "logback.xml"
    logging.write_text(LOGGING, encoding="utf-8")
    arguments = (
        str(program.java),
        *FLAGS,
        f"-Dlogback.configurationFile={logging}",
        *("-cp", os.pathsep.join(program.class_path), MAIN),
        *("--properties", str(properties)),
    )
    running = start(
        Command(name="store", arguments=arguments, directory=directory, output=place.output("store"), stays=stays)
    )
    try:
        running.wait_until(lambda: answers(place.ports.store), START_SECONDS, "answer to HEAD of its bucket")
    except BaseException:
        running.kill()
        raise
    return running


def answers(port: int) -> bool:
    """Return whether the server answers and the bucket exists."""
    connection = HTTPConnection(HOST, port, timeout=REQUEST_SECONDS)
    try:
        connection.request("HEAD", f"/{BUCKET}")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _properties(place: LabPaths) -> str:
    values = {
        "s3proxy.endpoint": f"http://{HOST}:{place.ports.store}",
        # Signatures are not checked: that costs CPU that HBase needs, and only this machine has access.
        "s3proxy.authorization": "none",
        "s3proxy.v4-max-non-chunked-request-size": str(SIGNED_BYTES),
        # Otherwise it answers 501 to the listings of Trino, whose S3 client sends a header that S3Proxy does not know.
        "s3proxy.ignore-unknown-headers": "true",
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(place.objects),
    }
    return "".join(f"{key}={_escaped(value)}\n" for key, value in values.items())


def _escaped(value: str) -> str:
    """Return the text as java.util.Properties reads it: backslashes doubled, other than ASCII as UTF-16 escapes."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if code < 0x7F else f"\\u{code:04x}" for code in codes)  # noqa: PLR2004 - ASCII


PROJECT: Final = Path(__file__).parents[3]
# judgement: Python starts in well under a second; this ends only what hangs.
PROXY_START_SECONDS: Final = 900.0
STOP_SECONDS: Final = 10.0


class RunningStore(Struct, frozen=True, kw_only=True):
    """A running store and its two processes."""

    store: StoreClient
    proxy: RunningProcess
    server: RunningProcess

    def stop(self) -> None:
        """End the proxy, then the server; stored objects stay."""
        self.proxy.stop(STOP_SECONDS)
        self.server.stop(STOP_SECONDS)


def store_at(ports: Ports) -> StoreClient:
    """Return the client of a store that runs on these ports."""
    return StoreClient(port=ports.endpoint, control_port=ports.control)


def start_store(place: LabPaths, program: Program, *, seed: int = 0, stays: bool = False) -> RunningStore:
    """Start both and wait until they answer. Raises OperationFailed, with nothing left running."""
    server = start_server(place, program, stays=stays)
    try:
        proxy = start_proxy(place, seed=seed, stays=stays)
    except BaseException:
        server.kill()
        raise
    return RunningStore(store=store_at(place.ports), proxy=proxy, server=server)


@contextmanager
def store(place: LabPaths, program: Program, *, seed: int = 0) -> Iterator[StoreClient]:
    """Run a store within the block."""
    running = start_store(place, program, seed=seed)
    try:
        yield running.store
    finally:
        running.stop()


def start_proxy(place: LabPaths, *, seed: int = 0, stays: bool = False) -> RunningProcess:
    """Start the proxy alone, in front of whatever listens on `place.ports.store`. Raises OperationFailed."""
    ports = place.ports
    arguments = (
        *(sys.executable, "-m", "lab.hbase.store.proxy"),
        *("--listen-port", str(ports.endpoint)),
        *("--upstream-port", str(ports.store)),
        *("--control-port", str(ports.control)),
        *("--seed", str(seed)),
    )
    output = place.output("store-proxy")
    running = start(Command(name="store proxy", arguments=arguments, directory=PROJECT, output=output, stays=stays))
    try:
        running.wait_until(lambda: store_at(ports).is_up, PROXY_START_SECONDS, "answer on its control port")
    except BaseException:
        running.kill()
        raise
    return running
