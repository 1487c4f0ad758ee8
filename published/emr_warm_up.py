"""How the cache of the EMR benchmark filled, and what that left to S3."""

from __future__ import annotations

from typing import Final

import numpy as np

from published.benchmark import YCSB_ZIPF, ZIPF, Benchmark
from published.benchmark_numbers import COLD, COLD_GETS, PEAK_GETS, RECORDS, WARM, WARM_GETS
from published.figure import PublishedFigure, arithmetic_figure, model_figure
from sizing.popularity import UNIFORM, RowPopularity, block_popularity
from sizing.units import SECONDS_PER_HOUR, format_duration, format_percent
from sizing.warm_up import CacheCapacity, Streams, WarmUpLoad, curve, rate_between

TABLE: Final = "table of hit ratio progression"
FIVE_MINUTES: Final = 300


def warm_up_figures(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    """Return the hit ratios over time beside the published ones."""
    half, day = _demand_filled(ZIPF)
    flat_half, flat_day = _demand_filled(YCSB_ZIPF)
    even_half, even_day = _demand_filled(UNIFORM)
    return (
        model_figure(
            what="hit ratio after 12 h",
            place=TABLE,
            published="85",
            ours=100 * half,
            unit="%",
            how="reads alone fill an empty cache; Zipf 0.99 over 49,828,500 rows",
            remark=f"The skew decides, and is not stated. Reads spread evenly: {format_percent(even_half)}. YCSB's own "
            f"generator, which is flatter than a Zipf over the rows: {format_percent(flat_half)}.",
        ),
        model_figure(
            what="hit ratio after 24 h",
            place=TABLE,
            published=">95",
            ours=100 * day,
            unit="%",
            how="the same, 12 h later",
            remark=f"Reads alone do not get there (evenly spread {format_percent(even_day)}, YCSB's generator "
            f"{format_percent(flat_day)}): something else filled the cache, and prefetch is on in the source's recipe.",
        ),
        _prefetched(benchmark),
    )


def _prefetched(benchmark: Benchmark) -> PublishedFigure:
    filled = benchmark.plan.warm_up
    return model_figure(
        what="time until 95 % with prefetch",
        place=TABLE,
        published="24",
        ours=filled.prefetch_seconds / SECONDS_PER_HOUR,
        unit="h",
        how=f"`hbase.rs.prefetchblocksonopen`, all blocks, during the benchmark's reads; limit: {filled.limit}",
        remark="With prefetch, the volumes could have been full within hours, if S3 is read 64 MiB at a time. With one "
        f"GET per block, it takes {format_duration(_block_by_block(benchmark))}. The source does not say how S3 was "
        "read.",
    )


def _block_by_block(benchmark: Benchmark) -> float:
    """Seconds until one node has prefetched its share with one GET for each block."""
    blocks, cached = benchmark.candidate.question.demand.blocks, benchmark.candidate.share.cached_blocks
    streams = Streams(threads=benchmark.plan.prefetch_threads, get_bytes=blocks.on_disk_bytes)
    return cached * blocks.on_disk_bytes / streams.bytes_per_second


def _demand_filled(rows: RowPopularity) -> tuple[float, float]:
    """Hit ratio after 12 h and 24 h when reads alone fill caches that hold everything, a row at a time."""
    drawn = curve(
        block_popularity(rows, RECORDS, 1.0),
        CacheCapacity(blocks_after_eviction=RECORDS, prefetch_stops_blocks=RECORDS),
        WarmUpLoad(accesses_per_second=rate_between(COLD, WARM), prefetched_blocks_per_second=0.0, hours=24),
    )
    hours, ratios = zip(*drawn, strict=True)
    return float(np.interp(12, hours, ratios)), float(np.interp(24, hours, ratios))


def request_figures(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    """GETs an hour."""
    return (*_cold_gets(benchmark), *_warming_gets(), _fewer_gets())


def _cold_gets(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    ours, blocks = COLD * SECONDS_PER_HOUR, benchmark.candidate.question.read.blocks
    return (
        arithmetic_figure(
            what="GETs an hour at the start",
            place=TABLE,
            published=f"{COLD_GETS:,}",
            ours=ours,
            unit="GETs",
            how=f"{COLD} uncached reads/s x 3,600 s, one GET each",
            remark=f"{COLD_GETS:,} an hour are {COLD_GETS / SECONDS_PER_HOUR:.0f} a second, too few for {COLD:.0f} "
            f"uncached reads a second, and a row of {blocks:.1f} blocks may take as many GETs. {COLD_GETS:,} in five "
            f"minutes ({COLD_GETS / FIVE_MINUTES:.0f}/s) would be near. Only proportions can be used.",
        ),
        arithmetic_figure(
            what="GETs an hour at the peak",
            place="figure 4",
            published=f"{PEAK_GETS:,}",
            ours=ours,
            unit="GETs",
            how="the same",
        ),
    )


def _warming_gets() -> tuple[PublishedFigure, ...]:
    needed = 1 - WARM_GETS / COLD_GETS * COLD / WARM
    return (
        arithmetic_figure(
            what="GETs an hour after 12 h",
            place=TABLE,
            published="15,000",
            ours=_gets(0.85),
            unit="GETs",
            how="95,000 x 15 % missed x reads/s at 85 % over those at 0 %",
            remark=f"15 % of 95,000 are {0.15 * COLD_GETS:,.0f}; but reads are faster by then, so more of them miss.",
        ),
        arithmetic_figure(
            what="GETs an hour after 24 h",
            place=TABLE,
            published=f"<{WARM_GETS:,}",
            ours=_gets(0.95),
            unit="GETs",
            how="the same at 95 %",
            remark=f"So few need a hit ratio of {format_percent(needed)}, not 95 %.",
        ),
    )


def _fewer_gets() -> PublishedFigure:
    return arithmetic_figure(
        what="fewer GETs",
        place="persistent cache, last paragraph",
        published="99",
        ours=100 * (1 - WARM_GETS / COLD_GETS),
        unit="%",
        how="1 - 1,000 / 95,000",
    )


def _gets(hit_ratio: float) -> float:
    """GETs an hour at that hit ratio, in proportion to those at the start."""
    return COLD_GETS * (1 - hit_ratio) * rate_between(COLD, WARM)(hit_ratio) / COLD
