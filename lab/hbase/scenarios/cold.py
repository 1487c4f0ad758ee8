"""Three RegionServers with cold caches: how many reads they serve, and when they carry a load."""

from __future__ import annotations

from functools import partial
from math import exp, log
from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult, over_time, within
from lab.hbase.recording import Recording, Window
from lab.hbase.result import Measurement
from lab.hbase.store import P99, Settings
from lab.prediction import ColdLab, Course, cold_course
from warmbase.ground.units import GIB
from warmbase.sizing.service.resource import Disk
from warmbase.sizing.workload.read import S3_FIRST_BYTE_SECONDS

TITLE: Final = "A cluster with cold caches"
QUESTION: Final = "How many reads does a cluster with cold caches serve, and how soon does it carry its load?"
SERVERS: Final = 3
HANDLERS: Final = 2
"""Handlers of each server. They are few, so that waiting for S3 limits the reads, and not this machine's cores."""
QUEUE: Final = 250
CLIENTS: Final = 64
"""The number of clients: enough that every handler always has a request."""
COLD: Final = varied(
    {
        "hbase.rs.prefetchblocksonopen": "false",
        "hbase.regionserver.handler.count": str(HANDLERS),
        "hbase.ipc.server.callqueue.read.ratio": "0",
        "hbase.ipc.server.max.callqueue.length": str(QUEUE),
    },
    "so that reads alone warm the caches, and handlers that wait for S3 are the limit",
)
LATENCY: Final = Settings(latency_ms=1000 * S3_FIRST_BYTE_SECONDS, latency_p99_ms=3000 * S3_FIRST_BYTE_SECONDS)
SINGLE_SECONDS: Final = 12.0
SINGLE: Final = 10.0
"""Reads a second of one client while S3 answers at once: few, so that the caches stay cold."""
LONGER: Final = 1.25
CONNECTING_SECONDS: Final = 15.0
COLD_SECONDS: Final = 20.0
TIMES: Final = 3.0
"""The load to carry, as a multiple of what is served when cold."""
SMOOTHED: Final = 8
"""Samples, each of about a second, over which a rate is taken."""
MEMORY: Final = Disk(kind="ebs", bytes_per_second=GIB, ios_per_second=1e5, latency_seconds=0.1e-3)
"""The page cache, in front of the cache's file."""


def run(lab: Experiment) -> ScenarioResult:
    """Return the course of a saturating load from empty caches, beside the calculator's."""
    lab = lab.filled()
    bench = lab.bench
    bench.serve(LabServer(varied=COLD), cold=True)
    load_of_one = lab.load(threads=1, seconds=SINGLE_SECONDS, target_per_second=SINGLE, seed=lab.seed + 1)
    single = bench.measure(lab.table, load_of_one)
    bench.store.set(LATENCY)
    course = cold_course(_lab(lab, single), MEMORY)
    load = course.per_second[0] * TIMES
    seconds = LONGER * course.seconds_to(load) + CONNECTING_SECONDS + COLD_SECONDS
    window = bench.measure(lab.table, lab.load(threads=CLIENTS, seconds=seconds))
    measured = _measured(window)
    return ScenarioResult(
        figures=(*_figures(measured, course, load), _single(single)),
        charts=(
            over_time(
                "Reads served from cold caches",
                "reads/s",
                [
                    ("measured", list(zip(measured.seconds, measured.per_second, strict=True))),
                    ("predicted", _until(course, measured.seconds[-1])),
                ],
            ),
        ),
        recorded=(Recording(name="from cold caches", samples=window.samples),),
        limits=(
            f"Each server has {HANDLERS} handlers, so that S3's latency is the limit, and not this machine's cores.",
            "Every block is equally popular here, and nothing is prefetched.",
        ),
    )


def _lab(lab: Experiment, single: Window) -> ColdLab:
    """Return the lab with the time of a GET: that of S3, and of this machine's own work, which depends on its load."""
    # The mean of a lognormal distribution lies above its median.
    sigma = log(LATENCY.latency_p99_ms / LATENCY.latency_ms) / P99 if LATENCY.latency_p99_ms else 0.0
    return ColdLab(
        miniature=lab.miniature,
        vcpus=lab.cores,
        handlers=HANDLERS,
        first_byte_seconds=S3_FIRST_BYTE_SECONDS * exp(sigma**2 / 2) + single.measured.percentiles_ms["50"] / 1000,
        cached_blocks=single.gets,
    )


def _measured(window: Window) -> Course:
    """Return the rate of block lookups over time, from the moment at which every client has read one."""
    connected = window.samples[0].cache.lookups + CLIENTS
    samples = [sample for sample in window.samples if sample.cache.lookups >= connected]
    pairs = list(zip(samples, samples[SMOOTHED:], strict=False))
    began = samples[0].seconds
    return Course(
        [(one.seconds + other.seconds) / 2 - began for one, other in pairs],
        [(other.cache.lookups - one.cache.lookups) / (other.seconds - one.seconds) for one, other in pairs],
    )


def _until(course: Course, seconds: float) -> list[tuple[float, float]]:
    return [(at, rate) for at, rate in zip(course.seconds, course.per_second, strict=True) if at <= seconds]


def _figures(measured: Course, predicted: Course, load: float) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=f"{SERVERS} servers with {HANDLERS} handlers each")
    return (
        figure(
            name=f"reads served in the first {COLD_SECONDS:.0f} s",
            unit="reads/s",
            measured=measured.mean_until(COLD_SECONDS),
            predicted=predicted.mean_until(COLD_SECONDS),
            because="each handler waits for S3 at every miss, and a store file serves one handler at a time; a single "
            "client measured this machine's own work for a miss just before",
            target=within(0.15),
        ),
        figure(
            name="seconds until three times the cold load is carried",
            unit="s",
            measured=measured.seconds_to(load),
            predicted=predicted.seconds_to(load),
            because="the calculator's course: at each hit ratio, the resources allow a rate of reads, and these reads "
            "raise the hit ratio",
            target=within(0.15),
        ),
        figure(
            name="mean reads served until then",
            unit="reads/s",
            measured=measured.mean_until(predicted.seconds_to(load)),
            predicted=predicted.mean_until(predicted.seconds_to(load)),
            because="the mean over the predicted time",
            target=within(0.15),
        ),
    )


def _single(window: Window) -> Measurement:
    return Measurement(
        case="one client alone, S3 at once",
        name="median latency",
        unit="ms",
        measured=window.measured.percentiles_ms["50"],
        because="this machine's own work for a miss, which the prediction adds to S3's latency",
    )
