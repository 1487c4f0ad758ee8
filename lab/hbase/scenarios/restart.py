"""Restarts of a warm RegionServer: clean, killed, and without persistence."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from lab.hbase.bench import FRESH_SECONDS, Window
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, fill, over_time, within
from lab.hbase.overlay import PERSIST_INTERVAL_MS, varied
from lab.hbase.recording import Recording
from lab.hbase.result import Measurement, MeasurementTarget, TargetKind
from lab.hbase.scenarios.index import restored
from sizing.restart import RestartLoad, restart

TITLE: Final = "Restarts"
QUESTION: Final = (
    "How much of the cache survives a restart, and how long does it take until regions serve and "
    "reads are as fast as before?"
)
FIRST_MINUTE_SECONDS: Final = 60.0
PREFETCHED_SECONDS: Final = 600.0
SYSTEM_REGIONS: Final = 2  # hbase:meta and hbase:namespace
RESTORED_FRACTION: Final = 0.995
AS_FAST: Final = 0.97
FORGETFUL: Final = varied(
    {"hbase.bucketcache.persistent.path": None, "hbase.rs.prefetchblocksonopen": "false"},
    "without persistence, and without prefetch, which would hide the loss, for comparison",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCase:
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


def run(lab: Experiment) -> ScenarioResult:
    """Return each case after the same warm minute."""
    lab = lab.filled()
    table, bench = lab.table, lab.bench
    bench.serve(LabServer(), cold=True)
    bench.wait_until_still(PREFETCHED_SECONDS)
    bench.measure(table, lab.load())
    before = bench.measure(table, lab.load())
    restarts = [_restarted(lab, case, before) for case in CASES]
    return ScenarioResult(
        figures=tuple(figure for item in restarts for figure in item.figures),
        charts=tuple(chart for item in restarts for chart in item.charts),
        recorded=tuple(recording for item in restarts for recording in item.recorded),
        limits=(
            "The index is written more often here than in the plan: a crash of a real server loses more of it.",
            "The file system's page cache survives a killed process; it would not survive a power failure.",
        ),
    )


def _restarted(lab: Experiment, case: RestartCase, before: Window) -> ScenarioResult:
    bench = lab.bench
    # Long enough that the index contains every cached block.
    time.sleep(2 * PERSIST_INTERVAL_MS / 1000)
    cached = bench.sample(0.0).cache.l2_blocks
    bench.store.set(bench.latency)
    table = lab.table
    with bench.sampled() as samples:
        time.sleep(FRESH_SECONDS)
        away = _away(lab, case)
        recovered = (
            restored(bench.cluster.place.log(case.server.name)).blocks
            if case.keeps
            else bench.sample(0.0).cache.l2_blocks
        )
        first = bench.measure(table, lab.load(seconds=FIRST_MINUTE_SECONDS))
    after = bench.measure(table, lab.load())
    return ScenarioResult(
        figures=_figures(lab, case, (cached, recovered, away), (before, first, after)),
        charts=(
            over_time(f"Cached share after: {case.name}", "share of the blocks", [("measured", fill(samples, cached))]),
        ),
        recorded=(Recording(name=case.name, samples=tuple(samples)),),
    )


def _away(lab: Experiment, case: RestartCase) -> float:
    """Ends the server and starts it again; the seconds from the end of the old process until all regions serve."""
    cluster = lab.bench.cluster
    if case.killed:
        cluster.kill_server()
    else:
        cluster.stop_server()
    began = time.monotonic()
    cluster.start_server(case.server)
    lab.bench.await_regions()
    return time.monotonic() - began


def _figures(
    lab: Experiment, case: RestartCase, counted: tuple[int, int, float], windows: tuple[Window, Window, Window]
) -> tuple[Measurement, ...]:
    cached, recovered, away = counted
    return (
        Measurement(
            case=case.name,
            name="blocks recovered",
            unit="",
            measured=float(recovered),
            predicted=float(cached),
            because="read back from the index, according to its log; the prediction is the number of cached "
            "blocks at its end",
            target=within(1 - RESTORED_FRACTION),
        )
        if case.keeps
        else Measurement(
            case=case.name,
            name="blocks recovered",
            unit="",
            measured=float(recovered),
            because="cached when all regions serve; without an index the cache file starts empty",
        ),
        Measurement(
            case=case.name,
            name="seconds until all regions serve",
            unit="s",
            measured=away,
            predicted=_away_seconds(lab, cached),
            because="from the end of the old process: a boot of 20 s, as measured before on two cores, then "
            "restoring the index and opening regions",
            target=MeasurementTarget(kind=TargetKind.WITHIN_FACTOR, bound=1.5) if case.keeps else None,
        ),
        *_reading_figures(case, *windows),
    )


def _reading_figures(case: RestartCase, before: Window, first: Window, after: Window) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case.name)
    usual = before.measured.operations_per_second
    return (
        figure(
            name="hit ratio in the first minute",
            unit="",
            measured=first.hit_ratio,
            predicted=1.0 if case.keeps else None,
            because="nothing is lost" if case.keeps else "the reads of that minute fill the cache",
            target=at_least(RESTORED_FRACTION) if case.keeps else None,
        ),
        figure(
            name="GETs per 1,000 reads in the first minute",
            unit="",
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
            measured=after.measured.operations_per_second / usual,
            because="the same reads with a warm JVM",
            target=at_least(AS_FAST) if case.keeps else None,
        ),
    )


def _away_seconds(lab: Experiment, cached: int) -> float:
    """The calculator's restart at the latency that S3 has here."""
    estimate = restart(
        RestartLoad(
            heap_bytes=lab.miniature.heap_mib << 20,
            cached_blocks=cached,
            regions=lab.miniature.regions + SYSTEM_REGIONS,
            open_region_threads=lab.bench.cluster.launch.plan.open_region_threads,
            s3_trip_seconds=lab.bench.latency.latency_ms / 1000,
            pre_touch=True,
            restores_in_background=False,
        )
    )
    return estimate.seconds - estimate.stop_seconds
