"""Two plans with everything that a page, a pull request or a program is told about their difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from msgspec import Struct

from changes.change import Change
from changes.plan_comparison import PlanComparison
from changes.plan_figures import PlanFigures, delta
from cli.plan_differences import Row, cost_rows, figure_rows, headline, warnings_without
from configurations.properties.property import Applied
from sizing.warning import Warning  # noqa: A004 - the plan's own word


class ComparedPlans(Struct, frozen=True, kw_only=True):
    """A comparison with its text. `sources` say in words where each of the two environments comes from."""

    comparison: PlanComparison
    sources: tuple[str, str]
    before: PlanFigures | None
    after: PlanFigures | None

    @classmethod
    def of(cls, comparison: PlanComparison, before: str, after: str) -> Self:
        """Return the comparison of the plans for the environments that `before` and `after` describe."""
        was, will = comparison.before.plan, comparison.after.plan
        return cls(
            comparison=comparison,
            sources=(before, after),
            before=PlanFigures.of(was) if was else None,
            after=PlanFigures.of(will) if will else None,
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
        return cost_rows(self.before, self.after) if self.before and self.after else []

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
        return list(_applied(self.comparison.application.changes))

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
        }


def _applied_document(comparison: PlanComparison) -> dict[str, Any] | None:
    application = comparison.application
    return {"changes": application.changes, "cost": application.cost} if application else None


def _same_nodes_document(comparison: PlanComparison | None) -> dict[str, Any] | None:
    if comparison is None or comparison.after.plan is None:
        return None
    return {"after": PlanFigures.of(comparison.after.plan), "application": _applied_document(comparison)}


def _applied(changes: Sequence[Change]) -> Iterator[Row]:
    for applied in reversed(Applied):
        listed = [change for change in changes if change.applied is applied]
        if applied is Applied.NEW_CLUSTER:
            names = ", ".join(dict.fromkeys(f"{'/'.join(change.groups)} {change.key}" for change in listed))
        else:
            names = f"{len(listed)} setting{'s' * (len(listed) > 1)}"
        if listed:
            yield str(applied), names
