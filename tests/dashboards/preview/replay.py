"""Recordings of a real HBase, replayed as a cluster of three servers, and the metrics that its nodes would publish.

Its id is the placeholder of dashboards and alarms, so that these find it as they are.

A recorded second is played as twelve, so that a minute has five samples. Counters are multiplied by as much, so that
their rates are those of the recording. What nodes publish is computed by the node's own program, and not by a second
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from lab.hbase.cluster_recording import DRAWN_SECONDS, ClusterRecording, Figures
from lab.hbase.recording import Recording, Sample, recordings_of_json
from warmbase.configurations.metrics import METRICS

RECORDED: Final = Path(__file__).parent / "recorded"
STRETCH: Final = DRAWN_SECONDS
MINUTE: Final = 60
CACHE_BYTES: Final = 284 * 2**20
"""The cache size of the RegionServer in the recordings of one server."""
COUNTERS: Final = frozenset(
    {
        "l2CacheHitCount",
        "l2CacheMissCount",
        "l2CacheEvictionCount",
        "blockCacheFailedInsertionCount",
        "VolumeBytes",
        "VolumeOperations",
        "GetRequests",
        "5xxErrors",
        *(counter.attribute for counter in METRICS if counter.counter),
    }
)
AWAY_SECONDS: Final = 4.0
"""A longer gap than this between two samples, which take up to two seconds, means that the server was away."""


def recording(file: str, name: str) -> Recording:
    """One of those that are kept. Raises ValueError where there is none of that name."""
    recordings = recordings_of_json((RECORDED / f"{file}.json").read_text(encoding="utf-8"))
    [one] = [candidate for candidate in recordings if candidate.name == name]
    return one


@cache
def recorded_cluster() -> ClusterRecording:
    """Return the recording of three servers at once, with every figure that the dashboards draw."""
    return ClusterRecording.of_json((RECORDED / "cluster.json").read_text(encoding="utf-8"))


class Moment(Struct, frozen=True, kw_only=True):
    """Figures at one second of the replay; those of a server begin anew with each of its starts, which are counted."""

    second: float
    starts: int
    figures: Figures

    @property
    def hits(self) -> float:
        """Return the hits since the start."""
        return self.figures["l2CacheHitCount"]

    @property
    def misses(self) -> float:
        """Return the misses since the start, as HBase counts them."""
        return self.figures["l2CacheMissCount"]

    @classmethod
    def at(cls, seconds: float, figures: Figures, starts: int = 0) -> Moment:
        """Return the moment of a recorded second."""
        stretched = {name: value * STRETCH if name in COUNTERS else value for name, value in figures.items()}
        return cls(second=STRETCH * seconds, starts=starts, figures=stretched)


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
            before = first.cache.l2_hits
            for sample in part.samples:
                if sample.cache.l2_hits < before:
                    starts, offset = starts + 1, Counted()
                before = sample.cache.l2_hits
                last = offset.and_(_counted(sample))
                moments.append(Moment.at(begins + sample.seconds, _figures(last, sample), starts))
            begins += part.samples[-1].seconds
        return cls(instance=instance, moments=tuple(moments))

    @classmethod
    def recorded(cls, instance: str, number: int) -> ReplayedServer:
        """Return one of the three servers that were recorded together."""
        known = [
            (sample.seconds, figures) for sample in recorded_cluster().samples if (figures := sample.servers[number])
        ]
        begun = sorted({figures["started"] for _, figures in known})
        return cls(
            instance=instance,
            moments=tuple(Moment.at(seconds, figures, begun.index(figures["started"])) for seconds, figures in known),
            up_before=STRETCH * max(0.0, known[0][0] - begun[0]),
        )

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


def _figures(counted: Counted, sample: Sample) -> Figures:
    cache = sample.cache
    return {
        "l2CacheHitCount": counted.hits,
        "l2CacheMissCount": counted.misses,
        "l2CacheEvictionCount": cache.l2_evictions,
        "l2CacheSize": cache.l2_bytes,
        "l2CacheFreeSize": CACHE_BYTES - cache.l2_bytes,
        "blockCacheFailedInsertionCount": cache.failed_insertions,
        "readRequestCount": counted.reads,
    }


@cache
def three_servers() -> tuple[ReplayedServer, ...]:
    """They warm by reads; then one is restarted, one killed, and one loses its cache in a restart."""
    return tuple(ReplayedServer.recorded(f"i-0000{number + 1}", number) for number in range(3))


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
