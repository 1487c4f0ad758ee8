"""Writes while HBase limits compactions, and a major compaction under load.

The first scenario measures the rate that compactions keep up with, and the rate at which HBase blocks. The second
compacts in waves with a floor for the hit ratio, beside HBase's own compaction of the whole table.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from msgspec.structs import replace

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import SCALE, varied
from lab.hbase.control import AFTER_SECONDS, LOAD_SECONDS, WARM_SECONDS, prefetch, roomy, steady_cluster
from lab.hbase.experiment import (
    SAME,
    UNCOMPRESSED,
    Experiment,
    ScenarioResult,
    at_least,
    at_most,
    family_of,
    over_time,
    within,
)
from lab.hbase.jmx import SERVER_BEAN, bean
from lab.hbase.result import Measurement
from lab.hbase.scenarios.writes import CELL_BYTES, CLIENTS, DATA_BYTES, REGIONS, WriteWindow, write_counters
from lab.hbase.ycsb import YcsbTable
from lab.prediction import WritingLab, writing_server
from warmbase.ground.units import MIB
from warmbase.operations.cluster.hbase_control import Patience
from warmbase.operations.hbase.compaction_waves import CompactionWaves
from warmbase.sizing.server.writes import write_resources

TITLE: Final = "Slow compactions"
QUESTION: Final = "Which writes can limited compactions keep up with, and at which rate does HBase block?"
FLUSH_BYTES: Final = MIB
COMPACTED_MIB_S: Final = 3
"""judgement: enough for some 500 cells a second, which leaves two cores idle most of the time."""
BLOCKING_FILES: Final = 10
"""Fewer than planned, so that stores reach the limit within a minute."""
CARRIED: Final = 0.8
SETTLING_SECONDS: Final = 45.0
BLOCKED_SECONDS: Final = 150.0
WINDOWS: Final = 6
ENDING_SECONDS: Final = 15.0
START_SECONDS: Final = 20.0


def run(lab: Experiment) -> ScenarioResult:
    """Return writes at a part of the calculator's rate, and then as fast as they are answered."""
    small = lab.scaled(DATA_BYTES, cell_bytes=CELL_BYTES, **UNCOMPRESSED)
    table = YcsbTable(name="compacted", rows=small.rows, value_bytes=CELL_BYTES)
    lab = replace(lab, table=table, miniature=small)
    lab.bench.table(table, family_of(table, small), REGIONS)
    bound = str(COMPACTED_MIB_S * MIB)
    settings = {
        "hbase.hregion.memstore.flush.size": str(FLUSH_BYTES),
        "hbase.hstore.compaction.min.size": str(FLUSH_BYTES),
        "hbase.hstore.blockingStoreFiles": str(BLOCKING_FILES),
        "hbase.hstore.compaction.throughput.lower.bound": bound,
        "hbase.hstore.compaction.throughput.higher.bound": bound,
        "hbase.hstore.compaction.throughput.control.check.interval": "65536",
        "hbase.hstore.compaction.throughput.tune.period": "3600000",
        "hbase.hstore.compaction.max.size.offpeak": None,
        "hbase.offpeak.start.hour": None,
        "hbase.offpeak.end.hour": None,
    }
    server = LabServer(varied=varied(settings, f"slow compactions, {SCALE}, and no night"))
    lab.bench.serve(server, cold=True)
    properties = lab.bench.cluster.site(server).properties
    model = writing_server(WritingLab(miniature=small, properties=properties, regions=REGIONS, vcpus=lab.cores))
    limit = next(resource for resource in write_resources(model, 1) if resource.name == "compactions")
    rate = limit.max_bytes_per_second / CELL_BYTES
    carried, files = _written(lab, CARRIED * rate)
    fast, _ = _written(lab, None)
    unblocked = partial(Measurement, case=f"{CARRIED:.0%} of what compactions should keep up with")
    blocked = partial(Measurement, case=f"{CLIENTS} clients as fast as they are answered")
    return ScenarioResult(
        figures=(
            unblocked(
                name="cells written",
                unit="cells/s",
                measured=carried.per_second,
                predicted=CARRIED * rate,
                because=f"what was offered; the calculator's `compactions` at {COMPACTED_MIB_S} MiB/s",
                target=within(0.05),
            ),
            unblocked(
                name="writes blocked by memstore or store files",
                measured=float(carried.counts.blocked_requests),
                predicted=0.0,
                because="HBase's `blockedRequestCount`",
                target=SAME,
            ),
            unblocked(
                name="files of a store",
                measured=files,
                because="the mean at the end of the window; the stores stay below the limit of their files",
                target=at_most(BLOCKING_FILES - 1),
            ),
            blocked(
                name="writes blocked by memstore or store files",
                measured=float(fast.counts.blocked_requests),
                because="HBase blocks, because stores have as many files as they may",
                target=at_least(1.0),
            ),
            blocked(
                name="cells written",
                unit="cells/s",
                measured=fast.per_second,
                predicted=rate,
                because="the calculator's rate is where compactions fall behind. HBase blocks later: the more files "
                "wait, the more of them one compaction merges, and the less it writes for each",
                target=at_least(rate),
            ),
            blocked(
                name="write amplification",
                unit="x",
                measured=1 + fast.counts.compacted_bytes / max(1, fast.counts.flushed_bytes),
                because="bytes of all store files over those of flushes, while HBase blocks",
            ),
        ),
        limits=(
            (
                "HBase lifts its limit on compactions a minute after a store has reached the limit of its files. The "
                "lab keeps the limit, because it stands for a volume or cores that cannot compact faster."
            ),
        ),
    )


def _written(lab: Experiment, cells_per_second: float | None) -> tuple[WriteWindow, float]:
    """Return a window of writes and the mean files of a store at its end.

    Without a rate, the window begins when HBase blocks writes.
    """
    bench, cluster, seconds = lab.bench, lab.bench.cluster, WINDOWS * lab.seconds
    load = lab.load(
        seconds=START_SECONDS + BLOCKED_SECONDS + seconds + ENDING_SECONDS,
        threads=CLIENTS,
        reads=0.0,
        updates=1.0,
        target_per_second=cells_per_second,
    )
    first = write_counters(cluster)
    clients = bench.ycsb.start(lab.table, load)
    bench.wait_until(lambda _: write_counters(cluster).log_edits > first.log_edits, START_SECONDS)
    if cells_per_second:
        time.sleep(SETTLING_SECONDS)
    else:
        bench.wait_until(lambda _: write_counters(cluster).blocked_requests > first.blocked_requests, BLOCKED_SECONDS)
    before, began = write_counters(cluster), time.monotonic()
    time.sleep(seconds)
    window = WriteWindow(seconds=time.monotonic() - began, counts=write_counters(cluster) - before)
    files = bean(cluster.place.ports.servers_info[0], SERVER_BEAN)["storeFileCount"] / REGIONS
    clients.kill()
    bench.say(f"  {window.per_second:,.0f} cells/s, {files:.1f} files, {window.counts.blocked_requests:,} blocked")
    return window, files


MAJOR_COMPACTION_TITLE: Final = "A major compaction in waves"
MAJOR_COMPACTION_QUESTION: Final = "If all regions are compacted under load, do the caches keep answering?"
MAJOR_COMPACTION_SERVERS: Final = 3
FLOOR: Final = 0.95
LOWEST: Final = 0.9
ROOM: Final = 1.4
ROOM_WHY: Final = "room for a second copy of two of eight regions, because HBase keeps old files for a while"
PATIENCE: Final = Patience(before=WARM_SECONDS, recovery=300.0, poll=1.0)
WAVES: Final = "in waves"
AT_ONCE: Final = "all regions at once"


def run_major_compaction(lab: Experiment) -> ScenarioResult:
    """Compact every region in waves, and then all of them at once, each with caches that hold all data."""
    lab = lab.filled()
    return ScenarioResult.joined(
        (_compacted(lab, WAVES), _compacted(lab, AT_ONCE)),
        (
            "The three servers share the cores of one machine, so a wave takes longer than on a cluster.",
            f"The caches are {ROOM} times as large as those of the other scenarios, to have room for a wave.",
        ),
    )


def _compacted(lab: Experiment, case: str) -> ScenarioResult:
    """Compact all regions in the way of this case, under steady reads, with caches that hold all data at first."""
    bench, say = lab.bench, lab.bench.say
    prefetch(lab, roomy(lab, ROOM, ROOM_WHY))
    with steady_cluster(lab) as steady:
        began, before = steady.now, bench.sample(0.0).cache
        if case == WAVES:
            tables = frozenset({lab.table.name})
            waves = CompactionWaves(
                hbase=steady.control, tables=tables, before=time.time(), floor=FLOOR, patience=PATIENCE
            )
            for stage in waves.stages():
                say(f"  {stage.title}: {stage.act(say)}")
        else:
            seconds = steady.control.admin.major_compact(lab.table.name, LOAD_SECONDS)
            say(f"  all regions compacted in {seconds:.0f} s")
        ended = steady.now
        time.sleep(AFTER_SECONDS[lab.short])
    evictions = bench.sample(0.0).cache.l2_evictions - before.l2_evictions
    history, until = steady.history, steady.now
    hit_ratios = history.hit_ratios(began, until)
    figure = partial(Measurement, case=case)
    figures = (
        figure(
            name="lowest hit ratio in 5 s",
            measured=min((ratio for _, ratio in hit_ratios), default=0.0),
            because="all servers together; the floor applies after a wave, and during one some blocks are missing",
            target=at_least(LOWEST) if case == WAVES else None,
        ),
        figure(
            name="GETs of store files",
            measured=float(history.gets(began, until)),
            because="by compactions, for blocks that the caches do not hold, and by reads, for blocks that they lost",
        ),
        figure(
            name="evictions",
            measured=float(evictions),
            because="the blocks of old and new files are both cached until HBase removes the old files",
        ),
        figure(
            name="seconds",
            unit="s",
            measured=ended - began,
            because="with the pauses between waves; all processes share the cores of one machine",
        ),
    )
    chart = over_time(f"Hit ratio: {case}", "share of block reads that hit, in 5 s", [("measured", hit_ratios)])
    return ScenarioResult(figures=figures, charts=(chart,))
