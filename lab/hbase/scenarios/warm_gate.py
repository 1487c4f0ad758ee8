"""Cold caches fill: the remaining time of `warmbase warm status`, and the gate of `warmbase warm wait`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Final

from msgspec import Struct

from lab.hbase.cluster import LabServer
from lab.hbase.configuration import varied
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, at_most, over_time, within
from lab.hbase.recording import ReadHistory, Tick, read_history
from lab.hbase.result import Chart, Measurement
from lab.hbase.store import Settings
from warmbase.ground.errors import OperationFailed
from warmbase.ground.units import MIB, format_duration, format_percent
from warmbase.operations.cluster.caches import Servers, wait_until_warm
from warmbase.sizing.recovery.warmth import CacheMinute, Gate, Target, progress, slowest_seconds, target

TITLE: Final = "A gate that opens when the caches are warm"
QUESTION: Final = "While a prefetch fills cold caches, is the remaining time right, and does the gate open on time?"
SERVERS: Final = 3
PERIOD_SECONDS: Final = 2.0
"""Two seconds stand for the minute between two publications of a node's figures, so that a fill of two minutes has as
many figures as one of an hour."""
FILL_SECONDS: Final = {False: 120.0, True: 60.0}
"""The time of a prefetch, full and short; the latency of S3 sets it. `progress` knows a rate after three periods."""
AFTER_SECONDS: Final = {False: 60.0, True: 20.0}
WAIT_SECONDS: Final = 600.0
DELAY_SECONDS: Final = 20.0
"""From the opening of a file until its prefetch begins: time enough to open all others and to slow S3 down."""
SLOW: Final = varied(
    {
        "hbase.hfile.thread.prefetch": "1",
        "hbase.hfile.prefetch.delay": f"{1000 * DELAY_SECONDS:.0f}",
        "hbase.hfile.prefetch.delay.variation": "0",
    },
    "so that a small cache fills in minutes, and no block is read before S3 has its latency",
)
TAIL: Final = 3.0
READS_PER_SECOND: Final = 80.0
THREADS: Final = 16
LOAD_SECONDS: Final = 3600.0  # longer than the run; the load is stopped at its end
SHARES: Final = (0.25, 0.5, 0.75)
DRAWN_SHARE: Final = 0.05
"""From this share on, the remaining time is drawn; the slope of the very first blocks says hours."""
GATE: Final = Gate()
WARM: Final = "warmbase warm"
OPEN: Final = "as soon as all regions are open"
FIXED: Final = "after a fixed time"


class Reading(Struct, frozen=True, kw_only=True):
    """The progress of the servers that `warm wait` reads at `at`, in seconds since 1970."""

    at: float
    servers: Servers

    @property
    def least_share(self) -> float:
        """Return the share of its planned bytes that the least filled cache has."""
        return min((server.share or 0.0 for server in self.servers), default=0.0)


class Fill(Struct, frozen=True, kw_only=True):
    """The record of a fill of all caches. Times are in seconds since 1970."""

    history: ReadHistory
    numbers: range
    target: Target
    opened: float
    readings: Sequence[Reading]
    fixed: float
    """The seconds of a fixed wait: the GETs of one server, one after another, at the median latency of S3."""

    @property
    def began(self) -> float:
        """Return when the first block was cached."""
        return next(tick.at for tick in self.history.ticks if any(cache.l2_bytes for cache in tick.servers.values()))

    @property
    def warm_at(self) -> float:
        """Return when every cache had the share of its planned bytes that the gate demands."""
        return next(tick.at for tick in self.history.ticks if self.least_share(tick) >= GATE.share)

    @property
    def gates(self) -> dict[str, float]:
        """Return when each gate opens."""
        return {
            WARM: self.readings[-1].at,
            OPEN: self.opened,
            FIXED: self.began + self.fixed,
        }

    def share(self, tick: Tick) -> float:
        """Return the share of their planned bytes that all caches together have."""
        return sum(cache.l2_bytes for cache in tick.servers.values()) / (len(self.numbers) * self.target.warm_bytes)

    def least_share(self, tick: Tick) -> float:
        """Return the share of its planned bytes that the least filled cache has; 0 while a server does not answer."""
        shares = [cache.l2_bytes / self.target.warm_bytes for cache in tick.servers.values()]
        return min(shares) if len(shares) == len(self.numbers) else 0.0

    def at(self, moment: float) -> Tick:
        """Return the last tick at or before that moment."""
        return [*takewhile(lambda tick: tick.at <= moment, self.history.ticks)][-1]

    def hit_ratio(self, since: float) -> float:
        """Return the hit ratio over all servers since that moment."""
        return self.history.hit_ratio(since, float("inf"))


def run(lab: Experiment) -> ScenarioResult:
    """Fill the caches of three servers by prefetch, read their progress as the commands do, then let clients read.

    Raises OperationFailed where the caches are not warm in time.
    """
    lab = lab.filled()
    bench, demand, short = lab.bench, lab.miniature.demand, lab.short
    fixed = float(FILL_SECONDS[short])
    latency_ms = 1000 * fixed * SERVERS / demand.blocks.count
    warm = target(lab.miniature.cache_mib * MIB, demand.everything_bytes / SERVERS)
    load = lab.load(seconds=LOAD_SECONDS, threads=THREADS, target_per_second=READS_PER_SECOND)
    bench.cluster.stop_servers()
    with read_history(bench.cluster, bench.store) as history:
        bench.serve(LabServer(varied=SLOW), cold=True)
        bench.store.set(Settings(latency_ms=latency_ms, latency_p99_ms=TAIL * latency_ms))
        opened, readings = history.ticks[-1].at, list[Reading]()
        time.sleep(DELAY_SECONDS)
        since = history.ticks[-1].at

        def watch(servers: Servers) -> None:
            readings.append(Reading(at=history.ticks[-1].at, servers=servers))
            least, seconds = format_percent(readings[-1].least_share), slowest_seconds(servers)
            remaining = "its rate is not known yet" if seconds is None else f"{format_duration(seconds)} remaining"
            bench.say(f"  the least filled cache has {least} of its bytes, {remaining}")

        read = partial(read_servers, history, bench.cluster.numbers, warm, since)
        if not wait_until_warm(read, WAIT_SECONDS, watch, PERIOD_SECONDS):
            raise OperationFailed.of(
                where="the caches",
                what=f"are not warm after {WAIT_SECONDS:.0f} s",
                why=f"the least filled cache has {format_percent(readings[-1].least_share)} of its bytes",
                fix="run the scenario again on a quieter machine",
            )
        with bench.ycsb.steady(lab.table, load, {}):
            start = bench.sample(0.0).cache
            bench.wait_until(lambda now: now.reads > start.reads + READS_PER_SECOND, WAIT_SECONDS)
            time.sleep(AFTER_SECONDS[short])
    fill = Fill(
        history=history, numbers=bench.cluster.numbers, target=warm, opened=opened, readings=readings, fixed=fixed
    )
    return ScenarioResult(
        figures=tuple(_figures(fill, AFTER_SECONDS[short])),
        charts=_charts(fill),
        limits=(
            f"{PERIOD_SECONDS:.0f} s stand for the minute after which a node publishes its figures.",
            f"One thread prefetches on each server, and S3 is so slow that this takes {FILL_SECONDS[short]:.0f} s.",
            "No client reads before the gate opens: HBase 2.6.2 may stop a prefetch at a block that was read before.",
        ),
    )


def read_servers(history: ReadHistory, numbers: range, warm: Target, since: float) -> Servers:
    """Return the progress of each server, from counters like those that a node publishes."""
    servers = {f"server-{number}": _published(history, number, warm.cache_bytes, since) for number in numbers}
    return tuple(progress(name, tuple(minutes), warm, GATE) for name, minutes in servers.items())


def _published(history: ReadHistory, number: int, cache_bytes: int, since: float) -> Iterator[CacheMinute]:
    """Yield the figures of one server for each period in which it answered."""
    for count in range(int((history.ticks[-1].at - since) / PERIOD_SECONDS)):
        end = since + PERIOD_SECONDS * (count + 1)
        known = [tick for tick in history.ticks if end - PERIOD_SECONDS <= tick.at <= end and number in tick.servers]
        if known:
            before, now = known[0].servers[number], known[-1].servers[number]
            reads = history.reads(number, end - PERIOD_SECONDS, end)
            yield CacheMinute(
                at_seconds=known[-1].at,
                fill=now.l2_bytes / cache_bytes,
                hits=reads.hits,
                misses=reads.misses,
                evictions=now.l2_evictions - before.l2_evictions,
            )


def _figures(fill: Fill, seconds: float) -> Iterator[Measurement]:
    """Yield the remaining time at each share, the gate's figures, and how full the caches are when each gate opens.

    The remaining time was predicted at each share; measured is the time that passed until the caches were warm.
    """
    for share in SHARES:
        reading = next(
            reading
            for reading in fill.readings
            if reading.least_share >= share and slowest_seconds(reading.servers) is not None
        )
        yield Measurement(
            case=WARM,
            name=f"remaining seconds at {share:.0%}",
            unit="s",
            measured=fill.warm_at - reading.at,
            predicted=slowest_seconds(reading.servers),
            because="predicted from the rate of the published bytes; measured until the last cache had"
            f" {GATE.share:.0%} of its bytes",
            target=within(0.15),
        )
    opened = fill.readings[-1].at
    yield Measurement(
        case=WARM,
        name="seconds from warm caches until the gate opened",
        unit="s",
        measured=opened - fill.warm_at,
        because="figures are published once a period, and read once a period",
        target=at_most(2 * PERIOD_SECONDS),
    )
    yield Measurement(
        case=WARM,
        name="hit ratio of the reads afterwards",
        measured=fill.hit_ratio(opened),
        because=f"over all servers, in {seconds:.0f} s with {READS_PER_SECOND:.0f} reads/s; no client read before",
        target=at_least(GATE.share),
    )
    for name, moment in fill.gates.items():
        yield Measurement(
            case=name,
            name="seconds until it opened",
            unit="s",
            measured=moment - fill.opened,
            because="since regions were open",
        )
        yield Measurement(
            case=name,
            name="share of the planned bytes at that time",
            measured=fill.share(fill.at(moment)),
            because="over all caches",
            target=at_least(GATE.share) if name == WARM else None,
        )


def _charts(fill: Fill) -> tuple[Chart, ...]:
    ticks = [tick for tick in fill.history.ticks if tick.at >= fill.began]
    drawn = [reading for reading in fill.readings if reading.least_share >= DRAWN_SHARE]
    known = [(reading.at, slowest_seconds(reading.servers)) for reading in drawn]
    return (
        over_time(
            "How full the least filled cache is",
            "share of the planned bytes",
            [("measured", [(tick.at - fill.began, min(1.0, fill.least_share(tick))) for tick in ticks])],
        ),
        over_time(
            "Remaining time until the last cache is warm",
            "seconds",
            [
                ("measured", [(at - fill.began, max(0.0, fill.warm_at - at)) for at, _ in known]),
                ("predicted", [(at - fill.began, seconds) for at, seconds in known if seconds is not None]),
            ],
        ),
    )
