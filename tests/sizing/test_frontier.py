"""The price of each step of a target never falls, and the knee is the last step before it rises faster."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from warmbase.sizing.ranges.growth import TARGETS, Frontier, Step, Target, frontier
from warmbase.sizing.ranges.hbase_situation import HBaseSituation
from warmbase.sizing.ranges.regret import ClusterOption
from warmbase.sizing.requirements import CoreChoice

ONE_TYPE = replace(
    REQUIREMENTS,
    cluster=replace(REQUIREMENTS.cluster, core=CoreChoice(type="r8g.2xlarge", count=None, volumes=None, families=())),
)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try fewer steps of each target, because each step takes a search."""
    few = {"hit_ratio": (0.5, 0.9, 1.0), "p99": (1.0, 0.15, 0.07), "lost_nodes": (0, 1, 3)}
    monkeypatch.setattr("warmbase.sizing.ranges.growth.VALUES", few)


def frontier_with(*usd: float | None) -> Frontier:
    """Return a frontier whose steps have these prices."""
    option = ClusterOption(instance_type="r8g.xlarge", count=1, volumes=())
    return Frontier(
        target="lost_nodes",
        stated=None,
        steps=[
            Step(value=number, option=option if price else None, usd_per_month=price)
            for number, price in enumerate(usd)
        ],
    )


@pytest.mark.parametrize("target", TARGETS)
def test_the_price_never_falls_and_every_cluster_meets_its_step(target: Target) -> None:
    result = frontier(HBaseSituation(requirements=ONE_TYPE, world=WORLD), target)
    prices = [step.usd_per_month for step in result.steps if step.usd_per_month is not None]
    assert prices == sorted(prices)
    assert len(prices) > 2
    for step in result.steps:
        if step.option is None:
            continue
        field = "p99_seconds" if target == "p99" else target
        values: dict[str, Any] = {"budget_usd_per_month": None, field: step.value}
        targets = replace(ONE_TYPE.targets, **values)
        core = replace(
            ONE_TYPE.cluster.core,
            type=step.option.instance_type,
            count=step.option.count,
            volumes=step.option.volumes,
        )
        pinned = replace(ONE_TYPE, targets=targets, cluster=replace(ONE_TYPE.cluster, core=core))
        assert HBaseSituation(requirements=pinned, world=WORLD).outcome(step.option).missed == ()


def test_a_pinned_cluster_cannot_lose_all_of_its_nodes() -> None:
    core = replace(ONE_TYPE.cluster.core, count=3)
    pinned = replace(ONE_TYPE, cluster=replace(ONE_TYPE.cluster, core=core))
    last = frontier(HBaseSituation(requirements=pinned, world=WORLD), "lost_nodes").steps[-1]
    assert (last.value, last.option) == (3, None)


def test_the_stated_value_is_one_of_the_steps() -> None:
    stated = replace(ONE_TYPE, targets=replace(ONE_TYPE.targets, hit_ratio=0.913))
    situation = HBaseSituation(requirements=stated, world=WORLD)
    assert 0.913 in [step.value for step in frontier(situation, "hit_ratio").steps]


@pytest.mark.parametrize(
    ("prices", "knee"),
    [
        ((100, 101, 102, 200, 300), 2),
        ((100, 100, 100, 500), 2),
        ((100, 200, 300, 400), None),
        ((100, 101), None),
        ((100, 101, 102, 200, 300, None), 2),
        ((None, None), None),
    ],
)
def test_the_knee_is_the_last_step_before_the_price_rises_faster(
    prices: tuple[float | None, ...], knee: int | None
) -> None:
    assert frontier_with(*prices).knee == knee
