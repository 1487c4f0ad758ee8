"""Two plans with everything that a page, a pull request or a program is told about their difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from changes.plan_comparison import PlanComparison
from changes.plan_figures import PlanFigures, delta
from cli.change_lines import cost_lines
from cli.engines.trino.comparison import ComparedTrino
from cli.plan_differences import Row, applied_rows, cost_rows, figure_rows, headline, warnings_without
from sizing.warning import Warning  # noqa: A004 - the plan's own word


class ComparedPlans(Struct, frozen=True, kw_only=True):
    """A comparison with its text. `sources` say in words where each of the two environments comes from.

    `analytics` has the comparison of each analytics cluster whose plans differ.
    """

    comparison: PlanComparison
    sources: tuple[str, str]
    before: PlanFigures | None
    after: PlanFigures | None
    analytics: tuple[ComparedTrino, ...] = ()

    @classmethod
    def of(cls, comparison: PlanComparison, before: str, after: str, analytics: tuple[ComparedTrino, ...] = ()) -> Self:
        """Return the comparison of the plans for the environments that `before` and `after` describe."""
        was, will = comparison.before.plan, comparison.after.plan
        return cls(
            comparison=comparison,
            sources=(before, after),
            before=PlanFigures.of(was) if was else None,
            after=PlanFigures.of(will) if will else None,
            analytics=analytics,
        )

    @property
    def headline(self) -> str:
        """Return the answer in one line."""
        return headline(self.before, self.after, self.comparison)

    @property
    def same_nodes(self) -> str:
        """Return the answer for nodes of the older plan's type and volumes; empty where it has no other nodes."""
        comparison = self.comparison.same_nodes
        if comparison is None:
            return ""
        plan = comparison.after.plan
        if plan is None or not plan.feasible:
            return "With the node type and volumes unchanged, no number of nodes meets the targets."
        figures = PlanFigures.of(plan)
        return f"With the node type and volumes unchanged: {headline(self.before, figures, comparison)}"

    @property
    def figures(self) -> list[Row]:
        """Return the figures that differ."""
        return figure_rows(self.before, self.after) if self.before and self.after else []

    @property
    def cost(self) -> list[Row]:
        """Return the lines of the bill that differ."""
        return cost_rows(self.before.cost, self.after.cost) if self.before and self.after else []

    @property
    def warnings(self) -> tuple[list[Warning], list[Warning]]:
        """Return the warnings that only the newer plan has, and those that only the older one has."""
        was, will = (figures.warnings if figures else () for figures in (self.before, self.after))
        return warnings_without(will, was), warnings_without(was, will)

    @property
    def applied(self) -> list[Row]:
        """Return what is applied in each way: the settings that need a new cluster by name, the others by number."""
        if self.comparison.application is None:
            return [("unknown", self.comparison.unknown)] if self.comparison.unknown else []
        return list(applied_rows(self.comparison.application.changes))

    @property
    def cost_lines(self) -> list[str]:
        """Return the lines that say what it costs to apply the changes."""
        application = self.comparison.application
        return list(cost_lines(application.cost, application.launch)) if application else []

    @property
    def diff_command(self) -> str:
        """Return the command that shows each setting."""
        return f"warmbase diff {Path(self.comparison.after.environment.source).stem}"

    @property
    def no_difference(self) -> str:
        """Return the sentence for plans that do not differ. The plans of analytics clusters may still differ."""
        name = f" of {self.after.cluster}" if self.analytics and self.after else ""
        return f"The plans{name} do not differ."

    @property
    def is_empty(self) -> bool:
        """Return whether the two plans do not differ in anything."""
        differences = [*self.figures, *self.cost, *self.applied, *self.warnings[0], *self.warnings[1]]
        return not differences and bool(self.before and self.after)

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON has it."""
        return {
            "sources": {"before": self.sources[0], "after": self.sources[1]},
            "summary": self.headline,
            "before": self.before,
            "after": self.after,
            "delta": delta(self.before, self.after) if self.before and self.after else None,
            "application": _applied_document(self.comparison),
            "unknown": self.comparison.unknown or None,
            "same_nodes": _same_nodes_document(self.comparison.same_nodes),
            "analytics": {compared.name: compared.document() for compared in self.analytics},
        }


def _applied_document(comparison: PlanComparison) -> dict[str, Any] | None:
    application = comparison.application
    return {"changes": application.changes, "cost": application.cost} if application else None


def _same_nodes_document(comparison: PlanComparison | None) -> dict[str, Any] | None:
    if comparison is None or comparison.after.plan is None:
        return None
    return {"after": PlanFigures.of(comparison.after.plan), "application": _applied_document(comparison)}
