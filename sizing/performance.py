"""The performance of warm nodes under a workload: throughput, mean latency, and estimated percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from sizing.inputs import UTILISATION, SizingInputs
from sizing.latency import (
    READS,
    TAIL_QUANTILE,
    Percentiles,
    ReadPath,
    Spread,
    Waiting,
    disk_spread,
    fan_out,
    p99_ms,
    percentiles,
    quantiles,
    samples,
)
from sizing.queueing import Handlers, LoadResult, Overloaded, QueueingNetwork, closed_load, network, open_load
from sizing.read import Hits
from sizing.resource import Resource, ServingCluster, bottleneck, delay_seconds, resources
from sizing.workload import ClosedLoad, Load

__all__ = ["Performance", "performance", "reads_in_progress"]

READS_BEYOND_P99: Final = READS // 100
FIRST_READS: Final = READS // 5
# If one read in a hundred takes longer, 40 of the first reads do. As few or as many as these have a chance below 1e-6.
FEW_BEYOND: Final = 15
MANY_BEYOND: Final = 75
NO_DISK = Spread(median_seconds=0.0, sigma=0.0)


@dataclass(frozen=True, kw_only=True)
class Performance:
    """Return the load that this many nodes carry; with `overloaded`, what they can of a too large open load."""

    load: LoadResult
    overloaded: bool
    path: ReadPath
    fan_out_servers: int

    @cached_property
    def percentiles(self) -> Percentiles:
        """Estimated latency of a read; of a multi-get, that of the slowest of its servers."""
        if self.fan_out_servers > 1:
            return fan_out(self.path, self.fan_out_servers)
        return percentiles(self.path)

    def quantile_seconds(self, quantile: float) -> float:
        """The estimated latency that this share of the reads stays below; one of p50, p95, p99 and p99.9."""
        return self.percentiles.seconds(quantile)

    def p99_beyond(self, wanted_seconds: float) -> float | None:
        """Return the p99 if it exceeds the target, or None. All reads are simulated only if the result is close.

        One server's share of a multi-get decides only if it takes too long.
        """
        if self.overloaded:
            return math.inf
        first = samples(self.path, reads=FIRST_READS)
        beyond = np.count_nonzero(first > wanted_seconds)
        if beyond >= MANY_BEYOND:
            return float(quantiles(first, (TAIL_QUANTILE,))[0])
        if self.fan_out_servers > 1:
            return self.p99_seconds if self.p99_seconds > wanted_seconds else None
        return self._p99_of_all_beyond(wanted_seconds) if beyond > FEW_BEYOND else None

    def _p99_of_all_beyond(self, wanted_seconds: float) -> float | None:
        """Return the p99 of all reads if it exceeds the target, or None. Most often, a count tells that it does not."""
        seconds = samples(self.path)
        if np.count_nonzero(seconds > wanted_seconds) < READS_BEYOND_P99:
            return None
        p99_seconds = p99_ms(seconds) / 1000
        return p99_seconds if p99_seconds > wanted_seconds else None

    @property
    def p99_seconds(self) -> float:
        """The estimated 99th percentile; infinite for a load that is too much."""
        return float("inf") if self.overloaded else self.percentiles.p99_ms / 1000


def performance(question: SizingInputs, cluster: ServingCluster, hits: Hits, vcpus: int) -> Performance:
    """Return the workload on warm nodes with these hits."""
    delay = delay_seconds(cluster, question.read, hits, question.timings)
    limits = resources(cluster, question.read, hits, question.timings)
    stations = network(limits, cluster.servers, vcpus, delay)
    busiest = next(resource.imbalance for resource in limits if resource.name == "handlers")
    handlers = Handlers(servers=cluster.servers, per_server=cluster.handlers, imbalance=busiest)
    load, overloaded = _load(question, handlers, stations)
    servers = _fan_out_servers(question, cluster)
    timings = question.timings
    path = ReadPath(
        blocks=question.read.blocks / servers,
        hit_ratio=hits.ratio,
        disk=disk_spread(cluster.disk.latency_seconds) if cluster.disk else NO_DISK,
        waiting=_waiting(question, cluster, load),
        s3_moving_seconds=question.read.on_disk_length_bytes / timings.s3_stream_bytes_per_second,
        fixed_seconds=max(0.0, load.seconds_alone - delay) / servers,
        together=question.read.blocks > 1 and question.requirements.workload.reads.kind == "get",
    )
    return Performance(load=load, overloaded=overloaded, path=path, fan_out_servers=servers)


def reads_in_progress(load: Load, servers: int, limits: Sequence[Resource]) -> float:
    """Return how many reads the busiest server works on at once under the load, with room for queues.

    `limits` are the resources of servers with one handler each. By Little's law. For an open load that is too large, it
    is what the hardware and S3 allow; for a closed load, an even share of its requests.
    """
    if isinstance(load, ClosedLoad):
        return min(load.concurrency, load.concurrency / servers / UTILISATION)
    one_handler = next(limit for limit in limits if limit.name == "handlers")
    carried = bottleneck(limit for limit in limits if limit is not one_handler).max_reads_per_second
    return min(load.reads_per_second / UTILISATION, carried) / one_handler.max_reads_per_second / UTILISATION


def _fan_out_servers(question: SizingInputs, cluster: ServingCluster) -> int:
    reads = question.requirements.workload.reads
    return min(reads.rows, cluster.servers) if reads.kind == "multi-get" else 1


def _load(question: SizingInputs, handlers: Handlers, stations: QueueingNetwork) -> tuple[LoadResult, bool]:
    load = question.requirements.workload.load
    if isinstance(load, ClosedLoad):
        return closed_load(stations, load.concurrency, handlers), False
    try:
        return open_load(stations, load.reads_per_second, handlers), False
    except Overloaded:
        return _saturated(stations, handlers), True


def _saturated(stations: QueueingNetwork, handlers: Handlers) -> LoadResult:
    """Return what is served of a load that is too large, with every handler or the bottleneck busy (Little's law)."""
    busy = handlers.servers * handlers.per_server
    served = min(stations.bottleneck.max_reads_per_second, busy / stations.seconds_alone / handlers.imbalance)
    return LoadResult(
        reads_per_second=served,
        latency_seconds=busy / served,
        think_seconds=0.0,
        seconds_alone=stations.seconds_alone,
        utilisation=tuple((station.name, served / station.max_reads_per_second) for station in stations.stations),
    )


def _waiting(question: SizingInputs, cluster: ServingCluster, load: LoadResult) -> Waiting:
    if isinstance(question.requirements.workload.load, ClosedLoad):
        return Waiting(mean_seconds=load.waiting_seconds, closed_servers=cluster.servers)
    busiest = max((used for _, used in load.utilisation), default=0.0)
    return Waiting(mean_seconds=load.waiting_seconds, probability=min(1.0, max(busiest, 1e-6)))
