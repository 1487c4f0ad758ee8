"""The work of `warmbase lab setup`: it installs the runtime, the jars and the classes, and removes them again."""

from __future__ import annotations

import fcntl
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.hbase.paths import home
from lab.hbase.software.compiling import Compilation
from lab.hbase.software.download import PARTIAL, Repository, download
from lab.hbase.software.jars import Jar, hbase_sets, jar_sets
from lab.hbase.software.runtime import RUNTIME_BYTES, install_runtime, runtime, unsupported
from sizing.problem import OperationFailed

LOCK: Final = "setup.lock"
CLASSES_BYTES: Final = 10_000_000  # judgement: about 60 kB for each change of a source


def jars_directory() -> Path:
    """Return the directory of the jars, laid out as a Maven repository."""
    return home() / "jars"


def classes_directory() -> Path:
    """Return the directory of the lab's compiled Java, with one subdirectory for each version of it."""
    return home() / "classes"


def missing_jars(*names: str) -> tuple[Jar, ...]:
    """Return the locked jars of these sets, or of all, that are missing or have the wrong length."""
    directory = jars_directory()
    return tuple(
        jar
        for jar in dict.fromkeys(jar for name in names or jar_sets() for jar in jar_sets()[name])
        if _size_bytes(directory / jar.path) != jar.size_bytes
    )


def problems() -> tuple[str, ...]:
    """Return why the lab cannot run here, as sentences; none where it can."""
    return tuple(_problems())


def _problems() -> Iterator[str]:
    reason = unsupported()
    if reason:
        yield reason
    elif runtime() is None:
        yield "no Java runtime is installed beside this Python"
    missing = len(missing_jars())
    if missing:
        total = len({jar for jars in jar_sets().values() for jar in jars})
        yield f"{missing} of {total} jars are not in {jars_directory()}"


def set_up(say: Callable[[str], None], repository: Repository | None = None) -> None:
    """Has everything that the lab needs; quick when it is there, and to be run again when it was interrupted.

    Raises OperationFailed where something cannot be had: no such platform, too little space, no network.
    """
    with set_up_alone():
        missing = missing_jars()
        runtime_bytes = 0 if runtime() else RUNTIME_BYTES
        jars_bytes = sum(jar.size_bytes for jar in missing)
        refuse_full_disk((home(), jars_bytes + CLASSES_BYTES), (Path(sys.prefix), runtime_bytes))
        install_runtime(say)
        if missing:
            say(f"downloading {len(missing)} jars to {jars_directory()}")
            download(missing, jars_directory(), say, repository)
        _compile(say)


@contextmanager
def set_up_alone() -> Iterator[None]:
    """Lock the lab's software for a set-up within the block, without the partial files of a killed one.

    Raises OperationFailed where no lab can run, and as `locked` does.
    """
    if reason := unsupported():
        raise OperationFailed.of(
            where="the lab", what="cannot run on this machine", why=reason, fix="run the lab on one of these platforms"
        )
    with locked(home()):
        for partial in jars_directory().rglob(f"*{PARTIAL}"):
            partial.unlink(missing_ok=True)
        yield


def remove() -> int:
    """Deletes the directory of the lab's software, and returns the bytes freed; the runtime stays beside Python.

    Raises OperationFailed while a set-up is at work in it, or when something in it cannot be deleted.
    """
    directory = home()
    if not directory.exists():
        return 0
    if directory.is_symlink():
        raise OperationFailed.of(
            where=str(directory),
            what="is a symbolic link, so warmbase does not delete it",
            why="",
            fix="delete its target yourself",
        )
    with locked(directory):
        freed = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
        try:
            shutil.rmtree(directory)
        except OSError as error:
            raise OperationFailed.of(
                where=str(directory), what="cannot be deleted", why=str(error), fix="delete it yourself"
            ) from None
    return freed


def _compile(say: Callable[[str], None]) -> None:
    installed = runtime()
    if installed is None:
        raise OperationFailed.of(
            where="the lab",
            what="the Java runtime is gone",
            why="it was removed while the lab was being set up",
            fix="set up again",
        )
    for name in hbase_sets():
        work = Compilation(java=installed.java, jars=jars_directory(), classes=classes_directory(), name=name)
        if not work.target.exists():
            say(f"compiling the lab's Java against {name}")
            work.compile()


def refuse_full_disk(*wanted: tuple[Path, int]) -> None:
    """Raise OperationFailed when so many bytes would not fit on the disks of these directories."""
    needed: dict[int, tuple[Path, int]] = {}
    for directory, size_bytes in wanted:
        device = directory.stat().st_dev
        needed[device] = (directory, size_bytes + needed.get(device, (directory, 0))[1])
    for directory, size_bytes in needed.values():
        free_bytes = shutil.disk_usage(directory).free
        if size_bytes > free_bytes:
            raise OperationFailed.of(
                where=str(directory),
                what=f"has {free_bytes / 1e6:.0f} MB free",
                why=f"the lab needs {size_bytes / 1e6:.0f} MB on that disk",
                fix="make room, or set XDG_CACHE_HOME to a directory on another disk",
            )


def _size_bytes(file: Path) -> int:
    """-1 where it is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return -1


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock the directory against other set-ups and removals within the block; create it where it is missing.

    Raises OperationFailed when somebody else is in it, or when it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOCK).open("w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise OperationFailed.of(
            where=str(directory), what="another set-up is running there", why="", fix="wait until it ends"
        ) from None
    except PermissionError as error:
        raise OperationFailed.of(
            where=str(error.filename),
            what="cannot be written",
            why=error.strerror or "",
            fix="set XDG_CACHE_HOME to a directory that is yours",
        ) from None
