"""A cluster with popular regions serves as much as its busiest server allows, and so does a simulation of it."""

from __future__ import annotations

import heapq
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.prediction import LabNode, region_shares, server_shares, skewed_load
from warmbase.ground.units import MIB
from warmbase.sizing.service.resource import Disk
from warmbase.sizing.workload.read import Read, Timings

READ = Read(blocks=1.0, cached_length_bytes=65_000, on_disk_length_bytes=65_000, answer_bytes=0)
TIMINGS = Timings(block_cpu_seconds=0.0, rpc_cpu_seconds=0.0)
DISK = Disk(kind="ebs", bytes_per_second=8 * MIB, ios_per_second=1e6, latency_seconds=0.0)
CLIENTS = 48


def node(clients: int = CLIENTS) -> LabNode:
    return LabNode(vcpus=2, handlers=100, disk=DISK, clients=clients)


def throughput(shares: Sequence[float], clients: int = CLIENTS) -> float:
    return skewed_load(node(clients), READ, shares, TIMINGS).reads_per_second


def service_seconds() -> float:
    """Return what one read takes of a volume: a single client waits for nothing else."""
    return 1 / throughput([1.0], clients=1)


def simulated(shares: Sequence[float], service: float, reads: int = 60_000) -> float:
    """Return the reads a second of clients that each wait for their answer, from queues with random service."""
    random, upto = Random(1), list(accumulate(shares))
    free, clients = [0.0] * len(shares), [(0.0, client) for client in range(CLIENTS)]
    at = 0.0
    for _ in range(reads):
        at, client = heapq.heappop(clients)
        server = min(bisect(upto, random.random()), len(shares) - 1)
        free[server] = max(at, free[server]) + random.expovariate(1 / service)
        heapq.heappush(clients, (free[server], client))
    return reads / at


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("servers", [3, 11])
def test_a_simulation_serves_as_much(servers: int, skew: float) -> None:
    regions = 8 * servers
    homes = Random(2).sample([region % servers for region in range(regions)], regions)
    shares = server_shares(region_shares(regions, skew), homes)
    assert throughput(shares) == pytest.approx(simulated(shares, service_seconds()), rel=0.03)


def test_each_servers_share_is_the_sum_of_its_regions() -> None:
    assert region_shares(4, 0.0) == (0.25, 0.25, 0.25, 0.25)
    assert region_shares(2, 1.0) == pytest.approx((2 / 3, 1 / 3))
    assert server_shares((0.4, 0.3, 0.2, 0.1), (2, 0, 0, 1)) == pytest.approx((0.5, 0.1, 0.4))


@given(skew=st.floats(0, 2), more=st.floats(0.01, 0.5))
def test_more_skew_serves_less_and_never_more_than_the_busiest_server_allows(skew: float, more: float) -> None:
    homes = [region % 3 for region in range(24)]
    shares = [server_shares(region_shares(24, theta), homes) for theta in (skew, skew + more)]
    served = [throughput(one) for one in shares]
    assert served[1] <= served[0] * (1 + 1e-9)
    for one, per_second in zip(shares, served, strict=True):
        assert per_second <= 1 / (max(one) * service_seconds()) * (1 + 1e-9)
