"""An engine's part in the command line: a module whose functions have the types below.

HBase has no such module, because its pages are the commands themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from warmbase.cli.page import Page, Part
    from warmbase.cli.size.plan_differences import PlanDifferences
    from warmbase.engines.engine import Engine
    from warmbase.environments.environment import Environment
    from warmbase.environments.launch_record import LaunchRecord
    from warmbase.ground.errors import Infeasible


class Pages(Protocol):
    """The pages of commands for an analytics cluster."""

    def plan_parts(
        self, name: str, environment: Environment, cluster: str, pages: Sequence[str], page: Page
    ) -> tuple[Iterator[Part], Infeasible | None]:
        """Return the page of a plan, or the sections of `pages`, and the error of a plan that misses its targets.

        `name` is the environment as the command line names it.
        """

    def plan_markdown(self, environment: Environment, cluster: str, source: str) -> tuple[str, Infeasible | None]:
        """Return the plan as Markdown, and the error of one that misses its targets."""

    def plan_differences(
        self,
        cluster: str,
        before: Environment | None,
        after: Environment,
        record: LaunchRecord | None,
        sources: tuple[str, str],
    ) -> PlanDifferences:
        """Return the comparison of the plans for two environments; a record replaces the older plan by the launch."""

    def explain(self, environment: Environment, cluster: str, figure: str, output: str) -> None:
        """Print the explanation of a word, a path in the plan, or a property. Raises InvalidInput for anything else."""


def pages_of(engine: Engine) -> Pages:
    """Import the engine's facet for this room when it is first needed."""
    facet: Pages = engine.facet("pages")
    return facet
