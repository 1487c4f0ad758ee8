"""A RegionServer that is killed while its cache fills: what the index, written now and then, brings back."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from lab.hbase.bench import COLD, FRESH_SECONDS
from lab.hbase.cluster import LabServer
from lab.hbase.configuration import PERSIST_INTERVAL_MS
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, over_time
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


def run(lab: Experiment) -> ScenarioResult:
    """Reads fill an empty cache; the server is killed after its index was written at least once."""
    lab = lab.filled()
    bench, cluster, blocks = lab.bench, lab.bench.cluster, lab.miniature.demand.blocks.count
    bench.serve(LabServer(varied=COLD), cold=True)
    bench.store.set(bench.latency)
    filling = lab.quick(2 * FILLING_SECONDS, target_per_second=PACE * blocks)
    clients = bench.ycsb.start(lab.table, filling, "ycsb-filling")
    try:
        with bench.sampled(SAMPLE_SECONDS) as samples:
            time.sleep(FILLING_SECONDS)
            cluster.kill_server()
    finally:
        clients.kill()
        bench.store.set(Settings())
    cached = [(sample.seconds, sample.cache.l2_blocks) for sample in samples]
    # The index has at least the blocks that were cached an interval before the kill.
    latest = cached[-1][0] - PERSIST_INTERVAL_MS / 1000 if cached else 0.0
    indexed = next((count for seconds, count in reversed(cached) if seconds <= latest), cached[0][1] if cached else 0)
    if not indexed:
        raise OperationFailed.of(
            where="killed-while-filling",
            what="nothing was cached an interval before the kill",
            why="the clients started late",
            fix="run the scenario again on a quieter machine",
        )
    started = "by itself"
    try:
        cluster.start_server(LabServer(varied=COLD))
    except OperationFailed:
        started = f"only without its index: {cluster.decisive_line('server-0')}"
        cluster.clear_cache()
        cluster.start_server(LabServer(varied=COLD))
    time.sleep(FRESH_SECONDS)
    recovered = bench.sample(0.0).cache.l2_blocks
    bench.await_regions()
    after = bench.measure(lab.table, lab.load())
    figure = partial(Measurement, case="")
    return ScenarioResult(
        figures=(
            figure(
                name="blocks cached when it was killed",
                measured=float(cached[-1][1]),
                because=f"{cached[-1][1] / blocks:.0%} of all blocks, and growing",
            ),
            figure(
                name="blocks recovered",
                measured=float(recovered),
                predicted=float(indexed),
                because="at least the blocks that were cached when the index was last written, at most one interval "
                "earlier",
                target=at_least(INDEXED * indexed),
            ),
            figure(
                name="how it started again", measured=started, because="a truncated index stops HBase 2.6.1 to 2.6.4"
            ),
            figure(
                name="hit ratio after it",
                measured=after.hit_ratio,
                because="of reads that continue to fill the cache",
            ),
        ),
        charts=(
            over_time(
                "Blocks cached before the kill",
                "blocks",
                [("measured", [(seconds, float(count)) for seconds, count in cached])],
            ),
        ),
        limits=("The index is written more often here than in the plan: a crash of a real server loses more of it.",),
    )
