"""Amazon EMR with a terabyte-scale BucketCache: the source whose cluster is `environments/published-emr.yaml`."""

from __future__ import annotations

from typing import Final

from published.benchmark import Benchmark
from published.benchmark_numbers import (
    COLD,
    COLD_MS,
    FIELD_BYTES,
    FIELDS,
    NODE_CACHE_GB,
    RECORDS,
    STORED_BYTES,
    WARM,
    WARM_MS,
)
from published.emr_restart import restart_figures
from published.emr_warm_up import request_figures, warm_up_figures
from published.figure import PublishedFigure, PublishedSource, SourceFigures, arithmetic_figure, model_figure

SOURCE: Final = PublishedSource(
    title="Optimize HBase reads with bucket caching on Amazon EMR", publisher="AWS Big Data Blog"
)
TB: Final = 10**12
TABLE: Final = "table of throughput and latency"
THREADS: Final = "1,500"  # three clients of 500
UNSTATED: Final = "30 to 200 handlers on a node, 20 to 200 ms to S3's first byte"


def results(benchmark: Benchmark) -> SourceFigures:
    """All of this source's figures that can be computed."""
    figures = (
        *_with_cache(benchmark),
        *_without_cache(benchmark),
        *_in_flight(),
        *_improvement(),
        *warm_up_figures(benchmark),
        *request_figures(benchmark),
        *_sizes(benchmark),
        *restart_figures(benchmark),
    )
    return SourceFigures(source=SOURCE, figures=figures)


def _with_cache(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    reading = benchmark.as_published()
    return (
        model_figure(
            what="throughput with cache",
            place=TABLE,
            published=f"{WARM}",
            ours=reading.reads_per_second,
            unit="ops/s",
            how="850 kB a read, six volumes of 125 MiB/s, 1,000 in flight",
            remark="See [what the agreement rests on](#assumptions-behind-the-agreement).",
        ),
        model_figure(
            what="latency with cache",
            place=TABLE,
            published=f"{WARM_MS:,}",
            ours=1000 * reading.latency_seconds,
            unit="ms",
            how="the same, by mean-value analysis",
            remark="Not a second agreement: with the requests in flight given, throughput and latency are one number.",
        ),
    )


def _without_cache(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    readings = [reading for one in benchmark.uncached() for reading in (one.one_prefix, one.several_prefixes)]
    reads = [reading.reads_per_second for reading in readings]
    latencies = [1000 * reading.latency_seconds for reading in readings]
    return (
        model_figure(
            what="throughput without cache",
            place=TABLE,
            published=f"{COLD}",
            ours=(min(reads), max(reads)),
            unit="ops/s",
            how=UNSTATED,
            remark="A range, not a prediction: see [without the cache](#without-the-cache).",
        ),
        model_figure(
            what="latency without cache",
            place=TABLE,
            published=f"{COLD_MS:,}",
            ours=(min(latencies), max(latencies)),
            unit="ms",
            how=UNSTATED,
        ),
    )


def _in_flight() -> tuple[PublishedFigure, ...]:
    place, how = "test setup, 3 clients of 500 threads", "throughput x latency (Little's law)"
    return (
        arithmetic_figure(
            what="requests in flight with cache",
            place=place,
            published=THREADS,
            ours=WARM * WARM_MS / 1000,
            unit="requests",
            how=how,
            remark="Both runs kept about 1,000 requests in flight: 1,500 threads do not fit the table.",
        ),
        arithmetic_figure(
            what="requests in flight without cache",
            place=place,
            published=THREADS,
            ours=COLD * COLD_MS / 1000,
            unit="requests",
            how=how,
        ),
    )


def _improvement() -> tuple[PublishedFigure, ...]:
    charted = 100 * (888.66 / 372.14 - 1)
    return (
        arithmetic_figure(
            what="improvement of throughput",
            place=TABLE,
            published="138.80",
            ours=100 * (WARM / COLD - 1),
            unit="%",
            how=f"{WARM} / {COLD} - 1",
            remark=f"The table's own figures make {100 * (WARM / COLD - 1):.2f} %; what is stated is the percentage of "
            f"figure 2 (888.66 and 372.14 ops/s: {charted:.2f} %).",
        ),
        arithmetic_figure(
            what="reduction of latency",
            place=TABLE,
            published="57.90",
            ours=100 * (1 - WARM_MS / COLD_MS),
            unit="%",
            how="1 - 1,127 / 2,680",
        ),
    )


def _sizes(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    demand = benchmark.candidate.question.demand
    row_kb = STORED_BYTES / RECORDS / 1000
    return (
        arithmetic_figure(
            what="size of the data set",
            place="test setup",
            published="7.9",
            ours=RECORDS * FIELDS * FIELD_BYTES / TB,
            unit="TB",
            how="49,828,500 records x 2,000 fields x 425 B",
            remark="Values alone, before keys, and YCSB's are random bytes that do not compress 5:1. Either the size "
            f"or the command is not that of the test; 7.9 TB over the records are {row_kb:.1f} kB a row.",
        ),
        model_figure(
            what="cache over cached data",
            place="cache sizing guidelines",
            published=">1",
            ours=demand.everything_bytes / benchmark.workload.stored_bytes,
            unit="times",
            how="slots of all blocks / 0.95 (the accept factor) over stored bytes",
            remark="A little more than the data is not enough: HBase evicts when 95 % of the slots are claimed.",
        ),
        _misses(demand.blocks.lengths.mean_bytes),
    )


def _misses(block_bytes: float) -> PublishedFigure:
    fewest, most = (gigabytes * 10**9 / block_bytes / 1000 for gigabytes in NODE_CACHE_GB)
    return model_figure(
        what="misses of one node while its cache fills",
        place="figures 5 and 6",
        published="315-630",
        ours=(fewest, most),
        unit="thousand",
        how="cache of 18 to 20 GB over blocks of 64 KiB as they are cached",
        remark="One miss for each block at the lower end, two at the upper: reads that ask again before a block is in "
        "would do that.",
    )
