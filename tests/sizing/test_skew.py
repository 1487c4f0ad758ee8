"""Servers differ because regions do: the busiest one's share agrees with placements of every row, and with queues."""

from __future__ import annotations

import heapq
from bisect import bisect
from itertools import accumulate
from math import ceil, inf
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import PINNED, REQUIREMENTS, WORLD, with_workload
from warmbase.sizing.calculator import plan
from warmbase.sizing.service.queueing import closed_load, network
from warmbase.sizing.service.resource import Disk, ServingCluster, bottleneck, resources
from warmbase.sizing.workload.popularity import (
    EVEN,
    REMEMBERED_BYTES,
    UNIFORM,
    Imbalance,
    RegionLoads,
    RowPopularity,
    Zipf,
    hot_set,
    imbalance,
)
from warmbase.sizing.workload.read import Hits, Read, Timings

ROWS = 100_000
LOADS = RegionLoads(regions=240, spread="hashed", popularity=Zipf(theta=0.99), rows=ROWS, row_bytes=850_000)
POPULARITIES: dict[str, RowPopularity] = {
    "zipf 0.99": Zipf(theta=0.99),
    "zipf 0.6": Zipf(theta=0.6),
    "zipf 1.3": Zipf(theta=1.3),
    "uniform": UNIFORM,
    "hot set": hot_set(rows_fraction=0.1, reads_fraction=0.9),
}
FEW = [(3, 12), (3, 66), (11, 24), (11, 240)]
MANY = [(30, 660), (100, 250), (100, 2_200)]
SIZES = [*FEW, *(pytest.param(*size, marks=pytest.mark.thorough) for size in MANY)]


def busiest_of(loads: RegionLoads, servers: int) -> Imbalance:
    return imbalance(((loads, 1.0, 1.0),), servers)


def placed(weights: np.ndarray, regions: int, servers: int, trials: int) -> float:
    """Return the busiest server's load over the mean: each row in a region of its own hash, regions dealt out."""
    draw, busiest = np.random.default_rng(3), []
    for _ in range(trials):
        region_reads = np.bincount(draw.integers(0, regions, len(weights)), weights, regions)
        homes = np.arange(regions) % servers
        draw.shuffle(homes)
        busiest.append(np.bincount(homes, region_reads, servers).max() * servers / weights.sum())
    return float(np.mean(busiest))


@pytest.mark.parametrize("name", POPULARITIES)
@pytest.mark.parametrize(("servers", "regions"), SIZES)
def test_the_busiest_server_is_that_of_rows_placed_one_by_one(name: str, servers: int, regions: int) -> None:
    popularity = POPULARITIES[name]
    expected = busiest_of(replace(LOADS, regions=regions, popularity=popularity), servers)
    weights = np.diff(popularity.reads_of_hottest(np.arange(ROWS + 1.0), ROWS))
    remembered = int(servers * REMEMBERED_BYTES / LOADS.row_bytes)
    assert expected.requests == pytest.approx(placed(weights, regions, servers, 60), rel=0.08)
    assert expected.blocks == pytest.approx(placed(weights[remembered:], regions, servers, 30), rel=0.04)


@pytest.mark.parametrize("exponent", [0.3, 0.6, 1.0])
@pytest.mark.parametrize(("servers", "regions"), [*SIZES, (30, 5_000)])
def test_the_busiest_server_is_that_of_regions_dealt_out(exponent: float, servers: int, regions: int) -> None:
    weights = np.arange(1, regions + 1) ** -exponent
    draw, busiest = np.random.default_rng(3), []
    for _ in range(200):
        homes = np.arange(regions) % servers
        draw.shuffle(homes)
        busiest.append(np.bincount(homes, weights, servers).max() * servers / weights.sum())
    expected = busiest_of(replace(LOADS, regions=regions, spread=exponent), servers)
    assert expected.requests == expected.blocks == pytest.approx(np.mean(busiest), rel=0.05)


@given(st.integers(1, 200), st.integers(1, 3_000))
def test_even_regions_leave_the_server_with_one_more(servers: int, regions: int) -> None:
    fullest = busiest_of(replace(LOADS, regions=regions, spread="even"), servers)
    assert fullest.requests == fullest.blocks == pytest.approx(servers * ceil(regions / servers) / regions)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        RegionLoads,
        popularity=st.sampled_from(list(POPULARITIES.values())),
        regions=st.integers(1, 2_000),
        spread=st.sampled_from(["hashed", "even", 0.6]),
        rows=st.floats(1, 1e9),
        row_bytes=st.sampled_from([1_000.0, 70_000.0, inf]),
    ),
    st.integers(2, 120),
)
def test_the_busiest_is_above_the_mean_and_no_more_than_all(loads: RegionLoads, servers: int) -> None:
    busiest = busiest_of(loads, servers)
    assert busiest.blocks >= 1
    assert 1 <= busiest.requests <= servers * 1.02
    # Together the servers carry the reads of this many evenly loaded servers, and one more never lowers the number.
    assert servers / busiest.requests <= (servers + 1) / busiest_of(loads, servers + 1).requests * 1.06


def test_one_server_has_all_there_is() -> None:
    assert busiest_of(LOADS, 1) == EVEN


# -- in queues

DISK = Disk(kind="ebs", bytes_per_second=139.5 * 66_000, ios_per_second=1e9, latency_seconds=0.0)
INSTANT = Timings(rpc_cpu_seconds=0.0, block_cpu_seconds=0.0, get_cpu_seconds=0.0)
READ = Read(blocks=1, cached_length_bytes=66_000, on_disk_length_bytes=66_000, answer_bytes=1)


CLIENTS = 30
SETTLED_SECONDS, SECONDS = 80.0, 110.0


def simulated(servers: int, exponent: float, seed: int) -> float:
    """Return the reads a second of clients in a closed loop, with a first-come queue at each server's volume.

    At first every server is busy; after some time, most clients wait for the busiest one. Counting begins only then.
    """
    draw, regions = Random(seed), 22 * servers
    weights = [(rank + 1) ** -exponent for rank in range(regions)]
    draw.shuffle(weights)
    homes = [region % servers for region in range(regions)]
    draw.shuffle(homes)
    cumulative = list(accumulate(weights))
    free, reads = [0.0] * servers, 0
    arrivals = [draw.random() * 0.01 for _ in range(CLIENTS * servers)]
    heapq.heapify(arrivals)
    while arrivals[0] < SECONDS:
        now = arrivals[0]
        server = homes[min(bisect(cumulative, draw.random() * cumulative[-1]), regions - 1)]
        free[server] = max(now, free[server]) + draw.expovariate(139.5)
        reads += now > SETTLED_SECONDS
        heapq.heapreplace(arrivals, free[server])
    return reads / (SECONDS - SETTLED_SECONDS)


@pytest.mark.parametrize("exponent", [0.0, 0.6])
@pytest.mark.parametrize(
    ("servers", "placements"),
    [(3, 6), (11, 6), *(pytest.param(servers, 6, marks=pytest.mark.thorough) for servers in (30, 100))],
)
def test_queues_carry_what_the_busiest_server_carries(servers: int, placements: int, exponent: float) -> None:
    cluster = _volumes(servers, busiest_of(replace(LOADS, regions=22 * servers, spread=exponent), servers))
    limits = resources(cluster, replace(READ, of_lengths=None), Hits(ratio=1.0), INSTANT)
    volume = next(limit for limit in limits if limit.name == "ebs-throughput")
    reads = [simulated(servers, exponent, seed) for seed in range(placements)]
    scale = volume.demand_per_read / 66_000  # what Linux reads beside the block
    expected = closed_load(network([volume], servers, 4, 0.0), CLIENTS * servers).reads_per_second * scale
    assert expected == pytest.approx(np.mean(reads), rel=0.10)
    assert volume.max_reads_per_second * scale == pytest.approx(np.mean(reads), rel=0.10)


def _volumes(servers: int, skew: Imbalance) -> ServingCluster:
    return ServingCluster(
        servers=servers, vcpus=4, network_gbit_per_second=100, handlers=1_000, disk=DISK, imbalance=skew
    )


def test_s3_and_the_mean_know_nothing_of_servers() -> None:
    even, skewed = (
        {
            limit.name: limit
            for limit in resources(_volumes(10, skew), READ, Hits(ratio=0.5), replace(INSTANT, rpc_cpu_seconds=1e-4))
        }
        for skew in (EVEN, Imbalance(requests=2.0, blocks=1.5))
    )
    for name, limit in even.items():
        assert skewed[name].demand_per_read == limit.demand_per_read
        assert skewed[name].capacity == limit.capacity
    assert skewed["s3-requests"].max_reads_per_second == even["s3-requests"].max_reads_per_second
    assert skewed["cpu"].max_reads_per_second == pytest.approx(even["cpu"].max_reads_per_second / 2)
    assert skewed["ebs-throughput"].max_reads_per_second == pytest.approx(
        even["ebs-throughput"].max_reads_per_second / 1.5
    )


# -- in a plan


@pytest.mark.parametrize("spread", ["hashed", 0.6, 1.0])
def test_a_plan_saturates_where_its_busiest_server_does(spread: object) -> None:
    even, skewed = (plan(with_workload(PINNED, spread=spread), WORLD).throughput for spread in ("even", spread))
    limit = bottleneck(skewed.resources)
    assert skewed.saturation_reads_per_second == limit.max_reads_per_second <= even.saturation_reads_per_second
    assert skewed.busiest_server.requests > even.busiest_server.requests
    assert skewed.p99_latency_ms >= even.p99_latency_ms


def test_even_regions_never_cost_more() -> None:
    even, skewed = (plan(with_workload(REQUIREMENTS, spread=spread), WORLD) for spread in ("even", 0.8))
    assert even.cost.usd_per_month < skewed.cost.usd_per_month
