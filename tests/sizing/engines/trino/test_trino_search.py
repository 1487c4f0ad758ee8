"""The search agrees with a trial of every type, count, size of a cache and disk, in arithmetic of its own."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.sizing.clusters import WORLD
from tests.sizing.engines.trino.questions import CHOICE, with_query_targets, with_scans, with_workers
from tests.tiers import quick_where
from warmbase.engines.trino import search
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import TrinoSearch
from warmbase.ground.instance import InstanceType
from warmbase.ground.units import GIB, MIB
from warmbase.ground.values import memoized
from warmbase.sizing.cache.hit_ratio import OccupancyRange, hit_ratio
from warmbase.sizing.workload.popularity import UNIFORM, Popularity, Zipf, block_popularity

WORKLOADS = int(os.environ.get("SEARCHES", "200"))
"""`SEARCHES=1000 pytest tests/sizing/engines/trino/test_trino_search.py` tries many more."""
QUICK = frozenset(range(40))
MOST_WORKERS = 10
CHEAPER = 0.99  # nothing that serves may cost less than this share of the winner, whose caches are 15 % apart
TYPES = ("m8g.2xlarge", "r8g.xlarge", "r8g.4xlarge", "r8gd.2xlarge", "i8g.xlarge", "i8g.4xlarge", "c8g.4xlarge")


@pytest.fixture(autouse=True)
def few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the number of workers, so that every number can be tried."""
    monkeypatch.setattr(search, "MOST_WORKERS", MOST_WORKERS)


def question(seed: int) -> TrinoSearch:
    """Return the search for the workers of a random workload, over two or three types, by seed."""
    rng = random.Random(seed)
    names = rng.sample(TYPES, rng.choice([2, 3]))
    working_set = 10 ** rng.uniform(1.3, 3.7) * GIB
    mean = 10 ** rng.uniform(-4, -1.5)
    choice = with_scans(
        CHOICE,
        working_set_bytes=round(working_set),
        scanned_bytes=round(working_set * 10 ** rng.uniform(-3, -0.5)) + MIB,
        queries_per_second=mean,
        peak_queries_per_second=mean * rng.uniform(1, 6),
        popularity=rng.choice([UNIFORM, Zipf(theta=0.7), Zipf(theta=1.1)]),
        file_bytes=rng.choice([16, 256, 1024]) * MIB,
        read_bytes=round(rng.choice([0.1, 1, 8, 60]) * MIB),
        cpu_seconds_per_gib=10 ** rng.uniform(-0.5, 1.3),
    )
    choice = with_query_targets(
        choice,
        hit_ratio=rng.choice([0.2, 0.5, 0.8, 0.95]),
        query_seconds=rng.choice([None, 8.0, 20.0, 60.0, 300.0]),
        lost_nodes=rng.choice([0, 1, 1, 2]),
    )
    choice = replace(choice, preferred_hosts=rng.choice([1, 1, 2, 3]))
    families = tuple({WORLD.instance_types[name].family for name in names})
    world = replace(WORLD, instance_types={name: WORLD.instance_types[name] for name in names})
    return TrinoSearch(choice=with_workers(choice, families=families), world=world)


class Trial(Struct, frozen=True, kw_only=True, dict=True):
    """A workload with the arithmetic of docs/analytics.md, written a second time."""

    choice: TrinoChoice

    @cached_property
    def amplification(self) -> float:
        return 1 + (MIB - 1) / self.choice.workload.read_bytes

    @cached_property
    def pages(self) -> float:
        return self.choice.workload.working_set_bytes * self.amplification / MIB

    @cached_property
    def popularity(self) -> Popularity:
        return block_popularity(self.choice.workload.popularity, self.pages, MIB / self.choice.workload.file_bytes)

    @memoized
    def hits(self, servers: int, cache_gib: int) -> float:
        copies = min(self.choice.preferred_hosts, servers)
        cached = min(self.pages, servers * cache_gib * GIB / 1.05 / MIB / copies)
        return hit_ratio(self.popularity, OccupancyRange(full_blocks=cached, blocks_after_eviction=cached))

    def serves(self, count: int, cache_gib: int, instance: InstanceType, disk: tuple[str, float, float]) -> bool:
        """Return whether the workers meet all targets, with disks of these bytes and operations a second."""
        choice, targets, workload = self.choice, self.choice.targets, self.choice.workload
        servers, rate = count - targets.lost_nodes, workload.peak_queries_per_second
        kind, bytes_per_second, iops = disk
        io = 256 * 1024 if kind == "gp3" else 128 * 1024
        if kind == "gp3":
            bytes_per_second = min(bytes_per_second, instance.ebs_sustained_bytes_per_second)
            iops = min(iops, instance.ebs_sustained_iops)

        def times(hits: float) -> tuple[float, float]:
            """Return for how long workers and S3 are busy with a query."""
            missed = (1 - hits) * workload.scanned_bytes * self.amplification
            reads = workload.scanned_bytes / workload.read_bytes
            operations = hits * reads * math.ceil(workload.read_bytes / io) + missed / MIB * math.ceil(MIB / io)
            own = max(
                workload.scanned_bytes / GIB * workload.cpu_seconds_per_gib / instance.vcpus,
                missed / instance.network_sustained_bytes_per_second,
                (hits * workload.scanned_bytes + missed) / bytes_per_second,
                operations / iops,
            )
            return own / servers, (1 - hits) * reads / (4 * 5_500)

        warm = self.hits(servers, cache_gib)
        own, of_s3 = times(warm)
        if warm < targets.hit_ratio - 1e-9 or rate * max(own, of_s3) > 0.7 * (1 + 1e-9):
            return False
        lost = 1.0 if choice.preferred_hosts > targets.lost_nodes else servers / count
        if rate * max(times(self.hits(count, cache_gib) * lost)) >= 1:
            return False
        if targets.query_seconds is None:
            return True
        files = max(1.0, workload.scanned_bytes / workload.file_bytes) * min(choice.preferred_hosts, servers)
        uneven = 1 + math.sqrt(2 * math.log(servers) * servers / files)
        slowest = max(own * min(servers, max(uneven, servers / files)), of_s3)
        return 1 + slowest / (1 - rate * max(own, of_s3)) <= targets.query_seconds * (1 + 1e-9)

    def usd(self, count: int, cache_gib: int, instance: InstanceType, cache_usd: float, system_gib: int) -> float:
        """Return the bill of a month; `cache_usd` is that of one worker's volumes."""
        usd, hour = WORLD.prices.usd, WORLD.prices.compute
        worker = hour[instance.name].usd_per_hour * 730 + (system_gib + 30) * usd("gp3-gib-month") + cache_usd
        coordinator = hour["r8g.xlarge"].usd_per_hour * 730 + (2 * 64 + 30) * usd("gp3-gib-month")
        reads = self.choice.workload.scanned_bytes / self.choice.workload.read_bytes
        gets = (1 - self.hits(count, cache_gib)) * reads * self.choice.workload.queries_per_second
        watched = count * (10 * usd("cloudwatch-metric-month") + 4 * usd("cloudwatch-alarm-month"))
        fixed = 16 * usd("cloudwatch-alarm-month") + usd("cloudwatch-dashboard-month") + usd("kms-key-month")
        return (
            count * worker
            + coordinator
            + watched
            + fixed
            + usd("interface-endpoint-hour") * 730
            + gets * 730 * 3600 * usd("s3-get")
        )


def volume_usd(count: int, size_gib: int, mib_s: int, iops: int) -> float:
    usd = WORLD.prices.usd
    extra = (mib_s - 125) * usd("gp3-mib-s-month") + (iops - 3_000) * usd("gp3-iops-month")
    return count * (size_gib * usd("gp3-gib-month") + extra)


def cheaper(trial: Trial, instances: tuple[InstanceType, ...], most_usd: float, seed: int) -> Iterator[str]:
    """Yield every cluster that serves and costs less than that."""
    rng = random.Random(seed)
    for instance in instances:
        for count in range(1 + trial.choice.targets.lost_nodes, MOST_WORKERS + 1):
            room_gib = math.floor(0.85 * (instance.nvme_disk_bytes // GIB))
            if instance.nvme_disks == 1 and trial.usd(count, room_gib, instance, 0.0, 256) < most_usd:
                rates = (instance.nvme_disk_bytes_per_second // MIB * MIB, instance.nvme_disk_iops)
                if trial.serves(count, room_gib, instance, ("nvme", *rates)):
                    yield f"{count} x {instance.name} with its drive"
            servers = count - trial.choice.targets.lost_nodes
            copies = min(trial.choice.preferred_hosts, servers)
            everything_gib = trial.pages * 1.05 * MIB * copies / servers / GIB
            sizes = np.geomspace(1, everything_gib + 1, 24) * rng.uniform(0.97, 1.0)
            for cache_gib in sorted({math.ceil(size) for size in sizes}):
                for usd, disk in volumes(trial, count, cache_gib, instance, most_usd):
                    if usd < most_usd:
                        yield f"{count} x {instance.name}, cache {cache_gib} GiB on {disk}: {usd:,.2f}"


def volumes(
    trial: Trial, count: int, cache_gib: int, instance: InstanceType, most_usd: float
) -> Iterator[tuple[float, str]]:
    """Yield the bill with the fewest volumes on which the cache serves, at the least rates with which it does."""
    top_mib_s = min(instance.ebs_sustained_bytes_per_second // MIB, 1_000, instance.ebs_sustained_iops // 4)
    for number in range(1, 13):
        size_gib = math.ceil(math.ceil(cache_gib / number) / 0.85)
        size_gib += size_gib in {30, 64}
        if size_gib > 1_024:
            continue
        if trial.usd(count, cache_gib, instance, volume_usd(number, size_gib, 125, 3_000), 256) >= most_usd:
            return
        top_iops = min(instance.ebs_sustained_iops, 40_000, max(3_000, 500 * size_gib))

        def serves(mib_s: int, iops: int, number: int = number) -> bool:
            return trial.serves(count, cache_gib, instance, ("gp3", number * mib_s * MIB, number * iops))

        if serves(top_mib_s, top_iops):
            mib_s = next(some for some in [*range(125, top_mib_s, 25), top_mib_s] if serves(some, top_iops))
            iops = next(some for some in [*range(3_000, top_iops, 500), top_iops] if serves(mib_s, some))
            iops = max(iops, 4 * mib_s)
            cache_usd = volume_usd(number, size_gib, mib_s, iops)
            disk = f"{number} x {size_gib} GiB, {mib_s} MiB/s, {iops} IOPS"
            yield trial.usd(count, cache_gib, instance, cache_usd, 256 + (size_gib == 256)), disk
            return


@pytest.mark.parametrize("seed", quick_where(lambda seed: seed in QUICK, range(WORKLOADS)))
def test_the_winner_serves_and_nothing_that_serves_is_noticeably_cheaper(seed: int) -> None:
    asked = question(seed)
    best, trial = asked.run()[0], Trial(choice=asked.choice)
    workers, cache = best.workers, best.workers.cache
    kind = "gp3" if cache.type == "gp3" else "nvme"
    disk = kind, cache.count * cache.throughput_mib_s * MIB, cache.count * cache.iops
    cache_usd = volume_usd(cache.count, cache.size_gib, cache.throughput_mib_s, cache.iops) if kind == "gp3" else 0.0
    system_gib = workers.volumes[1].size_gib
    usd = trial.usd(workers.count, workers.cache_gib, workers.instance, cache_usd, system_gib)
    assert best.usd_per_month == pytest.approx(usd)
    if not best.shortfalls:
        assert trial.serves(workers.count, workers.cache_gib, workers.instance, disk)
        assert workers.cache_gib <= 0.85 * cache.count * cache.size_gib
    most_usd = math.inf if best.shortfalls else CHEAPER * usd
    wins = list(cheaper(trial, asked.world.offered, most_usd, seed))
    assert not wins, (best, wins[:3])
