"""Recordings of a real HBase played as a cluster of three servers, and what its nodes would have published.

A recorded second is played as twelve, so that a minute has five samples; nothing else is changed. What nodes publish is
reckoned by the node's own program; the truth is reckoned here, from every sample, and by no code that it shares.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configurations.metrics import MISSES_FOR_ONE
from dashboards.evaluation import Published, Store
from lab.hbase.recording import Recording, Sample, recordings_of_json

PROGRAMS = Path(__file__).parents[2] / "bootstrap-actions" / "programs"
RECORDED = Path(__file__).parent / "recorded"
STRETCH = 12
MINUTE = 60
CLUSTER = "j-ONE"
CACHE_BYTES = 284 * 2**20
HISTORY = 1_200
AWAY_SECONDS = 3.0  # between two samples that were taken every second


def recording(file: str, name: str) -> Recording:
    """One of those that are kept."""
    found = recordings_of_json((RECORDED / f"{file}.json").read_text(encoding="utf-8"))
    [one] = [each for each in found if each.name == name]
    return one


@dataclass(frozen=True)
class Moment:
    """What a server has counted at that second, and how often it had been started."""

    second: float
    starts: int
    sample: Sample


@dataclass(frozen=True)
class Server:
    """One RegionServer: recordings one after the other."""

    instance: str
    moments: tuple[Moment, ...]
    up_before: float = 0.0
    """For how long it was up when it begins to play."""

    @classmethod
    def playing(cls, instance: str, *recordings: Recording) -> Server:
        """From the first sample of the first recording on."""
        moments: list[Moment] = []
        begins, starts, hits = 0.0, 0, 0
        for each in recordings:
            for sample in each.samples:
                starts += sample.cache.l2_hits < hits
                hits = sample.cache.l2_hits
                moments.append(Moment(begins + STRETCH * sample.seconds, starts, sample))
            begins = moments[-1].second
        return cls(instance, tuple(moments))

    def at(self, second: float) -> Moment | None:
        """The last moment before; None while the server is away."""
        before = [each for each in self.moments if each.second <= second]
        if not before or second - before[-1].second > STRETCH * AWAY_SECONDS:
            return None
        return before[-1]

    @property
    def seconds(self) -> int:
        """How long it plays."""
        return int(self.moments[-1].second)


def played(servers: Sequence[Server]) -> Store:
    """What the nodes of these servers publish by the minute, as long as the first plays; and that they were there."""
    store = Store()
    for server in servers:
        store.put(_published(server, servers[0].seconds))
    return store


def _published(server: Server, seconds: int) -> Iterator[Published]:
    program = _program()
    memory: Any = None
    for second in range(-HISTORY, seconds, MINUTE):
        moment = server.at(second)
        figures = [program.Figure("Answering", float(moment is not None or second <= 0), "Count")]
        if moment is not None:
            counted = _counters(program, moment)
            kept = program.recalled(memory, counted, float(second), RECORDED / "no-such-index")
            if memory is not None and second - memory.at <= program.LONGEST_WINDOW_SECONDS:
                figures += program.window(memory.counters, counted, MISSES_FOR_ONE)
            started = next(each.second for each in server.moments if each.starts == moment.starts)
            lost = counted.used_bytes < kept.kept_bytes / 2
            figures.append(
                program.Figure("UpSeconds", second - started + (0 if moment.starts else server.up_before), "Seconds")
            )
            figures.append(program.Figure("CacheLost", float(lost), "Count"))
            memory = kept
        for figure in figures:
            # A look at the end of a minute is of that minute.
            dimensions = {"ClusterId": CLUSTER, "InstanceId": server.instance}
            yield Published(
                namespace="warmbase", name=figure.name, dimensions=dimensions, second=second - 1, value=figure.value
            )


def _counters(program: Any, moment: Moment) -> Any:
    cache = moment.sample.cache
    return program.Counters(
        started=moment.starts,
        hits=cache.l2_hits,
        misses=cache.l2_misses,
        evictions=cache.l2_evictions,
        failed_insertions=cache.failed_insertions,
        long_pauses=0,
        used_bytes=cache.l2_bytes,
        free_bytes=CACHE_BYTES - cache.l2_bytes,
        volume_bytes=0,
        volume_operations=0,
    )


def _program() -> Any:
    sys.path.insert(0, str(PROGRAMS))
    try:
        return importlib.import_module("publish_cache_metrics")
    finally:
        sys.path.remove(str(PROGRAMS))


def true_ratio(servers: Sequence[Server], begins: int) -> float | None:
    """Of all block reads that the servers counted in that minute, from one sample to the next; None of none."""
    hits = misses = 0.0
    for server in servers:
        for before, after in zip(server.moments, server.moments[1:], strict=False):
            if not begins < after.second <= begins + MINUTE:
                continue
            base = before.sample.cache if before.starts == after.starts else None
            hits += after.sample.cache.l2_hits - (base.l2_hits if base else 0)
            misses += (after.sample.cache.l2_misses - (base.l2_misses if base else 0)) / MISSES_FOR_ONE
    return hits / (hits + misses) if hits + misses else None


def lifetime_ratio(servers: Sequence[Server], second: int) -> float | None:
    """What a graph of `l2CacheHitRatio`, averaged over servers, would show."""
    ratios = []
    for server in servers:
        moment = server.at(second)
        if moment is not None:
            cache = moment.sample.cache
            counted = cache.l2_hits + cache.l2_misses
            ratios.append(cache.l2_hits / counted if counted else 0.0)
    return sum(ratios) / len(ratios) if ratios else None
