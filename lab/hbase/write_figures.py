"""The figures of the log, the flushes and the store files of a run that writes, beside those of the calculator."""

from __future__ import annotations

from functools import partial
from typing import Final

from lab.hbase.experiment import within
from lab.hbase.result import Measurement
from lab.hbase.write_counters import WriteCounters, WriteWindow
from sizing.writing_server import WritingServer

TOLERANCE: Final = 0.15


def log_figures(model: WritingServer, counts: WriteCounters) -> tuple[Measurement, ...]:
    """Return the bytes of one cell in the log and on its volume, measured and predicted."""
    figure = partial(Measurement, case="the log", unit="B")
    return (
        figure(
            name="of the log for a cell",
            measured=counts.log_bytes / counts.log_edits,
            predicted=model.cells.log_bytes,
            because="HBase's `writtenBytes` over its edits",
            target=within(0.05),
        ),
        figure(
            name="of the volume for a cell",
            measured=counts.device_bytes / counts.log_edits,
            predicted=model.log_bytes,
            because="one copy of the log with HDFS's checksums",
            target=within(TOLERANCE),
        ),
    )


def flush_figures(model: WritingServer, whole: WriteWindow) -> tuple[Measurement, ...]:
    """Return the flushes and their cells, measured and predicted."""
    counts, minutes = whole.counts, whole.seconds / 60
    flushed_cells = counts.flushed_heap_bytes / model.cells.key_value_bytes
    figure = partial(Measurement, case="store files")
    return (
        figure(
            name="cells of a flush",
            unit="",
            measured=flushed_cells / counts.flushes,
            predicted=model.flush_cells,
            because="the flush size over the heap of a cell; measured by the bytes of the flushed cells",
            target=within(TOLERANCE),
        ),
        figure(
            name="flushes",
            unit="a minute",
            measured=counts.flushes / minutes,
            predicted=counts.log_edits / model.flush_cells / minutes,
            because="the cells that were written, over those of a flush",
            target=within(TOLERANCE),
        ),
    )


def store_file_figures(model: WritingServer, whole: WriteWindow) -> tuple[Measurement, ...]:
    """Return what flushes and compactions write for a cell, measured and predicted."""
    counts = whole.counts
    flushed_cells = counts.flushed_heap_bytes / model.cells.key_value_bytes
    figure = partial(Measurement, case="store files")
    return (
        figure(
            name="store file of a cell",
            unit="B",
            measured=counts.flushed_bytes / flushed_cells,
            predicted=model.cells.stored_bytes,
            because="bytes of the files of flushes, over the cells in them",
            target=within(TOLERANCE),
        ),
        figure(
            name="write amplification",
            unit="x",
            measured=1 + counts.compacted_bytes / counts.flushed_bytes,
            predicted=model.settings.amplification,
            because="bytes of all store files over those of flushes. `hbase.hstore.compaction.min.size` is one flush, "
            "as in the plan; its default of 128 MiB would rewrite these small regions with every second flush",
            target=within(TOLERANCE),
        ),
        figure(
            name="read by compactions",
            unit="x",
            measured=counts.compacted_input_bytes / counts.flushed_bytes,
            predicted=model.settings.amplification - 1,
            because="bytes of the files that compactions read, over those of flushes",
        ),
    )
