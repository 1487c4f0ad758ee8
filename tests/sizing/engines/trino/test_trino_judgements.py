"""Every judgement about an engine has a consequence in a plan that is written down here, as for HBase's.

When a judgement is changed on purpose, its rows change in the same commit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.sizing.clusters import WORLD, gp3_volume
from tests.sizing.engines.trino.questions import CHOICE, question, with_query_targets, with_scans, with_workers
from tests.sizing.test_judgements import marked
from warmbase.engines.trino.calculator import trino_plan
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.ground.units import GIB, MIB, TIB

ENGINE = Path(__file__).parents[4] / "warmbase" / "engines" / "trino"
MODEL = ("request", "cached_scan", "workers", "plan", "search", "calculator")
"""The modules that compute the plan."""
# Tiny caches on fast volumes and fast networks, and short reads: only S3 limits the cluster.
MISSING = with_scans(
    with_workers(
        CHOICE,
        type="r8g.24xlarge",
        count=100,
        volumes=(gp3_volume("cache", 10, 1_000), gp3_volume("system", 256)),
    ),
    working_set_bytes=200 * TIB,
    read_bytes=MIB // 4,
)
CASES: dict[str, TrinoChoice] = {
    "lake": CHOICE,
    "general types": with_workers(CHOICE, families=("m8g", "r8g")),
    "overloaded": with_scans(CHOICE, peak_queries_per_second=1e4),
    "missing": MISSING,
    "few files": with_scans(CHOICE, file_bytes=10 * GIB),
    # Queries that wait for volumes: a cache larger than the target needs is cheaper than more workers.
    "cheap CPU": with_scans(
        with_query_targets(with_workers(CHOICE, families=("r8g",)), hit_ratio=0.3, query_seconds=120.0),
        cpu_seconds_per_gib=2.0,
    ),
}


@cache
def planned(case: str) -> TrinoPlan:
    return trino_plan(question(CASES[case]), WORLD)


def figure(path: str, case: str = "lake") -> Callable[[], object]:
    """Return the figure at that path of the plan for that case."""
    return lambda: planned(case).figure(path)


def term(path: str, name: str) -> Callable[[], object]:
    """Return an input of the explanation of that figure."""
    return lambda: planned("lake").because[path].inputs[name].value


def smallest_memory() -> int:
    """Return the memory of the smallest type that is tried as a worker."""
    plan = planned("general types")
    tried = [plan.workers.instance_type, *(rejected.instance_type for rejected in plan.rejected)]
    return min(WORLD.instance_types[name].memory_bytes for name in tried)


def most_of_s3() -> tuple[str, float]:
    """Return what limits queries that find hardly a page cached, and the rate at which it does."""
    queries = planned("missing").queries
    return queries.bottleneck, round(queries.most_per_hour, 6)


ROWS: list[tuple[str, Callable[[], object], object]] = [
    ("calculator.WARM_TOLERANCE", figure("warmth.queries"), 596.923828125),
    ("calculator.FILES_PER_WORKER", lambda: "few-files" in {one.id for one in planned("few files").warnings}, True),
    ("plan.EXPORT_BYTES_PER_CORE_SECOND", figure("export.hours"), 2.9693601058765435),
    ("plan.HIT_RATE_MARGIN", lambda: planned("lake").hit_rate - planned("lake").least_hit_rate, 0.10),
    ("request.CPU_SECONDS_PER_GIB", term("workers.count", "cpu"), 1_000.0),
    ("request.FILE_BYTES", figure("hit_ratio.predicted", "cheap CPU"), 0.6849950852409729),
    ("request.READ_BYTES", figure("cache.amplification"), 1 + (MIB - 1) / (8 * MIB)),
    ("search.CACHE_STEP", figure("cache.size_gib", "cheap CPU"), 212),
    ("search.COORDINATOR_TYPE", figure("coordinator.instance_type"), "r8g.xlarge"),
    ("search.LEAST_RAM_BYTES", smallest_memory, 32 * GIB),
    ("search.MOST_WORKERS", figure("workers.count", "overloaded"), 200),
    ("search.SYSTEM_GIB", figure("workers.volumes.system.size_gib"), 256),
    ("workers.COORDINATION_SECONDS", figure("queries.mean_seconds"), 50.575520567436286),
    ("workers.HEAP_FRACTION", figure("memory.heap_bytes"), 24051816857),
    ("workers.PAGE_METADATA_BYTES", figure("memory.page_index_bytes"), 361_325_714),
    ("workers.S3_PREFIXES", most_of_s3, ("s3-requests", 215.177726)),
]


@pytest.mark.parametrize(("constant", "consequence", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_a_judgement_about_an_engine_has_its_consequence(
    constant: str, consequence: Callable[[], object], expected: object
) -> None:
    assert constant
    exact = isinstance(expected, (str, tuple))
    assert consequence() == (expected if exact else pytest.approx(expected, rel=1e-9))


def test_every_judgement_about_an_engine_has_a_row() -> None:
    judgements = {
        f"{module.stem}.{name}"
        for module in ENGINE.glob("*.py")
        if module.stem in MODEL
        for name in marked(module.read_text("utf-8"))
    }
    assert judgements == {row[0] for row in ROWS}
