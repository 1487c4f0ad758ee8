"""Reads the data files: CSV with their provenance in leading `#` lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).parent


def rows(name: str | Path) -> Iterator[dict[str, str]]:
    """Yield the rows of `facts/NAME`, or of the file at an absolute path, by column, without its provenance lines."""
    with (HOME / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def provenance(name: str | Path) -> tuple[str, ...]:
    """Return the provenance lines of a file."""
    with (HOME / name).open(encoding="utf-8") as file:
        return tuple(line.removeprefix("#").strip() for line in file if line.startswith("#"))
