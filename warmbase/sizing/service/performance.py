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
from msgspec.structs import fields, replace
from numpy.typing import NDArray

from warmbase.sizing.service.inputs import UTILISATION, SizingInputs, TableRead
from warmbase.sizing.service.queueing import (
    Handlers,
    LoadResult,
    Overloaded,
    QueueingNetwork,
    closed_load,
    network,
    open_load,
)
from warmbase.sizing.service.resource import Resource, ServingCluster, bottleneck, delay_seconds, resources
from warmbase.sizing.workload.popularity import Floats
from warmbase.sizing.workload.read import Hits
from warmbase.sizing.workload.workload import ClosedLoad, Load

Counts = NDArray[np.int64]
Values = NDArray[np.float64]

# Two hundred samples lie beyond p99 and twenty beyond p99.9.
READS: Final = 20_000
SEED: Final = 20_260
TAIL_QUANTILE: Final = 0.99
HALF: Final = 0.5
READ_SHAPES: Final = 8  # that are cached: clusters differ in the times of a read's blocks, and seldom in their number
QUANTILES: Final = (0.5, 0.95, TAIL_QUANTILE, 0.999)

# judgement: Amazon S3 User Guide gives roughly 100-200 ms for a first byte; taken as what two thirds of the
# requests see, that is a lognormal with this median and spread: mean 150 ms, p99 317 ms.
S3_MEDIAN_SECONDS: Final = sqrt(0.100 * 0.200)
S3_SIGMA: Final = log(0.200 / 0.100) / 2
# judgement: gp3 is "single-digit milliseconds": near 1 ms in the mean, and 1 in 1,000 above 4 ms.
DISK_SIGMA: Final = 0.5


class Spread(Struct, frozen=True, kw_only=True):
    """A lognormal time: half of all are below `median_seconds`; `sigma` is the spread of its logarithm."""

    median_seconds: float
    sigma: float

    @property
    def mean_seconds(self) -> float:
        """Return the mean, which the tail pulls above the median."""
        return self.median_seconds * exp(self.sigma**2 / 2)


S3_FIRST_BYTE: Final = Spread(median_seconds=S3_MEDIAN_SECONDS, sigma=S3_SIGMA)


class Waiting(Struct, frozen=True, kw_only=True):
    """Queueing of a read: `probability` that it waits at all, and the mean over all reads.

    In an open load what waits, waits an exponential time (exact for M/M/c). In a closed load of N requests
    over `closed_servers` equal ones the queue of a server is a Beta(1, n - 1) share of N: never more than all
    of them.
    """

    mean_seconds: float
    probability: float = 1.0
    closed_servers: int | None = None


class ReadPath(Struct, frozen=True, kw_only=True):
    """One read: `blocks` one after the other, each from the disk of the cache or from S3, and fixed time.

    `together`: the blocks of a read are all cached or all not, because one read cached them (judgement: true
    of whole rows, false of scans). `fixed_seconds` is CPU and moving bytes; `s3_moving_seconds` is moving one
    block from S3.
    """

    blocks: float
    hit_ratio: float
    disk: Spread
    waiting: Waiting
    s3_first_byte: Spread = S3_FIRST_BYTE
    s3_moving_seconds: float = 0.0
    fixed_seconds: float = 0.0
    together: bool = True


class Percentiles(Struct, frozen=True, kw_only=True):
    """The estimated latency of reads: its mean, and four percentiles."""

    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    p999_ms: float

    def seconds(self, quantile: float) -> float:
        """Return the latency at one of the four quantiles."""
        milliseconds = (self.p50_ms, self.p95_ms, self.p99_ms, self.p999_ms)
        return dict(zip(QUANTILES, milliseconds, strict=True))[quantile] / 1000


def disk_spread(mean_seconds: float, sigma: float = DISK_SIGMA) -> Spread:
    """Return the lognormal of that mean."""
    return Spread(median_seconds=mean_seconds * exp(-(sigma**2) / 2), sigma=sigma)


class Draws(Struct, frozen=True, kw_only=True):
    """The random numbers of one simulation, each of shape (reads,).

    Every path is simulated with the same numbers, so that a faster path never has the longer percentile by chance.
    """

    blocks: Values
    misses: Values
    waits: Values
    wait_lengths: Values
    exponential: Values
    disk: Values
    s3: Values

    def first(self, reads: int) -> Draws:
        """Return the numbers of the first reads only."""
        return Draws(**{column.name: getattr(self, column.name)[:reads] for column in fields(self)})


@cache
def _first_draws(seed: int, reads: int) -> Draws:
    """Return the numbers of the first reads of a whole simulation."""
    return draws(seed, READS).first(reads)


@cache
def draws(seed: int, reads: int) -> Draws:
    """Return uniform numbers for choices, lengths and shapes of waits, and normal ones for disk and S3."""
    rng = np.random.default_rng(seed)
    blocks, misses, waits, lengths = rng.random((4, reads))
    disk, s3 = rng.standard_normal((2, reads))
    return Draws(
        blocks=blocks,
        misses=misses,
        waits=waits,
        wait_lengths=lengths,
        exponential=-np.log1p(-lengths),
        disk=disk,
        s3=s3,
    )


def samples(path: ReadPath, seed: int = SEED, reads: int = READS) -> Values:
    """Return the simulated latencies of the first reads in seconds, in no order; shape (reads,)."""
    drawn, blocks = _first_draws(seed, reads), _block_counts(path.blocks, seed)[:reads]
    seconds = path.fixed_seconds + _waits(path.waiting, drawn)
    if path.together:
        disk, s3 = path.disk, path.s3_first_byte
        cached = blocks * disk.mean_seconds * _sum_shapes("disk", disk.sigma, path.blocks, seed)[:reads]
        missing = blocks * s3.mean_seconds * _sum_shapes("s3", s3.sigma, path.blocks, seed)[:reads]
        seconds += np.where(drawn.misses < path.hit_ratio, cached, missing + blocks * path.s3_moving_seconds)
        return seconds
    misses = np.random.default_rng(seed).binomial(blocks, 1 - path.hit_ratio)
    seconds += _sum_of(path.disk, blocks - misses, drawn.disk)
    seconds += _sum_of(path.s3_first_byte, misses, drawn.s3) + misses * path.s3_moving_seconds
    return seconds


@lru_cache(maxsize=READ_SHAPES)
def _block_counts(mean: float, seed: int) -> Counts:
    """Return how many blocks each read has if they are this many on average; shape (reads,)."""
    whole = int(mean)
    return whole + (draws(seed, READS).blocks < mean - whole)


@lru_cache(maxsize=2 * READ_SHAPES)
def _sum_shapes(device: Literal["disk", "s3"], sigma: float, mean_blocks: float, seed: int) -> Values:
    """Return `_sum_shape` of all blocks of each read; shape (reads,)."""
    return _sum_shape(sigma, _block_counts(mean_blocks, seed), getattr(draws(seed, READS), device))


def percentiles(path: ReadPath, seed: int = SEED) -> Percentiles:
    """Return estimated percentiles of one read."""
    seconds = samples(path, seed)
    return _percentiles(float(seconds.mean()), quantiles(seconds, QUANTILES))


def p99_ms(seconds: Values) -> float:
    """Return the p99 of simulated latencies."""
    return float(quantiles(seconds, (TAIL_QUANTILE,))[0]) * 1000


def quantiles(values: Values, fractions: Sequence[float]) -> Values:
    """Return what `numpy.quantile` returns, which loads numpy's masked arrays when it is first called."""
    at = np.array(fractions) * (len(values) - 1)
    below = np.floor(at).astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    ordered = np.partition(values, np.concatenate((below, above)))
    low, high, part = ordered[below], ordered[above], at - below
    return np.asarray(np.where(part < HALF, low + (high - low) * part, high - (high - low) * (1 - part)))


def fan_out(path: ReadPath, servers: int, slowest_hit_ratio: float | None = None, seed: int = SEED) -> Percentiles:
    """Percentiles of a multi-get that waits for `servers` answers: of their maximum, F(t)^servers.

    `path` is the share of one server. `slowest_hit_ratio` sets one server's apart: the slowest decides, which
    is why the worst server's ratio is watched and not the mean. Raises ValueError for fewer than one server.
    """
    if servers < 1:
        raise ValueError(f"a multi-get goes to at least one server, not {servers}")
    usual = np.sort(samples(path, seed))
    slow = usual if slowest_hit_ratio is None else np.sort(samples(replace(path, hit_ratio=slowest_hit_ratio), seed))
    times = np.sort(np.concatenate([usual, slow]))
    below = _share_below(usual, times) ** (servers - 1) * _share_below(slow, times)
    at = np.searchsorted(below, QUANTILES)
    mean = float(times[0] + ((1 - below[:-1]) * np.diff(times)).sum())
    return _percentiles(mean, times[np.minimum(at, len(times) - 1)])


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
    return _percentiles(mean, seconds[order][np.minimum(at, len(seconds) - 1)])


def _share_below(ascending: Values, times: Values) -> Values:
    """The distribution function of a sample: the share that is at most each of `times`."""
    share: Values = np.searchsorted(ascending, times, side="right") / len(ascending)
    return share


def _waits(waiting: Waiting, drawn: Draws) -> Values:
    """Return the queueing time of each read for this mean, by inversion: exponential or Beta(1, n - 1)."""
    if waiting.mean_seconds <= 0:
        return np.zeros(len(drawn.waits))
    if waiting.closed_servers is None:
        mean = waiting.mean_seconds / waiting.probability
        return np.where(drawn.waits < waiting.probability, mean * drawn.exponential, 0.0)
    if waiting.closed_servers == 1:
        return np.full(len(drawn.waits), waiting.mean_seconds)
    shares: Values = 1 - (1 - drawn.wait_lengths) ** (1 / (waiting.closed_servers - 1))
    return waiting.mean_seconds * waiting.closed_servers * shares


def _sum_of(spread: Spread, counts: Counts, normal: Values) -> Values:
    """Return the sum of `counts` independent times of that spread; shape as counts."""
    total = np.zeros(len(counts))
    (some,) = np.nonzero(counts)
    if len(some):
        count = counts[some]
        total[some] = count * spread.mean_seconds * _sum_shape(spread.sigma, count, normal[some])
    return total


def _sum_shape(sigma: float, counts: Counts, normal: Values) -> Values:
    """Return the sum of `counts` independent times over its mean, in one draw: a lognormal of equal mean and variance.

    Fenton and Wilkinson's approximation: exact for one, and good above the median, which is the part that is
    read.
    """
    several = np.maximum(np.arange(counts.max() + 1), 1)
    variance = np.log1p((exp(sigma**2) - 1) / several)
    shape: Values = np.exp(np.sqrt(variance)[counts] * normal - variance[counts] / 2)
    return shape


def _percentiles(mean_seconds: float, quantiles: Values) -> Percentiles:
    p50, p95, p99, p999 = (float(seconds) * 1000 for seconds in quantiles)
    return Percentiles(mean_ms=mean_seconds * 1000, p50_ms=p50, p95_ms=p95, p99_ms=p99, p999_ms=p999)


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


def performance(inputs: SizingInputs, cluster: ServingCluster, hits: Hits, vcpus: int) -> Performance:
    """Return the workload on warm nodes with these hits."""
    delay = delay_seconds(cluster, inputs.read, hits, inputs.timings)
    limits = resources(cluster, inputs.read, hits, inputs.timings)
    stations = network(limits, cluster.servers, vcpus, delay)
    busiest = next(resource.imbalance for resource in limits if resource.name == "handlers")
    handlers = Handlers(servers=cluster.servers, per_server=cluster.handlers, imbalance=busiest)
    offered, overloaded = inputs.requirements.workload.load, False
    try:
        if isinstance(offered, ClosedLoad):
            load = closed_load(stations, offered.concurrency, handlers)
        else:
            load = open_load(stations, offered.reads_per_second, handlers)
    except Overloaded:
        load, overloaded = _saturated(stations, handlers), True
    alone = max(0.0, load.seconds_alone - delay)
    ratios = hits.tables or inputs.table_hit_ratios(hits.ratio)

    def path_of(table: TableRead, ratio: float) -> TablePath:
        servers = min(table.rows, cluster.servers) if table.kind == "multi-get" else 1
        of_table = alone
        if len(ratios) > 1:
            own = replace(hits, ratio=ratio, tables=())
            limits = resources(cluster, table.read, own, table.timings)
            of_table = network(limits, cluster.servers, vcpus, 0.0).seconds_alone
        path = ReadPath(
            blocks=table.read.blocks / servers,
            hit_ratio=ratio,
            disk=disk_spread(cluster.disk.latency_seconds) if cluster.disk else NO_DISK,
            waiting=_waiting(inputs, cluster, load, part=of_table / alone if alone else 1.0),
            s3_moving_seconds=table.read.on_disk_length_bytes / table.timings.s3_stream_bytes_per_second,
            fixed_seconds=of_table / servers,
            together=table.read.blocks > 1 and table.kind == "get",
        )
        return TablePath(name=table.name, share=table.share, path=path, servers=servers)

    paths = tuple(path_of(table, ratio) for table, ratio in zip(inputs.table_reads, ratios, strict=True))
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


def _waiting(inputs: SizingInputs, cluster: ServingCluster, load: LoadResult, part: float) -> Waiting:
    """Return the queueing of a read that uses `part` times the resources of the mean read."""
    if isinstance(inputs.requirements.workload.load, ClosedLoad):
        return Waiting(mean_seconds=load.waiting_seconds, closed_servers=cluster.servers)
    busiest = max((used for _, used in load.utilisation), default=0.0)
    return Waiting(mean_seconds=part * load.waiting_seconds, probability=min(1.0, max(busiest, 1e-6)))
