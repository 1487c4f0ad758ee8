"""Directories of labs that end with the command that started them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.hbase.limits import groups, volume
from lab.hbase.paths import home
from lab.hbase.process import began


@contextmanager
def run_directory() -> Iterator[Path]:
    """Yield a directory that is removed afterwards; leftovers of killed commands are removed first."""
    clean_abandoned()
    directory = _runs() / f"{os.getpid()}-{began(os.getpid())}"
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        remove_directory(directory)


def clean_abandoned() -> tuple[Path, ...]:
    """Remove the directories, and unmount the volumes, of commands that have ended; return them."""
    abandoned = tuple(path for path in sorted(_runs().glob("*")) if not _is_alive(path.name))
    for directory in abandoned:
        remove_directory(directory)
    groups.remove_abandoned()
    return abandoned


def running() -> tuple[int, ...]:
    """Return the process ids of the commands whose labs run now."""
    return tuple(int(path.name.partition("-")[0]) for path in sorted(_runs().glob("*")) if _is_alive(path.name))


def remove_directory(directory: Path) -> None:
    """Remove a directory with everything that is mounted in it."""
    volume.clean(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _runs() -> Path:
    return home() / "runs"


def _is_alive(name: str) -> bool:
    """Return whether the command that created it still runs; a reused process id has another start time."""
    number, _, ticks = name.partition("-")
    return number.isdecimal() and ticks == str(began(int(number)))
