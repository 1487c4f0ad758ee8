"""Facts about AWS, EMR and HBase as dated data files; each file names its source and date.

The files are CSV, with their provenance in leading `#` lines. `today` is the day on which warmbase runs.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
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


def today() -> date:
    """Return the current date in UTC, or that of SOURCE_DATE_EPOCH, so that a result can be reproduced later."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return (datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)).date()
