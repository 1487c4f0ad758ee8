"""The writes of each plan stay below the limits of their resources, and fewer writes never cost more."""

from __future__ import annotations

from tests.sizing.clusters import RELAXED, WORLD, with_workload
from warmbase.ground.units import MIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.service.inputs import UTILISATION


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
