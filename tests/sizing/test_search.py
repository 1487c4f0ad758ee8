"""The search finds what trying everything finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from environments.planning import requirements, world
from environments.reader import read_environment
from sizing import disks, gp3, search
from sizing.bill import candidate_cost
from sizing.candidate import Candidate
from sizing.cluster import Layout
from sizing.inputs import SizingInputs
from sizing.modes import HDFS, S3_CACHED, S3_PLAIN
from sizing.popularity import UNIFORM, RowPopularity, Zipf, hot_set
from sizing.requirements import Requirements, World
from sizing.units import GIB
from sizing.workload import OpenLoad, Reads
from tests.tiers import quick_where

PROD = read_environment("prod")
REQUIREMENTS = requirements(PROD, PROD.active)
WORLD = world(PROD)
POPULARITIES: tuple[RowPopularity, ...] = (UNIFORM, Zipf(theta=0.99), hot_set(rows_fraction=0.1, reads_fraction=0.9))
GRIDS = 200
MOST_NODES = 7


@pytest.fixture(autouse=True)
def small_grid(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few counts and provisions, so that everything can be tried."""
    monkeypatch.setattr(search, "MOST_NODES", MOST_NODES)
    monkeypatch.setattr(gp3, "THROUGHPUTS_MIB_S", (125, 300))
    monkeypatch.setattr(gp3, "IOPS", (3_000, 8_000))
    gp3.provisions.cache_clear()
    yield
    gp3.provisions.cache_clear()


def grid(seed: int) -> tuple[Requirements, World]:
    """Return a question over two or three instance types, by seed."""
    rng = random.Random(seed)
    names = rng.sample([item.name for item in WORLD.offered if item.vcpus <= 32], rng.choice([2, 3]))
    reads = Reads(load=OpenLoad(reads_per_second=10 ** rng.uniform(0, 4)))
    workload = replace(
        REQUIREMENTS.workload,
        stored_bytes=round(10 ** rng.uniform(1, 4) * GIB),
        row_bytes=round(10 ** rng.uniform(3, 5.5)),
        popularity=POPULARITIES[rng.randrange(len(POPULARITIES))],
        reads=reads,
    )
    targets = replace(
        REQUIREMENTS.targets,
        hit_ratio=rng.choice([0.5, 0.8, 0.95]),
        p99_seconds=rng.choice([None, None, 0.5]),
        warm_up_seconds=rng.choice([None, 3600.0]),
        budget_usd_per_month=rng.choice([None, 5_000.0]),
    )
    core = replace(REQUIREMENTS.cluster.core, families=tuple({WORLD.instance_types[name].family for name in names}))
    mode = rng.choice([S3_CACHED, S3_CACHED, S3_PLAIN, HDFS])
    requirements = replace(
        REQUIREMENTS, workload=workload, targets=targets, mode=mode, cluster=replace(REQUIREMENTS.cluster, core=core)
    )
    return requirements, replace(WORLD, instance_types={name: WORLD.instance_types[name] for name in names})


def everything(question: SizingInputs) -> Iterator[Candidate]:
    """Every candidate of the grid, also those that the search leaves out."""
    fewest = 3 if question.mode is HDFS else 2
    for instance in question.world.offered:
        for count in range(max(fewest, question.requirements.targets.lost_nodes + 1), MOST_NODES + 1):
            survivors = max(1, count - question.requirements.targets.lost_nodes)
            for layout in all_layouts(question, instance.name, survivors):
                yield Candidate(question=question, instance=instance, count=count, layout=layout)


def all_numbered(question: SizingInputs) -> Iterator[tuple[int, Candidate]]:
    """Yield everything, with a number by which equal costs keep their order."""
    yield from enumerate(everything(question))


def all_layouts(question: SizingInputs, name: str, servers: int) -> Iterator[Layout]:
    instance, demand = question.world.instance_types[name], question.demand
    ways = gp3.provisions(instance.ebs_sustained_bytes_per_second // 2**20, instance.ebs_sustained_iops)
    if question.mode is not S3_CACHED:
        for shelf in disks.layouts(question, instance, servers):
            yield from shelf
        return
    for wanted in question.wanted_hit_ratios:
        cache_mib = demand.size_mib(wanted, servers)
        size_gib = disks.cache_volume_gib(cache_mib, demand)
        system = disks._system()
        if size_gib <= gp3.EMR_DOCUMENTED_GIB:
            for way in ways:
                yield Layout(cache_mib=cache_mib, volumes=(disks.provisioned_volume("cache", size_gib, way), system))
        if instance.nvme_disks == 1 and size_gib <= instance.nvme_disk_bytes // GIB:
            drive = disks.nvme_volume(instance)
            yield Layout(cache_mib=cache_mib, volumes=(drive, disks._system()))


@pytest.mark.parametrize("seed", quick_where(lambda seed: seed % 5 == 0, range(GRIDS)))
def test_the_winner_is_the_one_that_trying_everything_finds(seed: int) -> None:
    question = SizingInputs.new(*grid(seed))
    budget = question.requirements.targets.budget_usd_per_month or float("inf")
    ranked = sorted(
        (candidate_cost(candidate).usd_per_month, number, candidate) for number, candidate in all_numbered(question)
    )
    served = next((cost for cost, _, candidate in ranked if cost <= budget and not candidate.shortfalls()), None)
    try:
        result = search.search(question).best
    except LookupError:
        assert served is None
        return
    assert result.serves == (served is not None)
    if served is not None:
        assert result.usd_per_month == pytest.approx(served)


def test_pruned_candidates_are_counted() -> None:
    result = search.search(SizingInputs.new(REQUIREMENTS, WORLD))
    assert result.evaluated > 0
    assert result.pruned > result.evaluated


def test_of_equal_cost_the_fewest_nodes_win() -> None:
    question = SizingInputs.new(REQUIREMENTS, WORLD)
    best = search.search(question).best
    assert best.rank[-1] == best.candidate.count
