"""The search buys the fewest volumes that hold the cache and carry the reads, and allowing several never costs more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, TIB
from warmbase.sizing import gp3
from warmbase.sizing.search.cost_grid import NodeChoice, cost_grid, least_storage_usd
from warmbase.sizing.search.disks import cache_volume_gib, fewest_cache_volumes
from warmbase.sizing.search.search import search
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.popularity import UNIFORM, RowPopularity, Zipf, hot_set
from warmbase.sizing.workload.workload import OpenLoad, Reads

LARGEST_GIB = 1_024  # of a volume, as EMR documents it
POPULARITIES: tuple[RowPopularity, ...] = (UNIFORM, Zipf(theta=0.99), hot_set(rows_fraction=0.1, reads_fraction=0.9))


def question(stored_bytes: float, reads_per_second: float, popularity: RowPopularity = UNIFORM) -> SizingInputs:
    """Return a question over r8g and m7g, which have no drives of their own."""
    workload = replace(
        REQUIREMENTS.workload,
        stored_bytes=round(stored_bytes),
        popularity=popularity,
        regions=3_000,
        write_bytes_per_second=0,
        reads=Reads(load=OpenLoad(reads_per_second=reads_per_second)),
    )
    core = replace(REQUIREMENTS.cluster.core, families=("r8g", "m7g"))
    cluster = replace(REQUIREMENTS.cluster, core=core)
    targets = replace(REQUIREMENTS.targets, p99_seconds=None, warm_up_seconds=None, budget_usd_per_month=None)
    return SizingInputs.new(replace(REQUIREMENTS, workload=workload, targets=targets, cluster=cluster), WORLD)


def instance(name: str) -> InstanceType:
    return WORLD.instance_types[name]


def test_a_cache_that_one_volume_carries_has_one_volume() -> None:
    sizes = np.array([1.0, 100.0, 860.0]) * 1024
    volumes = fewest_cache_volumes(question(10 * TIB, 1_000), instance("r8g.4xlarge"), sizes, 4)
    assert volumes.count.tolist() == [1, 1, 1]
    assert volumes.carries.all()


def test_a_larger_cache_has_the_fewest_volumes_that_hold_it() -> None:
    inputs, sizes = question(30 * TIB, 100), np.array([860.0, 880.0, 1_800.0, 6_000.0, 10_000.0, 11_000.0]) * 1024
    volumes = fewest_cache_volumes(inputs, instance("r8g.4xlarge"), sizes, 2)
    assert volumes.count.tolist() == [1, 2, 3, 8, 12, 0]
    for size, count, size_gib in zip(sizes[:-1], volumes.count, volumes.size_gib, strict=False):
        assert size_gib <= LARGEST_GIB
        assert count == 1 or cache_volume_gib(int(size), inputs.demand, int(count) - 1) > LARGEST_GIB
        assert count * size_gib * GIB * 0.85 >= size * 2**20


def test_a_load_beyond_one_volume_has_more_of_them_on_an_instance_that_sustains_it() -> None:
    """One volume carries 1,000 MiB/s, r8g.24xlarge sustains more than three times as much, and r8g.4xlarge less."""
    inputs, sizes = question(2 * TIB, 4_000), np.array([600.0 * 1024])
    strong = fewest_cache_volumes(inputs, instance("r8g.24xlarge"), sizes, 3)
    weak = fewest_cache_volumes(inputs, instance("r8g.4xlarge"), sizes, 3)
    assert strong.carries.all()
    assert strong.count[0] > 1
    assert strong.bytes_per_second[0] <= 1_000 * 2**20
    assert weak.count[0] == 1
    assert not weak.carries.any()


def test_skewed_reads_need_more_volumes_than_even_reads() -> None:
    sizes = np.array([600.0 * 1024])
    even, skewed = (
        fewest_cache_volumes(question(8 * TIB, 4_000, popularity), instance("r8g.24xlarge"), sizes, 3)
        for popularity in (UNIFORM, hot_set(rows_fraction=0.1, reads_fraction=0.7))
    )
    assert skewed.bytes_per_second[0] * skewed.count[0] > even.bytes_per_second[0] * even.count[0]


@pytest.mark.parametrize("seed", range(8))
def test_more_volumes_never_cost_more(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    inputs = question(10 ** rng.uniform(12, 14), 10 ** rng.uniform(2, 5), rng.choice(POPULARITIES))
    several = search(inputs).best
    monkeypatch.setattr(gp3, "EMR_MOST_VOLUMES", 1)
    try:
        one = search(inputs).best
    except LookupError:
        return
    assert several.serves or not one.serves
    if one.serves:
        assert several.usd_per_month <= 1.01 * one.usd_per_month


def test_several_volumes_pay_where_the_data_is_much_and_nodes_have_no_drives(monkeypatch: pytest.MonkeyPatch) -> None:
    several = search(question(60 * TIB, 5_000, Zipf(theta=0.99))).best
    assert several.candidate.layout.volume("cache").count > 1
    monkeypatch.setattr(gp3, "EMR_MOST_VOLUMES", 1)
    single = search(question(60 * TIB, 5_000, Zipf(theta=0.99))).best
    assert several.usd_per_month < 0.85 * single.usd_per_month


@pytest.mark.parametrize("popularity", POPULARITIES)
def test_volumes_and_gets_cost_no_less_than_their_lower_bound(popularity: RowPopularity) -> None:
    inputs = question(40 * TIB, 3_000, popularity)
    least = least_storage_usd(inputs, "gp3")
    for name in ("r8g.2xlarge", "r8g.24xlarge"):
        for count in (3, 10, 60):
            grid = cost_grid(NodeChoice(inputs=inputs, instance=instance(name), storage="gp3", count=count))
            assert grid is None or grid.usd.min() >= least


def test_each_file_has_whole_gibibytes() -> None:
    """HBase cannot write to the end of a cache that its files do not divide evenly."""
    sizes = np.ceil(np.geomspace(500.0, 9_900.0, 100)) * 1024
    volumes = fewest_cache_volumes(question(60 * TIB, 1_000), instance("r8g.4xlarge"), sizes, 8)
    assert set(volumes.count) == set(range(1, 13))
    assert (volumes.cache_mib % (1024 * volumes.count) == 0).all()
    assert (volumes.cache_mib >= sizes).all()
    assert (np.diff(volumes.cache_mib) > 0).all()
