"""The inputs that the page offers, each with the ends of its slider and with its value in the environment file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from environments.draft.draft import written_default
from environments.input_range import InputRange
from environments.reader.document import Document, YamlPath
from environments.reader.ranges import RangedDocument
from environments.reader.schema_keys import schema_keys
from reports.decision_page import value_text
from sizing.cluster import ClusterChoice
from sizing.modes import MODES
from sizing.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB

Kind = Literal["size", "count", "share", "time", "usd", "ratio", "skew", "choice"]


class PageInput(Struct, frozen=True, kw_only=True):
    """One input: `key` is its path in the environment file, and `text` is its value there, or the default.

    `least` and `most` are the ends of the slider, in bytes, seconds, dollars or plain numbers. The text field accepts
    values beyond them. The field of an `optional` input may be empty. In a report, the slider stops at the value in the
    file and at these `stops`, and at multiples of that value if `is_scaled`.
    """

    key: str
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

    def within(self, section: str) -> PageInput:
        """Return the input with its key inside a section, such as `workload.`."""
        return replace(self, key=section + self.key)


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
        choices=("none", "snappy", "lz4", "zstd", "gz"),
    ),
    PageInput(key="compression.ratio", section="Data", title="Compression ratio", kind="ratio", least=1, most=10),
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
"""The inputs of a workload without tables; the keys are relative to `workload`."""
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


def hbase_inputs(document: Document, cluster: ClusterChoice) -> Iterator[PageInput]:
    """Yield the inputs that the page offers for an HBase cluster, without their values."""
    section = f"clusters.{cluster.name}."
    if not has_value(document, ("workload", "tables")):
        is_inspected = has_value(document, ("workload", "inspection"))
        yield from (entry.within("workload.") for entry in WORKLOAD if entry.key != "stored" or not is_inspected)
        reads = f"{section}workload.reads." if cluster.reads else "workload.reads."
        path = (*reads.strip(".").split("."), "concurrency")
        yield from (entry.within(reads) for entry in (CLOSED_LOAD if has_value(document, path) else OPEN_LOAD))
    yield from (entry.within(f"{section}targets." if cluster.targets else "targets.") for entry in TARGETS)
    yield MODE


def has_value(document: Document, path: YamlPath) -> bool:
    """Return whether the file, or an option, states the value at a path."""
    return path in document.lines or path in document.assigned or path in document.written


def with_value(ranged: RangedDocument, entry: PageInput, schema_key: str) -> PageInput:
    """Return the input with its description and with its value in the file, or with the default of the schema."""
    document = ranged.document
    path: YamlPath = tuple(entry.key.split("."))
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
