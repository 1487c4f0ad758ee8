"""The store's two processes: S3Proxy, an S3-protocol server on local files, and the proxy that HBase talks to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.paths import HOST, LabPaths, Ports
from lab.hbase.process import Command, RunningProcess, start
from lab.hbase.store.client import StoreClient

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
ANSWER_SECONDS: Final = 5.0

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
    connection = HTTPConnection(HOST, port, timeout=ANSWER_SECONDS)
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
