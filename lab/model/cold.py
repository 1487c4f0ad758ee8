"""The course of the lab's cluster from cold caches, computed with the calculator's own steps."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from msgspec import Struct

from lab.model.prediction import LOOPBACK_GBIT_PER_SECOND, popularity_of, read_of
from lab.model.scaled_plan import ScaledPlan
from sizing.cold_rates import Prefetching
from sizing.cold_start import ColdStart
from sizing.popularity import UNIFORM
from sizing.read import Timings, block_cpu_seconds
from sizing.resource import Disk, ServingCluster
from sizing.units import GIB, SECONDS_PER_HOUR
from sizing.warm_up import CacheCapacity
from sizing.workload import OpenLoad


class ColdLab(Struct, frozen=True, kw_only=True):
    """A lab with cold caches that is offered more reads than it can serve, and S3's mean time to a first byte."""

    miniature: ScaledPlan
    vcpus: int
    handlers: int
    first_byte_seconds: float
    cached_blocks: float = 0.0
    """The blocks that are cached at the start."""

    @property
    def readers(self) -> float:
        """Return how many handlers of one server read at once, if a store file serves one of them at a time.

        S3A locks a file's stream for a positioned read. With handlers and files alike, a closed network of f files
        with n readers has n f / (n + f - 1) of them at work (balanced, by mean-value analysis).
        """
        files = self.miniature.regions / self.miniature.servers
        return self.handlers * files / (self.handlers + files - 1)


class Course(Struct, frozen=True):
    """Reads a second over time, from the first read on."""

    seconds: Sequence[float]
    per_second: Sequence[float]

    def mean_until(self, seconds: float) -> float:
        """Return the mean reads a second from the start until then."""
        at = np.linspace(0.0, seconds, 200)
        return float(np.mean(np.interp(at, self.seconds, self.per_second)))

    def seconds_to(self, per_second: float) -> float:
        """Return the time at which this many reads a second are served; infinite if they never are."""
        return next((at for at, rate in zip(self.seconds, self.per_second, strict=True) if rate >= per_second), inf)


def cold_course(lab: ColdLab, disk: Disk) -> Course:
    """Return the reads a second that the calculator predicts, if clients always ask for more."""
    miniature = lab.miniature
    blocks = popularity_of(miniature, UNIFORM).total_blocks
    start = ColdStart(
        cluster=ServingCluster(
            servers=miniature.servers,
            vcpus=lab.vcpus,
            network_gbit_per_second=LOOPBACK_GBIT_PER_SECOND,
            handlers=lab.readers,  # type: ignore[arg-type]
            disk=disk,
        ),
        read=read_of(miniature),
        timings=Timings(
            block_cpu_seconds=block_cpu_seconds(
                miniature.demand.blocks.payload_bytes, compressed=miniature.workload.compressed
            ),
            s3_first_byte_seconds=lab.first_byte_seconds,
            s3_stream_bytes_per_second=GIB,
        ),
        load=OpenLoad(reads_per_second=1e6),
        popularity=popularity_of(miniature, UNIFORM),
        room=CacheCapacity.of(slots=2 * blocks, blocks_after_eviction=blocks),
        prefetching=Prefetching(blocks=0.0, blocks_per_second=1.0, s3_bytes=0.0, slot_bytes=0.0, get_bytes=1.0),
    )
    hours, ratios, per_second = zip(*start.course.points, strict=True)
    # The course begins with this many cached blocks.
    begun = float(np.interp(lab.cached_blocks / blocks, ratios, hours))
    first = float(np.interp(begun, hours, per_second))
    later = [
        (SECONDS_PER_HOUR * (hour - begun), rate) for hour, rate in zip(hours, per_second, strict=True) if hour > begun
    ]
    return Course([0.0, *(at for at, _ in later)], [first, *(rate for _, rate in later)])
