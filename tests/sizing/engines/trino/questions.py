"""Questions about analytics clusters for tests: one, and the same with other workloads and targets."""

from __future__ import annotations

from msgspec.structs import replace

from warmbase.engines.trino.calculator import TrinoQuestion
from warmbase.engines.trino.request import QueryTargets, ScanWorkload, TrinoChoice
from warmbase.ground.units import GIB, SECONDS_PER_HOUR, TIB
from warmbase.sizing.requirements import CoreChoice
from warmbase.sizing.workload.popularity import Zipf

CHOICE = TrinoChoice(
    name="lake",
    workload=ScanWorkload(
        working_set_bytes=6 * TIB,
        scanned_bytes=100 * GIB,
        queries_per_second=20 / SECONDS_PER_HOUR,
        peak_queries_per_second=60 / SECONDS_PER_HOUR,
        popularity=Zipf(theta=0.8),
        file_format="parquet",
    ),
    targets=QueryTargets(hit_ratio=0.8, query_seconds=120.0, lost_nodes=1, budget_usd_per_month=None),
    workers=CoreChoice(type=None, count=None, volumes=None, families=("m8g", "r8g", "r8gd", "i8g")),
    coordinator_type=None,
    catalog="hive",
    preferred_hosts=1,
)


def with_scans(choice: TrinoChoice, **changes: object) -> TrinoChoice:
    return replace(choice, workload=replace(choice.workload, **changes))


def with_query_targets(choice: TrinoChoice, **changes: object) -> TrinoChoice:
    return replace(choice, targets=replace(choice.targets, **changes))


def with_workers(choice: TrinoChoice, **changes: object) -> TrinoChoice:
    return replace(choice, workers=replace(choice.workers, **changes))


def question(choice: TrinoChoice) -> TrinoQuestion:
    return TrinoQuestion(environment="prod", choice=choice, stored_bytes=7 * TIB)
