"""The best attainable value of a missed target is feasible, and a value stricter by a step is not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, WORLD, with_core, with_targets, with_workload
from tests.tiers import quick_where
from warmbase.ground.units import TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.search.alternatives import LONGER, STEP, relaxations
from warmbase.sizing.search.search import Search, search
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import OpenLoad, Reads

FEW = with_core(with_workload(RELAXED, stored_bytes=2 * TIB), families=("r8g", "i8g"))
MARGIN = 1.005  # of a value that is printed with three digits

CASES: dict[str, tuple[Requirements, str]] = {
    "p99": (with_targets(FEW, p99_seconds=0.001), "p99_seconds"),
    "p99 within a budget": (with_targets(FEW, p99_seconds=0.001, budget_usd_per_month=4_000.0), "p99_seconds"),
    "budget": (with_targets(FEW, budget_usd_per_month=500.0), "budget_usd_per_month"),
    "warm-up": (with_targets(FEW, warm_up_seconds=1.0), "warm_up_seconds"),
    "hit ratio": (
        with_targets(
            with_workload(
                with_core(FEW, type="r8g.xlarge", count=3),
                stored_bytes=6 * TIB,
                reads=Reads(load=OpenLoad(reads_per_second=50.0)),
            ),
            hit_ratio=0.9999,
        ),
        "hit_ratio",
    ),
    "reads": (with_workload(FEW, reads=Reads(load=OpenLoad(reads_per_second=10**9))), "reads"),
}


def with_target(requirements: Requirements, target: str, value: float) -> Requirements:
    if target == "reads":
        return with_workload(requirements, reads=Reads(load=OpenLoad(reads_per_second=value)))
    return with_targets(requirements, **{target: value})


@pytest.mark.parametrize("name", quick_where(lambda name: name in {"p99", "budget", "reads"}, CASES))
@pytest.mark.thorough
def test_the_value_named_can_be_had_and_a_step_less_cannot(name: str) -> None:
    requirements, target = CASES[name]
    inputs = SizingInputs.new(requirements, WORLD)
    change = next(change for change in relaxations(inputs, {target}) if change_is_of(change.text, target))
    value = change.value
    step = (LONGER if target == "warm_up_seconds" else STEP) * MARGIN
    tighter = value * step if target in {"hit_ratio", "reads"} else value / step
    assert serves(replace(inputs, requirements=with_target(requirements, target, value))), change
    assert not serves(replace(inputs, requirements=with_target(requirements, target, tighter))), change
    assert not serves(inputs)
    assert change.served.candidate.instance.name in str(change)


def test_only_missed_or_helpful_targets_are_relaxed() -> None:
    beside_p99 = plan(with_targets(FEW, p99_seconds=0.5, budget_usd_per_month=500.0), WORLD)
    assert any("a budget of" in change for change in beside_p99.nearest)
    alone = plan(with_targets(FEW, budget_usd_per_month=2_000.0), WORLD)
    assert not any("reads/s" in change for change in alone.nearest)


def test_a_budget_ends_the_search_for_any_cluster() -> None:
    tried = Search(inputs=SizingInputs.new(with_targets(FEW, budget_usd_per_month=1.0), WORLD))
    waiting = len(tried.queue)
    assert not tried.any_serves()
    assert len(tried.queue) == waiting


def serves(inputs: SizingInputs) -> bool:
    try:
        return search(inputs).best.serves
    except LookupError:
        return False


def change_is_of(text: str, target: str) -> bool:
    words = {"p99_seconds": "p99", "budget_usd_per_month": "budget", "warm_up_seconds": "warm-up"}
    return words.get(target, target.replace("_", " ")) in text
