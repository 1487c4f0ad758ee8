"""The log of a RegionServer, which shows how long it took to read back its cache's index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from sizing.problem import OperationFailed

STAMPED: Final = re.compile(r"^(\d{4}-\d\d-\d\dT\S+) (.*)")
STAMP: Final = "%Y-%m-%dT%H:%M:%S,%f"
RESTORING: Final = "Allocating cache"
RESTORED: Final = re.compile(r".*retrieved from file successfully with size: (\d+)")


class Restored(Struct, frozen=True, kw_only=True):
    """The blocks that a server restored from its index after a restart, and the time that this took."""

    blocks: int
    seconds: float


def restored(log: Path) -> Restored:
    """Return what was read back the last time in this log: from the cache's allocation to the line that says how many.

    Raises OperationFailed where the log does not say.
    """
    began = matched = None
    for moment, text in _lines(log):
        if RESTORING in text:
            began = moment
        elif (ended := RESTORED.match(text)) and began:
            matched = Restored(blocks=int(ended[1]), seconds=(moment - began).total_seconds())
    if matched is None:
        raise _silent(log, "does not say how long the index took to read back")
    return matched


def _lines(log: Path, begins: int = 0) -> Iterator[tuple[datetime, str]]:
    for line in log.read_bytes()[begins:].decode(errors="replace").splitlines():
        if stamped := STAMPED.match(line):
            yield datetime.strptime(stamped[1], STAMP), stamped[2]  # noqa: DTZ007


def _silent(log: Path, what: str) -> OperationFailed:
    return OperationFailed.of(
        where=str(log),
        what=what,
        why="the RegionServer logged no such line",
        fix="run the scenario again; if it happens again, read the log",
    )
