"""Pinned volumes have the largest cache that meets the targets, so that a plan whose layout is pinned still does."""

from __future__ import annotations

import random
from typing import Final

import pytest
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, WORLD, gp3_volume, with_core, with_targets, with_workload
from warmbase.ground.units import GIB, KIB, TIB
from warmbase.sizing.calculator import plan
from warmbase.sizing.plan import Plan
from warmbase.sizing.ranges.hbase_situation import HBaseSituation
from warmbase.sizing.ranges.regret import ClusterOption
from warmbase.sizing.requirements import Layout, Requirements
from warmbase.sizing.search.candidate import Candidate, shortfalls
from warmbase.sizing.search.cost_grid import with_fitting_cache, within_memory
from warmbase.sizing.search.disks import pinned_layout
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.popularity import Zipf
from warmbase.sizing.workload.workload import OpenLoad, Reads

SYSTEM = gp3_volume("system", 64)


def random_requirements(seed: int) -> Requirements:
    """Return a workload in which memory often decides, because rows or blocks are small."""
    rng = random.Random(seed)
    workload = with_workload(
        RELAXED,
        stored_bytes=round(10 ** rng.uniform(2, 4) * GIB),
        row_bytes=rng.choice((1, 4, 30)) * KIB,
        block_bytes=rng.choice((16, 64)) * KIB,
        popularity=Zipf(theta=rng.uniform(0.5, 1.1)),
        write_bytes_per_second=rng.choice((0, 0, 10**6)),
        reads=Reads(load=OpenLoad(reads_per_second=round(10 ** rng.uniform(2, 3.5)))),
    )
    return with_targets(
        workload,
        hit_ratio=rng.choice((0.5, 0.8, 0.95)),
        lost_nodes=rng.choice((0, 1)),
        warm_up_seconds=rng.choice((None, None, 3 * 3_600)),
        offline_after_crash_seconds=rng.choice((None, None, 900.0)),
    )


def pinned(requirements: Requirements, sized: Plan) -> Requirements:
    return with_core(
        requirements, type=sized.core.instance_type, count=sized.core.count, volumes=tuple(sized.core.volumes)
    )


def fitted(candidate: Candidate) -> Candidate:
    layout = within_memory(candidate.inputs, candidate.instance, candidate.survivors, candidate.layout)
    candidate = replace(candidate, layout=layout)
    return with_fitting_cache(candidate, shortfalls(candidate), 0)


BETWEEN: Final = (738, 1114)
"""Workloads in which a cache of a size between the planned and the largest one misses the time to warm up, or reads."""


@pytest.mark.parametrize("seed", [*range(150), *BETWEEN])
def test_a_plan_still_meets_its_targets_if_its_layout_is_pinned(seed: int) -> None:
    requirements = random_requirements(seed)
    sized = plan(requirements, WORLD)
    again = plan(pinned(requirements, sized), WORLD)
    assert again.meets_targets
    option = ClusterOption(
        instance_type=sized.core.instance_type, count=sized.core.count, volumes=tuple(sized.core.volumes)
    )
    assert not HBaseSituation(requirements=requirements, world=WORLD).outcome(option).missed
    assert again.bucket_cache is not None
    assert sized.bucket_cache is not None
    assert again.bucket_cache.size_mib >= sized.bucket_cache.size_mib
    assert again.cost.usd_per_month <= sized.cost.usd_per_month + 0.01


QUIET = with_targets(
    with_workload(
        RELAXED, stored_bytes=5 * TIB, write_bytes_per_second=0, reads=Reads(load=OpenLoad(reads_per_second=100))
    ),
    hit_ratio=0.3,
)
MEMORY = with_workload(QUIET, block_bytes=16 * KIB, row_bytes=KIB)
CASES = {
    "memory": MEMORY,
    "warm_up": with_targets(QUIET, warm_up_seconds=3_600),
    "offline_after_crash": with_targets(QUIET, offline_after_crash_seconds=300.0),
}


@pytest.mark.parametrize("target", CASES)
@pytest.mark.parametrize("files", [1, 3])
def test_the_cache_is_the_largest_that_meets_each_target(target: str, files: int) -> None:
    cache, instance = replace(gp3_volume("cache", 3_000 // files), count=files), WORLD.instance_types["r8g.2xlarge"]
    requirements = with_core(CASES[target], type=instance.name, count=6, volumes=(cache, SYSTEM))
    inputs = SizingInputs.new(requirements, WORLD)

    def with_cache(cache_mib: int) -> Candidate:
        layout = Layout(cache_mib=cache_mib, volumes=(cache, SYSTEM))
        return Candidate(inputs=inputs, instance=instance, count=6, layout=layout)

    def missed(candidate: Candidate) -> set[str]:
        return {shortfall.target for shortfall in shortfalls(candidate)}

    largest = with_cache(pinned_layout(inputs, (cache, SYSTEM), 5).cache_mib)
    assert missed(largest) & {target, "memory"}
    fitting = fitted(largest)
    assert not missed(fitting)
    assert fitting.cache_mib % (files * 1024) == 0
    assert missed(with_cache(fitting.cache_mib + files * 1024)) == {target}
    planned = plan(requirements, WORLD).bucket_cache
    assert planned is not None
    assert planned.size_mib == fitting.cache_mib


def test_the_cache_leaves_memory_to_the_handlers_that_the_reads_need() -> None:
    requirements = random_requirements(34)
    sized = plan(requirements, WORLD)
    inputs = SizingInputs.new(pinned(requirements, sized), WORLD)
    volumes, instance = tuple(sized.core.volumes), WORLD.instance_types[sized.core.instance_type]
    layout = pinned_layout(inputs, volumes, sized.core.count)
    largest = Candidate(inputs=inputs, instance=instance, count=sized.core.count, layout=layout)
    fitting = fitted(largest)
    assert not shortfalls(fitting)
    larger = replace(fitting, layout=replace(layout, cache_mib=fitting.cache_mib + 1024))
    assert [(one.target, one.bottleneck) for one in shortfalls(larger)] == [("reads", "handlers")]


def test_a_stated_cache_stays() -> None:
    layout = Layout(cache_mib=900 * 1024, volumes=(gp3_volume("cache", 1_000), SYSTEM))
    stated = with_core(MEMORY, type="r8g.xlarge", count=2, volumes=layout.volumes, cache_mib=layout.cache_mib)
    inputs = SizingInputs.new(stated, WORLD)
    candidate = Candidate(inputs=inputs, instance=WORLD.instance_types["r8g.xlarge"], count=2, layout=layout)
    assert not candidate.fits_memory
    assert fitted(candidate).layout == layout
