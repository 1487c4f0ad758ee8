"""The performance of warm nodes under a workload: throughput, mean latency, and estimated percentiles.

Means come from `queueing.py`. The percentiles come from a small seeded simulation of the read path, which adds the
shape: the long tail of S3's first byte, the spread of a disk, the spread of waiting. All of it is an estimate, and the
same seed gives the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from math import exp, log, sqrt
from typing import Final, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.service.queueing import (
    Handlers,
    LoadResult,
    Overloaded,
    closed_load,
    network,
    open_load,
    saturated_load,
)
from warmbase.sizing.service.resource import Resource, ServingCluster, bottleneck, delay_seconds, resources
from warmbase.sizing.workload.read import Hits
from warmbase.sizing.workload.workload import ClosedLoad, Load

Counts = NDArray[np.int64]
Values = NDArray[np.float64]

# Two hundred samples lie beyond p99 and twenty beyond p99.9.
READS: Final = 20_000
READS_BEYOND_P99: Final = READS // 100
FIRST_READS: Final = READS // 5
# If one read in a hundred takes longer, 40 of the first reads do. As few or as many as these have a chance below 1e-6.
FEW_BEYOND: Final = 15
MANY_BEYOND: Final = 75
SEED: Final = 20_260
TAIL_QUANTILE: Final = 0.99
HALF: Final = 0.5
READ_SHAPES: Final = 8  # that are cached: clusters differ in the times of a read's blocks, and seldom in their number
QUANTILES: Final = (0.5, 0.95, TAIL_QUANTILE, 0.999)

# judgement: Amazon S3 User Guide gives roughly 100-200 ms for a first byte; taken as what two thirds of the
# requests see, that is a lognormal with this median and spread: mean 150 ms, p99 317 ms.
S3_MEDIAN_SECONDS: Final = sqrt(0.100 * 0.200)
S3_SIGMA: Final = log(0.200 / 0.100) / 2
S3_MEAN_SECONDS: Final = S3_MEDIAN_SECONDS * exp(S3_SIGMA**2 / 2)
# judgement: gp3 is "single-digit milliseconds": near 1 ms in the mean, and 1 in 1,000 above 4 ms.
DISK_SIGMA: Final = 0.5


class Percentiles(Struct, frozen=True, kw_only=True):
    """The estimated latency of reads: its mean, and four percentiles."""

    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    p999_ms: float

    @classmethod
    def of(cls, mean_seconds: float, seconds: Values) -> Percentiles:
        """Return the percentiles from the latencies at the four `QUANTILES`."""
        p50, p95, p99, p999 = (seconds * 1000).tolist()
        return cls(mean_ms=mean_seconds * 1000, p50_ms=p50, p95_ms=p95, p99_ms=p99, p999_ms=p999)


class ReadPath(Struct, frozen=True, kw_only=True, dict=True):
    """A read of one table, which has a `share` of all reads. A multi-get waits for this many `servers`.

    On one server, the read takes `fixed_seconds` for CPU and moving bytes, and has `blocks` one after the other. Each
    comes from the disk of the cache, in `disk_seconds` on average, or from S3, where moving it takes
    `s3_moving_seconds`. `together`: the blocks of a read are all cached or all not, because one read cached them
    (judgement: true of whole rows, false of scans).

    `waiting_seconds` is the mean queueing over all reads. In an open load, a read waits at all with
    `waiting_probability`, and then an exponential time (exact for M/M/c). In a closed load of N requests over
    `closed_servers` equal ones, the queue of a server is a Beta(1, n - 1) share of N: never more than all of them.
    """

    name: str = ""
    share: float = 1.0
    servers: int = 1
    blocks: float
    hit_ratio: float
    disk_seconds: float
    s3_moving_seconds: float = 0.0
    fixed_seconds: float = 0.0
    together: bool = True
    waiting_seconds: float = 0.0
    waiting_probability: float = 1.0
    closed_servers: int | None = None

    @cached_property
    def percentiles(self) -> Percentiles:
        """Return the estimated latency of a read; for a multi-get, that of the maximum of its servers' answers."""
        seconds = samples(self)
        if self.servers == 1:
            return Percentiles.of(float(seconds.mean()), quantiles(seconds, QUANTILES))
        times = np.sort(seconds)
        below = (np.searchsorted(times, times, side="right") / len(times)) ** self.servers
        mean = float(times[0] + ((1 - below[:-1]) * np.diff(times)).sum())
        return Percentiles.of(mean, times[np.minimum(np.searchsorted(below, QUANTILES), len(times) - 1)])


@cache
def _draws() -> Values:
    """Return the random numbers of the simulation; shape (7, READS).

    They are uniform for the number of blocks, for misses, for waits and for their lengths, normal for disk and S3, and
    exponential for lengths. Every path is simulated with the same numbers, so that a faster path never has the longer
    percentile by chance.
    """
    draw = np.random.default_rng(SEED)
    uniform, normal = draw.random((4, READS)), draw.standard_normal((2, READS))
    return np.concatenate((uniform, normal, -np.log1p(-uniform[3:])))


@lru_cache(maxsize=READ_SHAPES)
def _block_counts(mean: float) -> Counts:
    """Return the number of blocks of each read for this mean; shape (READS,)."""
    return np.asarray(int(mean) + (_draws()[0] < mean - int(mean)))


@lru_cache(maxsize=2 * READ_SHAPES)
def _sum_shapes(device: Literal["disk", "s3"], mean_blocks: float) -> Values:
    """Return `_sum_shape` of all blocks of each read; shape (READS,)."""
    return _sum_shape(device, _block_counts(mean_blocks))


def _sum_shape(device: Literal["disk", "s3"], counts: Counts) -> Values:
    """Return the sum of `counts` independent times over its mean, in one draw: a lognormal of equal mean and variance.

    Fenton and Wilkinson's approximation: exact for one, and good above the median, which is the part that is
    read.
    """
    sigma, normal = (DISK_SIGMA, _draws()[4]) if device == "disk" else (S3_SIGMA, _draws()[5])
    variance = np.log1p((exp(sigma**2) - 1) / np.maximum(np.arange(counts.max() + 1), 1))
    shape: Values = np.exp(np.sqrt(variance)[counts] * normal[: len(counts)] - variance[counts] / 2)
    return shape


def samples(path: ReadPath, reads: int = READS) -> Values:
    """Return the simulated latencies of the first reads on one server in seconds, in no order; shape (reads,)."""
    _, misses, waits, lengths, _, _, exponential = _draws()[:, :reads]
    if path.waiting_seconds <= 0:
        waiting: Values = np.zeros(reads)
    elif path.closed_servers is None:
        mean = path.waiting_seconds / path.waiting_probability
        waiting = np.where(waits < path.waiting_probability, mean * exponential, 0.0)
    elif path.closed_servers == 1:
        waiting = np.full(reads, path.waiting_seconds)
    else:
        shares = 1 - (1 - lengths) ** (1 / (path.closed_servers - 1))
        waiting = path.waiting_seconds * path.closed_servers * shares
    seconds, blocks = path.fixed_seconds + waiting, _block_counts(path.blocks)[:reads]
    if path.together:
        cached = blocks * path.disk_seconds * _sum_shapes("disk", path.blocks)[:reads]
        missing = blocks * S3_MEAN_SECONDS * _sum_shapes("s3", path.blocks)[:reads]
        seconds += np.where(misses < path.hit_ratio, cached, missing + blocks * path.s3_moving_seconds)
        return seconds
    from_s3 = np.random.default_rng(SEED).binomial(blocks, 1 - path.hit_ratio)
    on_disk = blocks - from_s3
    seconds += on_disk * path.disk_seconds * _sum_shape("disk", on_disk)
    seconds += from_s3 * S3_MEAN_SECONDS * _sum_shape("s3", from_s3) + from_s3 * path.s3_moving_seconds
    return seconds


def quantiles(values: Values, fractions: Sequence[float]) -> Values:
    """Return what `numpy.quantile` returns, which loads numpy's masked arrays when it is first called."""
    at = np.array(fractions) * (len(values) - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    ordered = np.partition(values, np.concatenate((below, above)))
    low, high, part = ordered[below], ordered[above], at - below
    return np.asarray(np.where(part < HALF, low + (high - low) * part, high - (high - low) * (1 - part)))


def slowest_of(seconds: Values, servers: int) -> Values:
    """Return the latencies of reads that wait for the slowest of `servers` answers; `seconds` is the latency of one."""
    if servers == 1:
        return seconds
    share = ((np.arange(len(seconds)) + HALF) / len(seconds)) ** (1 / servers)
    return np.asarray(np.sort(seconds)[(share * len(seconds)).astype(np.int64)])


def mixed_percentiles(shares: Sequence[float], tables: Sequence[Values]) -> Percentiles:
    """Return the percentiles of all reads, from each table's share of them and its simulated latencies in seconds."""
    seconds = np.concatenate(tables)
    weights = np.repeat(np.divide(shares, [len(table) for table in tables]), [len(table) for table in tables])
    order = np.argsort(seconds)
    at = np.searchsorted(np.cumsum(weights[order]) / weights.sum(), QUANTILES)
    mean = float(seconds @ weights / weights.sum())
    return Percentiles.of(mean, seconds[order][np.minimum(at, len(seconds) - 1)])


class Performance(Struct, frozen=True, kw_only=True, dict=True):
    """Return the load that this many nodes carry; with `overloaded`, what they can of a too large open load."""

    load: LoadResult
    overloaded: bool
    paths: tuple[ReadPath, ...]

    @cached_property
    def percentiles(self) -> Percentiles:
        """Return the estimated latency of a read; for a multi-get, that of the slowest of its servers."""
        if len(self.paths) == 1:
            return self.paths[0].percentiles
        seconds = [slowest_of(samples(path), path.servers) for path in self.paths]
        return mixed_percentiles([path.share for path in self.paths], seconds)

    @property
    def p99_seconds(self) -> float:
        """The estimated 99th percentile; infinite for a load that is too much."""
        return math.inf if self.overloaded else self.percentiles.p99_ms / 1000

    def quantile_seconds(self, quantile: float) -> float:
        """The estimated latency that this share of the reads stays below; one of `QUANTILES`."""
        reads = self.percentiles
        milliseconds = (reads.p50_ms, reads.p95_ms, reads.p99_ms, reads.p999_ms)
        return dict(zip(QUANTILES, milliseconds, strict=True))[quantile] / 1000

    def p99_beyond(self, wanted_seconds: float) -> float | None:
        """Return the p99 if it exceeds the target, or None. All reads are simulated only if the result is close.

        One server's share of a multi-get decides only if it takes too long.
        """
        if self.overloaded:
            return math.inf
        if len(self.paths) > 1:
            slow = 0.0
            for path in self.paths:
                slow += path.share * float(np.mean(slowest_of(samples(path), path.servers) > wanted_seconds))
            return self.p99_seconds if slow >= 1 - TAIL_QUANTILE and self.p99_seconds > wanted_seconds else None
        [path] = self.paths
        seconds = samples(path, FIRST_READS)
        beyond = np.count_nonzero(seconds > wanted_seconds)
        if beyond >= MANY_BEYOND:
            return float(quantiles(seconds, (TAIL_QUANTILE,))[0])
        if path.servers > 1:
            return self.p99_seconds if self.p99_seconds > wanted_seconds else None
        seconds = samples(path) if beyond > FEW_BEYOND else seconds
        # Usually, a count shows that the p99 of all reads does not exceed the target.
        if beyond <= FEW_BEYOND or np.count_nonzero(seconds > wanted_seconds) < READS_BEYOND_P99:
            return None
        p99_ms = 1000 * float(quantiles(seconds, (TAIL_QUANTILE,))[0])
        return p99_ms / 1000 if p99_ms / 1000 > wanted_seconds else None


def performance(inputs: SizingInputs, cluster: ServingCluster, hits: Hits, vcpus: int) -> Performance:
    """Return the workload on warm nodes with these hits."""
    delay = delay_seconds(cluster, inputs.read, hits, inputs.timings)
    limits = resources(cluster, inputs.read, hits, inputs.timings)
    stations = network(limits, cluster.servers, vcpus, delay)
    *_, of_handlers = limits
    handlers = Handlers(servers=cluster.servers, per_server=cluster.handlers, imbalance=of_handlers.imbalance)
    offered, overloaded = inputs.requirements.workload.load, False
    closed_servers, waiting_probability = None, 1.0
    if isinstance(offered, ClosedLoad):
        load, closed_servers = closed_load(stations, offered.concurrency, handlers), cluster.servers
    else:
        try:
            load = open_load(stations, offered.reads_per_second, handlers)
        except Overloaded:
            load, overloaded = saturated_load(stations, handlers), True
        waiting_probability = min(1.0, max(1e-6, *dict(load.utilisation).values()))
    alone = max(0.0, load.seconds_alone - delay)
    ratios, paths = hits.tables or inputs.table_hit_ratios(hits.ratio), []
    for table, ratio in zip(inputs.table_reads, ratios, strict=True):
        servers = min(table.rows, cluster.servers) if table.kind == "multi-get" else 1
        of_table, part = alone, 1.0
        if len(ratios) > 1:
            own = replace(hits, ratio=ratio, tables=())
            limits = resources(cluster, table.read, own, table.timings)
            of_table = network(limits, cluster.servers, vcpus, 0.0).seconds_alone
            # The queueing of a read that uses this part of the resources of the mean read.
            part = of_table / alone if alone and closed_servers is None else 1.0
        path = ReadPath(
            name=table.name,
            share=table.share,
            servers=servers,
            blocks=table.read.blocks / servers,
            hit_ratio=ratio,
            disk_seconds=cluster.disk.latency_seconds if cluster.disk else 0.0,
            s3_moving_seconds=table.read.on_disk_length_bytes / table.timings.s3_stream_bytes_per_second,
            fixed_seconds=of_table / servers,
            together=table.read.blocks > 1 and table.kind == "get",
            waiting_seconds=part * load.waiting_seconds,
            waiting_probability=waiting_probability,
            closed_servers=closed_servers,
        )
        paths.append(path)
    return Performance(load=load, overloaded=overloaded, paths=tuple(paths))


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
