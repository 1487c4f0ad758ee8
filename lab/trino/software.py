"""The software of the Trino lab: a Trino server, the Java that it needs, and the S3 server of the HBase lab.

The server is one archive of Maven Central with every plugin; what the lab does not load is deleted after unpacking.
The Java runtime is a Python package, which uv verifies by the hashes in `runtime.txt`. It has a directory of its own,
because HBase needs an older one.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.software.jars import STORE, Jar, Repository, download, jar_sets, version_of
from lab.hbase.software.setup import (
    PACKAGE,
    Runtime,
    jars_directory,
    missing_jars,
    refuse_full_disk,
    run_uv,
    runtime_in,
    set_up_alone,
    unsupported,
)
from lab.hbase.store import Program
from lab.machine.paths import home
from warmbase.ground.errors import InvalidInput, OperationFailed, Problem

SERVER: Final = Jar(
    group="io.trino",
    artifact="trino-server",
    version="476",
    classifier="",
    size_bytes=821_045_832,
    sha256="cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f",
    extension="tar.gz",
)
PLUGINS: Final = ("hive", "jmx", "tpch")
UNPACKED_BYTES: Final = 900_000_000
RUNTIME_BYTES: Final = 108_400_000
JAVA_LOCK: Final = Path(__file__).with_name("runtime.txt")


class TrinoSoftware(Struct, frozen=True, kw_only=True):
    """The programs of the Trino lab as they are installed on this machine."""

    java: Path
    server: Path
    """The unpacked archive, with `lib` and `plugin` in it."""
    store: Program
    versions: tuple[tuple[str, str], ...]
    """Names and versions for reports."""


def trino_software() -> TrinoSoftware:
    """Return the installed software. Raises InvalidInput where the lab is not set up for Trino."""
    installed = _runtime()
    if installed is None or problems():
        raise InvalidInput(
            Problem(
                where=str(_home()),
                what="the lab is not set up for Trino",
                why=reason,
                fix="run `warmbase lab setup --engine trino`",
            )
            for reason in problems()
        )
    jars = jars_directory()
    return TrinoSoftware(
        java=installed.java,
        server=_server(),
        store=Program(java=installed.java, class_path=[str(jars / jar.path) for jar in jar_sets()[STORE]]),
        versions=(
            ("Trino", SERVER.version),
            ("S3Proxy", version_of("s3proxy", STORE)),
            ("Java", f"{installed.version} (Eclipse Temurin)"),
        ),
    )


def problems() -> tuple[str, ...]:
    """Return why the Trino lab cannot run here, as sentences; none where it can."""
    return tuple(_problems())


def _problems() -> Iterator[str]:
    if reason := unsupported():
        yield reason
    elif _runtime() is None:
        yield f"no Java runtime for Trino is installed in {_home()}"
    if not _server().exists():
        yield f"Trino {SERVER.version} is not unpacked in {_home()}"
    if missing := missing_jars(STORE):
        yield f"{len(missing)} jars of the S3 server are not in {jars_directory()}"


def set_up(say: Callable[[str], None], repository: Repository | None = None) -> None:
    """Install what the Trino lab needs and does not have yet; run it again if it was interrupted.

    Raises OperationFailed where something cannot be installed: no such platform, too little space, no network.
    """
    with set_up_alone():
        missing = [*missing_jars(STORE), *([] if _server().exists() else [SERVER])]
        unpacked_bytes = UNPACKED_BYTES if SERVER in missing else 0
        runtime_bytes = 0 if _runtime() else RUNTIME_BYTES
        refuse_full_disk((home(), sum(jar.size_bytes for jar in missing) + unpacked_bytes + runtime_bytes))
        if _runtime() is None:
            _install_runtime(say)
        if missing:
            say(f"downloading {len(missing)} files to {jars_directory()}")
            download(missing, jars_directory(), say, repository)
        if SERVER in missing:
            say(f"unpacking Trino {SERVER.version}")
            _unpack(jars_directory() / SERVER.path)


def _home() -> Path:
    return home() / "trino"


def _server() -> Path:
    return _home() / f"server-{SERVER.version}"


def _runtime() -> Runtime | None:
    return runtime_in(_home() / "java" / PACKAGE)


def _install_runtime(say: Callable[[str], None]) -> None:
    target = _home() / "java"
    say(f"installing the Java runtime of Trino ({RUNTIME_BYTES / 1e6:.0f} MB) in {target}")
    run_uv(
        "pip install",
        *("--python", sys.executable, "--target", str(target)),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirements", str(JAVA_LOCK)),
    )
    if _runtime() is None:
        raise OperationFailed.of(
            where=str(target),
            what=f"{PACKAGE} was installed by uv, and has no Java runtime in it",
            why="",
            fix="delete the directory, and set up again",
        )


def _unpack(archive: Path) -> None:
    """Unpack the server, whole or not at all, and delete the archive and the plugins that the lab does not load."""
    scratch = _home() / "unpacking"
    shutil.rmtree(scratch, ignore_errors=True)
    # All of it, because a jar of several plugins is stored once and linked from the others.
    with tarfile.open(archive) as members:
        # Python before 3.11.4 has no filters; the archive is one of a known hash.
        members.extraction_filter = getattr(tarfile, "data_filter", None)
        members.extractall(scratch)  # noqa: S202 - with the filter above
    unpacked = scratch / f"{SERVER.artifact}-{SERVER.version}"
    for plugin in (unpacked / "plugin").iterdir():
        if plugin.name not in PLUGINS:
            shutil.rmtree(plugin)
    unpacked.rename(_server())
    shutil.rmtree(scratch)
    archive.unlink()
