"""A hot and a scanned table share the cache of a real RegionServer, and each has the hit ratio that is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.hbase.experiment import Experiment
from lab.hbase.laboratory import laboratory, small_of
from lab.hbase.scenarios import tables
from lab.hbase.software import problems
from lab.hbase.store import Settings
from lab.hbase.ycsb import YcsbTable
from lab.machine import memory
from lab.scaled_plan import Small
from warmbase.configurations.launch import Launch
from warmbase.ground.units import GIB, MIB

SMALL = Small(memory_bytes=3 * GIB, data_bytes=128 * MIB)
SECONDS = 10.0
POINTS = 0.03
"""The scenario allows 0.02, in windows that are four times as long."""

pytestmark = pytest.mark.lab


@pytest.fixture
def experiment(launches: Callable[[str], Launch], tmp_path: Path) -> Iterator[Experiment]:
    reasons = list(problems())
    available = memory().available_bytes
    if available is not None and available < SMALL.memory_bytes:
        reasons.append(f"{available / GIB:.1f} GiB of memory are available")
    if reasons:
        pytest.skip(f"{'; '.join(reasons)}: run `warmbase lab setup`")
    of = small_of(launches("prod"), SMALL, Settings(latency_ms=0.0))
    with laboratory(of, tmp_path, lambda _: None) as bench:
        table = YcsbTable(name="usertable", rows=of.miniature.rows, value_bytes=of.miniature.workload.cell_bytes)
        yield Experiment(
            bench=bench,
            release=of.release,
            miniature=of.miniature,
            table=table,
            seconds=SECONDS,
            cores=2,
            seed=2,
            short=True,
        )


@pytest.mark.thorough
def test_each_table_has_its_predicted_hit_ratio(experiment: Experiment) -> None:
    hot, scanned, lookups, cached, gets, added = tables.run(experiment).figures
    assert float(hot.measured) - float(scanned.measured) > 0.1
    for ratio in (hot, scanned):
        assert ratio.measured == pytest.approx(ratio.predicted, abs=POINTS)
    assert lookups.measured == pytest.approx(lookups.predicted, rel=0.05)
    assert cached.measured == pytest.approx(cached.predicted, abs=0.05)
    assert float(gets.measured) <= float(gets.predicted or 0)
    assert float(added.measured) <= 5
