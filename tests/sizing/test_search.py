"""The search finds the cluster that an exhaustive search finds, which has its own sizes and speeds."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from msgspec.structs import replace

from tests.sizing.clusters import REQUIREMENTS, WORLD
from tests.tiers import quick_where
from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, HOURS_PER_MONTH, KIB, MIB, SECONDS_PER_MONTH
from warmbase.sizing import gp3
from warmbase.sizing.modes import HDFS, S3_CACHED, S3_PLAIN
from warmbase.sizing.requirements import Layout, Requirements, Volume, World
from warmbase.sizing.search import search
from warmbase.sizing.search.candidate import Candidate, shortfalls
from warmbase.sizing.search.cost_grid import NodeChoice, cost_grid
from warmbase.sizing.search.disks import Storage, storages
from warmbase.sizing.search.evaluation import SearchResult, candidate_usd
from warmbase.sizing.server.system_volume import system_volume
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.popularity import UNIFORM, RowPopularity, Zipf, hot_set
from warmbase.sizing.workload.workload import OpenLoad, Reads

POPULARITIES: tuple[RowPopularity, ...] = (UNIFORM, Zipf(theta=0.99), hot_set(rows_fraction=0.1, reads_fraction=0.9))
WORKLOADS = int(os.environ.get("SEARCHES", "20"))
"""`SEARCHES=200 pytest tests/sizing/test_search.py` tries ten times as many."""
QUICK = frozenset({5, 10, 14, 20})
"""Workloads for which all that is cheaper than the winner is tried in a second or two."""
PREFETCHED = 140
"""A workload whose writes and prefetch need more IOPS than its few reads."""
MOST_NODES = 12
EMR_LARGEST_GIB = 1_024  # of a volume, as EMR documents it
EMR_FASTEST_MIB_S = 1_000
EMR_MOST_VOLUMES = 12
CHEAPER = 0.996  # nothing that serves may cost less than this share of the winner
ALLOWANCE_USD = 5.0  # the estimates below differ from the bill by less than this


@pytest.fixture(autouse=True)
def few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the number of nodes, so that an exhaustive search can try every cluster."""
    monkeypatch.setattr(search, "MOST_NODES", MOST_NODES)


def workload(seed: int) -> tuple[Requirements, World]:
    """Return inputs over two or three instance types, by seed."""
    rng = random.Random(seed)
    names = rng.sample([item.name for item in WORLD.offered if item.vcpus <= 32], rng.choice([2, 3]))
    reads = Reads(load=OpenLoad(reads_per_second=10 ** rng.uniform(0, 4)))
    changed = replace(
        REQUIREMENTS.workload,
        stored_bytes=round(10 ** rng.uniform(1, 4) * GIB),
        row_bytes=round(10 ** rng.uniform(3, 5.5)),
        popularity=POPULARITIES[rng.randrange(len(POPULARITIES))],
        reads=reads,
    )
    targets = replace(
        REQUIREMENTS.targets,
        hit_ratio=rng.choice([0.5, 0.8, 0.95]),
        p99_seconds=rng.choice([None, 0.02, 0.2, 0.5]),
        warm_up_seconds=rng.choice([None, 3600.0]),
        budget_usd_per_month=rng.choice([None, 5_000.0]),
    )
    core = replace(REQUIREMENTS.cluster.core, families=tuple({WORLD.instance_types[name].family for name in names}))
    mode = rng.choice([S3_CACHED, S3_CACHED, S3_CACHED, S3_PLAIN, HDFS])
    inputs = replace(
        REQUIREMENTS, workload=changed, targets=targets, mode=mode, cluster=replace(REQUIREMENTS.cluster, core=core)
    )
    return inputs, replace(WORLD, instance_types={name: WORLD.instance_types[name] for name in names})


def everything(inputs: SizingInputs, rng: random.Random) -> Iterator[tuple[float, Candidate]]:
    """Yield every candidate of a fine grid with an estimate of its bill from prices alone, which is a little low."""
    for instance, count in product(inputs.world.offered, range(2, MOST_NODES + 1)):
        if count < inputs.mode.min_core_nodes or count <= inputs.requirements.targets.lost_nodes:
            continue
        survivors = count - inputs.requirements.targets.lost_nodes
        for storage, *_ in storages(inputs, instance):
            ways = hdfs(inputs, instance, survivors) if storage == "data" else caches(inputs, instance, storage, rng)
            for layout in ways:
                system = system_volume(inputs, instance, layout.cache_mib, survivors)
                volumes = tuple(system if one is SYSTEM else one for one in layout.volumes)
                candidate = Candidate(
                    inputs=inputs, instance=instance, count=count, layout=replace(layout, volumes=volumes)
                )
                yield estimated_usd(candidate), candidate


def hdfs(inputs: SizingInputs, instance: InstanceType, survivors: int) -> Iterator[Layout]:
    node_gib = 3 * inputs.requirements.workload.stored_bytes / survivors / GIB / 0.7
    count = int(node_gib / 1_024) + 1
    size_gib = max(5, int(node_gib / count) + 1)
    for mib_s, iops in provisions(instance, size_gib):
        data = replace(volume("data", size_gib + (size_gib in {30, 64}), mib_s, iops), count=count)
        if count <= 24:
            yield Layout(cache_mib=0, volumes=(data, SYSTEM))


def caches(inputs: SizingInputs, instance: InstanceType, storage: str, rng: random.Random) -> Iterator[Layout]:
    if storage == "none":
        yield Layout(cache_mib=0, volumes=(SYSTEM,))
        return
    drive_gib = instance.nvme_disk_bytes // GIB
    everything_gib = inputs.demand.everything_bytes / GIB
    sizes = np.geomspace(1, 12 * 860, 95) * rng.uniform(0.96, 1.01)
    for size_gib in np.unique(sizes[sizes < everything_gib + 5].astype(int) + 1):
        needed_gib = volume_gib(inputs, size_gib, 1)
        if storage == "nvme" and needed_gib <= drive_gib:
            drive = Volume(
                purpose="cache",
                type="nvme",
                count=1,
                size_gib=drive_gib,
                iops=instance.nvme_disk_iops,
                throughput_mib_s=instance.nvme_disk_bytes_per_second // MIB,
            )
            yield Layout(cache_mib=int(size_gib) * 1024, volumes=(drive, SYSTEM))
        elif storage == "gp3":
            yield from on_ebs(inputs, instance, size_gib)


def on_ebs(inputs: SizingInputs, instance: InstanceType, size_gib: int) -> Iterator[Layout]:
    """Yield a cache on the fewest volumes that hold it, or more if the instance is faster than one, at every speed."""
    fewest = next(count for count in range(1, 99) if volume_gib(inputs, size_gib, count) < EMR_LARGEST_GIB)
    fast = instance.ebs_sustained_bytes_per_second > EMR_FASTEST_MIB_S * MIB
    for count in range(fewest, min(EMR_MOST_VOLUMES, fewest + 3 * fast) + 1):
        needed_gib = volume_gib(inputs, size_gib, count)
        for mib_s, iops in provisions(instance, needed_gib):
            if count == fewest or mib_s > EMR_FASTEST_MIB_S / 2:
                cache = replace(volume("cache", needed_gib + (needed_gib in {30, 64}), mib_s, iops), count=count)
                yield Layout(cache_mib=int(size_gib) * 1024, volumes=(cache, SYSTEM))


def volume_gib(inputs: SizingInputs, size_gib: int, count: int) -> int:
    """Return the size of each volume: an even part of the cache and the whole index twice, 85 % full."""
    return max(5, int(size_gib * (1 / count + 2 * 76 / inputs.demand.claimed_bytes) / 0.85) + 1)


def provisions(instance: InstanceType, size_gib: int) -> Iterator[tuple[int, int]]:
    """Yield speeds that EBS sells and that the instance sustains, a fifth apart, in whole MiB/s and IOPS."""
    most_mib_s = min(1_000, max(125, instance.ebs_sustained_bytes_per_second // MIB))
    most_iops = min(max(3_000, instance.ebs_sustained_iops), max(3_000, 500 * size_gib))
    for mib_s in {*(int(125 * 1.2**step) for step in range(12)), most_mib_s}:
        for iops in {3_000, *(int(3_000 * 1.25**step) for step in range(1, 10)), 4 * mib_s}:
            if mib_s <= most_mib_s and 4 * mib_s <= iops <= most_iops:
                yield mib_s, iops


def volume(purpose: str, size_gib: int, mib_s: int, iops: int) -> Volume:
    return Volume(purpose=purpose, type="gp3", count=1, size_gib=size_gib, iops=iops, throughput_mib_s=mib_s)


SYSTEM = volume("system", 64, 125, 3_000)


def estimated_usd(candidate: Candidate) -> float:
    """Estimate what nodes, their cache volumes and GETs cost a month, from the price table alone."""
    inputs, prices = candidate.inputs, candidate.inputs.world.prices
    volumes_usd = sum(gp3.usd_per_month(volume, prices) for volume in candidate.layout.volumes)
    nodes_usd = prices.compute[candidate.instance.name].usd_per_hour * HOURS_PER_MONTH
    misses = 1 - candidate.hit_ratio(candidate.count) if inputs.mode.keeps_data_in_s3 else 0.0
    gets = (inputs.offered_reads_per_second or 0.0) * inputs.read.blocks * misses
    return candidate.count * (nodes_usd + volumes_usd) + gets * SECONDS_PER_MONTH * prices.usd("s3-get")


def cheaper(inputs: SizingInputs, seed: int) -> tuple[SearchResult | None, list[Candidate]]:
    """Return what the search finds, and every candidate that serves and is noticeably cheaper."""
    budget = inputs.requirements.targets.budget_usd_per_month or float("inf")
    try:
        found = search.search(inputs)
    except LookupError:
        found = None
    best = found.best if found is not None else None
    others = best.usd_per_month - estimated_usd(best.candidate) if best is not None else 0.0
    most = CHEAPER * best.usd_per_month if best is not None and best.serves else min(budget, 20_000.0)
    tried = everything(inputs, random.Random(seed))
    candidates = [candidate for usd, candidate in tried if usd < most - others + ALLOWANCE_USD]
    return found, [one for one in candidates if candidate_usd(one) < most and not shortfalls(one)]


@pytest.mark.parametrize(
    "seed", quick_where(lambda seed: seed in {*QUICK, PREFETCHED}, [*range(WORKLOADS), PREFETCHED])
)
def test_nothing_that_serves_is_noticeably_cheaper(seed: int) -> None:
    found, wins = cheaper(SizingInputs.new(*workload(seed)), seed)
    assert not wins, (found and found.best, wins[:3])


def written(seed: int) -> SizingInputs:
    """Return inputs with writes, of which what a cluster costs beside its grid is a good part, by seed."""
    rng = random.Random(seed)
    requirements, world = workload(seed)
    changed = replace(requirements.workload, write_bytes_per_second=round(10 ** rng.uniform(4, 8)))
    targets = replace(
        requirements.targets,
        p99_seconds=None,
        budget_usd_per_month=None,
        offline_after_crash_seconds=rng.choice([None, 600.0]),
    )
    return SizingInputs.new(replace(requirements, workload=changed, targets=targets), world)


@pytest.mark.parametrize("seed", quick_where(lambda seed: seed in QUICK, range(WORKLOADS)))
def test_with_writes_nothing_that_serves_is_noticeably_cheaper(seed: int) -> None:
    """Writes take IOPS from the reads, and their system volumes and uploads cost money, too."""
    found, wins = cheaper(written(seed), seed)
    assert not wins, (found and found.best, wins[:3])


def test_the_winner_serves_with_its_exact_hit_ratio() -> None:
    """A cache of 857 GiB would have 199 of 20,000 reads beyond 1 s by estimate, and more than 200 in truth."""
    best = search.search(SizingInputs.new(REQUIREMENTS, WORLD)).best
    assert best.serves
    assert not shortfalls(replace(best.candidate, exact=True))


@pytest.mark.parametrize("storage", ["gp3", "nvme"])
def test_a_lower_hit_ratio_adds_sizes_and_moves_none(storage: Storage) -> None:
    """Otherwise, a plan for a lower hit ratio could cost more."""

    def sizes(hit_ratio: float) -> list[float]:
        targets = replace(REQUIREMENTS.targets, hit_ratio=hit_ratio)
        inputs = SizingInputs.new(replace(REQUIREMENTS, targets=targets), WORLD)
        instance = WORLD.instance_types["i4i.4xlarge"]
        grid = cost_grid(NodeChoice(inputs=inputs, instance=instance, storage=storage, count=8))
        assert grid is not None
        sizes_mib: list[float] = grid.cache_mib.tolist()
        return sizes_mib

    [_, *others], lower = sizes(0.9), sizes(0.5)
    assert set(others) < set(lower)


def test_a_prefetch_needs_throughput_that_reads_of_cold_caches_leave() -> None:
    """With more IOPS, those reads would take more of the throughput. So a volume with fewer IOPS fills sooner."""
    best = search.search(written(132)).best
    cache = best.candidate.layout.volume("cache")
    assert best.serves
    assert (cache.throughput_mib_s, cache.iops) == (600, 4_500)
    more = replace(best.candidate.layout, volumes=(replace(cache, iops=18_500), *best.candidate.layout.volumes[1:]))
    assert [missed.target for missed in shortfalls(replace(best.candidate, layout=more))] == ["warm_up"]


def test_many_writes_need_iops_more_than_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With only the IOPS that the reads need, the writes would take 91 nodes."""
    monkeypatch.setattr(search, "MOST_NODES", 30)
    workload = replace(REQUIREMENTS.workload, write_bytes_per_second=400 * MIB, codec="zstd", compression_ratio=3.0)
    core = replace(REQUIREMENTS.cluster.core, type="r8g.4xlarge", count=None)
    targets = replace(REQUIREMENTS.targets, warm_up_seconds=None, p99_seconds=None, budget_usd_per_month=None)
    inputs = replace(REQUIREMENTS, workload=workload, targets=targets, cluster=replace(REQUIREMENTS.cluster, core=core))
    best = search.search(SizingInputs.new(inputs, WORLD)).best
    assert best.serves
    assert best.candidate.layout.volume("cache").iops > 3_000


def test_a_larger_cache_frees_the_processors_that_the_writes_lack() -> None:
    """A block from S3 takes five times the CPU of a cached one, so the smallest cache leaves too little for writes."""
    workload = replace(
        REQUIREMENTS.workload,
        stored_bytes=1_400_000_000,
        block_bytes=8 * KIB,
        cell_bytes=1_556,
        row_bytes=1,
        reads=Reads(load=OpenLoad(reads_per_second=12_707)),
        write_bytes_per_second=41_467,
        regions=2,
        popularity=UNIFORM,
    )
    targets = replace(
        REQUIREMENTS.targets, hit_ratio=0.5, p99_seconds=1.0, warm_up_seconds=None, budget_usd_per_month=None
    )
    world = replace(WORLD, instance_types={"i8g.xlarge": WORLD.instance_types["i8g.xlarge"]})
    best = search.search(SizingInputs.new(replace(REQUIREMENTS, workload=workload, targets=targets), world)).best
    assert best.serves
    assert best.candidate.count == 2  # one node may be lost
    cheapest = candidate_usd(best.candidate)
    smaller = replace(best.candidate, layout=replace(best.candidate.layout, cache_mib=2_048))
    assert candidate_usd(smaller) <= cheapest
    assert {shortfall.target for shortfall in shortfalls(smaller)} == {"reads", "writes"}


def test_pruned_candidates_are_counted() -> None:
    result = search.search(SizingInputs.new(REQUIREMENTS, WORLD))
    assert result.evaluated > 0
    assert result.pruned > result.evaluated


def test_of_equal_cost_the_fewest_nodes_win() -> None:
    inputs = SizingInputs.new(REQUIREMENTS, WORLD)
    best = search.search(inputs).best
    assert best.rank[-1] == best.candidate.count
