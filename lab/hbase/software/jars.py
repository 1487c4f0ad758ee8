"""The jars that the lab runs on, as locked in `jars.csv`, and their download from a Maven repository.

`lab.hbase.software.lock` writes `jars.csv` from the poms. Several jars are downloaded at once, and each is verified
before it gets its name.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import IO, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from msgspec import Struct, field

from warmbase.facts import rows
from warmbase.ground.errors import OperationFailed

LOCK: Final = Path(__file__).with_name("jars.csv")
COLUMNS: Final = ("sets", "group", "artifact", "version", "classifier", "bytes", "sha256")
STORE: Final = "store"
COMPILER: Final = "compiler"
KDC: Final = "kdc"
SHELL: Final = "shell"
"""The name of the set with the Ruby in which HBase's shell is written."""
HBASE: Final = "hbase-"
"""The prefix of the names of HBase's sets; the version follows."""


class Jar(Struct, frozen=True, kw_only=True):
    """One file of a Maven repository, and what it must hold."""

    group: str
    artifact: str
    version: str
    classifier: str
    size_bytes: int
    sha256: str
    extension: str = "jar"

    @property
    def name(self) -> str:
        """Return its file name."""
        ending = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{ending}.{self.extension}"

    @property
    def path(self) -> str:
        """Return its path in a Maven repository."""
        return "/".join((*self.group.split("."), self.artifact, self.version, self.name))


@cache
def jar_sets() -> Mapping[str, tuple[Jar, ...]]:
    """Return the jars of each set by name; a jar of several sets is the same object in each."""
    sets: dict[str, list[Jar]] = {}
    for row in rows(LOCK):
        jar = Jar(
            group=row["group"],
            artifact=row["artifact"],
            version=row["version"],
            classifier=row["classifier"],
            size_bytes=int(row["bytes"]),
            sha256=row["sha256"],
        )
        for name in row["sets"].split():
            sets.setdefault(name, []).append(jar)
    return {name: tuple(jars) for name, jars in sets.items()}


def hbase_sets() -> tuple[str, ...]:
    """Return the names of the sets that hold an HBase."""
    return tuple(name for name in jar_sets() if name.startswith(HBASE))


def version_of(artifact: str, name: str) -> str:
    """Return the version of an artifact in a set. Raises KeyError for an artifact that the set lacks."""
    return {jar.artifact: jar.version for jar in jar_sets()[name]}[artifact]


CENTRAL: Final = "https://repo1.maven.org/maven2"
PARTIAL: Final = ".part"
"""The suffix of an incomplete file."""
# judgement: the pause between two small files is a round trip or two; more connections would strain a public server.
AT_ONCE: Final = 6
ANSWER_SECONDS: Final = 20.0
TRIES: Final = 5
SET_UP_AGAIN: Final = "set up again: finished downloads stay"
FIRST_PAUSE_SECONDS: Final = 0.5  # it doubles each time, to 7.5 s in all
CHUNK_BYTES: Final = 1 << 16
REPORT_SECONDS: Final = 2.0
TRANSIENT: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


class Repository(Struct, frozen=True, kw_only=True):
    """Where jars come from, and how patient to be with it."""

    url: str = CENTRAL
    pause_seconds: float = FIRST_PAUSE_SECONDS


def download(
    jars: Sequence[Jar], directory: Path, say: Callable[[str], None], repository: Repository | None = None
) -> None:
    """Has each jar at its Maven path under the directory; a file is there whole and verified, or not at all.

    Raises OperationFailed for one that cannot be had or is not what is locked. What came before it stays.
    """
    source, stopped = repository or Repository(), Event()
    progress = DownloadProgress(say, sum(jar.size_bytes for jar in jars))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        fetched = {pool.submit(_fetch, jar, directory / jar.path, source, stopped): jar for jar in jars}
        try:
            for future in as_completed(fetched):
                future.result()
                progress.add(fetched[future])
        except BaseException:
            # Running downloads end at their next chunk, and delete their partial files.
            stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


class DownloadProgress(Struct):
    """Says how far it is, now and then."""

    say: Callable[[str], None]
    total_bytes: int
    fetched_bytes: int = 0
    jars: int = 0
    reported: float = field(default_factory=time.monotonic)

    def add(self, jar: Jar) -> None:
        """One more jar is there."""
        self.fetched_bytes += jar.size_bytes
        self.jars += 1
        last = self.fetched_bytes == self.total_bytes
        if last or time.monotonic() - self.reported > REPORT_SECONDS:
            self.reported = time.monotonic()
            self.say(f"{self.jars} jars, {self.fetched_bytes / 1e6:.0f} of {self.total_bytes / 1e6:.0f} MB")


def _fetch(jar: Jar, target: Path, source: Repository, stopped: Event) -> None:
    url = f"{source.url}/{jar.path}"
    for attempt in range(1, TRIES + 1):
        try:
            _store(jar, url, target, stopped)
        except (OSError, HTTPException) as error:
            # An error of a file here (a full disk, no permission) is not transient; those of the network name no file.
            is_local = isinstance(error, PermissionError) or getattr(error, "filename", None) is not None
            transient = error.code in TRANSIENT if isinstance(error, HTTPError) else not is_local
            if attempt == TRIES or not transient:
                raise OperationFailed.of(
                    where=url,
                    what=f"could not be downloaded in {attempt} {'tries' if attempt > 1 else 'try'}",
                    why=str(error),
                    fix=f"let this machine reach it (HTTPS_PROXY and SSL_CERT_FILE are honoured), and {SET_UP_AGAIN}",
                ) from None
            if stopped.wait(source.pause_seconds * 2 ** (attempt - 1)):
                raise _failed_download(url) from None
        else:
            return


def _store(jar: Jar, url: str, target: Path, stopped: Event) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=PARTIAL)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            _receive(jar, url, file, stopped)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _receive(jar: Jar, url: str, file: IO[bytes], stopped: Event) -> None:
    """Writes what the URL holds. Raises OperationFailed unless it is the jar, to the byte."""
    digest, received = hashlib.sha256(), 0
    request = Request(url, headers={"User-Agent": "warmbase"})  # noqa: S310 - the scheme is CENTRAL's, or a test's
    with urlopen(request, timeout=ANSWER_SECONDS) as answer:  # noqa: S310
        while chunk := answer.read(min(CHUNK_BYTES, jar.size_bytes + 1 - received)):
            if stopped.is_set():
                raise _failed_download(url)
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
    if received < jar.size_bytes:
        raise ConnectionError(f"{received} of {jar.size_bytes} bytes came")
    if received > jar.size_bytes or digest.hexdigest() != jar.sha256:
        raise OperationFailed.of(
            where=url,
            what="is not the file that is locked, and was discarded",
            why=f"{received} bytes with SHA-256 {digest.hexdigest()}; expected {jar.size_bytes} bytes with"
            f" {jar.sha256}",
            fix="a proxy may answer with a page of its own: fetch the URL by hand and look at the answer",
        )


def _failed_download(url: str) -> OperationFailed:
    return OperationFailed.of(where=url, what="was given up", why="another download has failed", fix=SET_UP_AGAIN)
