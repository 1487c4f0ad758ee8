"""A RegionServer that is killed while its cache fills: what the index, written now and then, brings back."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from msgspec import Struct

from lab.hbase.bench import COLD, FRESH_SECONDS
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import PERSIST_INTERVAL_MS
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, over_time
from lab.hbase.recording import Sample
from lab.hbase.result import Measurement
from lab.hbase.store import Settings
from warmbase.ground.errors import OperationFailed

TITLE: Final = "Killed while the cache fills"
QUESTION: Final = (
    "How much of the cache survives when a server is killed while its cache fills, and does the server start again?"
)
FILLING_SECONDS: Final = 38.0
PACE: Final = 0.02
"""The share of all blocks that is filled each second: half are cached at the kill, and the index was written thrice."""
SAMPLE_SECONDS: Final = 0.5
# judgement: blocks that were cached while the index was being written may be missing.
INDEXED: Final = 0.9


class Killed(Struct, frozen=True, kw_only=True):
    """Blocks cached when it was killed, and an interval of the index earlier; those that came back, and how it did."""

    at_kill: int
    indexed: int
    recovered: int
    started: str


def run(lab: Experiment) -> ScenarioResult:
    """Reads fill an empty cache; the server is killed after its index was written at least once."""
    lab = lab.filled()
    bench, table = lab.bench, lab.table
    samples = _filled_until_killed(lab)
    if not samples or not _an_interval_earlier(samples).cache.l2_blocks:
        raise OperationFailed.of(
            where="killed-while-filling",
            what="nothing was cached an interval before the kill",
            why="the clients started late",
            fix="run the scenario again on a quieter machine",
        )
    started = _started(lab)
    time.sleep(FRESH_SECONDS)
    killed = Killed(
        at_kill=samples[-1].cache.l2_blocks,
        indexed=_an_interval_earlier(samples).cache.l2_blocks,
        recovered=bench.sample(0.0).cache.l2_blocks,
        started=started,
    )
    bench.await_regions()
    after = bench.measure(table, lab.load())
    blocks = [(sample.seconds, float(sample.cache.l2_blocks)) for sample in samples]
    return ScenarioResult(
        figures=_figures(lab, killed, after.hit_ratio),
        charts=(over_time("Blocks cached before the kill", "blocks", [("measured", blocks)]),),
        limits=("The index is written more often here than in the plan: a crash of a real server loses more of it.",),
    )


def _filled_until_killed(lab: Experiment) -> list[Sample]:
    bench = lab.bench
    bench.serve(LabServer(varied=COLD), cold=True)
    bench.store.set(bench.latency)
    filling = lab.quick(2 * FILLING_SECONDS, target_per_second=PACE * lab.miniature.demand.blocks.count)
    clients = bench.ycsb.start(lab.table, filling, "ycsb-filling")
    try:
        with bench.sampled(SAMPLE_SECONDS) as samples:
            time.sleep(FILLING_SECONDS)
            bench.cluster.kill_server()
    finally:
        clients.kill()
        bench.store.set(Settings())
    return samples


def _an_interval_earlier(samples: list[Sample]) -> Sample:
    latest = samples[-1].seconds - PERSIST_INTERVAL_MS / 1000
    return next((sample for sample in reversed(samples) if sample.seconds <= latest), samples[0])


def _figures(lab: Experiment, killed: Killed, hit_ratio: float) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case="", unit="")
    share = killed.at_kill / lab.miniature.demand.blocks.count
    return (
        figure(
            name="blocks cached when it was killed",
            measured=float(killed.at_kill),
            because=f"{share:.0%} of all blocks, and growing",
        ),
        figure(
            name="blocks recovered",
            measured=float(killed.recovered),
            predicted=float(killed.indexed),
            because="at least the blocks that were cached when the index was last written, at most one interval "
            "earlier",
            target=at_least(INDEXED * killed.indexed),
        ),
        figure(
            name="how it started again",
            measured=killed.started,
            because="a truncated index stops HBase 2.6.1 to 2.6.4",
        ),
        figure(name="hit ratio after it", measured=hit_ratio, because="of reads that continue to fill the cache"),
    )


def _started(lab: Experiment) -> str:
    """How the server came back; with its index moved aside where it would not start with it."""
    cluster = lab.bench.cluster
    try:
        cluster.start_server(LabServer(varied=COLD))
    except OperationFailed:
        why = cluster.decisive_line("server-0")
        cluster.clear_cache()
        cluster.start_server(LabServer(varied=COLD))
        return f"only without its index: {why}"
    return "by itself"
