"""A coprocessor that a table asks its RegionServers to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PHOENIX: Final = "org.apache.phoenix."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCoprocessor:
    """A class that RegionServers load for one table; `where` names the file, and `line` the line of the linted file."""

    table: str
    class_name: str
    where: str | None = None
    line: int | None = None

    @property
    def is_phoenix(self) -> bool:
        """Return whether the class is one of Apache Phoenix, which sets its classes on each table that it creates."""
        return self.class_name.startswith(PHOENIX)
