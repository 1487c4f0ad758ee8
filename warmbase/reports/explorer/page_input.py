"""The inputs that the page offers, each with the ends of its slider and with its value in the environment file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from warmbase.environments.draft.draft import written_default
from warmbase.environments.reader.assignment import TABLES
from warmbase.environments.reader.document import Document, YamlPath, path_text
from warmbase.environments.reader.ranges import InputRange, RangedDocument
from warmbase.environments.reader.schema import schema_keys
from warmbase.reports.decision_page import value_text

NONE: Final = "none"
"""The choice not to have something, such as a codec."""
Kind = Literal["size", "count", "share", "time", "usd", "ratio", "multiple", "skew", "choice"]


class PageInput(Struct, frozen=True, kw_only=True):
    """One input: `key` is its path in the environment file, and `text` is its value there, or the default.

    `least` and `most` are the ends of the slider, in bytes, seconds, dollars or plain numbers. The text field accepts
    values beyond them. The field of an `optional` input may be empty. In a report, the slider stops at the value in the
    file and at these `stops`, and at multiples of that value if `is_scaled`. An input of a `table` has its name. If the
    choice that it `needs` is `none`, the input means nothing, and its value is that `without` the choice.
    """

    key: str
    table: str = ""
    section: str
    title: str
    kind: Kind
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    optional: bool = False
    text: str = ""
    description: str = ""
    stops: tuple[str, ...] = ()
    is_scaled: bool = False
    needs: str = ""
    without: str = ""

    def within(self, section: str, table: str = "") -> PageInput:
        """Return the input with its key inside a section, such as `workload.`, which may be that of a table."""
        return replace(self, key=section + self.key, table=table, needs=self.needs and section + self.needs)

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


SKEWS: Final = ("uniform", "0.7", "0.9", "0.99", "1.1")
# judgement: the ends of the sliders; the values of common clusters on EMR lie between them.
HIT_RATIO: Final = PageInput(
    key="hit_ratio",
    section="Targets",
    title="Minimum hit ratio",
    kind="share",
    least=0.5,
    most=0.999,
    stops=("0.8", "0.9", "0.95", "0.99"),
)
LOST_NODES: Final = PageInput(
    key="lost_nodes",
    section="Targets",
    title="Nodes that may be lost",
    kind="count",
    least=0,
    most=4,
    stops=("0", "1", "2"),
)
BUDGET: Final = PageInput(
    key="budget_usd_per_month",
    section="Targets",
    title="Budget per month (USD)",
    kind="usd",
    least=200,
    most=100_000,
    optional=True,
)
"""The targets of every engine; the keys are relative to `targets`."""


def table_section(table: str) -> str:
    """Return the start of the keys of a table."""
    return f"{path_text((*TABLES, table))}."


def has_value(document: Document, path: YamlPath) -> bool:
    """Return whether the file, or an option, states the value at a path."""
    return path in document.lines or path in document.assigned or path in document.written


def with_value(ranged: RangedDocument, entry: PageInput, schema_key: str) -> PageInput:
    """Return the input with its description and with its value in the file, or with the default of the schema."""
    document = ranged.document
    path = entry.path
    key = schema_keys()[schema_key]
    default = written_default(key)
    text = document.written.get(path, "" if default is None else str(default))
    if entry.kind == "skew":
        text = document.written.get(
            (*path, "zipf"), "" if has_value(document, path) and path not in document.written else text
        )
        path = (*path, "zipf")
    if path in ranged.ranges and path not in document.written:
        text = _range_text(ranged.ranges[path])
    choices = entry.choices if text in entry.choices or entry.kind != "choice" else (*entry.choices, text)
    return replace(entry, text="" if text == "null" else text, choices=choices, description=key.description)


def _range_text(entry: InputRange) -> str:
    """Return the ends of a range that the file writes with more than its ends."""
    return f"{value_text(entry, entry.low)}..{value_text(entry, entry.high)}"
