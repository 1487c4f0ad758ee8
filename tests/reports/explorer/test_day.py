"""The sentences of the first day name the figures of the plan, whatever the cluster lacks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import CLOSED, PINNED, RELAXED, WORLD, with_core, with_workload
from warmbase.engines.hbase.plots import day_plot
from warmbase.ground.units import format_duration
from warmbase.sizing.calculator import plan
from warmbase.sizing.modes import HDFS
from warmbase.sizing.plan import Plan

PLAN = plan(PINNED, WORLD)


def texts_of(sized: Plan) -> list[str]:
    plot = day_plot(sized)
    assert plot is not None
    return list(plot.events)


def test_each_event_names_the_figures_of_the_plan() -> None:
    start, full, boost, restart, lost, refilled = texts_of(PLAN)
    new = PLAN.bad_hours.replaced_node
    assert new is not None
    assert "of 900 reads/s" in start
    assert f"After {format_duration(PLAN.warm_up.prefetch_seconds)}" in full
    assert format_duration(PLAN.warm_up.boosts[-1].seconds) in boost
    assert format_duration(PLAN.restart.seconds) in restart
    assert f"p99 {new.p99_latency_ms:,.0f} ms" in lost
    assert format_duration(new.warm_seconds) in refilled


@pytest.mark.parametrize(
    ("sized", "sentence"),
    [
        (replace(PLAN, warm_up=replace(PLAN.warm_up, boosts=())), "would not shorten it"),
        (replace(PLAN, warm_up=replace(PLAN.warm_up, prefetch_seconds=13 * 3600)), "no restart and no loss of a node"),
        (plan(with_core(RELAXED, count=1), WORLD), "so its loss is an outage"),
        (plan(with_workload(with_core(PINNED, count=3), reads=CLOSED), WORLD), "the cluster serves "),
    ],
)  # fmt: skip
def test_what_a_cluster_lacks_is_said(sized: Plan, sentence: str) -> None:
    assert any(sentence in text for text in texts_of(sized))


def test_a_plan_without_a_replacement_says_nothing_of_a_single_node() -> None:
    texts = texts_of(replace(PLAN, bad_hours=replace(PLAN.bad_hours, replaced_node=None)))
    assert not any("one core node" in text or "a node is lost" in text for text in texts)


def test_a_mode_without_a_cache_has_no_day() -> None:
    assert day_plot(plan(replace(RELAXED, mode=HDFS), WORLD)) is None
