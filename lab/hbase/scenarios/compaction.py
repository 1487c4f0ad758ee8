"""A major compaction under load: in waves with a floor for the hit ratio, beside HBase's own of the whole table."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct

from lab.hbase.control import LabControl
from lab.hbase.experiment import Experiment, ScenarioResult, at_least, over_time
from lab.hbase.read_history import ReadHistory
from lab.hbase.result import Measurement
from lab.hbase.steady_cluster import AFTER_SECONDS, LOAD_SECONDS, WARM_SECONDS, prefetch, roomy, steady_cluster
from operations.compaction_waves import CompactionPatience, CompactionWaves

TITLE: Final = "A major compaction in waves"
QUESTION: Final = "If all regions are compacted under load, do the caches keep answering?"
SERVERS: Final = 3
FLOOR: Final = 0.95
LOWEST: Final = 0.9
ROOM: Final = 1.4
ROOM_WHY: Final = "room for a second copy of two of eight regions, because HBase keeps old files for a while"
PATIENCE: Final = CompactionPatience(before=WARM_SECONDS, recovery=300.0, poll=1.0)
WAVES: Final = "in waves"
AT_ONCE: Final = "all regions at once"


class CompactionWay(Struct, frozen=True, kw_only=True):
    """One way to compact a table, as it was recorded. Times are in seconds since 1970."""

    history: ReadHistory
    began: float
    ended: float
    until: float
    evictions: int

    @property
    def hit_ratios(self) -> list[tuple[float, float]]:
        """Return the hit ratio of all servers in each five seconds, over the seconds since the way began."""
        return self.history.hit_ratios(self.began, self.until)

    @property
    def lowest(self) -> float:
        """Return the lowest of those hit ratios."""
        return min((ratio for _, ratio in self.hit_ratios), default=0.0)


def run(lab: Experiment) -> ScenarioResult:
    """Compact every region in waves, and then all of them at once, each with caches that hold all data."""
    lab = lab.filled()
    ways = {WAVES: _recorded(lab, _in_waves), AT_ONCE: _recorded(lab, _at_once)}
    return ScenarioResult(
        figures=tuple(figure for name, way in ways.items() for figure in _figures(name, way)),
        charts=tuple(
            over_time(f"Hit ratio: {name}", "share of block reads that hit, in 5 s", [("measured", way.hit_ratios)])
            for name, way in ways.items()
        ),
        limits=(
            "The three servers share the cores of one machine, so a wave takes longer than on a cluster.",
            f"The caches are {ROOM} times as large as those of the other scenarios, to have room for a wave.",
        ),
    )


def _recorded(lab: Experiment, way: Callable[[LabControl, Experiment], None]) -> CompactionWay:
    """Return the record of a way under steady reads, which begins with caches that hold all data."""
    bench = lab.bench
    prefetch(lab, roomy(lab, ROOM, ROOM_WHY))
    with steady_cluster(lab) as steady:
        began, before = steady.now, bench.sample(0.0).cache
        way(steady.control, lab)
        ended = steady.now
        time.sleep(AFTER_SECONDS[lab.short])
    evictions = bench.sample(0.0).cache.l2_evictions - before.l2_evictions
    return CompactionWay(history=steady.history, began=began, ended=ended, until=steady.now, evictions=evictions)


def _in_waves(control: LabControl, lab: Experiment) -> None:
    say = lab.bench.say
    waves = CompactionWaves(
        hbase=control, tables=frozenset({lab.table.name}), before=time.time(), floor=FLOOR, patience=PATIENCE
    )
    for stage in waves.stages():
        say(f"  {stage.title}: {stage.act(say)}")


def _at_once(control: LabControl, lab: Experiment) -> None:
    seconds = control.admin.major_compact(lab.table.name, LOAD_SECONDS)
    lab.bench.say(f"  all regions compacted in {seconds:.0f} s")


def _figures(case: str, way: CompactionWay) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case=case, unit="")
    return (
        figure(
            name="lowest hit ratio in 5 s",
            measured=way.lowest,
            because="all servers together; the floor applies after a wave, and during one some blocks are missing",
            target=at_least(LOWEST) if case == WAVES else None,
        ),
        figure(
            name="GETs of store files",
            measured=float(way.history.gets(way.began, way.until)),
            because="by compactions, for blocks that the caches do not hold, and by reads, for blocks that they lost",
        ),
        figure(
            name="evictions",
            measured=float(way.evictions),
            because="the blocks of old and new files are both cached until HBase removes the old files",
        ),
        figure(
            name="seconds",
            unit="s",
            measured=way.ended - way.began,
            because="with the pauses between waves; all processes share the cores of one machine",
        ),
    )
