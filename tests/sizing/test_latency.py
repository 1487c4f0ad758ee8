from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.speed import loops
from warmbase.sizing.service.performance import (
    QUANTILES,
    S3_MEAN_SECONDS,
    S3_MEDIAN_SECONDS,
    S3_SIGMA,
    Percentiles,
    Performance,
    ReadPath,
    quantiles,
    samples,
)
from warmbase.sizing.service.queueing import LoadResult

WARM = ReadPath(blocks=1.0, hit_ratio=1.0, disk_seconds=1e-3)
ROW = ReadPath(
    blocks=13.9,
    hit_ratio=0.95,
    disk_seconds=1e-3,
    waiting_seconds=1.1,
    closed_servers=6,
    s3_moving_seconds=0.0016,
    fixed_seconds=0.009,
)
paths = st.builds(
    ReadPath,
    blocks=st.floats(1, 60),
    hit_ratio=st.floats(0, 1),
    disk_seconds=st.floats(0, 0.02),
    waiting_seconds=st.floats(0, 2),
    waiting_probability=st.floats(0.05, 1),
    closed_servers=st.one_of(st.none(), st.integers(1, 50)),
    fixed_seconds=st.floats(0, 0.05),
    together=st.booleans(),
)


def rising(result: Percentiles) -> bool:
    in_order = (result.p50_ms, result.p95_ms, result.p99_ms, result.p999_ms)
    return all(low <= high for low, high in pairwise(in_order))


@given(paths, st.integers(1, 64))
def test_percentiles_rise(path: ReadPath, servers: int) -> None:
    assert rising(replace(path, servers=servers).percentiles)


@given(paths, st.floats(0.3, 3), st.sampled_from([1, 8]))
def test_a_target_is_missed_where_the_whole_simulation_misses_it(path: ReadPath, part: float, servers: int) -> None:
    """A fifth of the reads may decide, but never otherwise than all of them."""
    load = LoadResult(reads_per_second=1.0, latency_seconds=0.0, think_seconds=0.0, seconds_alone=0.0, utilisation=())
    reads = Performance(load=load, overloaded=False, paths=(replace(path, servers=servers),))
    beyond = reads.p99_beyond(part * reads.p99_seconds)
    assert (beyond is not None) == (reads.p99_seconds > part * reads.p99_seconds)
    assert beyond is None or beyond > part * reads.p99_seconds


@given(paths, st.integers(1, 64))
def test_more_servers_never_answer_sooner(path: ReadPath, servers: int) -> None:
    few, many = (replace(path, servers=count).percentiles for count in (servers, servers + 1))
    assert many.p50_ms >= few.p50_ms
    assert many.p99_ms >= few.p99_ms
    assert many.mean_ms >= few.mean_ms * (1 - 1e-9)


@pytest.mark.parametrize("hit_ratio", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("together", [True, False])
def test_the_simulated_mean_is_the_sum_of_its_parts(hit_ratio: float, together: bool) -> None:  # noqa: FBT001 - a case
    path = replace(ROW, hit_ratio=hit_ratio, together=together)
    miss = S3_MEAN_SECONDS + 0.0016
    expected = 0.009 + 1.1 + 13.9 * (hit_ratio * 1e-3 + (1 - hit_ratio) * miss)
    assert samples(path).mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("probability", "closed_servers"), [(1.0, None), (0.2, None), (1.0, 1), (1.0, 20)])
def test_waiting_has_its_mean(probability: float, closed_servers: int | None) -> None:
    path = replace(WARM, waiting_seconds=0.5, waiting_probability=probability, closed_servers=closed_servers)
    assert samples(path).mean() == pytest.approx(0.501, rel=0.04)


def test_a_closed_load_never_waits_for_more_than_everyone() -> None:
    result = samples(replace(WARM, waiting_seconds=1.0, closed_servers=6))
    assert result[-1] < 6.1


def test_one_miss_is_the_documented_first_byte() -> None:
    result = replace(WARM, hit_ratio=0.0).percentiles
    assert result.mean_ms == pytest.approx(150, rel=0.02)
    assert result.p50_ms == pytest.approx(141, rel=0.02)
    assert result.p99_ms == pytest.approx(317, rel=0.05)


@pytest.mark.parametrize("blocks", [2, 14, 50])
def test_a_sum_of_misses_is_near_the_sum_of_separate_draws(blocks: int) -> None:
    draws = np.random.default_rng(7).lognormal(np.log(S3_MEDIAN_SECONDS), S3_SIGMA, (20_000, blocks))
    median, tail = np.quantile(draws.sum(axis=1), [0.5, 0.99])
    result = replace(WARM, blocks=float(blocks), hit_ratio=0.0).percentiles
    assert result.p50_ms == pytest.approx(median * 1_000, rel=0.02)
    assert result.p99_ms == pytest.approx(tail * 1_000, rel=0.04)


def test_scattered_misses_touch_more_reads_but_cost_them_less() -> None:
    together, apart = (replace(ROW, waiting_seconds=0.0, together=case).percentiles for case in (True, False))
    assert apart.p50_ms > together.p50_ms
    assert apart.p99_ms < together.p99_ms


def test_a_fan_out_is_the_maximum_of_its_servers() -> None:
    path = replace(WARM, blocks=2.0, hit_ratio=0.8)
    slowest = np.random.default_rng(1).choice(samples(path), (20_000, 8)).max(axis=1)
    result = replace(path, servers=8).percentiles
    assert result.p50_ms == pytest.approx(np.quantile(slowest, 0.5) * 1_000, rel=0.03)
    assert result.p99_ms == pytest.approx(np.quantile(slowest, 0.99) * 1_000, rel=0.05)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_quantiles_are_those_of_numpy(values: list[float], fractions: list[float]) -> None:
    assert (quantiles(np.array(values), fractions) == np.quantile(values, fractions)).all()


@pytest.mark.bench
def test_percentiles_are_quick() -> None:
    assert loops(lambda: Percentiles.of(0.0, quantiles(samples(ROW), QUANTILES))) < 0.06
