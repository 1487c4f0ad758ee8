"""Recordings of a real HBase, replayed as a cluster of three servers, and the metrics that its nodes would publish.

Its id is the placeholder of dashboards and alarms, so that these find it as they are.

A recorded second is played as twelve, so that a minute has five samples; nothing else is changed. What nodes publish is
computed by the node's own program, and not by a second one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from configurations.bootstrap import program
from configurations.metrics import MISSES_FOR_ONE, MetricSource, metric
from dashboards.query import CLUSTER_ID
from dashboards.reads import of_root
from environments.root import Root
from lab.hbase.recording import Recording, Sample, recordings_of_json
from lab.preview.cloudwatch import MetricStore, Published

RECORDED: Final = Path(__file__).parent / "recorded"
STRETCH: Final = 12
MINUTE: Final = 60
CACHE_BYTES: Final = 284 * 2**20
"""The cache size of the recorded RegionServer."""
AWAY_SECONDS: Final = 3.0
"""A longer gap than this between two samples, which were taken every second, means that the server was away."""
NOT_RECORDED: Final = frozenset({"VolumeBytes", "VolumeOperations", "LongPauses"})
HISTORY_SECONDS: Final = 1_200
"""How long the servers are assumed to have run before the replay starts."""


def recording(file: str, name: str) -> Recording:
    """One of those that are kept. Raises ValueError where there is none of that name."""
    recordings = recordings_of_json((RECORDED / f"{file}.json").read_text(encoding="utf-8"))
    [one] = [candidate for candidate in recordings if candidate.name == name]
    return one


class Moment(Struct, frozen=True, kw_only=True):
    """A server's counters at one second since its last start, and the number of its starts.

    `reads` are requests, `gets` those of S3, which are counted from the beginning on.
    """

    second: float
    starts: int
    hits: int
    misses: int
    reads: int
    gets: int
    sample: Sample


class Counted(Struct, frozen=True, kw_only=True):
    """Counters of a server that begin anew when it is restarted."""

    hits: int = 0
    misses: int = 0
    reads: int = 0

    def and_(self, other: Counted) -> Counted:
        """Return the sum of both."""
        return Counted(hits=self.hits + other.hits, misses=self.misses + other.misses, reads=self.reads + other.reads)

    def less(self, other: Counted) -> Counted:
        """Return what is left without the other."""
        return self.and_(Counted(hits=-other.hits, misses=-other.misses, reads=-other.reads))


def _counted(sample: Sample) -> Counted:
    cache = sample.cache
    return Counted(hits=cache.l2_hits, misses=cache.l2_misses, reads=cache.reads)


class ReplayedServer(Struct, frozen=True, kw_only=True):
    """One RegionServer, which was up for a while when it began to play."""

    instance: str
    moments: tuple[Moment, ...]
    up_before: float = 0.0

    @classmethod
    def playing(cls, instance: str, *recordings: Recording) -> ReplayedServer:
        """One recording after the other: counters go on where the one before ended, and begin anew at a restart."""
        moments: list[Moment] = []
        begins, starts, last = 0.0, 0, Counted()
        for part in recordings:
            first = part.samples[0]
            offset = last.less(_counted(first)) if moments else Counted()
            gets = (moments[-1].gets if moments else 0) - first.store.store_file_gets
            before = first.cache.l2_hits
            for sample in part.samples:
                if sample.cache.l2_hits < before:
                    starts, offset = starts + 1, Counted()
                before = sample.cache.l2_hits
                last = offset.and_(_counted(sample))
                moments.append(
                    Moment(
                        second=begins + STRETCH * sample.seconds,
                        starts=starts,
                        hits=last.hits,
                        misses=last.misses,
                        reads=last.reads,
                        gets=sample.store.store_file_gets + gets,
                        sample=sample,
                    )
                )
            begins = moments[-1].second
        return cls(instance=instance, moments=tuple(moments))

    def at(self, second: float) -> Moment | None:
        """The last moment before; None while the server is away."""
        before = [moment for moment in self.moments if moment.second <= second]
        if not before or second - before[-1].second > STRETCH * AWAY_SECONDS:
            return None
        return before[-1]

    @property
    def seconds(self) -> int:
        """Return how long the server plays, in seconds."""
        return int(self.moments[-1].second)

    @property
    def absences(self) -> list[tuple[float, float]]:
        """Return each absence of the server: the seconds at which it went away and came back."""
        return [
            (before.second, after.second)
            for before, after in pairwise(self.moments)
            if after.second - before.second > STRETCH * AWAY_SECONDS
        ]


def three_servers() -> tuple[ReplayedServer, ...]:
    """They warm by reads; then one is restarted, one killed, and one loses its cache in a restart."""
    warming = recording("warm-up", "warming by reads")
    ends = ("clean restart", "kill -9", "clean restart, neither persistence nor prefetch")
    return tuple(
        ReplayedServer.playing(f"i-0000{number}", warming, recording("restart", end))
        for number, end in enumerate(ends, 1)
    )


def replay(servers: Sequence[ReplayedServer], root: Root | None = None) -> MetricStore:
    """Return what is published for these servers each minute while the first one plays, by S3 only for a root."""
    store = MetricStore()
    for server in servers:
        store.put(_of_node(server, servers[0].seconds))
        store.put(_of_agent(server, servers[0].seconds))
    if root:
        store.put(_of_aws(servers, root))
    return store


def _of_node(server: ReplayedServer, seconds: int) -> Iterator[Published]:
    node = _program()
    memory: Any = None
    for second in range(-HISTORY_SECONDS, seconds, MINUTE):
        moment = server.at(second)
        figures = [node.Figure("Answering", float(moment is not None or second <= 0), "Count")]
        if moment is not None:
            counted = _counters(node, moment)
            previous = node.recalled(memory, counted, float(second), RECORDED / "no-such-index")
            if memory is not None and second - memory.at <= node.LONGEST_WINDOW_SECONDS:
                figures += node.window(memory.counters, counted, MISSES_FOR_ONE)
            started = next(earlier.second for earlier in server.moments if earlier.starts == moment.starts)
            up = second - started + (0 if moment.starts else server.up_before)
            figures.append(node.Figure("UpSeconds", up, "Seconds"))
            figures.append(node.Figure("CacheLost", float(node.cache_lost(previous, up)), "Count"))
            memory = previous
        for figure in (earlier for earlier in figures if earlier.name not in NOT_RECORDED):
            # A data point at the end of a minute belongs to that minute.
            yield _point(figure.name, server.instance, second - 1, figure.value)


def _point(name: str, instance: str, second: int, value: float) -> Published:
    definition = metric(name)
    named = {"ClusterId": CLUSTER_ID, "InstanceId": instance, "cluster.id": CLUSTER_ID, "instance.id": instance}
    dimensions = {key: named.get(key, "recorded") for key in definition.dimensions}
    return Published(
        namespace=definition.namespace, name=definition.cloudwatch, dimensions=dimensions, second=second, value=value
    )


def _counters(node: Any, moment: Moment) -> Any:  # noqa: ANN401 - of a program without types
    cache = moment.sample.cache
    return node.Counters(
        started=moment.starts,
        hits=moment.hits,
        misses=moment.misses,
        evictions=cache.l2_evictions,
        failed_insertions=cache.failed_insertions,
        long_pauses=0,
        used_bytes=cache.l2_bytes,
        free_bytes=CACHE_BYTES - cache.l2_bytes,
        volume_bytes=[],
        volume_operations=[],
    )


def _of_agent(server: ReplayedServer, seconds: int) -> Iterator[Published]:
    for second in range(0, seconds, MINUTE):
        if (moment := server.at(second)) is not None:
            yield _point("readRequestCount", server.instance, second - 1, float(moment.reads))


def _of_aws(servers: Sequence[ReplayedServer], root: Root) -> Iterator[Published]:
    gets = of_root("GetRequests", root)
    for server in servers:
        for before, after in zip(server.moments, server.moments[1:], strict=False):
            yield Published(
                namespace=MetricSource.S3,
                name="GetRequests",
                dimensions=gets.dimensions,
                second=int(after.second),
                value=float(after.gets - before.gets),
            )
    for second in range(-HISTORY_SECONDS, servers[0].seconds, MINUTE):
        yield Published(
            namespace=MetricSource.EMR,
            name="CoreNodesRunning",
            dimensions={"JobFlowId": CLUSTER_ID},
            second=second,
            value=float(len(servers)),
        )


def _program() -> Any:  # noqa: ANN401 - as above
    """The node's own, which is none of a package: it runs alone, beside one that it imports."""
    directory = str(program("publish_cache_metrics.py").parent)
    sys.path.insert(0, directory)
    try:
        return importlib.import_module("publish_cache_metrics")
    finally:
        sys.path.remove(directory)


MISSES_COUNTED = 2  # HBase counts each miss twice


def true_ratio(servers: Sequence[ReplayedServer], begins: int) -> float | None:
    """Return the hit ratio over all block reads in that minute, sample to sample; None without reads."""
    hits = misses = 0.0
    for server in servers:
        for before, after in pairwise(server.moments):
            if not begins < after.second <= begins + MINUTE:
                continue
            base = before if before.starts == after.starts else None
            hits += after.hits - (base.hits if base else 0)
            misses += (after.misses - (base.misses if base else 0)) / MISSES_COUNTED
    return hits / (hits + misses) if hits + misses else None


def lifetime_ratio(servers: Sequence[ReplayedServer], second: int) -> float | None:
    """Return the value that a graph of `l2CacheHitRatio`, averaged over servers, would show."""
    moments = [sample for server in servers if (sample := server.at(second)) is not None]
    ratios = [moment.hits / (moment.hits + moment.misses) if moment.hits + moment.misses else 0.0 for moment in moments]
    return sum(ratios) / len(ratios) if ratios else None
