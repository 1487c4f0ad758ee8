"""Reads of a warm BucketCache against reads with none, each of which comes from S3.

Further scenarios request several rows at once, and run YCSB's own workloads A, C and F.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import (
    IN_TURN,
    Experiment,
    ScenarioResult,
    at_least,
    at_most,
    in_turn,
    performance_figures,
    within,
)
from lab.hbase.recording import Window
from lab.hbase.result import Measurement
from lab.prediction import read_of
from lab.scaled_plan import CLIENTS

TITLE: Final = "No cache against a warm one"
QUESTION: Final = "What does a read cost when every block comes from S3, and when the cache is warm?"
NONE: Final = varied(
    {
        "hbase.bucketcache.ioengine": None,
        "hbase.bucketcache.persistent.path": None,
        # Without a BucketCache, data blocks would go to the L1, which can hold much of so little data.
        "hbase.block.data.cacheonread": "false",
        "hbase.rs.prefetchblocksonopen": "false",
    },
    "without a cache of data blocks, for comparison",
)
SEQUENTIAL: Final = varied({"fs.s3a.experimental.input.fadvise": "sequential"}, "as rendered")
FEWER: Final = 0.999
PER_THOUSAND: Final = 1.0
ONE_CLIENT: Final = 1
"""The number of clients without added latency: more clients would keep the cores busy and collide in files."""


def run(lab: Experiment) -> ScenarioResult:
    """Reads without a cache, S3 answering at once, then in turn without a cache and with a warm one, at its latency."""
    bench = lab.bench
    lab = lab.filled()
    bench.serve(LabServer(varied=NONE), cold=True)
    at_once = _warmed_up(lab, threads=ONE_CLIENT)
    sequential = _read(lab, LabServer(varied=NONE | SEQUENTIAL))
    turns = in_turn(partial(_read, lab, LabServer(varied=NONE)), [partial(_read, lab, LabServer(), prefetched=True)])
    blocks, figures = lab.miniature.demand.blocks.per_read, list[Measurement]()
    for case, windows in (
        ("no cache, S3 at once", (at_once,)),
        ("no cache, S3 as far as it is", turns.controls),
        ("no cache, read policy as rendered (sequential)", (sequential,)),
    ):
        figures += [
            *performance_figures(case, windows[-1], "every block from S3"),
            Measurement(
                case=case,
                name="GETs per 1,000 reads",
                measured=gets_per_1000_reads(windows),
                predicted=1000 * blocks,
                because=f"{blocks:.2f} blocks for each read, one GET for each block",
                target=within(0.05),
            ),
        ]
    warm = gets_per_1000_reads(turns.of(0))
    figure = partial(Measurement, case="warm cache")
    figures += [
        *performance_figures("warm cache", turns.of(0)[-1], "every read hits the BucketCache"),
        figure(
            name="GETs per 1,000 reads",
            measured=warm,
            predicted=0.0,
            because="every block is cached",
            target=at_most(PER_THOUSAND),
        ),
        figure(
            name="GETs saved",
            measured=1 - warm / gets_per_1000_reads(turns.controls),
            because="as a share of the GETs that the same reads need without a cache",
            target=at_least(FEWER),
        ),
        figure(
            name="throughput against no cache",
            unit="x",
            measured=turns.ratio(0, lambda window: window.measured.operations_per_second),
            because=f"{IN_TURN}. The ratio is that of this machine and this latency; only the GETs per read carry "
            "over to a cluster",
        ),
    ]
    return ScenarioResult(
        figures=tuple(figures),
        limits=(
            "Without added latency, a GET takes the CPU time of the S3 server, its proxy and S3A on the same cores.",
        ),
    )


def _read(lab: Experiment, server: LabServer, *, prefetched: bool = False) -> Window:
    """Return a window of reads of this server at S3's latency; if `prefetched`, after its prefetch."""
    lab.bench.serve(server, cold=False)
    if prefetched:
        lab.bench.wait_until_still()
    lab.bench.store.set(lab.bench.latency)
    return _warmed_up(lab)


def _warmed_up(lab: Experiment, threads: int = CLIENTS) -> Window:
    """A window of reads, once the server's code has been compiled by others."""
    lab.bench.measure(lab.table, lab.quick(lab.seconds / 2))
    return lab.bench.measure(lab.table, lab.load(threads=threads))


def gets_per_1000_reads(windows: Sequence[Window]) -> float:
    """Return the GETs of all windows over their reads."""
    return 1000 * sum(window.gets for window in windows) / max(1.0, sum(window.measured.reads for window in windows))


MULTI_GET_TITLE: Final = "Multi-gets"
MULTI_GET_QUESTION: Final = "How many blocks does a request for several rows read, and what does that cost?"
KEYS: Final = (1, 10)


def run_multi_get(lab: Experiment) -> ScenarioResult:
    """Read single rows, then ten rows in each request, from a warm cache."""
    lab = _warm(lab)
    figures = list[Measurement]()
    for keys in KEYS:
        window = lab.bench.measure(lab.table, lab.load(keys_per_read=keys))
        case = f"{keys} {'row' if keys == 1 else 'rows'} a request"
        figures += [
            *performance_figures(case, window, "requests, not rows"),
            Measurement(
                case=case,
                name="blocks a request",
                measured=window.lookups / max(1, window.measured.reads),
                predicted=read_of(lab.miniature, keys).blocks,
                because="each row lies elsewhere in the table",
                target=within(0.05),
            ),
        ]
    return ScenarioResult(figures=tuple(figures))


def _warm(lab: Experiment) -> Experiment:
    """Return the experiment with its table filled and cached by prefetch, and read for a while."""
    lab = lab.filled()
    lab.bench.serve(LabServer(), cold=False)
    lab.bench.wait_until_still()
    lab.bench.measure(lab.table, lab.quick(lab.seconds / 2))
    return lab


YCSB_MIXES_TITLE: Final = "YCSB A, C and F"
YCSB_MIXES_QUESTION: Final = "What throughput do YCSB's usual mixes of reads and updates reach with a warm cache?"

MIXES: Final = {
    "C: reads": {},
    "F: half of the reads write back": {"reads": 0.5, "read_modify_writes": 0.5},
    "A: half updates": {"reads": 0.5, "updates": 0.5},
}


def run_ycsb_mixes(lab: Experiment) -> ScenarioResult:
    """Run YCSB's mixes with Zipfian keys; the read-only mix comes first, because updates change the table."""
    lab = _warm(lab)
    figures = list[Measurement]()
    for name, mix in MIXES.items():
        window = lab.bench.measure(lab.table, lab.load(distribution="zipfian", **mix))
        figures += [
            *performance_figures(name, window, "operations of all kinds"),
            Measurement(
                case=name,
                name="hit ratio",
                measured=window.hit_ratio,
                because="updates stay in the memstore, which is flushed less often than once in a window",
                target=at_least(0.995),
            ),
        ]
    return ScenarioResult(
        figures=tuple(figures), limits=("The write-ahead log is in local files, without a network or replicas.",)
    )
