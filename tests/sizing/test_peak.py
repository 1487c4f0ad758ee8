"""The peak hour decides the capacity of a cluster, and the mean load decides its monthly charges."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, WORLD, with_core, with_targets, with_workload
from warmbase.ground.units import HOURS_PER_MONTH, parse_duration
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import S3_PLAIN
from warmbase.sizing.plan import MISSED_TARGET, Plan
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.disks import volume_load
from warmbase.sizing.search.search import search
from warmbase.sizing.service.inputs import UTILISATION, SizingInputs
from warmbase.sizing.workload.read import Hits
from warmbase.sizing.workload.workload import OpenLoad, Workload

MEAN = 900.0
SLACK = 1.01  # a step of cache sizes and volume speeds
FEW_TYPES = with_core(RELAXED, type="r8g.xlarge")


def with_peak(requirements: Requirements, peak: float | None, mean: float = MEAN) -> Requirements:
    load = OpenLoad(reads_per_second=mean, peak_reads_per_second=peak)
    return with_workload(requirements, reads=replace(requirements.workload.reads, load=load))


def usd(requirements: Requirements) -> float:
    return search(SizingInputs.new(requirements, WORLD)).best.usd_per_month


def bought(sized: Plan) -> tuple[object, ...]:
    return sized.core, sized.cost, sized.handlers, sized.heap, sized.bucket_cache, sized.bad_hours, sized.warm_up


@given(peaks=st.tuples(st.floats(1, 4), st.floats(1, 4)).map(sorted), hit_ratio=st.sampled_from([0.5, 0.9, 0.97]))
def test_a_higher_peak_never_costs_less(peaks: list[float], hit_ratio: float) -> None:
    wanted = with_targets(FEW_TYPES, hit_ratio=hit_ratio)
    lower, higher = (usd(with_peak(wanted, factor * MEAN)) for factor in peaks)
    assert lower <= SLACK * higher


@pytest.mark.parametrize("mean", [50.0, 1_700.0])
def test_a_peak_at_the_mean_changes_nothing(mean: float) -> None:
    without, level = (plan(with_peak(FEW_TYPES, peak, mean), WORLD) for peak in (None, mean))
    assert bought(level) == bought(without)
    assert without.peak is None
    assert level.peak == level.throughput == without.throughput


def test_a_peak_buys_the_nodes_of_its_rate_and_the_requests_of_the_mean() -> None:
    """Without a cache, every block that is read is a GET, so the bill shows which rate it follows from."""
    plain = replace(RELAXED, mode=S3_PLAIN)
    mean, peaking, steady = (plan(with_peak(plain, *load), WORLD) for load in ((None, 100), (200, 100), (None, 200)))
    assert peaking.core == steady.core
    assert peaking.handlers == steady.handlers
    assert steady.core.count * steady.handlers > mean.core.count * mean.handlers
    assert peaking.s3.gets_per_hour_warm == pytest.approx(mean.s3.gets_per_hour_warm)
    assert peaking.throughput.offered_reads_per_second == 100
    assert peaking.peak is not None
    assert peaking.peak.offered_reads_per_second == 200
    saved = steady.cost.usd_per_month - peaking.cost.usd_per_month
    gets = (steady.s3.gets_per_hour_warm - mean.s3.gets_per_hour_warm) * HOURS_PER_MONTH
    assert saved == pytest.approx(gets * WORLD.prices.usd("s3-get"), rel=1e-3)


def test_survivors_carry_the_peak() -> None:
    wanted = with_peak(with_targets(FEW_TYPES, p99_seconds=0.25), 2_500)
    candidate = search(SizingInputs.new(wanted, WORLD)).best.candidate
    after_loss = candidate.resources(candidate.survivors)
    assert min(limit.max_reads_per_second for limit in after_loss) * UTILISATION >= 2_500
    assert candidate.performance(candidate.survivors, at_peak=True).p99_seconds <= 0.25
    assert (
        candidate.share.reads_in_progress
        > 3
        * search(SizingInputs.new(with_peak(FEW_TYPES, None), WORLD)).best.candidate.share.reads_in_progress
        / candidate.count
    )


def test_utilisation_and_latency_are_higher_in_the_peak_hour() -> None:
    sized = plan(with_peak(FEW_TYPES, 2_500), WORLD)
    assert sized.peak is not None
    assert sized.busiest_hour is sized.peak
    assert sized.throughput.utilisation_fraction < sized.peak.utilisation_fraction < 1
    assert sized.peak.p99_latency_ms >= sized.throughput.p99_latency_ms
    assert sized.peak.utilisation_fraction == pytest.approx(
        sized.peak.reads_per_second / sized.peak.saturation_reads_per_second
    )


def test_a_pinned_cluster_that_carries_only_the_mean_misses_its_target() -> None:
    pinned = with_targets(PINNED, hit_ratio=0.3)
    assert plan(with_peak(pinned, None, mean=300), WORLD).meets_targets
    sized = plan(with_peak(pinned, 50_000, mean=300), WORLD)
    assert not sized.meets_targets
    assert any(warning.id.startswith(MISSED_TARGET) and "reads" in warning.id for warning in sized.warnings)


def test_what_to_relax_is_the_peak() -> None:
    """Where S3 limits the reads, no cluster serves the peak, and the nearest question lowers it."""
    sized = plan(with_peak(replace(RELAXED, mode=S3_PLAIN), 1_000_000), WORLD)
    assert not sized.feasible
    assert sized.peak is not None
    assert any("reads/s in the peak hour" in change for change in sized.nearest)


def test_without_a_peak_the_nearest_load_has_none() -> None:
    sized = plan(with_peak(replace(RELAXED, mode=S3_PLAIN), None, 1_000_000), WORLD)
    assert sized.nearest
    assert sized.peak is None


def test_volumes_are_provisioned_for_the_peak() -> None:
    peaking, steady = (SizingInputs.new(with_peak(RELAXED, *load), WORLD) for load in ((2_500, MEAN), (None, 2_500)))
    assert volume_load(peaking, 8, Hits(ratio=0.9)) == volume_load(steady, 8, Hits(ratio=0.9))


def test_the_p99_is_that_of_the_peak() -> None:
    pinned = with_targets(PINNED, hit_ratio=0.3)
    sized = plan(with_peak(pinned, 500, mean=10), WORLD)
    assert sized.peak is not None
    between = (sized.throughput.p99_latency_ms + sized.peak.p99_latency_ms) / 2000
    wanted = with_targets(with_peak(pinned, 500, mean=10), p99_seconds=between, lost_nodes=0)
    missed = [warning.id for warning in plan(wanted, WORLD).warnings if warning.id.startswith(MISSED_TARGET)]
    assert missed == ["target-p99"]


@given(mean=st.floats(1, 1e6), peak=st.floats(1, 24), share=st.floats(0.01, 1))
def test_the_reads_of_the_peak_and_of_the_other_hours_are_those_of_the_day(
    mean: float, peak: float, share: float
) -> None:
    hours = min(23.0, 24 * share / peak)
    load = OpenLoad(reads_per_second=mean, peak_reads_per_second=peak * mean, peak_hours=hours)
    quiet = load.quiet_reads_per_second
    assert quiet is not None
    assert hours * peak * mean + (24 - hours) * quiet == pytest.approx(24 * mean, rel=1e-5)
    assert -1e-9 * mean <= quiet <= mean * (1 + 1e-9)


def rate_outside_peak(workload: Workload) -> float:
    load = workload.outside_peak.load
    assert isinstance(load, OpenLoad)
    return load.reads_per_second


def test_the_combined_peak_has_a_length_only_if_all_peaks_are_equally_long() -> None:
    loads = (
        OpenLoad(reads_per_second=100, peak_reads_per_second=300, peak_hours=2),
        OpenLoad(reads_per_second=100, peak_reads_per_second=200, peak_hours=6),
        OpenLoad(reads_per_second=10),
    )
    base = RELAXED.workload
    tables = [
        replace(base, name=name, reads=replace(base.reads, load=load)) for name, load in zip("abc", loads, strict=True)
    ]
    both = Workload.of(tables)
    assert both.load == OpenLoad(reads_per_second=210, peak_reads_per_second=510)
    quiet = [load.quiet_reads_per_second or 0 for load in loads]
    assert quiet == pytest.approx([1_800 / 22, 1_200 / 18, 10])
    assert rate_outside_peak(both) == pytest.approx(sum(quiet))
    unknown = replace(tables[0], reads=replace(base.reads, load=replace(loads[0], peak_hours=None)))
    assert rate_outside_peak(Workload.of([unknown, *tables[1:]])) == pytest.approx(300 + sum(quiet[1:]))
    alike = Workload.of([tables[0], replace(tables[1], reads=replace(base.reads, load=loads[0]))])
    assert alike.load == OpenLoad(reads_per_second=200, peak_reads_per_second=600, peak_hours=2)


def with_daily_peak(requirements: Requirements, hours: float) -> Requirements:
    load = OpenLoad(reads_per_second=MEAN, peak_reads_per_second=905, peak_hours=hours)
    return with_workload(requirements, reads=replace(requirements.workload.reads, load=load))


def test_peak_hours_do_not_change_the_cluster_and_give_the_rate_of_the_other_hours() -> None:
    daily, unknown = plan(with_daily_peak(FEW_TYPES, 3), WORLD), plan(with_peak(FEW_TYPES, 905), WORLD)
    assert bought(daily) == bought(unknown)
    assert daily.daily_peak is not None
    assert daily.daily_peak.hours == 3
    assert daily.daily_peak.quiet_reads_per_second == pytest.approx((24 * MEAN - 3 * 905) / 21)
    assert unknown.daily_peak is None


def test_a_cluster_that_is_cold_at_the_next_peak_has_a_warning_whose_fix_works() -> None:
    requirements = with_core(RELAXED, type="r8g.xlarge")
    fill_hours = plan(requirements, WORLD).warm_up.prefetch_seconds / 3600
    longer, shorter = (plan(with_daily_peak(requirements, 24 - factor * fill_hours), WORLD) for factor in (1.1, 0.5))
    assert "cold-peak" not in {warning.id for warning in longer.warnings}
    [warning] = [warning for warning in shorter.warnings if warning.id == "cold-peak"]
    fix = re.match(r"set targets\.warm_up to ([^,]+),", warning.fix)
    assert fix is not None
    assert parse_duration(fix[1]) == pytest.approx(0.5 * fill_hours * 3600, rel=0.01)
    wanted = with_targets(with_daily_peak(requirements, 24 - 0.5 * fill_hours), warm_up_seconds=parse_duration(fix[1]))
    mended = plan(wanted, WORLD)
    assert mended.meets_targets
    assert "cold-peak" not in {warning.id for warning in mended.warnings}
