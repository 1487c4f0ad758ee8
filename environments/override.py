"""A property that a person sets against the plan's own value."""

from __future__ import annotations

from msgspec import Struct


class Override(Struct, frozen=True, kw_only=True):
    """`classification` is a path such as `hbase-env/export`; `where` is file and line, or an option."""

    classification: str
    key: str
    value: str
    where: str

    @property
    def line(self) -> int | None:
        """Return the line of the file; None where an option of the command line sets the property."""
        line = self.where.rpartition(":")[2]
        return int(line) if line.isdecimal() else None
