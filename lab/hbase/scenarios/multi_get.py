"""Requests for several rows at once."""

from __future__ import annotations

from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, performance_figures, within
from lab.hbase.result import Measurement
from lab.model.prediction import read_of

TITLE: Final = "Multi-gets"
QUESTION: Final = "How many blocks does a request for several rows read, and what does that cost?"
KEYS: Final = (1, 10)
PREFETCHED_SECONDS: Final = 600.0


def run(lab: Experiment) -> ScenarioResult:
    """Read single rows, then ten rows in each request, from a warm cache."""
    lab = lab.filled()
    table, bench = lab.table, lab.bench
    bench.serve(LabServer(), cold=False)
    bench.wait_until_still(PREFETCHED_SECONDS)
    bench.measure(table, lab.quick(lab.seconds / 2))
    figures = []
    for keys in KEYS:
        window = bench.measure(table, lab.load(keys_per_read=keys))
        blocks = read_of(lab.miniature, keys).blocks
        case = f"{keys} {'row' if keys == 1 else 'rows'} a request"
        figures += [
            *performance_figures(case, window, "requests, not rows"),
            Measurement(
                case=case,
                name="blocks a request",
                unit="",
                measured=window.lookups / max(1, window.measured.reads),
                predicted=blocks,
                because="each row lies elsewhere in the table",
                target=within(0.05),
            ),
        ]
    return ScenarioResult(figures=tuple(figures))
