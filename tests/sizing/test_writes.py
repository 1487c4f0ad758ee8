"""The writes of each plan stay below the limits of their resources, and fewer writes never cost more."""

from __future__ import annotations

import pytest

from tests.sizing.clusters import RELAXED, WORLD, with_workload
from warmbase.ground.units import GIB, MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.server.writes import (
    DAY_SECONDS,
    LOWER_LIMIT,
    NIGHT_SECONDS,
    FileWriting,
    Memstore,
    flush_size_bytes,
    memstore_bytes,
    night_limit,
)
from warmbase.sizing.service.inputs import UTILISATION, CellSizes, WriteShare

CELLS = CellSizes(value_bytes=100, key_value_bytes=140, stored_bytes=80, cached_bytes=100)
FILES = FileWriting(cached_fraction=1.0, caches=True)


def test_fewer_writes_never_cost_more_and_stay_below_every_bound() -> None:
    dollars = 0.0
    for rate_mib in (0, 5, 50, 200):
        sized = plan(with_workload(RELAXED, write_bytes_per_second=rate_mib * MIB), WORLD)
        assert sized.feasible
        assert sized.cost.usd_per_month >= 0.99 * dollars
        assert (
            sized.writes.offered_bytes_per_second <= sized.writes.saturation_bytes_per_second * UTILISATION * 1.000001
        )
        dollars = sized.cost.usd_per_month


@pytest.mark.parametrize(("used", "waits"), [(0.99 * UTILISATION, True), (1.01 * UTILISATION, False)])
def test_large_compactions_wait_for_a_night_that_is_used_as_far_as_the_plan_allows(used: float, *, waits: bool) -> None:
    rate = used * NIGHT_SECONDS / DAY_SECONDS / FILES.compaction_seconds(CELLS)
    share = WriteShare(cells=CELLS, cells_per_second=rate, regions=1, region_bytes=GIB)
    assert (night_limit(share, FILES) is not None) == waits


def test_the_memstore_takes_the_writes_that_arrive_during_a_flush_at_the_planned_utilisation() -> None:
    share = WriteShare(cells=CELLS, cells_per_second=200_000, regions=1, region_bytes=GIB)
    size, flush_size = memstore_bytes(share, FILES), flush_size_bytes(share)
    memstore = Memstore(size_bytes=size, flush_size_bytes=flush_size, regions=1)
    flush_seconds = FILES.flush_seconds(CELLS, memstore.flush_heap_bytes / CELLS.heap_bytes)
    room_bytes = (1 - LOWER_LIMIT) * size
    assert share.heap_bytes_per_second * flush_seconds == pytest.approx(UTILISATION * room_bytes)
