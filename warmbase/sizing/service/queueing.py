"""Throughput and latency of a network of queues: exact mean-value analysis (closed), M/M/c (open).

A read visits one RegionServer of many alike, so a station has `copies`, and each copy sees its share of the visits.
A copy with several channels (the cores of a CPU) is taken apart as Seidmann did: a single server c times as fast,
and a delay of the rest; exact at one request and at saturation, a few percent slow between.

A limit on requests inside each server (its handlers) makes it a flow-equivalent server (Chandy, Herzog and Woo),
before which the rest wait in a call queue: exact where the limit never binds or always, a few percent off between.

Little's law holds in every result: concurrency = reads_per_second x (latency_seconds + think_seconds).
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from warmbase.sizing.service.resource import Resource

Floats = NDArray[np.float64]

# Halvings at most, and the distance from the wanted mean population that ends them: the result depends on neither.
TILT_STEPS: Final = 60
NEAR_ENOUGH: Final = 0.1
# exp() of less is zero in double precision, and of more is infinite.
LOG_RANGE: Final = 700.0


class Overloaded(ValueError):
    """An open load that a station cannot carry, however long the queue."""


class Station(Struct, frozen=True, kw_only=True):
    """A queue: `demand_seconds` of service per read at one of `copies`, each with `channels` at work.

    The busiest copy serves `imbalance` times the mean, and the model assumes that every read meets its queue.
    """

    name: str
    demand_seconds: float
    copies: int = 1
    channels: int = 1
    imbalance: float = 1.0

    @property
    def max_reads_per_second(self) -> float:
        """Return the reads a second when every channel of the busiest copy is always busy."""
        busiest = self.demand_seconds * self.imbalance
        return self.copies * self.channels / busiest if busiest > 0 else inf


class QueueingNetwork(Struct, frozen=True, kw_only=True):
    """The stations a read visits, its time without queueing, and the client's pause between reads."""

    stations: tuple[Station, ...]
    delay_seconds: float = 0.0
    think_seconds: float = 0.0

    @property
    def seconds_alone(self) -> float:
        """Return the latency of the only read in the network."""
        demand_seconds = 0.0
        for station in self.stations:
            demand_seconds += station.demand_seconds
        return self.delay_seconds + demand_seconds


class Handlers(Struct, frozen=True, kw_only=True):
    """How many requests each of `servers` RegionServers works on; the others wait in its call queue."""

    servers: int
    per_server: int
    imbalance: float = 1.0


class LoadResult(Struct, frozen=True, kw_only=True):
    """The result of a load: mean latency from sending to answer, and how busy each station is (0 to 1)."""

    reads_per_second: float
    latency_seconds: float
    think_seconds: float
    seconds_alone: float
    utilisation: tuple[tuple[str, float], ...]

    @property
    def concurrency(self) -> float:
        """Mean number of requests in flight or thinking, by Little's law."""
        return self.reads_per_second * (self.latency_seconds + self.think_seconds)

    @property
    def waiting_seconds(self) -> float:
        """The part of the latency that is queueing."""
        return max(0.0, self.latency_seconds - self.seconds_alone)


def network(limits: Iterable[Resource], servers: int, channels: int, delay_seconds: float) -> QueueingNetwork:
    """Return the queues behind the resources of a cluster of `servers` with `channels` cores each.

    Throughput and IOPS of a disk are two meters on one device, so the tighter is the station. Handlers and
    concurrency limit who may enter and are no stations. S3's request limit is one queue for all.
    """
    tightest: dict[str, Station] = {}
    for resource in limits:
        if resource.name in {"handlers", "concurrency"} or resource.demand_per_read <= 0:
            continue
        copies = 1 if resource.name == "s3-requests" else servers
        cores = channels if resource.name == "cpu" else 1
        demand = copies * cores / (resource.max_reads_per_second * resource.imbalance)
        station = Station(
            name=resource.name, demand_seconds=demand, copies=copies, channels=cores, imbalance=resource.imbalance
        )
        device = resource.name.removesuffix("-throughput").removesuffix("-iops")
        if device not in tightest or demand > tightest[device].demand_seconds:
            tightest[device] = station
    return QueueingNetwork(stations=tuple(tightest.values()), delay_seconds=delay_seconds)


def closed_load(net: QueueingNetwork, requests: int, handlers: Handlers | None = None) -> LoadResult:
    """Return what `requests` clients get that each send the next read `think_seconds` after the last answer.

    Exact mean-value analysis (Reiser and Lavenberg), with handlers a convolution over flow-equivalent
    servers. Raises ValueError unless requests is at least 1.
    """
    if requests < 1:
        raise ValueError(f"a closed load has at least one request in flight, not {requests}")
    if handlers is None or handlers.per_server >= requests:
        throughput = _throughputs(net, requests, net.think_seconds)[-1]
    else:
        throughput = _limited_throughput(net, requests, handlers)
    return _load(net, throughput, requests / throughput - net.think_seconds)


def open_load(net: QueueingNetwork, reads_per_second: float, handlers: Handlers | None = None) -> LoadResult:
    """Return what reads get that arrive at random (Poisson) at `reads_per_second`, whatever the cluster does.

    Each copy is M/M/c. A handler is held while the read is in the server, so handlers are one more M/M/c
    queue whose service is that time (approximate). Raises Overloaded with the first station that cannot carry
    it.
    """
    residence = 0.0
    for station in net.stations:
        residence += _residence(station, reads_per_second)
    inside = net.delay_seconds + residence
    if handlers is None:
        return _load(net, reads_per_second, inside)
    handler_station = Station(
        name="handlers",
        demand_seconds=inside,
        copies=handlers.servers,
        channels=handlers.per_server,
        imbalance=handlers.imbalance,
    )
    waiting = _residence(handler_station, reads_per_second) - inside
    return _load(net, reads_per_second, inside + waiting)


def saturated_load(net: QueueingNetwork, handlers: Handlers) -> LoadResult:
    """Return what is served of a load that is too large, with every handler or the bottleneck busy (Little's law)."""
    busy = handlers.servers * handlers.per_server
    served = busy / net.seconds_alone / handlers.imbalance
    for station in net.stations:
        served = min(served, station.max_reads_per_second)
    return _load(net, served, busy / served)


def erlang_c(channels: int, offered: float) -> float:
    """Share of arrivals that must wait in an M/M/c queue; `offered` = arrivals x service, below `channels`.

    By the recursion of Erlang's B, which never overflows.
    """
    blocked = 1.0
    for channel in range(1, channels + 1):
        blocked = offered * blocked / (channel + offered * blocked)
    return blocked / (1 - offered / channels * (1 - blocked))


def _load(net: QueueingNetwork, throughput: float, latency_seconds: float) -> LoadResult:
    utilisation = [(station.name, throughput / station.max_reads_per_second) for station in net.stations]
    return LoadResult(
        reads_per_second=throughput,
        latency_seconds=latency_seconds,
        think_seconds=net.think_seconds,
        seconds_alone=net.seconds_alone,
        utilisation=tuple(utilisation),
    )


def _residence(station: Station, reads_per_second: float) -> float:
    """Time at a station of an open load, waiting included. Raises Overloaded."""
    utilisation = reads_per_second / station.max_reads_per_second
    if utilisation >= 1:
        raise Overloaded(f"{station.name} would be {utilisation:.2f} times fully used")
    waits = erlang_c(station.channels, utilisation * station.channels)
    return station.demand_seconds * (1 + waits / (station.channels * (1 - utilisation)))


def _fixed_seconds(station: Station) -> float:
    """The part of a station of several channels that is never queued for, after Seidmann."""
    return station.demand_seconds * (1 - 1 / station.channels)


def _throughputs(net: QueueingNetwork, requests: int, think_seconds: float) -> list[float]:
    """Return the throughput with 1, 2, … `requests` in the network: exact for one channel, else Seidmann's.

    Plain floats, because each step needs the one before.
    """
    queues = [
        (station.demand_seconds / station.channels, station.copies / station.imbalance) for station in net.stations
    ]
    fixed = net.delay_seconds + sum(_fixed_seconds(station) for station in net.stations)
    # What a request finds waiting at one copy of each station.
    queued = [0.0] * len(queues)
    throughputs = []
    for inside in range(1, requests + 1):
        residence = [demand * (1 + queue) for (demand, _), queue in zip(queues, queued, strict=True)]
        throughput = inside / (think_seconds + fixed + sum(residence))
        queued = [throughput * time / copies for time, (_, copies) in zip(residence, queues, strict=True)]
        throughputs.append(throughput)
    return throughputs


def _limited_throughput(net: QueueingNetwork, requests: int, handlers: Handlers) -> float:
    """Return the throughput when each server works on at most `per_server` requests.

    A server alone gives its throughput with 1, 2, … requests inside, constant from `per_server` on. Servers, what
    they share, and the think time are then queues whose speed depends on their length: Buzen's convolution.
    """
    shared = [station for station in net.stations if station.copies != handlers.servers]
    own = tuple(
        replace(station, copies=1, imbalance=1.0, demand_seconds=station.demand_seconds * station.imbalance)
        for station in net.stations
        if station not in shared
    )
    delay_seconds = net.delay_seconds + sum(_fixed_seconds(station) for station in shared)
    rates = np.array(_throughputs(QueueingNetwork(stations=own, delay_seconds=delay_seconds), handlers.per_server, 0.0))
    # Twice as far as a queue can be, so that the tilt has no edge to lean on.
    counts = np.arange(1, 2 * requests + 1)
    inside = np.minimum(counts, handlers.per_server)
    # A queue's weight with k requests is the product of its visits over its rate with 1, 2, … k of them.
    queues = [(-np.log(rates[inside - 1] * handlers.servers), handlers.servers)]
    for station in shared:
        if station.demand_seconds > 0:
            rate = station.channels * station.copies / station.demand_seconds
            queues.append((np.full(len(counts), -np.log(rate)), station.copies))
    if net.think_seconds > 0:
        queues.append((np.log(net.think_seconds) - np.log(counts), 1))
    return _normalised_ratio([(np.append(0.0, np.cumsum(logs)), copies) for logs, copies in queues], requests)


def _normalised_ratio(queues: Sequence[tuple[Floats, int]], requests: int) -> float:
    """G(N-1) / G(N) of queues, each the logarithms of its weights and how many there are alike.

    Weights are tilted by e^(t·k), which cancels, so that the mean population is about N: what is convolved are then
    probabilities, those near N are not small, and neither overflow nor loss of digits can happen.
    """
    counts = np.arange(2 * requests + 1, dtype=np.float64)
    low, high = -LOG_RANGE, LOG_RANGE
    for _ in range(TILT_STEPS):
        tilt = (low + high) / 2
        mean = sum(copies * float(_tilted(logs, tilt) @ counts) for logs, copies in queues)
        if abs(mean - requests) < NEAR_ENOUGH:
            break
        low, high = (tilt, high) if mean < requests else (low, tilt)
    total = np.append(1.0, np.zeros(requests))
    for logs, copies in queues:
        # The distribution of the sum of all copies is computed by repeated squaring.
        chances, of_copies, rest = _tilted(logs, tilt)[: requests + 1], np.append(1.0, np.zeros(requests)), copies
        while rest:
            if rest % 2:
                of_copies = _convolved(of_copies, chances)
            chances = _convolved(chances, chances)
            rest //= 2
        total = _convolved(total, of_copies)
    return float(total[-2] / total[-1] * np.exp(tilt))


def _tilted(logs: Floats, tilt: float) -> Floats:
    """Chances of 0, 1, 2, … from the logarithms of weights, each e^tilt heavier than the one before."""
    tilted = logs + tilt * np.arange(len(logs), dtype=np.float64)
    chances: Floats = np.exp(tilted - tilted.max())
    chances /= chances.sum()
    return chances


def _convolved(first: Floats, second: Floats) -> Floats:
    """Return the distribution of the sum of two counts, as far as the longest that matters."""
    size = 2 * len(first)
    product = np.fft.irfft(np.fft.rfft(first, size) * np.fft.rfft(second, size), size)
    return np.maximum(product[: len(first)], 0.0)
