"""The inputs that the page offers, each with the ends of its slider and with its value in the environment file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from environments.draft.draft import written_default
from environments.input_range import InputRange
from environments.reader.assignment import TABLES
from environments.reader.document import Document, YamlPath, path_text
from environments.reader.ranges import RangedDocument
from environments.reader.schema_keys import schema_keys
from reports.decision_page import value_text
from sizing.cluster import ClusterChoice
from sizing.modes import MODES
from sizing.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB

NONE: Final = "none"
"""The choice not to have something, such as a codec."""
Kind = Literal["size", "count", "share", "time", "usd", "ratio", "skew", "choice"]


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
        return (*TABLES, self.table, *self.key.removeprefix(_section(self.table)).split("."))

    @property
    def name(self) -> str:
        """Return the title, with the name of the table."""
        return f"{self.table}: {self.title}" if self.table else self.title


SKEWS: Final = ("uniform", "0.7", "0.9", "0.99", "1.1")
HIT_RATIOS: Final = ("0.8", "0.9", "0.95", "0.99")
LOST_NODES: Final = ("0", "1", "2")
# judgement: the ends of the sliders; the values of common clusters on EMR lie between them.
WORKLOAD: Final = (
    PageInput(
        key="stored", section="Data", title="Stored data", kind="size", least=50 * GIB, most=100 * TIB, is_scaled=True
    ),
    PageInput(
        key="row", section="Data", title="Bytes read per row", kind="size", least=128, most=4 * MIB, is_scaled=True
    ),
    PageInput(key="cell", section="Data", title="Size of a cell value", kind="size", least=16, most=MIB),
    PageInput(
        key="block_size",
        section="Data",
        title="Block size",
        kind="choice",
        choices=("8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"),
    ),
    PageInput(
        key="compression.codec",
        section="Data",
        title="Compression",
        kind="choice",
        choices=(NONE, "snappy", "lz4", "zstd", "gz"),
    ),
    PageInput(
        key="compression.ratio",
        section="Data",
        title="Compression ratio",
        kind="ratio",
        least=1,
        most=10,
        needs="compression.codec",
        without="1.0",
    ),
    PageInput(
        key="popularity", section="Load", title="Read skew (Zipf exponent)", kind="skew", least=0, most=1.5, stops=SKEWS
    ),
    PageInput(
        key="writes.bytes_per_second",
        section="Load",
        title="Bytes written per second",
        kind="size",
        least=KIB,
        most=100 * MIB,
    ),
)
"""The inputs of a workload, or of one of its tables; the keys are relative to that section."""
OPEN_LOAD: Final = (
    PageInput(
        key="per_second", section="Load", title="Reads per second", kind="count", least=10, most=100_000, is_scaled=True
    ),
    PageInput(
        key="peak_per_second",
        section="Load",
        title="Reads per second in the busiest hour",
        kind="count",
        least=10,
        most=100_000,
        optional=True,
    ),
)
CLOSED_LOAD: Final = (
    PageInput(
        key="concurrency", section="Load", title="Reads in flight", kind="count", least=1, most=10_000, is_scaled=True
    ),
)
TARGETS: Final = (
    PageInput(
        key="hit_ratio",
        section="Targets",
        title="Minimum hit ratio",
        kind="share",
        least=0.5,
        most=0.999,
        stops=HIT_RATIOS,
    ),
    PageInput(
        key="p99",
        section="Targets",
        title="Maximum p99 latency",
        kind="time",
        least=0.002,
        most=5,
        optional=True,
    ),
    PageInput(
        key="warm_up",
        section="Targets",
        title="Maximum warm-up time",
        kind="time",
        least=SECONDS_PER_HOUR / 2,
        most=72 * SECONDS_PER_HOUR,
        optional=True,
    ),
    PageInput(
        key="lost_nodes",
        section="Targets",
        title="Nodes that may be lost",
        kind="count",
        least=0,
        most=4,
        stops=LOST_NODES,
    ),
    PageInput(
        key="budget_usd_per_month",
        section="Targets",
        title="Budget per month (USD)",
        kind="usd",
        least=200,
        most=100_000,
        optional=True,
    ),
)
MODE: Final = PageInput(
    key="storage.mode",
    section="Storage",
    title="Storage mode",
    kind="choice",
    choices=tuple(MODES),
    stops=tuple(MODES),
)


# judgement: the plans of more values would make a report larger than 1 MB.
REPORTED_TABLES: Final = 3
REPORTED: Final = ("stored", "per_second")
"""The inputs of the first tables whose sliders move in a report."""


def hbase_inputs(document: Document, cluster: ClusterChoice, tables: Sequence[str]) -> Iterator[PageInput]:
    """Yield the inputs that the page offers for an HBase cluster, without their values."""
    section = f"clusters.{cluster.name}."
    for number, table in enumerate(tables):
        for entry in _of_workload(document, _section(table), f"{_section(table)}reads.", table):
            moves = number < REPORTED_TABLES and entry.path[-1] in REPORTED
            yield entry if moves else replace(entry, stops=(), is_scaled=False)
    if not tables:
        reads = f"{section}workload.reads." if cluster.reads else "workload.reads."
        yield from _of_workload(document, "workload.", reads)
    yield from (entry.within(f"{section}targets." if cluster.targets else "targets.") for entry in TARGETS)
    yield MODE


def _section(table: str) -> str:
    """Return the start of the keys of a table."""
    return f"{path_text((*TABLES, table))}."


def _of_workload(document: Document, section: str, reads: str, table: str = "") -> Iterator[PageInput]:
    """Yield the inputs of a workload or of one of its tables, whose reads may be stated elsewhere."""
    for entry in (one.within(section, table) for one in WORKLOAD):
        if entry.path[-1] != "stored" or not has_value(document, (*entry.path[:-1], "inspection")):
            yield entry
    closed = [one.within(reads, table) for one in CLOSED_LOAD]
    is_closed = any(has_value(document, entry.path) for entry in closed)
    yield from closed if is_closed else (one.within(reads, table) for one in OPEN_LOAD)


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
