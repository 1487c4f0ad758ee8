"""The amplification of writes is that of HBase's own selection of files, simulated."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sizing.compaction_simulation import (
    Selection,
    SimulatedServer,
    SimulatedStore,
    simulate_by_day,
    simulate_nights,
)
from warmbase.configurations.properties.storage import NIGHT_RATIO
from warmbase.ground.units import MIB, SECONDS_PER_HOUR
from warmbase.sizing.server.writes import (
    BLOCKING_STORE_FILES,
    COPIES_OF_A_REGION,
    DAY_LIMIT_BYTES,
    FEWEST_FILES,
    FILES_OF_A_DAY,
    MOST_MIN_SIZE_BYTES,
    NIGHT_SECONDS,
    StoreWrites,
    more_store_files,
)
from warmbase.sizing.service.inputs import UTILISATION

GIB = 1024.0
"""In the unit of these tests, MiB."""
TOLERANCE = 0.15
NIGHT_UNDER, NIGHT_OVER = 0.12, 0.25
FEWEST_FLUSHES = 20
"""A region of fewer flushes has so few files that its amplification jumps with the size of a flush."""
MOST_FLUSHES = 4_000
"""The store of 60 GiB and 1 MiB flushes takes longer to reach its steady state than a test may."""


def between(least: float, most: float) -> st.SearchStrategy[float]:
    """Return sizes in this range, small ones as often as large ones."""
    return st.floats(min_value=math.log(least), max_value=math.log(most)).map(math.exp)


@st.composite
def stores(draw: st.DrawFn) -> tuple[float, float, float]:
    """Return the MiB of a flush, of a region and of what is written in a day, whose store is steady within the test."""
    flush = draw(between(1.3, 480))
    region = draw(between(max(GIB, FEWEST_FLUSHES * flush), min(60 * GIB, MOST_FLUSHES / 4 * flush)))
    day = draw(between(max(GIB / 4, 8 * flush), min(60 * GIB, MOST_FLUSHES / 20 * flush)))
    return flush, region, day


def min_size(flush: float) -> float:
    """Return the size that the plan renders."""
    return min(MOST_MIN_SIZE_BYTES / MIB, math.ceil(flush))


@given(store_of=stores(), default=st.sampled_from([None, 128.0]))
def test_amplification_is_that_of_the_simulated_selection(
    store_of: tuple[float, float, float], default: float | None
) -> None:
    flush, region, _ = store_of
    flushes = round(4 * region / flush)
    least = default or min_size(flush)
    store = simulate_by_day(SimulatedStore(region=region, flush=flush), Selection(min_size=least), flushes)
    predicted = StoreWrites(flush_bytes=flush, min_size_bytes=least, region_bytes=region).amplification(region)
    assert predicted == pytest.approx(store.amplification, rel=TOLERANCE)


@given(store_of=stores())
def test_nights_merge_what_the_day_left_and_never_block_a_store(store_of: tuple[float, float, float]) -> None:
    flush, region, day = store_of
    flushes = round(max(4 * region, 20 * day) / flush)
    limit = max(DAY_LIMIT_BYTES / MIB, GIB * math.ceil(day / FILES_OF_A_DAY / GIB))
    limit = min(limit, max(DAY_LIMIT_BYTES / MIB, GIB * math.ceil(COPIES_OF_A_REGION * region / GIB)))
    least = min_size(flush)
    by_day, at_night = Selection(min_size=least, max_size=limit), Selection(min_size=least, ratio=NIGHT_RATIO)
    store = simulate_nights(SimulatedStore(region=region, flush=flush), by_day, at_night, day, flushes)
    writes = StoreWrites(flush_bytes=flush, min_size_bytes=least, region_bytes=region, day_bytes=day)
    predicted = writes.amplification_with_nights(limit)
    assert (1 - NIGHT_UNDER) * store.amplification <= predicted <= (1 + NIGHT_OVER) * store.amplification
    assert store.most_files < BLOCKING_STORE_FILES


@pytest.mark.parametrize(("hours", "is_stuck"), [(UTILISATION * NIGHT_SECONDS / SECONDS_PER_HOUR, False), (10, True)])
def test_one_compaction_at_a_time_ends_in_the_part_of_a_night_that_the_plan_allows(
    hours: float, *, is_stuck: bool
) -> None:
    region, day, flush, stores = 51.2 * GIB, 3.34 * GIB, 120.0, 20
    writes = StoreWrites(flush_bytes=flush, min_size_bytes=flush, region_bytes=region, day_bytes=day)
    server = SimulatedServer(
        stores=[SimulatedStore(region=region, flush=flush) for _ in range(stores)],
        by_day=Selection(min_size=flush, max_size=DAY_LIMIT_BYTES / MIB),
        at_night=Selection(min_size=flush, ratio=NIGHT_RATIO),
        day=day,
        hourly=stores * day * writes.night_writes(DAY_LIMIT_BYTES / MIB) / hours,
    )
    assert (server.stuck_fraction(days=20) > 0.01) == is_stuck


@given(flush=between(1, 480), region=between(GIB, 60 * GIB))
def test_the_rendered_least_size_never_writes_more_than_hbase_s_default(flush: float, region: float) -> None:
    def amplification(least: float) -> float:
        return StoreWrites(flush_bytes=flush, min_size_bytes=least, region_bytes=region).amplification(region)

    assert amplification(min_size(flush)) <= amplification(128.0) * (1 + 1e-12)


def test_a_default_least_size_writes_small_flushes_dozens_of_times() -> None:
    for least, expected in ((128.0, 33.9), (1.0, 8.9)):
        store = SimulatedStore(region=10 * GIB, flush=1.0)
        simulated = simulate_by_day(store, Selection(min_size=least), 2_000).amplification
        predicted = StoreWrites(flush_bytes=1.0, min_size_bytes=least, region_bytes=10 * GIB).amplification(10 * GIB)
        assert predicted == pytest.approx(expected, rel=TOLERANCE)
        assert simulated == pytest.approx(expected, rel=2 * TOLERANCE)


def test_hbase_s_ratio_at_night_would_rewrite_a_region_for_a_fifth_of_it() -> None:
    ratios = (5.0, NIGHT_RATIO)
    default, rendered = (
        simulate_nights(
            SimulatedStore(region=30 * GIB, flush=112.0),
            Selection(min_size=112, max_size=2 * GIB),
            Selection(min_size=112, ratio=ratio),
            GIB,
            1_200,
        ).amplification
        for ratio in ratios
    )
    assert default > 1.4 * rendered


def test_the_simulation_has_the_amplification_of_the_lab() -> None:
    """HBase 2.6.2 wrote 5.33 times what it flushed, with flushes of 3.7 MiB into regions of 32 MiB."""
    store = SimulatedStore(region=32.5, flush=3.75)
    assert simulate_by_day(store, Selection(), 200).amplification == pytest.approx(5.33, rel=0.05)


@pytest.mark.parametrize("min_files", [5, 8, 10])
@pytest.mark.parametrize("flush", [8.0, 37.0, 128.0])
def test_a_store_has_a_third_of_a_file_more_for_each_file_that_a_compaction_waits_for(
    flush: float, min_files: int
) -> None:
    def mean_files(fewest: int) -> float:
        store, flushes = SimulatedStore(region=10_240.0, flush=flush), 600
        selection = Selection(min_size=flush, min_files=fewest)
        return sum(len(store.files) for _ in range(flushes) if store.receive(selection) >= 0) / flushes

    more = mean_files(min_files) - mean_files(FEWEST_FILES)
    assert more_store_files(min_files) == pytest.approx(more, abs=0.3)
