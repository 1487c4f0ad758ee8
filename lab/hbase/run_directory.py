"""Directories for labs that end with the command that began them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.hbase.limits import volume
from lab.hbase.software.home import home

__all__ = ["clean_abandoned", "run_directory"]

IMAGES: Final = "images"


@contextmanager
def run_directory() -> Iterator[Path]:
    """A new directory of this process, gone afterwards; those that killed commands left are removed first."""
    clean_abandoned()
    directory = _runs() / str(os.getpid())
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        _remove(directory)


def clean_abandoned() -> tuple[Path, ...]:
    """Removes the directories, and unmounts the volumes, of commands that are gone; returns them."""
    found = tuple(each for each in sorted(_runs().glob("*")) if not _is_alive(each.name))
    for directory in found:
        _remove(directory)
    return found


def _runs() -> Path:
    return home() / "runs"


def _remove(directory: Path) -> None:
    for images in directory.rglob(IMAGES):
        volume.clean(images)
    shutil.rmtree(directory, ignore_errors=True)


def _is_alive(name: str) -> bool:
    return name.isdecimal() and Path(f"/proc/{name}").exists()
