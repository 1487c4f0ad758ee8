"""The figures of each file that was read, saved beside the output, so that an interrupted inspection resumes."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import fields

from warmbase.hfile.file_stats import FileStats
from warmbase.hfile.layout import FileEntry

FIELDS: Final = tuple(field.name for field in fields(FileStats))
HISTOGRAMS: Final = ("lengths", "compressed_lengths")


class UnreadableFile(Struct, frozen=True):
    """Why a file was not read; `gone` where it is not there any more, and what it had is in another one by now."""

    why: str
    is_deleted: bool = False


class Checkpoint:
    """Readings by path; one of a file that has changed since is none. Safe among threads."""

    def __init__(self, path: Path, about: str) -> None:
        """`about` is what is looked at, and how: readings of anything else are dropped."""
        self.path, self._lock = path, threading.Lock()
        about = f"{about} {' '.join(FIELDS)}"
        self._places = _places(path, about)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab" if self._places else "wb")
        # The last line of a look that was ended may be cut off.
        self._file.write(b"\n" if self._places else json.dumps({"about": about}).encode() + b"\n")
        self._file.flush()

    @property
    def has_some(self) -> bool:
        """Return whether anything was kept."""
        return bool(self._places)

    def load(self, stored: FileEntry) -> FileStats | UnreadableFile | None:
        """Return what was read of it before; None where nothing was."""
        if stored.path not in self._places:
            return None
        with self._lock, self.path.open("rb") as file:
            file.seek(self._places[stored.path])
            entry = _parsed(file.readline().decode(errors="replace"))
        if entry.get("stamp") != stored.stamp:
            return None
        if "why" in entry:
            return UnreadableFile(entry["why"])
        values = entry["measured"]
        histograms = {name: {int(length): count for length, count in values[name].items()} for name in HISTOGRAMS}
        return FileStats(**{**values, **histograms})

    def keep(self, stored: FileEntry, reading: FileStats | UnreadableFile) -> None:
        """One more; of a file that is gone nothing."""
        if isinstance(reading, UnreadableFile) and reading.is_deleted:
            return
        entry: dict[str, Any] = {"path": stored.path, "stamp": stored.stamp}
        if isinstance(reading, UnreadableFile):
            entry["why"] = reading.why
        else:
            entry["measured"] = {name: getattr(reading, name) for name in FIELDS}
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._places[stored.path] = self._file.tell()
            self._file.write(line)
            self._file.flush()

    def close(self) -> None:
        """It stays, for another time, where there is anything in it."""
        self._file.close()
        if not self.has_some:
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """All was read."""
        self._file.close()
        self.path.unlink(missing_ok=True)


def _places(path: Path, about: str) -> dict[str, int]:
    """Where in the file the line of each path begins; a line that is cut off is none."""
    places: dict[str, int] = {}
    with suppress(FileNotFoundError), path.open("rb") as file:
        if _parsed(file.readline().decode(errors="replace")).get("about") != about:
            return {}
        place = file.tell()
        for line in file:
            entry = _parsed(line.decode(errors="replace"))
            if entry.keys() >= {"path", "stamp"}:
                places[entry["path"]] = place
            place += len(line)
    return places


def _parsed(line: str) -> dict[str, Any]:
    with suppress(ValueError):
        entry = json.loads(line)
        return entry if isinstance(entry, dict) else {}
    return {}
