"""A cold cache, warmed by the reads themselves, and by prefetch."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import median
from typing import Final

from lab.hbase.bench import COLD
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import (
    Experiment,
    ScenarioResult,
    at_least,
    fill,
    gets_per_second,
    hit_ratios,
    over_time,
    within,
)
from lab.hbase.recording import Recording
from lab.hbase.result import Measurement
from lab.hbase.store import Settings
from lab.prediction import popularity_of, swing_of
from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR
from warmbase.sizing.cache.warm_up import CacheCapacity, WarmUpLoad, curve, hours_to, rate_between
from warmbase.sizing.workload.popularity import UNIFORM

TITLE: Final = "Warming a cold cache"
QUESTION: Final = "How long does a cold cache take to become useful, with reads alone and with prefetch?"
READING_WINDOWS: Final = 5
PREFETCHED_SECONDS: Final = 900.0
USEFUL: Final = 0.9
NEVER: Final = "never"
EDGE_SAMPLES: Final = 6


def run(lab: Experiment) -> ScenarioResult:
    """Warm the cache by prefetch and by reads, each from an empty cache."""
    return ScenarioResult.joined(
        (_by_reads(lab.filled()), _by_prefetch(lab)),
        ("Latencies are independent draws from a distribution; the real S3 also has slow periods.",),
    )


def _by_reads(lab: Experiment) -> ScenarioResult:
    bench, miniature = lab.bench, lab.miniature
    bench.serve(LabServer(varied=COLD), cold=True)
    bench.store.set(bench.latency)
    seconds = READING_WINDOWS * lab.seconds
    window = bench.measure(lab.table, lab.load(seconds=seconds))
    # The calculator's curve has the speed of reads in the run's own first and last seconds. The very first second is
    # the clients' own start.
    rates = [
        (after.cache.reads - before.cache.reads) / (after.seconds - before.seconds)
        for before, after in pairwise(window.samples)
    ]
    reading = [rate for rate in rates if rate > 0]
    cold, warm = median(reading[1 : EDGE_SAMPLES + 1]), median(reading[-EDGE_SAMPLES:])
    popularity = popularity_of(miniature, UNIFORM)
    swing = swing_of(miniature, miniature.cache_mib, miniature.demand.sizes)
    resident = popularity.total_blocks if swing.full_blocks >= popularity.total_blocks else swing.blocks_after_eviction
    drawn = curve(
        popularity,
        CacheCapacity.of(slots=swing.full_blocks / ACCEPT_FACTOR, blocks_after_eviction=resident),
        WarmUpLoad(
            accesses_per_second=rate_between(cold, warm),
            prefetched_blocks_per_second=0.0,
            hours=seconds / SECONDS_PER_HOUR,
        ),
    )
    measured, hours = hit_ratios(window.samples), hours_to(USEFUL, drawn)
    predicted = [(hour * SECONDS_PER_HOUR, ratio) for hour, ratio in drawn]
    last = [ratio for _, ratio in measured[-EDGE_SAMPLES:]]
    figure = partial(Measurement, case="by reads")
    return ScenarioResult(
        figures=(
            figure(
                name="GETs until warm",
                measured=float(window.gets),
                predicted=float(miniature.demand.blocks.count),
                because="each block is read from S3 once",
                target=within(0.05),
            ),
            figure(
                name=f"seconds to a hit ratio of {USEFUL}",
                unit="s",
                measured=next((at for at, ratio in measured if ratio >= USEFUL), NEVER),
                predicted=NEVER if hours is None else SECONDS_PER_HOUR * hours,
                because="after A reads, a block of weight w has been read with probability 1 - e^-wA; speeds are as "
                "measured",
            ),
            figure(
                name="hit ratio at the end",
                measured=sum(last) / max(1, len(last)),
                predicted=drawn[-1][1],
                because="everything fits",
                target=at_least(0.99),
            ),
        ),
        charts=(
            over_time(
                "Hit ratio while reads alone warm the cache",
                "hit ratio",
                [("measured", measured), ("predicted", predicted)],
            ),
            over_time("GETs while reads warm the cache", "GETs/s", [("measured", gets_per_second(window.samples))]),
        ),
        recorded=(Recording(name="warming by reads", samples=window.samples),),
    )


def _by_prefetch(lab: Experiment) -> ScenarioResult:
    bench, blocks = lab.bench, lab.miniature.demand.blocks.count
    bench.store.set(Settings())
    bench.cluster.stop_server()
    bench.cluster.clear_cache()
    before = bench.store.counters()
    bench.store.set(bench.latency)
    bench.cluster.start_server(LabServer())
    with bench.sampled() as samples:
        seconds = bench.wait_until_still(PREFETCHED_SECONDS)
    requests = bench.store.counters() - before
    figure = partial(Measurement, case="by prefetch")
    return ScenarioResult(
        figures=(
            figure(
                name="blocks cached",
                measured=float(samples[-1].cache.l2_blocks if samples else 0),
                predicted=float(blocks),
                because="every block of every store file, read when the file is opened",
                target=within(0.01),
            ),
            figure(
                name="seconds from the server's first answer",
                unit="s",
                measured=seconds,
                because=f"{bench.cluster.launch.plan.prefetch_threads} threads; the time includes opening regions",
            ),
            figure(
                name="GETs of store files",
                measured=float(requests.store_file_gets),
                because="as S3A's read policy issues them",
            ),
        ),
        charts=(
            over_time("Share of the blocks cached while prefetching", "share", [("measured", fill(samples, blocks))]),
        ),
        recorded=(Recording(name="warming by prefetch", samples=tuple(samples)),),
    )
