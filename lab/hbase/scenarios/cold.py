"""Three RegionServers with cold caches: how many reads they serve, and when they carry a load."""

from __future__ import annotations

from functools import partial
from math import exp, log
from typing import Final

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult, over_time, within
from lab.hbase.recording import Recording
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
MEDIAN_MS: Final = 1000 * S3_FIRST_BYTE_SECONDS
P99_MS: Final = 3 * MEDIAN_MS
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
    # A single client measures this machine's own work for a miss, which depends on its load.
    load_of_one = lab.load(threads=1, seconds=SINGLE_SECONDS, target_per_second=SINGLE, seed=lab.seed + 1)
    single = bench.measure(lab.table, load_of_one)
    own_ms = single.measured.percentiles_ms["50"]
    bench.store.set(Settings(latency_ms=MEDIAN_MS, latency_p99_ms=P99_MS))
    # The mean of a lognormal distribution lies above its median.
    sigma = log(P99_MS / MEDIAN_MS) / P99
    predicted = cold_course(
        ColdLab(
            miniature=lab.miniature,
            vcpus=lab.cores,
            handlers=HANDLERS,
            first_byte_seconds=S3_FIRST_BYTE_SECONDS * exp(sigma**2 / 2) + own_ms / 1000,
            cached_blocks=single.gets,
        ),
        MEMORY,
    )
    load = predicted.per_second[0] * TIMES
    carried_seconds = predicted.seconds_to(load)
    seconds = LONGER * carried_seconds + CONNECTING_SECONDS + COLD_SECONDS
    window = bench.measure(lab.table, lab.load(threads=CLIENTS, seconds=seconds))
    # The measured course is the rate of block lookups, from the moment at which every client has read one.
    connected = window.samples[0].cache.lookups + CLIENTS
    samples = [sample for sample in window.samples if sample.cache.lookups >= connected]
    pairs = list(zip(samples, samples[SMOOTHED:], strict=False))
    measured = Course(
        [(one.seconds + other.seconds) / 2 - samples[0].seconds for one, other in pairs],
        [(other.cache.lookups - one.cache.lookups) / (other.seconds - one.seconds) for one, other in pairs],
    )
    drawn = zip(predicted.seconds, predicted.per_second, strict=True)
    figure = partial(Measurement, case=f"{SERVERS} servers with {HANDLERS} handlers each")
    return ScenarioResult(
        figures=(
            figure(
                name=f"reads served in the first {COLD_SECONDS:.0f} s",
                unit="reads/s",
                measured=measured.mean_until(COLD_SECONDS),
                predicted=predicted.mean_until(COLD_SECONDS),
                because="each handler waits for S3 at every miss, and a store file serves one handler at a time; a "
                "single client measured this machine's own work for a miss just before",
                target=within(0.15),
            ),
            figure(
                name="seconds until three times the cold load is carried",
                unit="s",
                measured=measured.seconds_to(load),
                predicted=carried_seconds,
                because="the calculator's course: at each hit ratio, the resources allow a rate of reads, and these "
                "reads raise the hit ratio",
                target=within(0.15),
            ),
            figure(
                name="mean reads served until then",
                unit="reads/s",
                measured=measured.mean_until(carried_seconds),
                predicted=predicted.mean_until(carried_seconds),
                because="the mean over the predicted time",
                target=within(0.15),
            ),
            Measurement(
                case="one client alone, S3 at once",
                name="median latency",
                unit="ms",
                measured=own_ms,
                because="this machine's own work for a miss, which the prediction adds to S3's latency",
            ),
        ),
        charts=(
            over_time(
                "Reads served from cold caches",
                "reads/s",
                [
                    ("measured", list(zip(measured.seconds, measured.per_second, strict=True))),
                    ("predicted", [(at, rate) for at, rate in drawn if at <= measured.seconds[-1]]),
                ],
            ),
        ),
        recorded=(Recording(name="from cold caches", samples=window.samples),),
        limits=(
            f"Each server has {HANDLERS} handlers, so that S3's latency is the limit, and not this machine's cores.",
            "Every block is equally popular here, and nothing is prefetched.",
        ),
    )
