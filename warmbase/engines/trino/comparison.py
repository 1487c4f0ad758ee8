"""Two plans of an analytics cluster, with the text and the document of their difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from warmbase.cli.change_parts import trino_impact_rows
from warmbase.cli.page import Row as PageRow
from warmbase.cli.size.plan_differences import (
    Row,
    applied_rows,
    applied_texts,
    cost_rows,
    distinct,
    nodes_change,
    price_change,
    volume_text,
    warnings_without,
)
from warmbase.engines.trino.changes import TrinoComparison, TrinoSide
from warmbase.engines.trino.plan import TrinoPlan, TrinoWarning
from warmbase.ground.errors import Infeasible
from warmbase.ground.units import SECONDS_PER_HOUR, format_duration, format_percent, format_size, format_usd
from warmbase.reports.json_text import plain


class ComparedTrino(Struct, frozen=True, kw_only=True):
    """A comparison with its text. `sources` say in words where each of the two environments comes from."""

    name: str
    comparison: TrinoComparison
    sources: tuple[str, str]

    @property
    def headline(self) -> str:
        """Return the answer in one line."""
        before, after = self.comparison.before, self.comparison.after
        if before is None or after is None or not (before.exists and after.exists):
            return f"{self.name} (Trino): {_verdict(before)} → {_verdict(after)}"
        was, will, cost = before.plan, after.plan, self.comparison.cost
        parts = [nodes_change(was.workers, will.workers, "worker")]
        parts += applied_texts(cost, has_cache=True) if cost else ()
        parts += () if will.feasible else [f"misses {', '.join(_missed(will))}"]
        return (
            f"{self.name} (Trino): {price_change(was.cost.usd_per_month, will.cost.usd_per_month)}: {'; '.join(parts)}"
        )

    @property
    def same_nodes(self) -> str:
        """Return no text, because only plans of HBase are also compared with their node type unchanged."""
        return ""

    @property
    def figures(self) -> list[Row]:
        """Return the figures that differ."""
        return figure_rows(*self._both)

    @property
    def cost(self) -> list[Row]:
        """Return the lines of the bill that differ."""
        return cost_rows(*map(bill_of, self._both))

    @property
    def applied(self) -> list[Row]:
        """Return what is applied in each way."""
        return list(applied_rows(self.comparison.changes or ()))

    @property
    def impact(self) -> list[PageRow]:
        """Return what it costs to apply the changes."""
        return list(trino_impact_rows(self.comparison.cost)) if self.comparison.cost else []

    @property
    def warnings(self) -> tuple[Sequence[TrinoWarning], Sequence[TrinoWarning]]:
        """Return the warnings that only the newer plan has, and those that only the older one has."""
        was, will = (plan.warnings if plan else () for plan in self._plans)
        return warnings_without(will, was), warnings_without(was, will)

    @property
    def diff_command(self) -> str:
        """Return the command that shows each setting."""
        side = self.comparison.after or self.comparison.before
        file = Path(side.launch.environment.source).stem if side else "ENV"
        return f"warmbase diff {file} --cluster {self.name}"

    @property
    def no_difference(self) -> str:
        """Return the sentence for plans that do not differ."""
        return f"The plans of {self.name} do not differ."

    @property
    def is_empty(self) -> bool:
        """Return whether the two plans do not differ in anything."""
        differences = [*self.figures, *self.cost, *self.applied, *self.warnings[0], *self.warnings[1]]
        return not differences and (bool(self._both) or self._plans == (None, None))

    @property
    def error(self) -> Infeasible | None:
        """Return the error of the newer plan if it misses its targets."""
        return self.comparison.after.error if self.comparison.after else None

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON has it."""
        before, after = self._plans
        return {
            "sources": {"before": self.sources[0], "after": self.sources[1]},
            "summary": self.headline,
            "before": plain(before),
            "after": plain(after),
            "application": None
            if self.comparison.changes is None
            else {"changes": self.comparison.changes, "cost": self.comparison.cost},
        }

    @property
    def _plans(self) -> tuple[TrinoPlan | None, TrinoPlan | None]:
        before, after = self.comparison.before, self.comparison.after
        return before.plan if before else None, after.plan if after else None

    @property
    def _both(self) -> tuple[TrinoPlan, ...]:
        """Return the two plans if the cluster is in both environments."""
        before, after = self._plans
        return (before, after) if before and after else ()


def figure_rows(*plans: TrinoPlan) -> list[Row]:
    """Return a row for each figure, or for each that differs where there are two plans."""
    return distinct((label, *map(text, plans)) for label, text in FIGURES.items()) if plans else []


def bill_of(plan: TrinoPlan) -> Mapping[str, float]:
    """Return the dollars a month of each line of the bill."""
    return {line.item: line.usd_per_month for line in plan.cost.lines if line.usd_per_month}


def plan_headline(side: TrinoSide) -> str:
    """Return a plan's price and workers in one line."""
    return f"{side.plan.cluster} (Trino): {_verdict(side)}"


def _verdict(side: TrinoSide | None) -> str:
    if side is None:
        return "no such cluster"
    plan, missed = side.plan, ", ".join(_missed(side.plan))
    nodes = f"{plan.workers.count} x {plan.workers.instance_type}"
    if not side.exists:
        return f"no cluster meets the targets; the nearest, {nodes}, misses {missed}"
    return f"{format_usd(plan.cost.usd_per_month)} a month ({nodes}{f'; misses {missed}' if missed else ''})"


def _missed(plan: TrinoPlan) -> Iterator[str]:
    return (shortfall.target for shortfall in plan.missed)


def _time(seconds: float | None) -> str:
    return "overloaded" if seconds is None else format_duration(seconds)


FIGURES: Final[Mapping[str, Callable[[TrinoPlan], str]]] = {
    "price a month": lambda plan: format_usd(plan.cost.usd_per_month),
    "meets the targets": lambda plan: "yes" if plan.feasible else f"no: {', '.join(_missed(plan))}",
    "release": lambda plan: plan.release,
    "prices": lambda plan: f"{plan.prices.region}, {plan.prices.described}",
    "catalog": lambda plan: plan.catalog,
    "workers": lambda plan: f"{plan.workers.count} x {plan.workers.instance_type}",
    "coordinator": lambda plan: plan.coordinator.instance_type,
    "cache disk": lambda plan: volume_text(plan.workers.volumes, "cache"),
    "system disk": lambda plan: volume_text(plan.workers.volumes, "system"),
    "cache per worker": lambda plan: f"{plan.cache.size_gib:,} GiB",
    "preferred hosts": lambda plan: f"{plan.cache.preferred_hosts}",
    "hit ratio, warm": lambda plan: format_percent(plan.hit_ratio.predicted),
    "queries": lambda plan: f"{plan.queries.per_hour:,.0f}/h",
    "queries, peak hour": lambda plan: f"{plan.queries.peak_per_hour:,.0f}/h",
    "queries at most": lambda plan: f"{plan.queries.most_per_hour:,.0f}/h",
    "bottleneck": lambda plan: plan.queries.bottleneck,
    "mean time": lambda plan: _time(plan.queries.mean_seconds),
    "in the peak hour": lambda plan: _time(plan.queries.peak_mean_seconds),
    "cold": lambda plan: _time(plan.queries.cold_seconds),
    "after a loss": lambda plan: _time(plan.queries.after_loss_seconds),
    "warm after": lambda plan: format_duration(plan.warmth.hours * SECONDS_PER_HOUR),
    "S3 GETs, warm": lambda plan: f"{plan.gets_per_second:,.0f}/s",
    "export": lambda plan: f"{format_size(plan.export.stored_bytes)}, {_time(plan.export.hours * SECONDS_PER_HOUR)}",
}
