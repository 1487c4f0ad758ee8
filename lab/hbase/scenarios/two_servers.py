"""Regions moved to a second RegionServer and back: what stays cached."""

from __future__ import annotations

import time
from typing import Final

from lab.hbase.bench import FRESH_SECONDS
from lab.hbase.cluster import LabServer
from lab.hbase.experiment import Experiment, ScenarioResult, at_least
from lab.hbase.result import Measurement
from warmbase.ground.errors import OperationFailed

TITLE: Final = "Regions moved away and back"
QUESTION: Final = "When regions leave a warm RegionServer and come back, are their blocks still in its cache?"
TIMES: Final = 4  # judgement: a machine that is slow in every attempt is too slow
SECOND: Final = LabServer(number=1, heap_mib=768)


def run(lab: Experiment) -> ScenarioResult:
    """Move half of the regions to a cold server, read them there, and move them back.

    Raises OperationFailed where no prefetch fills the cache.
    """
    lab = lab.filled()
    bench, blocks, before = lab.bench, lab.miniature.demand.blocks.count, 0
    # A server that begins cold has read every file, whatever wrote to the table before. HBase drops blocks of a
    # prefetch whose writers are behind, when the volume is slow for a moment. Then it begins again.
    for _ in range(TIMES):
        bench.serve(LabServer(), cold=True)
        bench.wait_until_still()
        before = bench.sample(0.0).cache.l2_blocks
        if before >= blocks:
            break
    else:
        raise OperationFailed.of(
            where="prefetch",
            what=f"brought {before:,} of {blocks:,} blocks",
            why=f"no more came in {TIMES} rounds",
            fix="run the scenario again; if it happens again, read the RegionServer's log",
        )
    bench.admin.switch_balancer(on=False)
    bench.cluster.clear_cache(SECOND.number)
    bench.cluster.start_server(SECOND)
    try:
        before = bench.sample(0.0).cache.l2_blocks
        homes = bench.admin.regions(lab.table.name)
        half = sorted(homes)[: len(homes) // 2]
        home = homes[half[0]]
        second = next(server for server in bench.admin.servers() if server != home)
        away_seconds = _move(lab, half, second)
        time.sleep(FRESH_SECONDS)
        remaining = bench.sample(0.0).cache.l2_blocks
        back_seconds = _move(lab, half, home)
        gets = bench.store.counters().store_file_gets
        hit_ratio = bench.measure(lab.table, lab.load()).hit_ratio
        gets = bench.store.counters().store_file_gets - gets
    finally:
        bench.cluster.stop_server(SECOND.number)
        del bench.cluster.running[SECOND.name]
    return ScenarioResult(
        figures=(
            Measurement(
                case="while half of the regions are elsewhere",
                name="blocks that stay on their old server",
                measured=float(remaining),
                predicted=float(before),
                because="hbase.rs.evictblocksonclose is false, and the name of the store file identifies blocks",
                target=at_least(0.99 * before),
            ),
            Measurement(
                case="when they are back",
                name="hit ratio",
                measured=hit_ratio,
                predicted=1.0,
                because="no store file was rewritten in the meantime",
                target=at_least(0.995),
            ),
            Measurement(
                case="when they are back",
                name="GETs of store files",
                measured=float(gets),
                because="while reads continued",
            ),
            *(
                Measurement(
                    case="moves",
                    name=f"seconds a region, {way}",
                    unit="s",
                    measured=seconds / len(half),
                    because="one after the other",
                )
                for way, seconds in (("away", away_seconds), ("back", back_seconds))
            ),
        ),
        limits=("Two RegionServers share this machine's cores.",),
    )


def _move(lab: Experiment, regions: list[str], server: str) -> float:
    began = time.monotonic()
    for region in regions:
        lab.bench.admin.move(region, server)
    return time.monotonic() - began
