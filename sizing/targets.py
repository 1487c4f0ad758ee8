"""What the cluster must do, as the environment file states it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Targets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Targets hold with `lost_nodes` core nodes gone. A budget of None is no limit."""

    hit_ratio: float
    lost_nodes: int
    budget_usd_per_month: float | None
