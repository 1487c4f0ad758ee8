"""The writes of each plan stay below the limits of their resources, and fewer writes never cost more."""

from __future__ import annotations

import pytest

from sizing.calculator import plan
from sizing.compaction import amplification
from sizing.inputs import UTILISATION
from sizing.units import GIB, MIB
from tests.sizing.clusters import RELAXED, WORLD, with_workload

# How often HBase's own selection of files, simulated, writes a byte: MiB of a flush, GiB of a region, the result.
SIMULATED = [
    (25, 5, 5.71),
    (60, 5, 4.75),
    (112, 5, 4.27),
    (60, 10, 5.28),
    (112, 10, 4.79),
    (60, 30, 6.32),
    (112, 30, 5.87),
]


@pytest.mark.parametrize(("flush_mib", "region_gib", "simulated"), SIMULATED)
def test_amplification_is_that_of_the_simulated_selection(flush_mib: int, region_gib: int, simulated: float) -> None:
    assert amplification(flush_mib * MIB, 128 * MIB, region_gib * GIB) == pytest.approx(simulated, rel=0.15)


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
