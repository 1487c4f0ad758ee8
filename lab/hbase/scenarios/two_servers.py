"""Regions moved to a second RegionServer and back: what stays cached."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from lab.hbase.bench import FRESH_SECONDS
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, at_least
from lab.hbase.result import Measurement
from warmbase.ground.errors import OperationFailed

TITLE: Final = "Regions moved away and back"
QUESTION: Final = "When regions leave a warm RegionServer and come back, are their blocks still in its cache?"
PREFETCHED_SECONDS: Final = 600.0
TIMES: Final = 4  # judgement: a machine that is slow in every attempt is too slow
SECOND: Final = LabServer(number=1, heap_mib=768)


def run(lab: Experiment) -> ScenarioResult:
    """Half of the regions go to a cold server, are read there, and return."""
    lab = lab.filled()
    table, bench = lab.table, lab.bench
    _prefetched(lab)
    bench.admin.switch_balancer(on=False)
    bench.cluster.clear_cache(SECOND.number)
    bench.cluster.start_server(SECOND)
    try:
        return _moved(lab, table.name)
    finally:
        bench.cluster.stop_server(SECOND.number)
        del bench.cluster.running[SECOND.name]


def _prefetched(lab: Experiment) -> None:
    """A server that begins cold, so that a prefetch has read every file, whatever wrote to the table before.

    HBase drops blocks of a prefetch whose writers are behind, when the volume is slow for a moment. Then it begins
    again. Raises OperationFailed where that happens each time.
    """
    blocks, cached = lab.miniature.demand.blocks.count, 0
    for _ in range(TIMES):
        lab.bench.serve(LabServer(), cold=True)
        lab.bench.wait_until_still(PREFETCHED_SECONDS)
        cached = lab.bench.sample(0.0).cache.l2_blocks
        if cached >= blocks:
            return
    raise OperationFailed.of(
        where="prefetch",
        what=f"brought {cached:,} of {blocks:,} blocks",
        why=f"no more came in {TIMES} rounds",
        fix="run the scenario again; if it happens again, read the RegionServer's log",
    )


def _moved(lab: Experiment, table: str) -> ScenarioResult:
    bench = lab.bench
    before = bench.sample(0.0).cache.l2_blocks
    homes = bench.admin.regions(table)
    half = sorted(homes)[: len(homes) // 2]
    home = homes[half[0]]
    second = next(server for server in bench.admin.servers() if server != home)
    away = _move(lab, half, second)
    time.sleep(FRESH_SECONDS)
    remaining = bench.sample(0.0).cache.l2_blocks
    back = _move(lab, half, home)
    gets = bench.store.counters().store_file_gets
    window = bench.measure(lab.table, lab.load())
    gets = bench.store.counters().store_file_gets - gets
    return ScenarioResult(
        figures=(
            Measurement(
                case="while half of the regions are elsewhere",
                name="blocks that stay on their old server",
                unit="",
                measured=float(remaining),
                predicted=float(before),
                because="hbase.rs.evictblocksonclose is false, and the name of the store file identifies blocks",
                target=at_least(0.99 * before),
            ),
            *_returned_figures(window.hit_ratio, gets),
            *_moving_figures(away / len(half), back / len(half)),
        ),
        limits=("Two RegionServers share this machine's cores.",),
    )


def _returned_figures(hit_ratio: float, gets: int) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case="when they are back", unit="")
    return (
        figure(
            name="hit ratio",
            measured=hit_ratio,
            predicted=1.0,
            because="no store file was rewritten in the meantime",
            target=at_least(0.995),
        ),
        figure(name="GETs of store files", measured=float(gets), because="while reads continued"),
    )


def _moving_figures(away_seconds: float, back_seconds: float) -> tuple[Measurement, ...]:
    figure = partial(Measurement, case="moves", unit="s", because="one after the other")
    return (
        figure(name="seconds a region, away", measured=away_seconds),
        figure(name="seconds a region, back", measured=back_seconds),
    )


def _move(lab: Experiment, regions: list[str], server: str) -> float:
    began = time.monotonic()
    for region in regions:
        lab.bench.admin.move(region, server)
    return time.monotonic() - began
