"""An engine's part in documents, words and the page of `explore`: a module whose functions have the types below.

A function takes an environment with the name of one of the engine's clusters, or its plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from warmbase.engines.engine import Engine
    from warmbase.environments.environment import Environment
    from warmbase.ground.errors import Infeasible
    from warmbase.reports.decision_page import EngineWords
    from warmbase.reports.explorer.subject import PageEngine
    from warmbase.reports.plan_text import ColumnTable


class Reports(Protocol):
    """Documents and words about a cluster, and its page of `explore`."""

    @property
    def WORDS(self) -> EngineWords:  # noqa: N802 - a constant of the module
        """Return the words for the engine's clusters where inputs vary."""

    def platform(self, plan: Any) -> str:  # noqa: ANN401 - the engine's own plan
        """Return the storage mode of the cluster, or the version of its engine."""

    def document(self, environment: Environment, cluster: str, *, advice: bool = True) -> tuple[Any, Infeasible | None]:
        """Return the plan as JSON has it, and the error of one that misses its targets."""

    def columns(self, environment: Environment, cluster: str) -> tuple[Mapping[Any, Any], ColumnTable]:
        """Return the plan of each column of `warmbase compare`, and their table."""

    def page_engine(self, environment: Environment, cluster: str) -> PageEngine:
        """Return the inputs, figures and plots of the cluster's page of `explore`."""


def reports_of(engine: Engine) -> Reports:
    """Import the engine's facet for this room when it is first needed."""
    facet: Reports = engine.facet("reports")
    return facet
