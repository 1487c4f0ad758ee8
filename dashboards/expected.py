"""What a plan expects of figures that are drawn and alarmed on."""

from __future__ import annotations

from typing import Final

from sizing.allocator import ACCEPT_FACTOR, MIN_FACTOR
from sizing.plan import Plan
from sizing.units import MIB

__all__ = ["warm_fill", "warming_seconds"]

# judgement: what is planned is an estimate, and reads come unevenly.
SLACK: Final = 1.5
NEARLY_WARM: Final = 0.95
LEAST_SECONDS: Final = 1_800


def warm_fill(plan: Plan) -> float:
    """Share of a cache's slots that a warm one uses: all that the data need, or what an eviction leaves at least.

    An eviction frees 15 % of each size's slots, so that 0.95 become 0.81.
    """
    everything_bytes = plan.hit_ratio.curve[-1][0]
    size_bytes = plan.core.count * plan.cache.size_mib * MIB
    share = everything_bytes / size_bytes
    return ACCEPT_FACTOR * (share if share <= 1 else MIN_FACTOR)


def warming_seconds(plan: Plan) -> int:
    """How long a cold cache may take to be nearly as good as the plan's, with half as much again; whole minutes."""
    enough = NEARLY_WARM * plan.hit_ratio.predicted
    hours = next((hours for hours, ratio in plan.warm_up.curve if ratio >= enough), plan.warm_up.curve[-1][0])
    return 60 * round(max(LEAST_SECONDS, SLACK * 3600 * hours) / 60)
