"""The plans of the environments that ship, and laws that every plan keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configurations.launch import Launch
from environments.question import requirements, world
from environments.reader import read_environment
from sizing.calculator import plan
from sizing.candidate import UTILISATION
from sizing.plan import Plan
from sizing.requirements import Requirements
from sizing.units import GIB, MIB, TIB
from sizing.workload import OpenLoad
from tests.shipped import ENVIRONMENTS

PROD = read_environment("prod")
WORLD = world(PROD)
ASKED = requirements(PROD, PROD.active)


def asked(stored_bytes: int, reads_per_second: float, hit_ratio: float = 0.95) -> Requirements:
    workload = replace(ASKED.workload, stored_bytes=stored_bytes, load=OpenLoad(reads_per_second=reads_per_second))
    return replace(ASKED, workload=workload, targets=replace(ASKED.targets, hit_ratio=hit_ratio))


def test_prod_meets_its_own_targets(launches: Callable[[str], Launch]) -> None:
    sized, targets = launches("prod").plan, PROD.targets
    assert sized.feasible
    assert not sized.warnings
    assert sized.hit_ratio.predicted >= targets.hit_ratio
    assert sized.throughput.reads_per_second == sized.throughput.offered_reads_per_second == 900
    assert targets.budget_usd_per_month is not None
    assert sized.cost.usd_per_month <= targets.budget_usd_per_month


def test_prod_still_serves_with_a_node_lost(launches: Callable[[str], Launch]) -> None:
    sized = launches("prod").plan
    survivors = sized.core.count - PROD.targets.lost_nodes
    left = survivors / sized.core.count
    assert UTILISATION * sized.throughput.saturation_reads_per_second * left * (1 + 1e-9) >= 900
    assert survivors * sized.bucket_cache.blocks_held >= sized_blocks(sized) * PROD.targets.hit_ratio


def sized_blocks(sized: Plan) -> float:
    return float(sized.because["bucket_cache.size_mib"].inputs["blocks"].value)


def test_the_published_cluster_is_limited_by_its_volumes(launches: Callable[[str], Launch]) -> None:
    sized = launches("published-emr").plan
    assert (sized.core.instance_type, sized.core.count) == ("r8g.2xlarge", 6)
    assert sized.throughput.bottleneck == "ebs-throughput"
    assert sized.throughput.reads_per_second == pytest.approx(888.67, rel=0.05)
    assert sized.throughput.mean_latency_ms == pytest.approx(1127, rel=0.05)
    assert sized.hit_ratio.predicted >= 0.95


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_littles_law_holds(name: str, launches: Callable[[str], Launch]) -> None:
    load = launches(name).plan.throughput
    assert load.reads_per_second * load.mean_latency_ms / 1000 == pytest.approx(load.concurrency)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_plan_adds_up(name: str, launches: Callable[[str], Launch]) -> None:
    sized = launches(name).plan
    assert sum(sized.memory.parts.values()) == sized.memory.ram_bytes
    assert sum(line.usd_per_month for line in sized.cost.lines) == pytest.approx(sized.cost.usd_per_month)
    assert sized.memory.parts["yarn"] == sized.yarn_mib * MIB
    assert sized.memory.parts["heap"] == sized.heap.xmx_mib * MIB


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_cache_volume_holds_the_cache_and_two_indexes(name: str, launches: Callable[[str], Launch]) -> None:
    sized = launches(name).plan
    cache, system = sized.core.volume("cache"), sized.core.volume("system")
    needed = sized.bucket_cache.size_mib * MIB + 2 * sized.persistence.index_bytes
    assert needed <= 0.95 * cache.size_bytes
    assert cache.size_gib != system.size_gib


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_reason_has_a_source(name: str, launches: Callable[[str], Launch]) -> None:
    for path, reason in launches(name).plan.because.items():
        assert reason.formula, path
        assert reason.source, path


def test_same_input_same_plan() -> None:
    assert plan(ASKED, WORLD) == plan(ASKED, WORLD)


@settings(max_examples=30, deadline=None)
@given(
    stored_gib=st.integers(min_value=50, max_value=40_000),
    more=st.floats(min_value=1.05, max_value=4),
    reads_per_second=st.floats(min_value=1, max_value=5_000),
)
def test_more_data_never_costs_less(stored_gib: int, more: float, reads_per_second: float) -> None:
    less = plan(asked(stored_gib * GIB, reads_per_second), WORLD)
    greater = plan(asked(round(stored_gib * more) * GIB, reads_per_second), WORLD)
    if less.feasible and greater.feasible:
        assert greater.cost.usd_per_month >= less.cost.usd_per_month * (1 - 1e-9)


@settings(max_examples=30, deadline=None)
@given(stored_gib=st.integers(min_value=50, max_value=40_000), hit_ratio=st.floats(min_value=0.1, max_value=1))
def test_every_plan_meets_its_hit_ratio_on_the_survivors(stored_gib: int, hit_ratio: float) -> None:
    sized = plan(asked(stored_gib * GIB, 100, hit_ratio), WORLD)
    if not sized.nearest:
        survivors = sized.core.count - ASKED.targets.lost_nodes
        held = min(1.0, survivors * sized.bucket_cache.blocks_held / sized_blocks(sized))
        assert held >= hit_ratio * 0.95


def test_a_budget_that_nothing_meets_is_an_answer() -> None:
    cheap = replace(ASKED, targets=replace(ASKED.targets, budget_usd_per_month=100.0))
    sized = plan(cheap, WORLD)
    assert not sized.feasible
    assert "the budget is $100" in sized.nearest[0]


def test_rejected_types_keep_their_reason() -> None:
    sized = plan(asked(TIB, 20_000), WORLD)
    assert sized.rejected
    assert all(rejected.reason for rejected in sized.rejected)
