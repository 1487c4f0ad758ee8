"""The performance of warm nodes under a workload: throughput, mean latency, and estimated percentiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from sizing.inputs import UTILISATION, SizingInputs, TableRead
from sizing.latency import (
    READS,
    TAIL_QUANTILE,
    Percentiles,
    ReadPath,
    Spread,
    Waiting,
    disk_spread,
    fan_out,
    mixed_percentiles,
    p99_ms,
    percentiles,
    quantiles,
    samples,
    slowest_of,
)
from sizing.popularity import Floats
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


class TablePath(Struct, frozen=True, kw_only=True, dict=True):
    """The path of a read of one table, which has a `share` of all reads; a multi-get waits for this many `servers`."""

    name: str
    share: float
    path: ReadPath
    servers: int

    @cached_property
    def percentiles(self) -> Percentiles:
        """Return the estimated latency of a read; for a multi-get, that of the slowest of its servers."""
        return fan_out(self.path, self.servers) if self.servers > 1 else percentiles(self.path)

    @property
    def samples(self) -> Floats:
        """Return simulated latencies in seconds, in no particular order."""
        return slowest_of(samples(self.path), self.servers)


class Performance(Struct, frozen=True, kw_only=True, dict=True):
    """Return the load that this many nodes carry; with `overloaded`, what they can of a too large open load."""

    load: LoadResult
    overloaded: bool
    paths: tuple[TablePath, ...]

    @cached_property
    def percentiles(self) -> Percentiles:
        """Return the estimated latency of a read; for a multi-get, that of the slowest of its servers."""
        if len(self.paths) == 1:
            return self.paths[0].percentiles
        return mixed_percentiles([path.share for path in self.paths], [path.samples for path in self.paths])

    def quantile_seconds(self, quantile: float) -> float:
        """The estimated latency that this share of the reads stays below; one of p50, p95, p99 and p99.9."""
        return self.percentiles.seconds(quantile)

    def p99_beyond(self, wanted_seconds: float) -> float | None:
        """Return the p99 if it exceeds the target, or None. All reads are simulated only if the result is close.

        One server's share of a multi-get decides only if it takes too long.
        """
        if self.overloaded:
            return math.inf
        if len(self.paths) > 1:
            slow = sum(path.share * float(np.mean(path.samples > wanted_seconds)) for path in self.paths)
            return self.p99_seconds if slow >= 1 - TAIL_QUANTILE and self.p99_seconds > wanted_seconds else None
        [path] = self.paths
        first = samples(path.path, reads=FIRST_READS)
        beyond = np.count_nonzero(first > wanted_seconds)
        if beyond >= MANY_BEYOND:
            return float(quantiles(first, (TAIL_QUANTILE,))[0])
        if path.servers > 1:
            return self.p99_seconds if self.p99_seconds > wanted_seconds else None
        return _p99_of_all_beyond(path.path, wanted_seconds) if beyond > FEW_BEYOND else None

    @property
    def p99_seconds(self) -> float:
        """The estimated 99th percentile; infinite for a load that is too much."""
        return float("inf") if self.overloaded else self.percentiles.p99_ms / 1000


def _p99_of_all_beyond(path: ReadPath, wanted_seconds: float) -> float | None:
    """Return the p99 of all reads if it exceeds the target, or None. Usually, a count shows that it does not."""
    seconds = samples(path)
    if np.count_nonzero(seconds > wanted_seconds) < READS_BEYOND_P99:
        return None
    p99_seconds = p99_ms(seconds) / 1000
    return p99_seconds if p99_seconds > wanted_seconds else None


def performance(question: SizingInputs, cluster: ServingCluster, hits: Hits, vcpus: int) -> Performance:
    """Return the workload on warm nodes with these hits."""
    delay = delay_seconds(cluster, question.read, hits, question.timings)
    limits = resources(cluster, question.read, hits, question.timings)
    stations = network(limits, cluster.servers, vcpus, delay)
    busiest = next(resource.imbalance for resource in limits if resource.name == "handlers")
    handlers = Handlers(servers=cluster.servers, per_server=cluster.handlers, imbalance=busiest)
    load, overloaded = _load(question, handlers, stations)
    alone = max(0.0, load.seconds_alone - delay)
    ratios = hits.tables or question.table_hit_ratios(hits.ratio)

    def path_of(table: TableRead, ratio: float) -> TablePath:
        servers = _fan_out_servers(table, cluster)
        of_table = alone
        if len(ratios) > 1:
            own = replace(hits, ratio=ratio, tables=())
            limits = resources(cluster, table.read, own, table.timings)
            of_table = network(limits, cluster.servers, vcpus, 0.0).seconds_alone
        path = ReadPath(
            blocks=table.read.blocks / servers,
            hit_ratio=ratio,
            disk=disk_spread(cluster.disk.latency_seconds) if cluster.disk else NO_DISK,
            waiting=_waiting(question, cluster, load, part=of_table / alone if alone else 1.0),
            s3_moving_seconds=table.read.on_disk_length_bytes / table.timings.s3_stream_bytes_per_second,
            fixed_seconds=of_table / servers,
            together=table.read.blocks > 1 and table.kind == "get",
        )
        return TablePath(name=table.name, share=table.share, path=path, servers=servers)

    paths = tuple(path_of(table, ratio) for table, ratio in zip(question.table_reads, ratios, strict=True))
    return Performance(load=load, overloaded=overloaded, paths=paths)


def reads_in_progress(load: Load, servers: int, limits: Sequence[Resource]) -> float:
    """Return how many reads the busiest server works on at once under the load, with room for queues.

    `limits` are the resources of servers with one handler each, and the handlers come last. By Little's law. For an
    open load that is too large, it is what the hardware and S3 allow; for a closed load, an even share of its requests.
    """
    if isinstance(load, ClosedLoad):
        return min(load.concurrency, load.concurrency / servers / UTILISATION)
    *others, one_handler = limits
    carried = bottleneck(others).max_reads_per_second
    return min(load.reads_per_second / UTILISATION, carried) / one_handler.max_reads_per_second / UTILISATION


def _fan_out_servers(table: TableRead, cluster: ServingCluster) -> int:
    return min(table.rows, cluster.servers) if table.kind == "multi-get" else 1


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


def _waiting(question: SizingInputs, cluster: ServingCluster, load: LoadResult, part: float) -> Waiting:
    """Return the queueing of a read that uses `part` times the resources of the mean read."""
    if isinstance(question.requirements.workload.load, ClosedLoad):
        return Waiting(mean_seconds=load.waiting_seconds, closed_servers=cluster.servers)
    busiest = max((used for _, used in load.utilisation), default=0.0)
    return Waiting(mean_seconds=part * load.waiting_seconds, probability=min(1.0, max(busiest, 1e-6)))
