"""The counts of a load on a volume leave out the start and the end of its clients."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.hbase.jmx import CacheCounters
from lab.hbase.recording import Sample
from lab.hbase.scenarios.volume_bound import steady_per_second
from lab.hbase.store import StoreCounters
from warmbase.ground.errors import OperationFailed

NONE = CacheCounters(**dict.fromkeys(CacheCounters.__struct_fields__, 0))


def samples(reads: list[int]) -> list[Sample]:
    """Return one sample for each second."""
    return [
        Sample(seconds=second, cache=replace(NONE, reads=count), store=StoreCounters())
        for second, count in enumerate(reads)
    ]


def test_it_is_the_rate_between_the_start_of_the_clients_and_their_end() -> None:
    connecting = [0, 0, 0, *range(5, 55, 5)]
    steady = [50 + 500 * second for second in range(41)]
    ending = [steady[-1]] * 12
    assert steady_per_second(samples(connecting + steady + ending), 60) == pytest.approx(500)


@pytest.mark.parametrize("reads", [[0] * 60, list(range(15))])
def test_too_short_a_load_is_an_error(reads: list[int]) -> None:
    with pytest.raises(OperationFailed, match="longer windows"):
        steady_per_second(samples(reads), 15)
