"""Restarts of a warm RegionServer: clean, killed, and without persistence."""

from __future__ import annotations

import time
from functools import partial
from statistics import median
from typing import Final

from msgspec import Struct

from lab.hbase.bench import FRESH_SECONDS
from lab.hbase.cluster import LabServer, restored
from lab.hbase.configuration import PERSIST_INTERVAL_MS, varied
from lab.hbase.experiment import (
    IN_TURN,
    Experiment,
    ScenarioResult,
    at_least,
    fill,
    in_turn,
    over_time,
    within,
    within_factor,
)
from lab.hbase.recording import Recording, Sample, Window
from lab.hbase.result import Measurement
from lab.machine import OwnCpu
from warmbase.sizing.server.restart import RestartLoad, opening_seconds, restore_seconds

TITLE: Final = "Restarts"
QUESTION: Final = (
    "How much of the cache survives a restart, and how long does it take until regions serve and "
    "reads are as fast as before?"
)
FIRST_MINUTE_SECONDS: Final = 60.0
SYSTEM_REGIONS: Final = 2  # hbase:meta and hbase:namespace
RESTORED_FRACTION: Final = 0.995
AS_FAST: Final = 0.97
BEST_OF: Final = 2
"""The windows after each start, of which the best counts, because other work comes and goes."""
LONGER: Final = 3
"""How much longer these windows are than others: the clients' JVM starts in each, and takes a third of a short one."""
FORGETFUL: Final = varied(
    {"hbase.bucketcache.persistent.path": None, "hbase.rs.prefetchblocksonopen": "false"},
    "without persistence, and without prefetch, which would hide the loss, for comparison",
)


class RestartCase(Struct, frozen=True, kw_only=True):
    """One way to end a warm server, and what it is started with again."""

    name: str
    killed: bool
    server: LabServer
    keeps: bool


CASES: Final = (
    RestartCase(name="clean restart", killed=False, server=LabServer(), keeps=True),
    RestartCase(name="kill -9", killed=True, server=LabServer(), keeps=True),
    RestartCase(
        name="clean restart, neither persistence nor prefetch",
        killed=False,
        server=LabServer(varied=FORGETFUL),
        keeps=False,
    ),
)


class RestartResult(Struct, frozen=True, kw_only=True):
    """A restart's counts of blocks and its windows; a control has no first window, and started with an empty cache.

    `reads_per_cpu_second` counts the processor time of all the lab's processes in the best window. `away` has the
    seconds from the end of the old process until all regions serve.
    """

    after: Window
    first: Window | None = None
    cached: int = 0
    recovered: int = 0
    reads_per_cpu_second: float
    away: float
    samples: tuple[Sample, ...] = ()

    @property
    def per_second(self) -> float:
        """Return the reads a second of the last window."""
        return self.after.measured.operations_per_second


def run(lab: Experiment) -> ScenarioResult:
    """Return each case in turn with a server that has filled its cache by prefetch, and at last one that forgets."""
    lab = lab.filled()
    turns = in_turn(partial(_unrestarted, lab), [partial(_restarted, lab, case) for case in CASES[:-1]])
    forgetful, last = _restarted(lab, CASES[-1]), turns.controls[-1]
    results = [*turns.rounds[0], forgetful]
    rounds = range(len(CASES) - 1)
    throughputs = [turns.ratio(number, lambda result: result.per_second) for number in rounds]
    throughputs.append(forgetful.per_second / last.per_second)
    per_cpu_second = [turns.ratio(number, lambda result: result.reads_per_cpu_second) for number in rounds]
    per_cpu_second.append(forgetful.reads_per_cpu_second / last.reads_per_cpu_second)
    boot_seconds, usual = median(control.away for control in turns.controls), turns.controls[0].per_second
    figures = list[Measurement]()
    for case, result, throughput, per_cpu in zip(CASES, results, throughputs, per_cpu_second, strict=True):
        # The measured start of a server without an index, and what an index and the latency of S3 add to it.
        opening = RestartLoad(
            heap_bytes=lab.miniature.heap_mib << 20,
            cached_blocks=result.cached,
            regions=lab.miniature.regions + SYSTEM_REGIONS,
            open_region_threads=lab.bench.cluster.launch.plan.open_region_threads,
            s3_trip_seconds=lab.bench.latency.latency_ms / 1000,
            pre_touch=True,
            restores_in_background=False,
        )
        first = result.first or result.after
        figure = partial(Measurement, case=case.name)
        figures += [
            figure(
                name="blocks recovered",
                measured=float(result.recovered),
                predicted=float(result.cached) if case.keeps else None,
                because="read back from the index, according to its log; the prediction is the number of cached blocks "
                "at its end"
                if case.keeps
                else "cached when all regions serve; without an index the cache file starts empty",
                target=within(1 - RESTORED_FRACTION) if case.keeps else None,
            ),
            figure(
                name="seconds until all regions serve",
                unit="s",
                measured=result.away,
                predicted=boot_seconds + restore_seconds(result.cached) + opening_seconds(opening),
                because="from the end of the old process: the median start of the controls in this run, which read no "
                "index and opened their regions from an S3 that answers at once; the calculator adds the index and "
                "S3's latency",
                target=within_factor(1.5) if case.keeps else None,
            ),
            figure(
                name="hit ratio in the first minute",
                measured=first.hit_ratio,
                predicted=1.0 if case.keeps else None,
                because="nothing is lost" if case.keeps else "the reads of that minute fill the cache",
                target=at_least(RESTORED_FRACTION) if case.keeps else None,
            ),
            figure(
                name="GETs per 1,000 reads in the first minute",
                measured=first.gets_per_1000_reads,
                because="counted in front of the S3 server",
            ),
            figure(
                name="throughput against before, in the first minute",
                unit="x",
                measured=first.measured.operations_per_second / usual,
                because="the JVM is cold as well",
            ),
            figure(
                name="throughput against before, after it",
                unit="x",
                measured=throughput,
                because="the same reads with a warm JVM; other work on this machine takes a part of its cores at times",
            ),
            figure(
                name="reads for a second of processor time against before, after it",
                unit="x",
                measured=per_cpu,
                because="the processor time of all the lab's processes, which limits the throughput of two cores, the "
                f"best of {BEST_OF} windows; {IN_TURN}. The control is a server that filled its cache by prefetch"
                if case.keeps
                else "the same reads with a warm JVM, over the last control",
                target=at_least(AS_FAST) if case.keeps else None,
            ),
        ]
    return ScenarioResult(
        figures=tuple(figures),
        charts=tuple(
            over_time(
                f"Cached share after: {case.name}",
                "share of the blocks",
                [("measured", fill(result.samples, result.cached))],
            )
            for case, result in zip(CASES, results, strict=True)
        ),
        recorded=tuple(
            Recording(name=case.name, samples=result.samples) for case, result in zip(CASES, results, strict=True)
        ),
        limits=(
            "The index is written more often here than in the plan: a crash of a real server loses more of it.",
            "The file system's page cache survives a killed process; it would not survive a power failure.",
        ),
    )


def _unrestarted(lab: Experiment) -> RestartResult:
    """Return the reads of a server that began with an empty cache and has filled it, after as long a time of reads."""
    bench = lab.bench
    bench.cluster.stop_servers()
    away = bench.serve(LabServer(), cold=True)
    bench.wait_until_still()
    bench.store.set(bench.latency)
    bench.measure(lab.table, lab.load(seconds=FIRST_MINUTE_SECONDS))
    after, per_cpu_second = _best(lab)
    return RestartResult(after=after, reads_per_cpu_second=per_cpu_second, away=away)


def _best(lab: Experiment) -> tuple[Window, float]:
    """Return the fastest window, and the best reads for a second of the lab's own processor time in any window."""
    windows, per_cpu_second = [], []
    for _ in range(BEST_OF):
        used, began = OwnCpu(), time.monotonic()
        windows.append(lab.bench.measure(lab.table, lab.load(seconds=LONGER * lab.seconds)))
        per_cpu_second.append(windows[-1].measured.reads / (used.cores() * (time.monotonic() - began)))
    return max(windows, key=lambda window: window.measured.operations_per_second), max(per_cpu_second)


def _restarted(lab: Experiment, case: RestartCase) -> RestartResult:
    bench, cluster = lab.bench, lab.bench.cluster
    # Long enough that the index contains every cached block.
    time.sleep(2 * PERSIST_INTERVAL_MS / 1000)
    cached = bench.sample(0.0).cache.l2_blocks
    bench.store.set(bench.latency)
    with bench.sampled() as samples:
        time.sleep(FRESH_SECONDS)
        if case.killed:
            cluster.kill_server()
        else:
            cluster.stop_server()
        began = time.monotonic()
        cluster.start_server(case.server)
        bench.await_regions()
        away = time.monotonic() - began
        recovered = (
            restored(cluster.place.log(case.server.name)).blocks if case.keeps else bench.sample(0.0).cache.l2_blocks
        )
        first = bench.measure(lab.table, lab.load(seconds=FIRST_MINUTE_SECONDS))
    after, per_cpu_second = _best(lab)
    return RestartResult(
        cached=cached,
        recovered=recovered,
        reads_per_cpu_second=per_cpu_second,
        away=away,
        first=first,
        after=after,
        samples=tuple(samples),
    )
