"""What was read of each file, kept in a file beside where the answer goes: a look that was ended goes on from there."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from hfile.layout import Stored
from hfile.measured import Measured

__all__ = ["Kept", "Unread"]

FIELDS: Final = tuple(each.name for each in fields(Measured))
HISTOGRAMS: Final = ("lengths", "compressed_lengths")


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a file was not read."""

    why: str


class Kept:
    """Readings by path; one of a file that has changed since is none. Safe among threads."""

    def __init__(self, path: Path, about: str) -> None:
        """`about` is what is looked at, and how: readings of anything else are dropped."""
        self._path, self._lock = path, threading.Lock()
        self._lines = _lines(path, about)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if self._lines else "w", encoding="utf-8") as file:
            # The last line of a look that was ended may be cut off.
            file.write("\n" if self._lines else json.dumps({"about": about}) + "\n")
        self._file = path.open("a", encoding="utf-8")

    def recalled(self, stored: Stored) -> Measured | Unread | None:
        """What was read of it before; None where nothing was."""
        found = self._lines.get(stored.path)
        if found is None or found["stamp"] != stored.stamp:
            return None
        if "why" in found:
            return Unread(found["why"])
        values = found["measured"]
        histograms = {name: {int(length): count for length, count in values[name].items()} for name in HISTOGRAMS}
        return Measured(**{**values, **histograms})

    def keep(self, stored: Stored, reading: Measured | Unread) -> None:
        """One more."""
        said: dict[str, Any] = {"path": stored.path, "stamp": stored.stamp}
        said |= {"why": reading.why} if isinstance(reading, Unread) else {"measured": {name: getattr(reading, name) for name in FIELDS}}
        line = json.dumps(said, separators=(",", ":")) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """It stays, for another time."""
        self._file.close()

    def remove(self) -> None:
        """All was read."""
        self.close()
        self._path.unlink(missing_ok=True)


def _lines(path: Path, about: str) -> Mapping[str, Any]:
    """Lines by the path that they are of; one that is cut off is none."""
    found: dict[str, Any] = {}
    with suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
        if _parsed(next(file, "")).get("about") != about:
            return {}
        for said in map(_parsed, file):
            if said.keys() >= {"path", "stamp"}:
                found[said["path"]] = said
    return found


def _parsed(line: str) -> dict[str, Any]:
    with suppress(ValueError):
        said = json.loads(line)
        return said if isinstance(said, dict) else {}
    return {}
