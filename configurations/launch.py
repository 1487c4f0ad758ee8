"""What one cluster is launched with: the end of the arrows from the environment file, the start of the stacks."""

from __future__ import annotations

from dataclasses import dataclass

from configurations.classification import Classifications
from environments.environment import Environment
from sizing.plan import Plan

__all__ = ["Launch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The environment, the plan of one of its clusters, and that plan's classifications."""

    environment: Environment
    plan: Plan
    settings: Classifications
