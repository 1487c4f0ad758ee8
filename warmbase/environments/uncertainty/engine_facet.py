"""An engine's part in plans under uncertainty: a module whose functions have the types below.

A function takes an environment with the name of one of the engine's clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from warmbase.engines.engine import Engine
    from warmbase.environments.environment import Environment
    from warmbase.environments.uncertainty.growth import Growth
    from warmbase.environments.uncertainty.judgements import Judgement
    from warmbase.environments.uncertainty.sensitivity import Figures
    from warmbase.sizing.ranges.regret import Situation
    from warmbase.sizing.requirements import World


class Planning(Protocol):
    """The questions to the calculator: the needs of a cluster, and how its plan varies."""

    @property
    def JUDGEMENTS(self) -> Sequence[Judgement]:  # noqa: N802 - a constant of the module
        """Return the judgements of the engine's model."""

    def situation(self, environment: Environment, cluster: str, offered: World) -> Situation:
        """Return what the cluster must serve, and what there is to buy. Raises InvalidInput if nothing suits."""

    def growth(self, environment: Environment, cluster: str, months: int, rate: float | None) -> Growth:
        """Return the growth of the cluster's workload; None is the rate that the file states, or the assumed one."""

    def figures(self, environment: Environment, cluster: str) -> Figures:
        """Return the price and the latency of the plan. Raises Infeasible, or returns None if it misses its targets."""

    def numbers(self, environment: Environment, cluster: str) -> Iterator[tuple[tuple[str, ...], str, float]]:
        """Yield the path, the unit and the value of each number of the workload that a tornado varies."""


def planning_of(engine: Engine) -> Planning:
    """Import the engine's facet for this room when it is first needed."""
    facet: Planning = engine.facet("planning")
    return facet
