"""The cost of each table: how much less a cluster that never had it would cost."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from sizing.inputs import SizingInputs
from sizing.memory import NotEnoughMemory
from sizing.plan import Plan, PlannedTable
from sizing.requirements import Requirements, World
from sizing.search import cheapest_serving
from sizing.stored_blocks import stored_blocks
from sizing.targets import Targets
from sizing.workload import Workload

__all__ = ["tables_with_cost"]

SLACK: Final = 1e-3
"""judgement: a hit ratio or a p99 that is worse by a thousandth counts as the same, because both are estimates."""


def tables_with_cost(requirements: Requirements, world: World, sized: Plan) -> tuple[PlannedTable, ...]:
    """Return the tables of a plan, each with how much less the cheapest cluster for the others would cost.

    The others keep the hit ratio and the p99 that they have in the plan. Tables share nodes and cache, so these costs
    do not add up to the bill. They stay None for a pinned cluster, whose bill is always the same, for a plan that
    misses its targets, and if there is only one table.
    """
    if len(sized.tables) == 1 or requirements.cluster.core.pinned or not sized.meets_targets:
        return sized.tables
    return tuple(
        replace(planned, usd_per_month=_usd_saved(planned.name, requirements, world, sized)) for planned in sized.tables
    )


def _usd_saved(name: str, requirements: Requirements, world: World, sized: Plan) -> float | None:
    others = [table for table in requirements.workload.tables if table.name != name]
    planned = {table.name: table for table in sized.tables}
    needs = replace(
        requirements,
        workload=Workload.of(others),
        targets=_as_planned(requirements.targets, others, planned),
    )
    try:
        best = cheapest_serving(SizingInputs.new(needs, world))
    except NotEnoughMemory:
        return None
    return None if best is None else max(0.0, sized.cost.usd_per_month - best.usd_per_month)


def _as_planned(targets: Targets, tables: list[Workload], planned: dict[str, PlannedTable]) -> Targets:
    """Return targets that keep the planned hit ratio of these tables and, if there is a target for it, their p99."""
    reads = [table.cached * planned[table.name].reads_per_second * stored_blocks(table).per_read for table in tables]
    hits = sum(read * planned[table.name].hit_ratio for read, table in zip(reads, tables, strict=True))
    slowest_seconds = max(planned[table.name].p99_latency_ms for table in tables) / 1000
    return replace(
        targets,
        hit_ratio=hits / (sum(reads) or 1.0) * (1 - SLACK),
        p99_seconds=None if targets.p99_seconds is None else max(targets.p99_seconds, slowest_seconds * (1 + SLACK)),
    )
