"""Laws of an analytics cluster: asking for less never costs more, and no improvement lowers the service."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.clusters import WORLD, gp3_volume
from tests.sizing.engines.trino.questions import CHOICE, question, with_query_targets, with_scans, with_workers
from tests.tiers import quick_where
from warmbase.engines.trino.calculator import trino_plan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import TrinoSearch
from warmbase.engines.trino.workers import Workers
from warmbase.ground.units import GIB, MIB, SECONDS_PER_HOUR
from warmbase.sizing import gp3
from warmbase.sizing.gp3 import nvme_volume
from warmbase.sizing.workload.popularity import UNIFORM, Zipf

SLACK = 1.01  # a step of cache sizes and volume speeds; no price of the first 500 workloads needs more than 1.0082


def choice_of(seed: int) -> TrinoChoice:
    """Return a random workload with random targets, for workers of one or two families, by seed."""
    rng = random.Random(seed)
    working_set, mean = round(10 ** rng.uniform(1.3, 4.3) * GIB), 10 ** rng.uniform(-0.5, 2.5) / SECONDS_PER_HOUR
    choice = with_scans(
        CHOICE,
        working_set_bytes=working_set,
        scanned_bytes=round(working_set * 10 ** rng.uniform(-3.5, -0.5)) + MIB,
        queries_per_second=mean,
        peak_queries_per_second=mean * rng.uniform(1, 8),
        popularity=rng.choice([UNIFORM, Zipf(theta=0.7), Zipf(theta=1.1)]),
        file_bytes=rng.choice([16, 256, 1024]) * MIB,
        read_bytes=rng.choice([MIB // 8, MIB, 8 * MIB, 64 * MIB]),
        cpu_seconds_per_gib=10 ** rng.uniform(-0.5, 1.6),
    )
    choice = with_query_targets(
        choice,
        hit_ratio=rng.choice([0.1, 0.5, 0.8, 0.95]),
        query_seconds=rng.choice([None, 5.0, 15.0, 60.0, 300.0]),
        lost_nodes=rng.choice([0, 1, 1, 2]),
        budget_usd_per_month=rng.choice([None, 10 ** rng.uniform(3.3, 5)]),
    )
    families = rng.sample(["m8g", "r8g", "r8gd", "i8g", "c8g", "i4i"], rng.choice([1, 2]))
    return replace(with_workers(choice, families=tuple(families)), preferred_hosts=rng.choice([1, 1, 2, 3]))


def usd(choice: TrinoChoice) -> float:
    """Return the bill of the cheapest cluster, and infinity if none meets the targets."""
    best = TrinoSearch(choice=choice, world=WORLD).run()[0]
    return math.inf if best.shortfalls else best.usd_per_month


def less(choice: TrinoChoice) -> Iterator[tuple[str, TrinoChoice]]:
    """Yield the choice with each target relaxed, with each kind of work reduced, and with more to buy."""
    workload, targets = choice.workload, choice.targets
    seconds = targets.query_seconds
    yield "hit ratio", with_query_targets(choice, hit_ratio=0.8 * targets.hit_ratio)
    yield "query time", with_query_targets(choice, query_seconds=None if seconds is None else 1.5 * seconds)
    yield "no query time", with_query_targets(choice, query_seconds=None)
    yield "lost nodes", with_query_targets(choice, lost_nodes=max(0, targets.lost_nodes - 1))
    yield "no budget", with_query_targets(choice, budget_usd_per_month=None)
    yield "peak", with_scans(choice, peak_queries_per_second=0.7 * workload.peak_queries_per_second)
    yield "mean", with_scans(choice, queries_per_second=0.7 * workload.queries_per_second)
    yield "CPU", with_scans(choice, cpu_seconds_per_gib=0.7 * workload.cpu_seconds_per_gib)
    yield "working set", with_scans(choice, working_set_bytes=round(0.8 * workload.working_set_bytes))
    yield "scanned", with_scans(choice, scanned_bytes=round(0.8 * workload.scanned_bytes))
    yield "families", with_workers(choice, families=(*choice.workers.families, "r7g"))


@pytest.mark.parametrize("seed", quick_where(lambda seed: seed < 5, range(100)))
def test_asking_for_less_never_costs_more(seed: int) -> None:
    """The law also holds the other way round: more work or data, or a stricter target, never needs less."""
    stated = usd(choice_of(seed))
    bills = {name: usd(relaxed) for name, relaxed in less(choice_of(seed))} if stated < math.inf else {}
    assert not {name: bill for name, bill in bills.items() if bill > SLACK * stated}, stated


@st.composite
def clusters(draw: st.DrawFn) -> Workers:
    """Workers of any type and number with one or two cache volumes, or with their drive."""
    choice = choice_of(draw(st.integers(0, 10**6)))
    instance = WORLD.instance_types[draw(st.sampled_from(["m8g.2xlarge", "r8g.xlarge", "c8g.24xlarge", "i8g.2xlarge"]))]
    size_gib, count = draw(st.sampled_from([5, 50, 500, 1_000])), draw(st.sampled_from([1, 2]))
    cache = gp3.gp3_volume("cache", size_gib, (draw(st.sampled_from([125, 500])), 3_000), count)
    if instance.nvme_disks == 1 and draw(st.booleans()):
        cache = nvme_volume(instance)
    number = draw(st.integers(1 + choice.targets.lost_nodes, 12) | st.integers(13, 199))
    volumes = (cache, gp3_volume("system", 256))
    return TrinoSearch(choice=choice, world=WORLD).workers(instance.name, number, volumes)


def service(workers: Workers) -> dict[str, float]:
    """Return figures of the service, each of which is better if it is higher."""
    count, left, rate = workers.count, workers.survivors, workers.choice.workload.peak_queries_per_second
    warm, after = workers.hit_ratio(count), workers.ratio_after_loss
    return {
        "hit ratio": warm,
        "hit ratio after a loss": after,
        "hit ratio of survivors": workers.hit_ratio(left),
        "queries a second": 1 / workers.seconds_alone(count, warm),
        "queries a second after a loss": 1 / workers.seconds_alone(left, after),
        "time": -workers.query_seconds(count, warm, rate),
        "cold time": -workers.query_seconds(count, 0.0, rate),
        "time after a loss": -workers.query_seconds(left, after, rate),
        "bytes from S3": -workers.demand(warm).network_bytes,
        "requests to S3": -workers.demand(warm).gets,
        "bytes of disks": -workers.demand(warm).disk_bytes,
        "operations of disks": -workers.demand(warm).disk_ios,
    }


def changed(workers: Workers, **changes: object) -> Workers:
    return replace(workers, **changes)


def with_choice(workers: Workers, choice: TrinoChoice) -> Workers:
    return TrinoSearch(choice=choice, world=WORLD).workers(workers.instance.name, workers.count, workers.volumes)


IMPROVEMENTS: dict[str, Callable[[Workers], Workers]] = {
    "a spare": lambda workers: changed(workers, count=workers.count + 1),
    "a larger cache": lambda workers: changed(workers, cache_gib=2 * workers.cache_gib),
    "fewer lost": lambda workers: with_choice(
        workers,
        with_query_targets(workers.choice, lost_nodes=max(0, workers.choice.targets.lost_nodes - 1)),
    ),
    "less data": lambda workers: with_choice(
        workers,
        with_scans(workers.choice, working_set_bytes=round(0.7 * workers.choice.workload.working_set_bytes)),
    ),
    "less to scan": lambda workers: with_choice(
        workers, with_scans(workers.choice, scanned_bytes=round(0.7 * workers.choice.workload.scanned_bytes))
    ),
    "faster volumes": lambda workers: changed(
        workers,
        volumes=(replace(workers.cache, throughput_mib_s=2 * workers.cache.throughput_mib_s), *workers.volumes[1:]),
    ),
}


@pytest.mark.parametrize("improvement", IMPROVEMENTS)
@given(workers=clusters())
def test_no_improvement_lowers_the_service(improvement: str, workers: Workers) -> None:
    before, after = service(workers), service(IMPROVEMENTS[improvement](workers))
    assert not {
        name: (before[name], after[name]) for name in before if after[name] < before[name] - 1e-9 * abs(before[name])
    }


@given(workers=clusters())
def test_a_loss_lowers_what_is_served(workers: Workers) -> None:
    """With the pages of the lost workers gone, the others have at most the hit ratio that they had before."""
    rate, left = workers.choice.workload.peak_queries_per_second, workers.survivors
    warm, after = workers.hit_ratio(workers.count), workers.ratio_after_loss
    lost, has_copies = (
        workers.choice.targets.lost_nodes,
        workers.choice.preferred_hosts > workers.choice.targets.lost_nodes,
    )
    assert left == workers.count - lost
    assert after == pytest.approx(warm if has_copies else warm * left / workers.count)
    assert workers.utilisation(left, after, rate) >= workers.utilisation(workers.count, warm, rate) * (1 - 1e-9)
    assert workers.query_seconds(left, after, rate) >= workers.query_seconds(workers.count, warm, rate) * (1 - 1e-9)


@given(workers=clusters())
def test_parts_sum(workers: Workers) -> None:
    search = TrinoSearch(choice=workers.choice, world=WORLD)
    cost, fixed = search.cost(workers), search.fixed_usd
    assert sum(line.usd_per_month for line in cost.lines) == pytest.approx(cost.usd_per_month)
    gets = workers.demand(workers.hit_ratio(workers.count)).gets * workers.choice.workload.queries_per_second
    [of_gets] = (line.usd_per_month for line in cost.lines if line.item == "S3 reads")
    assert of_gets == pytest.approx(gets * 730 * 3600 * WORLD.prices.usd("s3-get"))
    twice = replace(workers, count=2 * workers.count)
    [of_twice] = (line.usd_per_month for line in search.cost(twice).lines if line.item == "S3 reads")
    each = (cost.usd_per_month - of_gets - fixed) / workers.count
    assert search.usd_per_month(twice) == pytest.approx(fixed + 2 * workers.count * each + of_twice)
    assert workers.page_index_bytes + workers.query_bytes <= workers.heap_bytes <= workers.instance.memory_bytes


@given(seed=st.integers(0, 10**6))
def test_the_same_input_gives_the_same_plan(seed: int) -> None:
    choice = choice_of(seed)
    plan = trino_plan(question(choice), WORLD)
    turned = with_workers(choice_of(seed), families=choice.workers.families[::-1])
    assert trino_plan(question(turned), WORLD) == plan
    pinned = with_workers(
        choice, type=plan.workers.instance_type, count=plan.workers.count, volumes=plan.workers.volumes
    )
    pinned = with_workers(pinned, cache_mib=1024 * plan.cache.size_gib)
    again = trino_plan(question(pinned), WORLD)
    assert (again.cost, again.queries, again.missed) == (plan.cost, plan.queries, plan.missed)
