"""The first day: the caches fill, a restart keeps them, and a lost node costs its share until its successor is warm."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, RELAXED, SYSTEM, WORLD, gp3_volume, with_core
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS, S3_PLAIN, Mode
from warmbase.sizing.plan import Plan
from warmbase.sizing.recovery.boost import BURST_SECONDS
from warmbase.sizing.recovery.warmth import HOURS, LOSS_HOURS, RESTART_HOURS, FirstDay, first_day

PLAN = plan(PINNED, WORLD)


def day_of(sized: Plan) -> FirstDay:
    day = first_day(sized)
    assert day is not None
    return day


def filled_in(hours: float) -> Plan:
    """Return a plan whose prefetch takes this long."""
    return replace(PLAN, warm_up=replace(PLAN.warm_up, prefetch_seconds=3600 * hours))


def test_the_courses_are_those_of_the_plan() -> None:
    day, cold, server, boost = day_of(PLAN), PLAN.bad_hours.cold, PLAN.warm_up.server, PLAN.warm_up.boosts[-1]
    assert cold is not None
    assert server is not None
    before = tuple((hours, ratio) for hours, ratio, _ in cold.course if hours < LOSS_HOURS)
    assert day.course[: len(before)] == before
    alone = server.time(server.volume.throughput_mib_s, server.sustained).seconds
    assert day.fill == ((0, 0), (alone / 3600, PLAN.hit_ratio.predicted))
    assert day.boosted[-1] == (boost.seconds / 3600, PLAN.hit_ratio.predicted)


def test_a_lost_node_costs_its_share_until_its_successor_is_warm() -> None:
    day, new = day_of(PLAN), PLAN.bad_hours.replaced_node
    assert new is not None
    assert (day.restart_hours, day.loss_hours) == (RESTART_HOURS, LOSS_HOURS) == (12, 15)
    assert day.hit_ratio(RESTART_HOURS) == pytest.approx(PLAN.hit_ratio.predicted, abs=0.01)
    lost, regions, warm, end = day.course[-4:]
    assert lost == (LOSS_HOURS, new.hit_ratio)
    assert regions == (LOSS_HOURS + (new.launch_seconds + new.regions_seconds) / 3600, new.hit_ratio)
    assert warm == (day.refilled_hours, PLAN.hit_ratio.predicted)
    assert end == (HOURS, PLAN.hit_ratio.predicted)


def test_a_refill_that_lasts_longer_than_the_day_is_cut_at_its_end() -> None:
    new = PLAN.bad_hours.replaced_node
    assert new is not None
    slow = replace(new, launch_seconds=0, regions_seconds=0, seconds=18 * 3600)
    day = day_of(replace(PLAN, bad_hours=replace(PLAN.bad_hours, replaced_node=slow)))
    hours, ratio = day.course[-1]
    assert hours == HOURS
    assert ratio == pytest.approx((slow.hit_ratio + PLAN.hit_ratio.predicted) / 2)


@pytest.mark.parametrize(("hours", "events"), [(RESTART_HOURS, (12, 15)), (12.1, (None, None))])
def test_nothing_happens_to_caches_that_still_fill(hours: float, events: tuple[float | None, float | None]) -> None:
    day = day_of(filled_in(hours))
    assert (day.restart_hours, day.loss_hours) == events
    assert (day.refilled_hours is None) == (events[1] is None)
    assert day.course[-1][0] == HOURS


def test_a_single_node_restarts_and_is_not_replaced() -> None:
    alone = replace(PLAN, bad_hours=replace(PLAN.bad_hours, replaced_node=None))
    assert (day_of(alone).restart_hours, day_of(alone).loss_hours) == (RESTART_HOURS, None)


@pytest.mark.parametrize("mode", [HDFS, S3_PLAIN])
def test_without_a_cache_there_is_no_day(mode: Mode) -> None:
    assert first_day(plan(replace(RELAXED, mode=mode), WORLD)) is None


@pytest.mark.parametrize("size_gib", [500, 4_000])
def test_a_fill_has_a_constant_speed_until_its_burst_ends(size_gib: int) -> None:
    server = plan(with_core(PINNED, volumes=(gp3_volume("cache", size_gib), SYSTEM)), WORLD)
    fill = server.warm_up.server
    assert fill is not None
    course, end = fill.course(500, "burst"), fill.boosted(500, "burst").seconds
    speeds = [(filled - before) / (end - start) for (start, before), (end, filled) in pairwise(course)]
    assert course[-1] == (end, 1.0)
    assert len(course) == 2 + (end > BURST_SECONDS)
    assert speeds == sorted(speeds, reverse=True)
