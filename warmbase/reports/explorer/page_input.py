"""The inputs that the page offers, each with the ends of its slider and with its value in the environment file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import asdict, replace

from warmbase.environments.reader.assignment import TABLES
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.environments.reader.key import Slider
from warmbase.environments.reader.ranges import InputRange, RangedDocument
from warmbase.environments.reader.schema_keys import schema_keys
from warmbase.reports.decision_page import value_text

NONE: Final = "none"
"""The choice not to have something, such as a codec."""


class PageInput(Slider, frozen=True, kw_only=True):
    """One input: `key` is its path in the environment file, and `text` is its value there, or the default.

    An input of a `table` has its name. The input `needs` another one, by its whole key.
    """

    key: str
    table: str = ""
    text: str = ""
    description: str = ""

    @classmethod
    def of(cls, schema_path: str, key: str, table: str = "") -> PageInput:
        """Return the input of a key in the schema, with its default.

        In the file, the key may have another path: in the section of a table or of a cluster.
        """
        row = schema_keys()[schema_path]
        assert row.key.slider is not None  # noqa: S101 - the page asks for keys with a slider
        slider = asdict(row.key.slider)
        if slider["needs"]:
            slider["needs"] = f"{key.rpartition('.')[0]}.{slider['needs']}"
        text = "" if row.default is None else str(row.default)
        return cls(**slider, key=key, table=table, text=text, description=row.key.text)

    def is_meaningless(self, inputs: Mapping[str, PageInput], values: Mapping[str, str]) -> bool:
        """Return whether the input needs a choice that is `none`."""
        return bool(self.needs) and values.get(self.needs, inputs[self.needs].text) == NONE

    @property
    def path(self) -> YamlPath:
        """Return the key as a path; the name of a table may contain dots."""
        if not self.table:
            return tuple(self.key.split("."))
        return (*TABLES, self.table, *self.key.removeprefix(table_section(self.table)).split("."))

    @property
    def name(self) -> str:
        """Return the title, with the name of the table."""
        return f"{self.table}: {self.title}" if self.table else self.title


def table_section(table: str) -> str:
    """Return the start of the keys of a table."""
    return f"{path_text((*TABLES, table))}."


def has_value(document: Document, path: YamlPath) -> bool:
    """Return whether the file, or an option, states the value at a path."""
    return path in document.lines or path in document.assigned or path in document.written


def with_value(ranged: RangedDocument, entry: PageInput) -> PageInput:
    """Return the input with its value in the file, if it has one there."""
    document, path = ranged.document, entry.path
    text = document.written.get(path, entry.text)
    if entry.kind == "skew":
        text = document.written.get(
            (*path, "zipf"), "" if has_value(document, path) and path not in document.written else text
        )
        path = (*path, "zipf")
    if path in ranged.ranges and path not in document.written:
        text = _range_text(ranged.ranges[path])
    choices = entry.choices if text in entry.choices or entry.kind != "choice" else (*entry.choices, text)
    return replace(entry, text="" if text == "null" else text, choices=choices)


def _range_text(entry: InputRange) -> str:
    """Return the ends of a range that the file writes with more than its ends."""
    return f"{value_text(entry, entry.low)}..{value_text(entry, entry.high)}"
