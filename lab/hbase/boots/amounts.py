"""Sizes as HBase writes them into its log, and back."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["byte_text", "bytes_of"]

UNITS: Final = " KMGTPE"
KIBI: Final = 1024
WRITTEN: Final = re.compile(r"([\d.]+) ?([KMGTPE]?)B?")


def byte_text(size_bytes: int) -> str:
    """As Hadoop's StringUtils.byteDesc has it: two decimals unless whole, the prefix binary, the unit B."""
    power = 0
    while size_bytes >= KIBI ** (power + 1):
        power += 1
    if size_bytes % KIBI**power == 0:
        return f"{size_bytes // KIBI**power} {UNITS[power].strip()}B"
    text = f"{size_bytes / KIBI**power:.2f}"
    if text.startswith(str(KIBI)):
        power, text = power + 1, "1.00"
    return f"{text} {UNITS[power]}B"


def bytes_of(text: str) -> float:
    """Return what was written: `69.1 M` or `2.08 TB`. Raises ValueError for what is no size."""
    found = WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no size of HBase's log")
    power = UNITS.index(found[2]) if found[2] else 0
    return float(found[1]) * float(KIBI) ** power
