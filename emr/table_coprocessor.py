"""A coprocessor that a table asks its RegionServers to load."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

PHOENIX: Final = "org.apache.phoenix."


class TableCoprocessor(Struct, frozen=True, kw_only=True):
    """A class that RegionServers load for one table; `where` names the file, and `line` the line of the linted file."""

    table: str
    class_name: str
    where: str | None = None
    line: int | None = None

    @property
    def is_phoenix(self) -> bool:
        """Return whether the class is one of Apache Phoenix, which sets its classes on each table that it creates."""
        return self.class_name.startswith(PHOENIX)
