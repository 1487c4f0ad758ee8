from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.speed import loops
from warmbase.sizing.cache.warm_up import (
    CacheCapacity,
    Fill,
    Rates,
    Streams,
    Warming,
    WarmUpLoad,
    curve,
    hours_to,
    prefetch,
    rate_between,
    writer_bytes_per_second,
)
from warmbase.sizing.workload.popularity import Popularity

MIB, TIB = 2**20, 2**40
ROWS = 49_828_500
EVERYTHING = CacheCapacity(blocks_after_eviction=ROWS, prefetch_stops_blocks=ROWS)
PUBLISHED_RATES = rate_between(371.93, 888.67)
DEMAND = WarmUpLoad(accesses_per_second=PUBLISHED_RATES, prefetched_blocks_per_second=0.0, hours=24)
FAST = Rates(network_bytes_per_second=1e12, fill_bytes_per_second=1e12, vcpus=64, s3_gets_per_second=1e9)


def zipf(exponent: float, blocks: int, classes: int = 1_500) -> Popularity:
    """Zipf in classes that widen with the rank; sums over a class by the midpoint rule, exact where it is one block."""
    edges = np.unique(np.geomspace(1, blocks + 1, classes).round())
    counts = np.diff(edges)
    if exponent == 0:
        mass = counts
    else:
        mass = ((edges[1:] - 0.5) ** (1 - exponent) - (edges[:-1] - 0.5) ** (1 - exponent)) / (1 - exponent)
    return Popularity(weights=mass / mass.sum() / counts, blocks=counts)


def at(hours: float, drawn: tuple[tuple[float, float], ...]) -> float:
    return float(np.interp(hours, [hour for hour, _ in drawn], [ratio for _, ratio in drawn]))


popularities = st.builds(zipf, st.floats(0, 0.99), st.integers(2, 10**8), st.just(60))
courses = st.builds(
    WarmUpLoad,
    accesses_per_second=st.builds(rate_between, st.floats(1, 1_000), st.floats(1_000, 20_000)),
    prefetched_blocks_per_second=st.floats(0, 100_000),
    hours=st.floats(0.1, 200),
    points=st.just(24),
)
fills = st.builds(
    Fill, blocks=st.integers(1, 10**9), s3_bytes=st.integers(1, 10**14), slot_bytes=st.integers(1, 10**14)
)
streams = st.builds(
    Streams,
    threads=st.integers(1, 64),
    get_bytes=st.floats(4_096, 1e9),
    first_byte_seconds=st.floats(0.001, 1),
    stream_bytes_per_second=st.floats(1e6, 1e9),
)
rates = st.builds(
    Rates,
    network_bytes_per_second=st.floats(1e7, 1e10),
    fill_bytes_per_second=st.floats(1e7, 1e10),
    vcpus=st.integers(2, 192),
    s3_gets_per_second=st.floats(10, 10_000),
)


# -- prefetch


@given(fills, streams, rates, st.integers(1, 32))
def test_more_threads_never_prefetch_slower(fill: Fill, few: Streams, rate: Rates, more: int) -> None:
    many = replace(few, threads=few.threads + more)
    assert prefetch(fill, many, rate).seconds <= prefetch(fill, few, rate).seconds


@given(fills, streams, rates)
def test_the_limit_is_the_longest_term(fill: Fill, reading: Streams, rate: Rates) -> None:
    result = prefetch(fill, reading, rate)
    assert result.seconds == max(seconds for _, seconds in result.terms) == dict(result.terms)[result.limit]


def fill(size: int, block_bytes: int = 66_000) -> Fill:
    return Fill(blocks=size // block_bytes, s3_bytes=size, slot_bytes=size)


# One GET for each block of 64 KiB, over a link that costs nothing but its latency.
BLOCK_BY_BLOCK = Streams(threads=4, get_bytes=66_800, first_byte_seconds=0.026, stream_bytes_per_second=1e12)
THIRD = Fill(blocks=1, s3_bytes=TIB // 3, slot_bytes=TIB)
WHOLE_FILES = Streams(threads=4, get_bytes=1e12, stream_bytes_per_second=1e9 / 4)


@pytest.mark.parametrize(
    ("filled", "reading", "limits", "limit", "seconds"),
    [
        # Measured: 18.8 k blocks, 4 threads, 26 ms a GET: about 120 s at 155 GET/s.
        (fill(18_800 * 66_800, 66_800), BLOCK_BY_BLOCK, {}, "s3-streams", (116.4, 123.6)),
        # A terabyte takes more than a day.
        (fill(10**12, 66_800), BLOCK_BY_BLOCK, {}, "s3-streams", (25.5 * 3_600, 34.5 * 3_600)),
        # A TiB of slots, compressed three to one.
        (THIRD, WHOLE_FILES, {"fill_bytes_per_second": 500 * MIB}, "fill", (33 * 60, 37 * 60)),
        (THIRD, WHOLE_FILES, {"fill_bytes_per_second": 125 * MIB}, "fill", (132 * 60, 148 * 60)),
        (THIRD, replace(WHOLE_FILES, stream_bytes_per_second=50e6), {}, "s3-streams", (27.3 * 60, 30.7 * 60)),
        # Published: 20 TB over 20 workers at 2.62 GB/s take two hours.
        (
            fill(10**12),
            Streams(threads=64, get_bytes=1e9),
            {"fill_bytes_per_second": 2.62e9 / 20},
            "fill",
            (126 * 60, 130 * 60),
        ),
        # HBase's 4 threads, each streaming 64 MiB a GET at the low end of what a stream is taken to bring.
        (fill(10**12), Streams(get_bytes=64 * MIB), {}, "s3-streams", (110.5 * 60, 149.5 * 60)),
        # Published: a worker with 1.5 TB takes three to five hours. One gp3 volume as it comes.
        (
            fill(1_500 * 10**9),
            Streams(threads=16, get_bytes=64 * MIB),
            {"fill_bytes_per_second": 125 * MIB},
            "fill",
            (3 * 3_600, 5 * 3_600),
        ),
        # Small requests run into the limit of S3.
        (
            fill(10**12, 16_384),
            Streams(threads=64, get_bytes=16_384, first_byte_seconds=0.02),
            {"s3_gets_per_second": 5_500 / 20},
            "s3-requests",
            (0, inf),
        ),
    ],
)
def test_a_prefetch_takes_the_time_that_was_measured_or_published(
    filled: Fill, reading: Streams, limits: dict[str, float], limit: str, seconds: tuple[float, float]
) -> None:
    result = prefetch(filled, reading, replace(FAST, **limits))
    assert result.limit == limit
    assert seconds[0] <= result.seconds <= seconds[1]


def test_longer_batches_spread_the_cost_of_a_sync() -> None:
    short, long = (writer_bytes_per_second(blocks, 66_560, 125 * MIB) for blocks in (1, 512))
    assert short == pytest.approx(66_560 / (66_560 / (125 * MIB) + 0.005))
    assert short < 0.15 * 125 * MIB < 0.95 * 125 * MIB < long < 125 * MIB


# -- the curve


@pytest.mark.parametrize(("exponent", "half_a_day", "a_day"), [(0.99, 0.83, 0.87), (0.0, 0.30, 0.54)])
def test_the_published_benchmark_fills_by_demand(exponent: float, half_a_day: float, a_day: float) -> None:
    drawn = curve(zipf(exponent, ROWS), EVERYTHING, DEMAND)
    assert at(12, drawn) == pytest.approx(half_a_day, abs=0.006)
    assert at(24, drawn) == pytest.approx(a_day, abs=0.006)


def test_demand_fill_of_equal_blocks_is_its_closed_form() -> None:
    course = replace(DEMAND, accesses_per_second=lambda _: 500.0)
    drawn = curve(zipf(0.0, ROWS), EVERYTHING, course)
    assert drawn[0] == (0.0, 0.0)
    for hours, ratio in drawn:
        assert ratio == pytest.approx(1 - np.exp(-500 * hours * 3_600 / ROWS), abs=1e-6)


@given(popularities, st.floats(0.01, 1.2), st.floats(0.9, 1.1), courses)
def test_the_curve_never_falls(popularity: Popularity, size: float, stops: float, course: WarmUpLoad) -> None:
    blocks = float(popularity.blocks.sum())
    drawn = curve(
        popularity,
        CacheCapacity(blocks_after_eviction=size * blocks, prefetch_stops_blocks=stops * size * blocks),
        course,
    )
    assert all(before <= after and low <= high for (before, low), (after, high) in pairwise(drawn))
    assert all(0 <= ratio <= 1 for _, ratio in drawn)
    assert drawn[-1][0] == pytest.approx(course.hours)
    assert len(drawn) == course.points + 1


@given(popularities, st.floats(0.05, 1.2), courses)
def test_prefetch_never_hurts(popularity: Popularity, size: float, course: WarmUpLoad) -> None:
    room = CacheCapacity(
        blocks_after_eviction=size * float(popularity.blocks.sum()), prefetch_stops_blocks=float("inf")
    )
    alone = curve(popularity, room, replace(course, prefetched_blocks_per_second=0.0))
    for (_, low), (_, high) in zip(alone, curve(popularity, room, course), strict=True):
        assert high >= low - 1e-9


@given(popularities, st.floats(0.05, 1.0), st.floats(1.0, 3.0), courses)
def test_more_room_never_lowers_the_curve(popularity: Popularity, size: float, more: float, course: WarmUpLoad) -> None:
    blocks = size * float(popularity.blocks.sum())
    small, large = (
        curve(popularity, CacheCapacity(blocks_after_eviction=rest, prefetch_stops_blocks=0.95 * rest), course)
        for rest in (blocks, blocks * more)
    )
    for (_, low), (_, high) in zip(small, large, strict=True):
        assert high >= low - 1e-6


def test_a_full_cache_ends_at_ches_ratio() -> None:
    popularity, rest = zipf(0.99, 10**6), 200_000.0
    low, high = 0.0, 1e12
    for _ in range(200):
        middle = (low + high) / 2
        cached = float((popularity.blocks * -np.expm1(-popularity.weights * middle)).sum())
        low, high = (middle, high) if cached < rest else (low, middle)
    che = float((popularity.blocks * popularity.weights * -np.expm1(-popularity.weights * low)).sum())
    for prefetched in (0.0, 500.0):
        course = replace(DEMAND, prefetched_blocks_per_second=prefetched)
        drawn = curve(popularity, CacheCapacity(blocks_after_eviction=rest, prefetch_stops_blocks=rest), course)
        assert drawn[-1][1] == pytest.approx(che, abs=1e-3)


def test_prefetch_alone_stops_at_its_fill() -> None:
    popularity = zipf(0.0, 1_000_000)
    course = WarmUpLoad(accesses_per_second=lambda _: 1e-9, prefetched_blocks_per_second=1_000.0, hours=1)
    drawn = curve(popularity, CacheCapacity.of(slots=1e6, blocks_after_eviction=1e6), course)
    assert at(0.125, drawn) == pytest.approx(0.45)
    assert drawn[-1][1] == pytest.approx(0.95)


def test_blocks_that_nobody_reads_are_never_cached_by_demand() -> None:
    popularity = Popularity(weights=np.array([0.01, 0.0]), blocks=np.array([100.0, 900.0]))
    course = replace(DEMAND, accesses_per_second=lambda _: 1_000.0, hours=1)
    room = CacheCapacity(blocks_after_eviction=500, prefetch_stops_blocks=500)
    assert curve(popularity, room, course)[-1][1] == pytest.approx(1.0)
    assert Warming(popularity=popularity, room=room).most_accesses == inf


def test_hours_to_a_ratio_lie_between_points() -> None:
    drawn = ((0.0, 0.0), (1.0, 0.5), (2.0, 0.5), (3.0, 0.9))
    assert hours_to(0.25, drawn) == pytest.approx(0.5)
    assert hours_to(0.5, drawn) == pytest.approx(1.0)
    assert hours_to(0.7, drawn) == pytest.approx(2.5)
    assert hours_to(0.95, drawn) is None


@pytest.mark.bench
def test_a_curve_is_quick() -> None:
    popularity, room = (
        zipf(0.99, ROWS),
        CacheCapacity(blocks_after_eviction=0.6 * ROWS, prefetch_stops_blocks=0.6 * ROWS),
    )
    assert loops(lambda: curve(popularity, room, DEMAND)) < 0.25
