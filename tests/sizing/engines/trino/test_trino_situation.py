"""An analytics cluster's options cost what their pinned plans cost, and steps of a target or of growth are cheapest."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from msgspec.structs import replace

from tests.sizing.clusters import WORLD
from tests.sizing.engines.trino.questions import CHOICE, question, with_query_targets, with_workers
from tests.sizing.engines.trino.test_trino_plan import choices
from warmbase.engines.trino.calculator import compared_caches, trino_plan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import TrinoSearch, TrinoSituation
from warmbase.ground.units import TIB
from warmbase.sizing.ranges.growth import FIELDS, QUERY_TARGETS, Target, frontier, growth_steps

ONE_FAMILY = with_workers(CHOICE, families=("r8g",))


def situation(choice: TrinoChoice) -> TrinoSituation:
    return TrinoSituation(environment="prod", search=TrinoSearch(choice=choice, world=WORLD))


@given(choice=choices())
def test_the_cheapest_option_is_the_plan_and_meets_the_targets(choice: TrinoChoice) -> None:
    one, plan = situation(choice), trino_plan(question(choice), WORLD)
    if one.cheapest is None:
        assert plan.missed
        return
    option, usd = one.cheapest
    assert (option.instance_type, option.count, option.volumes) == (
        plan.workers.instance_type,
        plan.workers.count,
        plan.workers.volumes,
    )
    assert usd == pytest.approx(plan.cost.usd_per_month)
    outcome = one.outcome(option)
    assert outcome.missed == ()
    assert outcome.usd_per_month <= usd * (1 + 1e-9)


def test_an_option_costs_and_misses_what_its_pinned_plan_does() -> None:
    best = situation(ONE_FAMILY).cheapest
    assert best is not None
    for count in (1, 3, best[0].count):
        option = replace(best[0], count=count)
        pinned = with_workers(ONE_FAMILY, type=option.instance_type, count=count, volumes=option.volumes)
        plan, outcome = trino_plan(question(pinned), WORLD), situation(ONE_FAMILY).outcome(option)
        assert outcome.usd_per_month == pytest.approx(plan.cost.usd_per_month)
        assert outcome.missed == tuple(shortfall.target for shortfall in plan.missed)


def test_a_budget_is_a_target_of_an_option_and_not_of_a_frontier() -> None:
    best = situation(ONE_FAMILY).cheapest
    assert best is not None
    poor = situation(with_query_targets(ONE_FAMILY, budget_usd_per_month=best[1] / 2))
    assert poor.cheapest is None
    assert poor.outcome(best[0]).missed == ("budget",)
    assert poor.with_target("lost_nodes", 1).cheapest == best


@pytest.mark.parametrize("target", QUERY_TARGETS)
def test_the_price_never_falls_and_every_cluster_meets_its_step(target: Target) -> None:
    result = frontier(situation(ONE_FAMILY), target)
    assert result.stated in [step.value for step in result.steps]
    prices = [step.usd_per_month for step in result.steps if step.usd_per_month is not None]
    assert prices == sorted(prices)
    assert len(prices) > 3
    for step in result.steps:
        if step.option is not None:
            stricter = situation(ONE_FAMILY).with_target(FIELDS[target], step.value)
            assert stricter.outcome(step.option).missed == ()


def test_each_purchase_serves_until_the_next_and_no_longer() -> None:
    today = situation(ONE_FAMILY)
    steps = list(growth_steps(lambda month: today.after(month, 0.2), 8))
    assert len(steps) > 2
    for step, following in pairwise(steps):
        assert step.option is not None
        assert all(
            not today.after(month, 0.2).outcome(step.option).missed for month in range(step.month, following.month)
        )
        assert today.after(following.month, 0.2).outcome(step.option).missed == following.missed != ()


def test_the_working_set_and_the_queries_grow_and_a_query_does_not() -> None:
    later = situation(CHOICE).after(2, 0.5).search.choice.workload
    assert later.working_set_bytes == round(2.25 * 6 * TIB)
    assert later.queries_per_second == pytest.approx(2.25 * CHOICE.workload.queries_per_second)
    assert later.peak_queries_per_second == pytest.approx(2.25 * CHOICE.workload.peak_queries_per_second)
    assert later.scanned_bytes == CHOICE.workload.scanned_bytes


def test_caches_are_compared_for_the_same_queries_with_nothing_pinned() -> None:
    pinned = with_workers(CHOICE, type="r8g.2xlarge", count=30)
    compared = compared_caches(question(pinned), WORLD)
    assert set(compared) == {"gp3", "drive", "none"}
    cached = min(compared[kind].cost.usd_per_month for kind in ("gp3", "drive"))
    assert cached == pytest.approx(trino_plan(question(CHOICE), WORLD).cost.usd_per_month)
    none = compared["none"]
    assert (none.cache_gib, none.hit_ratio, none.missed) == (0, 0.0, ())
    reads = CHOICE.workload.scanned_bytes / CHOICE.workload.read_bytes
    assert none.gets_per_second == pytest.approx(reads * CHOICE.workload.queries_per_second)
    assert {volume.purpose for volume in none.workers.volumes} == {"system"}
    without_drives = compared_caches(question(ONE_FAMILY), WORLD)
    assert set(without_drives) == {"gp3", "none"}
