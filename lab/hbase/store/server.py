"""The S3-protocol server: S3Proxy on local files, a JVM of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from lab.hbase.paths import HOST, LabPaths
from lab.hbase.process import Command, RunningProcess, start

__all__ = ["BUCKET", "ROOT", "Program", "answers", "start_server"]

BUCKET: Final = "lab"
ROOT: Final = f"{BUCKET}/hbase"
"""`hbase.rootdir` without its scheme; below `objects`, the same files."""
MAIN: Final = "org.gaul.s3proxy.Main"
# Uploads by S3A in parts of 16 MiB, 1 GiB in all, and reads by eight connections at once ran in 64 MiB; twice that.
HEAP_MIB: Final = 128
# The second compiler makes reads cheaper only after tens of thousands, more than most runs of the lab need: measured,
# 0.23 ms of CPU for each of the first 20,000 GETs of 64 KiB with the first compiler alone, 0.55 ms with both.
FLAGS: Final = (f"-Xmx{HEAP_MIB}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
# S3A's largest request that is signed whole: a part, 64 MiB unless `fs.s3a.multipart.size` says otherwise; twice that.
SIGNED_BYTES: Final = 128 * 1024 * 1024
START_SECONDS: Final = 60.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """S3Proxy's jars, and the `java` that runs them."""

    java: Path
    class_path: Sequence[str]


def start_server(place: LabPaths, program: Program, *, stays: bool = False) -> RunningProcess:
    """Starts it with the bucket made; returns when that answers. Raises OperationFailed."""
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
    """Return whether the bucket is there."""
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
        # Any signature will do: to check it costs CPU that HBase needs, and only this machine can ask.
        "s3proxy.authorization": "none",
        "s3proxy.v4-max-non-chunked-request-size": str(SIGNED_BYTES),
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": str(place.objects),
    }
    return "".join(f"{key}={_escaped(value)}\n" for key, value in values.items())


def _escaped(value: str) -> str:
    """As java.util.Properties reads it: backslashes double, what is not ASCII as UTF-16 escapes."""
    units = value.replace("\\", "\\\\").encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if code < 0x7F else f"\\u{code:04x}" for code in codes)  # noqa: PLR2004 - ASCII
