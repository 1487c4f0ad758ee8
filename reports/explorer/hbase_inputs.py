"""The inputs of an HBase cluster that the page offers; Trino's are in `engines/trino/inputs.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from environments.reader.document import Document
from reports.explorer.page_input import BUDGET, HIT_RATIO, LOST_NODES, NONE, SKEWS, PageInput, has_value, table_section
from sizing.cluster import ClusterChoice
from sizing.modes import MODES
from sizing.units import GIB, KIB, MIB, SECONDS_PER_HOUR, TIB

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
RATE: Final = PageInput(
    key="per_second", section="Load", title="Reads per second", kind="count", least=10, most=100_000, is_scaled=True
)
PEAK: Final = PageInput(
    key="peak_per_second",
    section="Load",
    title="Reads per second in the busiest hour",
    kind="count",
    least=10,
    most=100_000,
    optional=True,
)
DAILY_PEAK: Final = PageInput(
    key="seasons.peak",
    section="Load",
    title="Reads in the busiest hours, as a multiple of the mean",
    kind="multiple",
    least=1,
    most=8,
    stops=("1x", "1.5x", "2x", "3x", "4x"),
)
OPEN_LOAD: Final = (RATE, PEAK)
OPEN_LOAD_WITH_SEASONS: Final = (RATE, DAILY_PEAK)
CLOSED_LOAD: Final = (
    PageInput(
        key="concurrency", section="Load", title="Reads in flight", kind="count", least=1, most=10_000, is_scaled=True
    ),
)
TARGETS: Final = (
    HIT_RATIO,
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
    LOST_NODES,
    BUDGET,
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
        for entry in _of_workload(document, table_section(table), f"{table_section(table)}reads.", table):
            moves = number < REPORTED_TABLES and entry.path[-1] in REPORTED
            yield entry if moves else replace(entry, stops=(), is_scaled=False)
    if not tables:
        reads = f"{section}workload.reads." if cluster.reads else "workload.reads."
        yield from _of_workload(document, "workload.", reads)
    yield from (entry.within(f"{section}targets." if cluster.targets else "targets.") for entry in TARGETS)
    yield MODE


def _of_workload(document: Document, section: str, reads: str, table: str = "") -> Iterator[PageInput]:
    """Yield the inputs of a workload or of one of its tables, whose reads may be stated elsewhere."""
    for entry in (one.within(section, table) for one in WORKLOAD):
        if entry.path[-1] != "stored" or not has_value(document, (*entry.path[:-1], "inspection")):
            yield entry
    closed = [one.within(reads, table) for one in CLOSED_LOAD]
    is_closed = any(has_value(document, entry.path) for entry in closed)
    open_load = OPEN_LOAD_WITH_SEASONS if has_value(document, DAILY_PEAK.within(reads, table).path) else OPEN_LOAD
    yield from closed if is_closed else (one.within(reads, table) for one in open_load)
