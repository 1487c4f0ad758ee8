"""The quick tests of a search reject only what the whole computation rejects."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tests.sizing.clusters import RELAXED, WORLD, with_workload
from warmbase.ground.units import GIB
from warmbase.sizing.requirements import Pins
from warmbase.sizing.search.candidate import Candidate
from warmbase.sizing.search.cost_grid import NodeChoice, cost_grid, may_serve_reads, may_serve_writes
from warmbase.sizing.search.disks import fewest_cache_volumes, may_carry
from warmbase.sizing.server.memory import NotEnoughMemory
from warmbase.sizing.service.inputs import SizingInputs
from warmbase.sizing.workload.workload import OpenLoad, Reads

SEEDS = range(24)


def nodes(seed: int) -> NodeChoice:
    """Return some nodes with gp3 volumes under a random load of reads and writes, with or without pinned handlers."""
    rng = random.Random(seed)
    requirements = with_workload(
        RELAXED,
        stored_bytes=round(10 ** rng.uniform(2, 4.5) * GIB),
        reads=Reads(load=OpenLoad(reads_per_second=10 ** rng.uniform(1, 4.5))),
        write_bytes_per_second=round(10 ** rng.uniform(4, 8)),
    )
    requirements = replace(requirements, pins=Pins(handlers=rng.choice([None, None, 400])))
    return NodeChoice(
        inputs=SizingInputs.new(requirements, WORLD),
        instance=rng.choice(WORLD.offered),
        storage="gp3",
        count=rng.choice([3, 6, 12]),
    )


def pairs() -> Iterator[tuple[Candidate, Candidate]]:
    """Yield the clusters with the smallest and with the largest cache, on the slowest volumes."""
    for grid in filter(None, (cost_grid(nodes(seed)) for seed in SEEDS)):
        yield grid.candidate(0, 0), grid.candidate(len(grid.cache_mib) - 1, 0)


def has_region_server(candidate: Candidate) -> bool:
    try:
        return bool(candidate.region_server)
    except NotEnoughMemory:
        return False


def test_a_cluster_fits_memory_where_its_region_server_does() -> None:
    candidates = [candidate for pair in pairs() for candidate in pair]
    fits = [candidate.fits_memory for candidate in candidates]
    assert fits == [has_region_server(candidate) for candidate in candidates]
    assert {True, False} == set(fits)


def test_hardware_is_rejected_only_where_no_writes_could_be_served() -> None:
    rejected = [pair for pair in pairs() if not may_serve_reads(*pair)]
    assert rejected
    assert not any(may_serve_writes(*pair) for pair in rejected)


def test_a_count_of_nodes_is_rejected_only_where_no_volumes_carry_the_reads() -> None:
    drawn = list(map(nodes, SEEDS))
    rejected = [some for some in drawn if not may_carry(some.inputs, some.instance, some.survivors)]
    assert 0 < len(rejected) < len(drawn)
    for some in rejected:
        sizes = np.array([10.0, 800.0, 4_000.0]) * 1024
        assert not fewest_cache_volumes(some.inputs, some.instance, sizes, some.survivors).carries.any()
