from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.speed import loops
from warmbase.sizing.service.performance import (
    S3_FIRST_BYTE,
    Percentiles,
    Performance,
    ReadPath,
    Spread,
    TablePath,
    Waiting,
    disk_spread,
    fan_out,
    percentiles,
    quantiles,
    samples,
)
from warmbase.sizing.service.queueing import LoadResult

WARM = ReadPath(blocks=1.0, hit_ratio=1.0, disk=disk_spread(1e-3), waiting=Waiting(mean_seconds=0.0))
ROW = ReadPath(
    blocks=13.9,
    hit_ratio=0.95,
    disk=disk_spread(1e-3),
    waiting=Waiting(mean_seconds=1.1, closed_servers=6),
    s3_moving_seconds=0.0016,
    fixed_seconds=0.009,
)
waitings = st.builds(
    Waiting,
    mean_seconds=st.floats(0, 2),
    probability=st.floats(0.05, 1),
    closed_servers=st.one_of(st.none(), st.integers(1, 50)),
)
paths = st.builds(
    ReadPath,
    blocks=st.floats(1, 60),
    hit_ratio=st.floats(0, 1),
    disk=st.builds(disk_spread, st.floats(0, 0.02)),
    waiting=waitings,
    fixed_seconds=st.floats(0, 0.05),
    together=st.booleans(),
)


def rising(result: Percentiles) -> bool:
    in_order = (result.p50_ms, result.p95_ms, result.p99_ms, result.p999_ms)
    return all(low <= high for low, high in pairwise(in_order))


@given(paths)
def test_percentiles_rise(path: ReadPath) -> None:
    assert rising(percentiles(path))


@given(paths, st.floats(0.3, 3), st.sampled_from([1, 8]))
def test_a_target_is_missed_where_the_whole_simulation_misses_it(path: ReadPath, part: float, servers: int) -> None:
    """A fifth of the reads may decide, but never otherwise than all of them."""
    load = LoadResult(reads_per_second=1.0, latency_seconds=0.0, think_seconds=0.0, seconds_alone=0.0, utilisation=())
    of_path = TablePath(name="", share=1.0, path=path, servers=servers)
    reads = Performance(load=load, overloaded=False, paths=(of_path,))
    beyond = reads.p99_beyond(part * reads.p99_seconds)
    assert (beyond is not None) == (reads.p99_seconds > part * reads.p99_seconds)
    assert beyond is None or beyond > part * reads.p99_seconds


@given(paths, st.integers(1, 64), st.one_of(st.none(), st.floats(0, 1)))
def test_percentiles_of_a_fan_out_rise(path: ReadPath, servers: int, slowest: float | None) -> None:
    assert rising(fan_out(path, servers, slowest))


@given(paths, st.integers(1, 64))
def test_more_servers_never_answer_sooner(path: ReadPath, servers: int) -> None:
    few, many = fan_out(path, servers), fan_out(path, servers + 1)
    assert many.p50_ms >= few.p50_ms
    assert many.p99_ms >= few.p99_ms
    assert many.mean_ms >= few.mean_ms * (1 - 1e-9)


@given(paths, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_figures(path: ReadPath, seed: int) -> None:
    assert percentiles(path, seed) == percentiles(path, seed)


@pytest.mark.parametrize("hit_ratio", [0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("together", [True, False])
def test_the_simulated_mean_is_the_sum_of_its_parts(hit_ratio: float, together: bool) -> None:  # noqa: FBT001 - a case
    path = replace(ROW, hit_ratio=hit_ratio, together=together)
    miss = S3_FIRST_BYTE.mean_seconds + 0.0016
    expected = 0.009 + 1.1 + 13.9 * (hit_ratio * 1e-3 + (1 - hit_ratio) * miss)
    assert samples(path).mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    "waiting",
    [
        Waiting(mean_seconds=0.5),
        Waiting(mean_seconds=0.5, probability=0.2),
        Waiting(mean_seconds=0.5, closed_servers=1),
        Waiting(mean_seconds=0.5, closed_servers=20),
    ],
)
def test_waiting_has_its_mean(waiting: Waiting) -> None:
    assert samples(replace(WARM, waiting=waiting)).mean() == pytest.approx(0.501, rel=0.04)


def test_a_closed_load_never_waits_for_more_than_everyone() -> None:
    result = samples(replace(WARM, waiting=Waiting(mean_seconds=1.0, closed_servers=6)))
    assert result[-1] < 6.1


def test_one_miss_is_the_documented_first_byte() -> None:
    result = percentiles(replace(WARM, hit_ratio=0.0))
    assert result.mean_ms == pytest.approx(150, rel=0.02)
    assert result.p50_ms == pytest.approx(141, rel=0.02)
    assert result.p99_ms == pytest.approx(317, rel=0.05)


@pytest.mark.parametrize("blocks", [2, 14, 50])
def test_a_sum_of_misses_is_near_the_sum_of_separate_draws(blocks: int) -> None:
    draws = np.random.default_rng(7).lognormal(
        np.log(S3_FIRST_BYTE.median_seconds), S3_FIRST_BYTE.sigma, (20_000, blocks)
    )
    median, tail = np.quantile(draws.sum(axis=1), [0.5, 0.99])
    result = percentiles(replace(WARM, blocks=float(blocks), hit_ratio=0.0))
    assert result.p50_ms == pytest.approx(median * 1_000, rel=0.02)
    assert result.p99_ms == pytest.approx(tail * 1_000, rel=0.04)


def test_scattered_misses_touch_more_reads_but_cost_them_less() -> None:
    quiet = replace(ROW, waiting=Waiting(mean_seconds=0.0))
    together, apart = percentiles(quiet), percentiles(replace(quiet, together=False))
    assert apart.p50_ms > together.p50_ms
    assert apart.p99_ms < together.p99_ms


def test_a_fan_out_to_one_server_is_one_read() -> None:
    one, single = fan_out(ROW, 1), percentiles(ROW)
    assert one.p50_ms == pytest.approx(single.p50_ms, rel=0.01)
    assert one.p99_ms == pytest.approx(single.p99_ms, rel=0.01)
    assert one.mean_ms == pytest.approx(single.mean_ms, rel=0.01)


def test_a_fan_out_is_the_maximum_of_its_servers() -> None:
    path = replace(WARM, blocks=2.0, hit_ratio=0.8)
    slowest = np.max([np.random.default_rng(seed).permutation(samples(path, seed)) for seed in range(8)], axis=0)
    result = fan_out(path, 8)
    assert result.p50_ms == pytest.approx(np.quantile(slowest, 0.5) * 1_000, rel=0.03)
    assert result.p99_ms == pytest.approx(np.quantile(slowest, 0.99) * 1_000, rel=0.05)


def test_the_coldest_server_decides_a_fan_out() -> None:
    path = replace(WARM, hit_ratio=0.999)
    even, one_cold = fan_out(path, 10), fan_out(path, 10, slowest_hit_ratio=0.1)
    assert even.p50_ms < 5
    assert one_cold.p50_ms > 100


def test_no_server_answers_no_fan_out() -> None:
    with pytest.raises(ValueError, match="at least one server"):
        fan_out(WARM, 0)


def test_a_spread_has_its_mean() -> None:
    assert disk_spread(0.004).mean_seconds == pytest.approx(0.004)
    assert Spread(median_seconds=0.004, sigma=0.0).mean_seconds == pytest.approx(0.004)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300), st.lists(st.floats(0, 1), min_size=1, max_size=4))
def test_quantiles_are_those_of_numpy(values: list[float], fractions: list[float]) -> None:
    assert (quantiles(np.array(values), fractions) == np.quantile(values, fractions)).all()


@pytest.mark.bench
def test_percentiles_are_quick() -> None:
    assert loops(lambda: percentiles(ROW)) < 0.06
