"""The reads of a server in a stretch of time, over a restart that sets its counters back to zero."""

from __future__ import annotations

import pytest

from lab.hbase.jmx import CacheCounters
from lab.hbase.recording import ReadHistory, Tick
from warmbase.ground.errors import OperationFailed
from warmbase.operations.cluster.hbase_control import CacheReads


def tick(at: float, hits: int | None, misses: int = 0, gets: int = 0) -> Tick:
    """Return one second of one server; None where it does not answer. HBase counts each miss twice."""
    if hits is None:
        return Tick(at=at, gets=gets, servers={})
    counters = CacheCounters(
        l2_hits=hits,
        l2_misses=2 * misses,
        l2_blocks=0,
        l2_bytes=0,
        l2_evictions=0,
        failed_insertions=0,
        l1_blocks=0,
        reads=hits + misses,
        regions=8,
    )
    return Tick(at=at, gets=gets, servers={0: counters})


RESTART = ReadHistory(
    [
        tick(0, 100),
        tick(1, 140),
        tick(2, None),
        tick(3, None, gets=6),
        tick(4, 0, gets=7),
        tick(4.5, 30, 1, 7),
        tick(5, 60, 1, 7),
        tick(6, 90, 1, 7),
    ]
)


@pytest.mark.parametrize(
    ("since", "until", "reads"),
    [
        (0, 1, CacheReads(hits=40, misses=0)),
        (1, 5, CacheReads(hits=60, misses=1)),
        (4, 6, CacheReads(hits=90, misses=1)),
        (2, 3, CacheReads(hits=0, misses=0)),
    ],
)
def test_reads_are_increments_and_a_new_process_counts_from_zero(since: float, until: float, reads: CacheReads) -> None:
    assert RESTART.reads(0, since, until) == reads


def test_first_reads_begin_with_those_of_the_new_process_and_none_of_the_old_ones_count() -> None:
    assert RESTART.first_reads(0, 0, 0.5) == CacheReads(hits=60, misses=1)
    with pytest.raises(OperationFailed, match="has no 5 s of reads after its restart"):
        RESTART.first_reads(0, 0, 5)


def test_hit_ratio_over_time_counts_from_the_start_and_gets_between_two_ticks() -> None:
    assert RESTART.hit_ratios(1, 6) == [(5, 90 / 91)]
    assert RESTART.gets(1, 5) == 7
