"""YCSB's own workloads A, C and F on a warm cache."""

from __future__ import annotations

from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, performance_figures
from lab.hbase.result import Measurement

TITLE: Final = "YCSB A, C and F"
QUESTION: Final = "What throughput do YCSB's usual mixes of reads and updates reach with a warm cache?"
PREFETCHED_SECONDS: Final = 600.0
MIXES: Final = {
    "C: reads": {},
    "F: half of the reads write back": {"reads": 0.5, "read_modify_writes": 0.5},
    "A: half updates": {"reads": 0.5, "updates": 0.5},
}


def run(lab: Experiment) -> ScenarioResult:
    """Run YCSB's mixes with Zipfian keys; the read-only mix comes first, because updates change the table."""
    lab = lab.filled()
    table, bench = lab.table, lab.bench
    bench.serve(LabServer(), cold=False)
    bench.wait_until_still(PREFETCHED_SECONDS)
    bench.measure(table, lab.quick(lab.seconds / 2))
    figures = []
    for name, mix in MIXES.items():
        window = bench.measure(table, lab.load(distribution="zipfian", **mix))
        figures += [
            *performance_figures(name, window, "operations of all kinds"),
            Measurement(
                case=name,
                name="hit ratio",
                unit="",
                measured=window.hit_ratio,
                because="updates stay in the memstore, which is flushed less often than once in a window",
                target=at_least(0.995),
            ),
        ]
    return ScenarioResult(
        figures=tuple(figures), limits=("The write-ahead log is in local files, without a network or replicas.",)
    )
