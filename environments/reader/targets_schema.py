"""The `targets` section of an environment file, which says what a cluster must do."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from environments.reader import bounds
from environments.reader.scalars import Duration, Share
from environments.reader.section import Section
from sizing.targets import Targets

__all__ = ["TargetsSection"]


class TargetsSection(Section):
    """The targets that a plan has to meet."""

    hit_ratio: Annotated[Share, bounds.HIT_RATIO] = 0.95
    p99: Annotated[Duration, bounds.TIME] | None = None
    warm_up: Annotated[Duration, bounds.TIME] | None = None
    lost_nodes: Annotated[int, bounds.LOST_NODES] = 1
    budget_usd_per_month: Annotated[Annotated[float, bounds.BUDGET] | None, Field(examples=[9000])] = None

    def build(self) -> Targets:
        """Return the section as the type that the calculator uses."""
        return Targets(
            hit_ratio=self.hit_ratio,
            p99_seconds=self.p99,
            warm_up_seconds=self.warm_up,
            lost_nodes=self.lost_nodes,
            budget_usd_per_month=self.budget_usd_per_month,
        )
