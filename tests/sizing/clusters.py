"""Clusters to plan: the shipped `prod`, and the same with other data, load, targets or pinned nodes."""

from __future__ import annotations

from dataclasses import replace

from environments.planning import requirements, world
from environments.reader import read_environment
from sizing.cluster import CoreChoice, Volume
from sizing.requirements import Requirements
from sizing.targets import Targets
from sizing.workload import ClosedLoad, Reads

PROD = read_environment("prod")
WORLD = world(PROD)
ASKED = requirements(PROD, PROD.active)
FREE = replace(ASKED.targets, p99_seconds=None, warm_up_seconds=None, budget_usd_per_month=None)


def with_workload(asked: Requirements, **changes: object) -> Requirements:
    return replace(asked, workload=replace(asked.workload, **changes))  # type: ignore[arg-type]


def with_core(asked: Requirements, **changes: object) -> Requirements:
    core: CoreChoice = replace(asked.cluster.core, **changes)  # type: ignore[arg-type]
    return replace(asked, cluster=replace(asked.cluster, core=core))


def with_targets(asked: Requirements, **changes: object) -> Requirements:
    targets: Targets = replace(asked.targets, **changes)  # type: ignore[arg-type]
    return replace(asked, targets=targets)


def gp3_volume(purpose: str, size_gib: int, throughput_mib_s: int = 125) -> Volume:
    return Volume(
        purpose=purpose, type="gp3", count=1, size_gib=size_gib, iops=3_000, throughput_mib_s=throughput_mib_s
    )


RELAXED = replace(ASKED, targets=FREE)
SYSTEM = gp3_volume("system", 64)
PINNED = with_core(RELAXED, type="r8g.2xlarge", count=6, volumes=(gp3_volume("cache", 1_420), SYSTEM))
CLOSED = Reads(load=ClosedLoad(concurrency=200))
