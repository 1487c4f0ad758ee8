"""Clusters to plan: the shipped `prod`, and the same with other data, load, targets or pinned nodes."""

from __future__ import annotations

from msgspec.structs import replace

from warmbase.environments.planning import requirements, world
from warmbase.environments.reader import read_environment
from warmbase.sizing.requirements import CoreChoice, Requirements, Targets, Volume
from warmbase.sizing.workload.workload import ClosedLoad, Reads

PROD = read_environment("prod")
WORLD = world(PROD)
REQUIREMENTS = requirements(PROD, PROD.active)
FREE = replace(REQUIREMENTS.targets, p99_seconds=None, warm_up_seconds=None, budget_usd_per_month=None)


def with_workload(requirements: Requirements, **changes: object) -> Requirements:
    return replace(requirements, workload=replace(requirements.workload, **changes))


def with_core(requirements: Requirements, **changes: object) -> Requirements:
    core: CoreChoice = replace(requirements.cluster.core, **changes)
    return replace(requirements, cluster=replace(requirements.cluster, core=core))


def with_targets(requirements: Requirements, **changes: object) -> Requirements:
    targets: Targets = replace(requirements.targets, **changes)
    return replace(requirements, targets=targets)


def gp3_volume(purpose: str, size_gib: int, throughput_mib_s: int = 125) -> Volume:
    return Volume(
        purpose=purpose, type="gp3", count=1, size_gib=size_gib, iops=3_000, throughput_mib_s=throughput_mib_s
    )


RELAXED = replace(REQUIREMENTS, targets=FREE)
SYSTEM = gp3_volume("system", 64)
PINNED = with_core(RELAXED, type="r8g.2xlarge", count=6, volumes=(gp3_volume("cache", 1_420), SYSTEM))
CLOSED = Reads(load=ClosedLoad(concurrency=200))
