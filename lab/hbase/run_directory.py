"""Directories for labs that end with the command that began them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.hbase.limits import groups, volume
from lab.hbase.paths import home
from lab.hbase.process import began

__all__ = ["clean_abandoned", "remove_directory", "run_directory", "running"]


@contextmanager
def run_directory() -> Iterator[Path]:
    """A new directory of this process, gone afterwards; those that killed commands left are removed first."""
    clean_abandoned()
    directory = _runs() / f"{os.getpid()}-{began(os.getpid())}"
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        remove_directory(directory)


def clean_abandoned() -> tuple[Path, ...]:
    """Removes the directories, and unmounts the volumes, of commands that are gone; returns them."""
    found = tuple(path for path in sorted(_runs().glob("*")) if not _is_alive(path.name))
    for directory in found:
        remove_directory(directory)
    groups.remove_abandoned()
    return found


def running() -> tuple[int, ...]:
    """Process ids of the commands whose labs run now."""
    return tuple(int(path.name.partition("-")[0]) for path in sorted(_runs().glob("*")) if _is_alive(path.name))


def remove_directory(directory: Path) -> None:
    """Removes one with all that is mounted in it."""
    volume.clean(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _runs() -> Path:
    return home() / "runs"


def _is_alive(name: str) -> bool:
    """Return whether the command that made it still runs; another process of the same id began at another time."""
    number, _, ticks = name.partition("-")
    return number.isdecimal() and ticks == str(began(int(number)))
