"""Published figures beside ours: how many, how the ratio comes about, and the benchmark that nothing was fitted to."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from tools.published.benchmark import HANDLERS, ROUND_TRIPS_MS, WARM, WARM_MS, YCSB_ZIPF, ZIPF, Benchmark, slots, worth
from tools.published.cloudera import PRODUCTION_READS, RECOVERY_READS, Cod
from tools.published.figure import Amount, FigureOrigin, PublishedFigure, SourceFigures, Verdict
from tools.published.page import published_benchmark
from tools.published.sources import all_results
from warmbase.sizing.modes import HDFS, S3_CACHED, S3_PLAIN
from warmbase.sizing.workload.read import Hits


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return published_benchmark()


@pytest.fixture(scope="module")
def result(benchmark: Benchmark) -> tuple[SourceFigures, ...]:
    return all_results(benchmark)


FIGURE = PublishedFigure(what="", place="", published="2", ours=2.0, unit="", kind=FigureOrigin.MODEL, how="")


def figure(result: tuple[SourceFigures, ...], what: str) -> PublishedFigure:
    [one] = [item for results in result for item in results.figures if item.what == what]
    return one


@pytest.mark.parametrize(
    ("published_number", "least", "most"),
    [("888.67", 888.67, 888.67), ("95,000", 95_000, 95_000), ("~70", 70, 70), ("<1,000", 1_000, 1_000), ("3-5", 3, 5)],
)
def test_the_published_number_is_that_of_the_ratio(published_number: str, least: float, most: float) -> None:
    assert Amount.parsed(published_number) == Amount(least=least, most=most)


@pytest.mark.parametrize(
    ("published_number", "ours", "verdict"),
    [
        ("2", 2.09, Verdict.CLOSE),
        ("2", 2.11, Verdict.APART),
        ("2", 1.89, Verdict.APART),
        ("2", (1.0, 3.0), Verdict.RANGE),
        ("2", (3.0, 4.0), Verdict.APART),
        ("<2", 0.5, Verdict.CLOSE),
        ("<2", 2.01, Verdict.APART),
        (">2", 9.0, Verdict.CLOSE),
        (">2", 1.99, Verdict.APART),
        ("3-5", 4.0, Verdict.CLOSE),
        ("3-5", 2.8, Verdict.APART),
    ],
)
def test_a_verdict_is_that_of_the_ratio_or_of_the_bound(
    published_number: str, ours: float | tuple[float, float], verdict: Verdict
) -> None:
    assert replace(FIGURE, published=published_number, ours=ours).verdict is verdict


def test_there_are_at_least_twenty_figures_from_six_sources(result: tuple[SourceFigures, ...]) -> None:
    assert len({results.title for results in result}) == 6
    assert all(results.figures for results in result)
    assert sum(len(results.figures) for results in result) >= 20
    assert sum(one.kind is FigureOrigin.MODEL for results in result for one in results.figures) >= 20


def test_every_figure_is_computed_and_says_how(result: tuple[SourceFigures, ...]) -> None:
    for one in (item for results in result for item in results.figures):
        assert one.what, one
        assert one.place, one
        assert one.how, one
        assert 0 < one.ratio.least <= one.ratio.most < math.inf, one
        assert Amount.parsed(one.published).least * one.ratio.most == pytest.approx(one.computed.most), one


@pytest.mark.parametrize(
    ("what", "ratio", "within"),
    [
        ("size of the data set", 5.36, 0.01),
        ("requests in flight with cache", 1_002 / 1_500, 0.001),
        ("requests in flight without cache", 997 / 1_500, 0.001),
        ("improvement of throughput", 138.93 / 138.80, 0.0002),
        ("GETs an hour at the start", 14.1, 0.05),
        ("hit ratio after 12 h", 83.3 / 85, 0.005),
        ("hit ratio after 24 h", 87.5 / 95, 0.005),
        ("response time when tuned, 100 users", 3.3 / 5, 0.002),
        ("cache of one worker", 1.0, 1e-9),
        ("refreshes of block locations", 0.972, 0.001),
    ],
)
def test_contradictions_are_as_large_as_the_sources_make_them(
    result: tuple[SourceFigures, ...], what: str, ratio: float, within: float
) -> None:
    assert figure(result, what).ratio.most == pytest.approx(ratio, abs=within)


# -- the benchmark


def test_the_benchmark_is_predicted_within_six_percent(benchmark: Benchmark) -> None:
    predicted = benchmark.as_published()
    assert predicted.reads_per_second == pytest.approx(WARM, rel=0.06)
    assert 1000 * predicted.latency_seconds == pytest.approx(WARM_MS, rel=0.06)
    assert predicted.in_flight == pytest.approx(1_000)
    assert predicted.bottleneck.name == "ebs-throughput"


def test_the_reading_as_published_is_the_plan(benchmark: Benchmark) -> None:
    throughput, predicted = benchmark.plan.throughput, benchmark.as_published()
    assert predicted.reads_per_second == pytest.approx(throughput.reads_per_second)
    assert 1000 * predicted.latency_seconds == pytest.approx(throughput.mean_latency_ms)
    assert predicted.bottleneck.name == throughput.bottleneck


def test_omissions_pull_both_ways(benchmark: Benchmark) -> None:
    published = benchmark.as_published().reads_per_second
    for slower in (benchmark.scattered(), benchmark.serialised(), benchmark.missing(0.95)):
        assert slower.reads_per_second < published
    for skew in (ZIPF, YCSB_ZIPF):
        share, faster = benchmark.page_cached(skew, 850_000)
        assert 0.4 < share < 0.8
        assert faster.reads_per_second > 1.5 * published
        both = benchmark.together(Hits(ratio=0.95, page_cache_fraction=share))
        assert published < both.reads_per_second < faster.reads_per_second


def test_smaller_rows_leave_the_limit_elsewhere(benchmark: Benchmark) -> None:
    assert benchmark.records_row_bytes == pytest.approx(158_500, rel=0.001)
    assert benchmark.by_records().reads_per_second > 3 * WARM


def test_without_the_cache_there_is_a_range_over_every_published_input(benchmark: Benchmark) -> None:
    every = benchmark.uncached()
    assert [(one.handlers, one.round_trip_ms) for one in every] == [
        (handlers, trip) for handlers in HANDLERS for trip in ROUND_TRIPS_MS
    ]
    assert (HANDLERS[0], HANDLERS[-1], ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[-1]) == (30, 200, 20, 200)
    assert all(one.one_prefix.reads_per_second <= one.several_prefixes.reads_per_second + 0.01 for one in every)


def test_the_sustained_limit_needs_iops_and_costs_what_gp3_does(benchmark: Benchmark) -> None:
    bought = benchmark.provisioned()
    volume, prices = bought.volume, benchmark.world.prices
    assert volume.throughput_mib_s == 298
    assert bought.predicted.bottleneck.name == "ebs-throughput"
    more = (volume.throughput_mib_s - 125) * prices.usd("gp3-mib-s-month")
    more += (volume.iops - 3_000) * prices.usd("gp3-iops-month")
    assert bought.usd_per_month_more == pytest.approx(6 * more)


# -- what rests on more than one plan


def test_costs_are_compared_of_clusters_that_serve(benchmark: Benchmark) -> None:
    cod = Cod(like=benchmark.requirements, world=benchmark.world)
    for mode, reads in (
        (HDFS, PRODUCTION_READS),
        (S3_CACHED, PRODUCTION_READS),
        (HDFS, RECOVERY_READS),
        (S3_PLAIN, RECOVERY_READS),
    ):
        assert all(plan.feasible for plan in cod.plans(mode, reads)), mode


def test_our_bucket_sizes_never_waste_more_than_the_default_list() -> None:
    for slot in slots():
        assert slot.ours_fraction >= max(0.98, slot.default_fraction)
        assert slot.more_blocks_fraction >= 0


def test_saved_gets_are_worth_less_than_the_cache_costs(benchmark: Benchmark) -> None:
    for item in worth(benchmark):
        assert item.usd_per_month < item.cache_usd_per_month
