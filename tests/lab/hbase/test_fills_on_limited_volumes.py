"""The predicted course of a fill while the limit of its volumes is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from lab.hbase.recording import ReadHistory, Tick
from lab.hbase.scenarios.boost import FIRST_MIB_S, FULL, LimitedFill
from tests.lab.hbase.test_warm_gate import counters
from warmbase.configurations.launch import Launch
from warmbase.ground.units import MIB
from warmbase.sizing.cache.warm_up import Fill

SLOT_MIB = 50
WHOLE_SECONDS = SLOT_MIB / FIRST_MIB_S


@pytest.mark.parametrize(
    ("raises", "seconds"),
    [
        ([], FULL * WHOLE_SECONDS),
        ([(30.0, 2 * FIRST_MIB_S)], 30 + (FULL * WHOLE_SECONDS - 30) / 2),
        ([(30.0, 2 * FIRST_MIB_S), (40.0, 4 * FIRST_MIB_S)], 40 + (FULL * WHOLE_SECONDS - 50) / 4),
    ],
)
def test_each_limit_counts_while_it_is_in_force(
    launches: Callable[[str], Launch], raises: Sequence[tuple[float, float]], seconds: float
) -> None:
    planned = launches("prod").plan.warm_up.server
    assert planned is not None
    small = Fill(blocks=800, s3_bytes=SLOT_MIB * MIB, slot_bytes=SLOT_MIB * MIB)
    model = replace(planned, fill=small, written_bytes_per_second=0.0, ebs_written_bytes_per_second=0.0)
    history = ReadHistory([Tick(at=at, gets=0, servers={0: counters(at)}) for at in (20, 23, 30)])
    fill = LimitedFill(
        history=history,
        model=model,
        cached_bytes=3 * SLOT_MIB * MIB,
        raises=[(23 + at, mib_s) for at, mib_s in raises],
        written_bytes=[],
    )
    assert fill.began == 23
    assert fill.predicted_shares[-1] == pytest.approx((seconds, FULL), rel=0.01)
