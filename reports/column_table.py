"""A table that compares plans: a column for each of them, and a row for each figure."""

from __future__ import annotations

from msgspec import Struct


class ColumnTable(Struct, frozen=True, kw_only=True):
    """The columns' names, rows of a figure's name and its text in each column, and a summary of each column."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    summaries: tuple[str, ...]
