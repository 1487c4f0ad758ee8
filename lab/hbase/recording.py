"""Counters of RegionServers and of the S3 server, recorded while something happens.

A `Recording` has the counters of one RegionServer. A `ReadHistory` has those of every RegionServer once a second, which
give the block reads in any stretch of time.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Final

from msgspec import Struct, field
from msgspec.structs import asdict

from lab.hbase.cluster import LabCluster
from lab.hbase.jmx import CacheCounters, hit_ratio
from lab.hbase.store import StoreClient, StoreCounters
from lab.hbase.ycsb import YcsbLoad, YcsbResult
from warmbase.configurations.metrics import MISSES_FOR_ONE
from warmbase.ground.errors import OperationFailed
from warmbase.operations.cluster.hbase_control import CacheReads


class Sample(Struct, frozen=True, kw_only=True):
    """All counters at one moment, so many seconds after the first."""

    seconds: float
    cache: CacheCounters
    store: StoreCounters


class Recording(Struct, frozen=True, kw_only=True):
    """A named series of samples; it has gaps where the server did not answer."""

    name: str
    samples: tuple[Sample, ...]


class Window(Struct, frozen=True, kw_only=True):
    """A load and its measurements: the clients' figures, and the differences of all counters."""

    load: YcsbLoad
    measured: YcsbResult
    hits: int
    misses: int
    gets: int
    evictions: int
    idle: float | None
    samples: tuple[Sample, ...]

    @property
    def hit_ratio(self) -> float:
        """Return the share of block reads that the BucketCache answered."""
        return hit_ratio(self.hits, self.misses)

    @property
    def lookups(self) -> float:
        """Return the number of blocks that were looked up in the BucketCache."""
        return self.hits + self.misses / MISSES_FOR_ONE

    @property
    def gets_per_1000_reads(self) -> float:
        """Return the number of store-file GETs for each thousand operations."""
        return 1000 * self.gets / max(1.0, self.measured.reads)


def recordings_to_json(recordings: Sequence[Recording]) -> str:
    """Return the recordings as JSON, one sample on each line, its counters in the order of `counters`."""
    cache, store = list(CacheCounters.__struct_fields__), ["store_file_gets", "bytes_down"]
    head = {"cache": cache, "store": store}
    lines = []
    for recording in recordings:
        rows = ",\n   ".join(json.dumps(_row(sample, cache, store)) for sample in recording.samples)
        lines.append(f' {{"name": {json.dumps(recording.name)},\n  "samples": [\n   {rows}]}}')
    return f'{{"counters": {json.dumps(head)},\n "recordings": [\n' + ",\n".join(lines) + "]}\n"


def recordings_of_json(text: str) -> tuple[Recording, ...]:
    """Return the recordings in the text; store counters that were not recorded are 0."""
    value = json.loads(text)
    cache, store = value["counters"]["cache"], value["counters"]["store"]
    return tuple(
        Recording(
            name=recording["name"],
            samples=tuple(
                Sample(
                    seconds=seconds,
                    cache=CacheCounters(**dict(zip(cache, rest[: len(cache)], strict=True))),
                    store=StoreCounters(**dict(zip(store, rest[len(cache) :], strict=True))),
                )
                for seconds, *rest in recording["samples"]
            ),
        )
        for recording in value["recordings"]
    )


def _row(sample: Sample, cache: Sequence[str], store: Sequence[str]) -> list[float]:
    of_cache, of_store = asdict(sample.cache), asdict(sample.store)
    return [round(sample.seconds, 1), *(of_cache[name] for name in cache), *(of_store[name] for name in store)]


EVERY_SECONDS: Final = 1.0
WINDOW_SECONDS: Final = 5.0


class Tick(Struct, frozen=True, kw_only=True):
    """The counters at one moment (seconds since 1970). `servers` lacks those that did not answer."""

    at: float
    gets: int
    servers: Mapping[int, CacheCounters]


class ReadHistory(Struct):
    """The ticks so far. Counters that fell belong to a process that started in between, and count from zero."""

    ticks: list[Tick] = field(default_factory=list)

    def reads(self, number: int, since: float, until: float) -> CacheReads:
        """Return the block reads of a server between the first and the last tick within that time."""
        known = self._known(number, since, until)
        return _sum(_increment(before, after) for (_, before), (_, after) in pairwise(known))

    def seconds(self, number: int, since: float) -> float:
        """Return the time between the first and the last tick since then at which the server answered."""
        known = self._known(number, since, float("inf"))
        return known[-1][0] - known[0][0] if known else 0.0

    def first_reads(self, number: int, since: float, seconds: float) -> CacheReads:
        """Return the reads of the process that started since then, until so many seconds after its first read.

        Raises OperationFailed where none did, or where the history ends before.
        """
        known = self._known(number, since, float("inf"))
        starts = [place for place, (before, after) in enumerate(pairwise(known), 1) if _restarted(before[1], after[1])]
        for at, counters in known[starts[0] :] if starts else ():
            if counters.lookups > 0:
                if self.ticks[-1].at < at + seconds - 2 * EVERY_SECONDS:
                    break
                return _sum((_reads(counters), self.reads(number, at, at + seconds)))
        raise OperationFailed.of(
            where=f"server-{number}",
            what=f"has no {seconds:.0f} s of reads after its restart",
            why="it did not answer, or nobody read from it",
            fix="run the scenario again; if it happens again, read the RegionServer's log",
        )

    def gets(self, since: float, until: float) -> int:
        """Return the GETs of store files in that time."""
        counts = [tick.gets for tick in self.ticks if since <= tick.at <= until]
        return counts[-1] - counts[0] if counts else 0

    def hit_ratio(self, since: float, until: float) -> float:
        """Return the hit ratio of all servers in that time; 0 without a read."""
        return self._all_reads(since, until).hit_ratio or 0.0

    def hit_ratios(self, since: float, until: float) -> list[tuple[float, float]]:
        """Return the hit ratio of all servers in each five seconds, as (seconds since the start, ratio)."""
        points, end = [], since + WINDOW_SECONDS
        while end <= until:
            ratio = self._all_reads(end - WINDOW_SECONDS, end).hit_ratio
            if ratio is not None:
                points.append((end - since, ratio))
            end += EVERY_SECONDS
        return points

    def _all_reads(self, since: float, until: float) -> CacheReads:
        numbers = {number for tick in self.ticks for number in tick.servers}
        return _sum(self.reads(number, since, until) for number in numbers)

    def _known(self, number: int, since: float, until: float) -> Sequence[tuple[float, CacheCounters]]:
        return [
            (tick.at, tick.servers[number])
            for tick in self.ticks
            if since <= tick.at <= until and number in tick.servers
        ]


@contextmanager
def read_history(cluster: LabCluster, store: StoreClient) -> Iterator[ReadHistory]:
    """Record the counters while the block runs."""
    history, ended = ReadHistory(), threading.Event()

    def record() -> None:
        while not ended.wait(EVERY_SECONDS):
            counters = {number: cluster.counters(number) for number in cluster.numbers}
            servers = {number: cache for number, cache in counters.items() if cache is not None}
            with suppress(OperationFailed):
                gets = store.counters().store_file_gets
                history.ticks.append(Tick(at=time.time(), gets=gets, servers=servers))

    thread = threading.Thread(target=record, daemon=True)
    thread.start()
    try:
        yield history
    finally:
        ended.set()
        thread.join()


def _restarted(before: CacheCounters, after: CacheCounters) -> bool:
    return after.l2_hits < before.l2_hits or after.reads < before.reads


def _increment(before: CacheCounters, after: CacheCounters) -> CacheReads:
    if _restarted(before, after):
        return _reads(after)
    return CacheReads(hits=after.l2_hits - before.l2_hits, misses=(after.l2_misses - before.l2_misses) / MISSES_FOR_ONE)


def _reads(counters: CacheCounters) -> CacheReads:
    return CacheReads(hits=counters.l2_hits, misses=counters.l2_misses / MISSES_FOR_ONE)


def _sum(reads: Iterator[CacheReads] | Sequence[CacheReads]) -> CacheReads:
    parts = tuple(reads)
    return CacheReads(hits=sum(part.hits for part in parts), misses=sum(part.misses for part in parts))
