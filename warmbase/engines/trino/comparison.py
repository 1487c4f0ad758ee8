"""Two plans of an analytics cluster: what differs, how a running cluster gets there, and their JSON document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from warmbase.changes.change import EVERY_ROLE, Change
from warmbase.changes.plan_comparison import lasting_changes
from warmbase.changes.recorded_launch import changes_since_launch, recorded_spec
from warmbase.cli.size.plan_comparison import single_markdown
from warmbase.cli.size.plan_differences import (
    PlanDifferences,
    applied_rows,
    applied_texts,
    cost_rows,
    distinct,
    nodes_change,
    price_change,
    volume_text,
    warnings_without,
)
from warmbase.engines.trino.changes import actions, differences, impact, impact_rows, launch, spec
from warmbase.engines.trino.plan import TrinoPlan
from warmbase.engines.trino.planning import trino_infeasible, trino_plan_of
from warmbase.engines.trino.rendering import TrinoLaunch, trino_classifications
from warmbase.environments.environment import Environment
from warmbase.environments.launch_record import LaunchRecord
from warmbase.ground.errors import Infeasible
from warmbase.ground.units import SECONDS_PER_HOUR, format_duration, format_percent, format_size, format_usd
from warmbase.reports.json_text import plain


class TrinoSide(Struct, frozen=True, kw_only=True):
    """One of two plans. If it is the plan of a launched cluster, `record` is the record of its launch."""

    launch: TrinoLaunch
    record: LaunchRecord | None = None

    @property
    def plan(self) -> TrinoPlan:
        """Return the plan."""
        return self.launch.plan

    @property
    def exists(self) -> bool:
        """Return whether there is such a cluster: one that meets its targets, or one that somebody has chosen."""
        choice = self.launch.environment.analytics[self.plan.cluster]
        return self.plan.feasible or self.record is not None or choice.workers.pinned

    @property
    def error(self) -> Infeasible | None:
        """Return the error of a plan that misses its targets."""
        return None if self.plan.feasible else trino_infeasible(self.launch.environment.source, self.plan)

    @property
    def verdict(self) -> str:
        """Return the price and the workers of the plan, or which targets it misses."""
        plan, missed = self.plan, _missed(self.plan)
        nodes = f"{plan.workers.count} x {plan.workers.instance_type}"
        if not self.exists:
            return f"no cluster meets the targets; the nearest, {nodes}, misses {missed}"
        return f"{format_usd(plan.cost.usd_per_month)} a month ({nodes}{f'; misses {missed}' if missed else ''})"


def _side(environment: Environment | None, cluster: str) -> TrinoSide | None:
    """Return the plan of a cluster, even if it misses its targets; None if the environment has no such cluster."""
    if environment is None or cluster not in environment.analytics:
        return None
    plan = trino_plan_of(environment, environment.analytics[cluster])
    return TrinoSide(launch=TrinoLaunch(environment=environment, plan=plan, settings=trino_classifications(plan)))


def plan_differences(
    cluster: str,
    before: Environment | None,
    after: Environment,
    record: LaunchRecord | None,
    sources: tuple[str, str],
) -> PlanDifferences:
    """Return the comparison of the plans for two environments; a record replaces the older plan by the launch.

    Changes lead a running cluster from the one plan to the other. There are none if the environments have different
    names, if one of them has no such cluster, or if no cluster meets its targets.
    """
    old, new = _side(before, cluster), _side(after, cluster)
    if record:
        # The launch decides the nodes, and today's file the workload and the targets.
        old = TrinoSide(launch=launch(after, cluster, record), record=record)
    both = (old.plan, new.plan) if old and new else ()
    pending, cost = None, None
    if old and new and old.exists and new.exists:
        if old.launch.environment.name == after.name:
            further: Sequence[Change]
            if record:
                running, further = recorded_spec(record), [*changes_since_launch(record, after, actions(new.launch))]
            else:
                running = spec(old.launch)
                further = [*lasting_changes(old.launch.environment, after, cluster)]
            pending = differences(running, new.launch, EVERY_ROLE, further)
            cost = impact(pending, running, new.launch)
        parts = [nodes_change(old.plan.workers, new.plan.workers, "worker")]
        parts += applied_texts(cost, has_cache=True) if cost else ()
        parts += [] if new.plan.feasible else [f"misses {_missed(new.plan)}"]
        answer = f"{price_change(old.plan.cost.usd_per_month, new.plan.cost.usd_per_month)}: {'; '.join(parts)}"
    else:
        answer = " → ".join(side.verdict if side else "no such cluster" for side in (old, new))
    known = new or old
    rows = figure_rows(*both) if both else []
    bills = cost_rows(*map(bill_of, both))
    applied = list(applied_rows(pending or ()))
    was, will = (side.plan.warnings if side else () for side in (old, new))
    arrived, gone = warnings_without(will, was), warnings_without(was, will)
    headline = f"{cluster} (Trino): {answer}"
    return PlanDifferences(
        name=cluster,
        sources=sources,
        headline=headline,
        figures=rows,
        cost=bills,
        applied=applied,
        impact=list(impact_rows(cost, known.plan)) if cost and known else [],
        new_warnings=arrived,
        former_warnings=gone,
        diff_command=f"warmbase diff {known.launch.environment.argument if known else 'ENV'} --cluster {cluster}",
        no_difference=f"The plans of {cluster} do not differ.",
        is_empty=not [*rows, *bills, *applied, *arrived, *gone] and (bool(both) or (old is None and new is None)),
        error=new.error if new else None,
        document={
            "sources": {"before": sources[0], "after": sources[1]},
            "summary": headline,
            "before": plain(old.plan if old else None),
            "after": plain(new.plan if new else None),
            "application": None if pending is None else {"changes": pending, "cost": cost},
        },
    )


def plan_markdown(environment: Environment, cluster: str, source: str) -> tuple[str, Infeasible | None]:
    """Return the plan of a cluster as Markdown, and the error of one that misses its targets."""
    side = _side(environment, cluster)
    assert side is not None  # noqa: S101 - the command has looked the name up
    headline = f"{cluster} (Trino): {side.verdict}"
    rows, bill = figure_rows(side.plan), cost_rows(bill_of(side.plan))
    return single_markdown(source, headline, rows, bill, side.plan.warnings), side.error


def figure_rows(*plans: TrinoPlan) -> list[tuple[str, ...]]:
    """Return a row for each figure, or for each that differs where there are two plans."""
    return distinct((label, *map(text, plans)) for label, text in FIGURES.items())


def bill_of(plan: TrinoPlan) -> Mapping[str, float]:
    """Return the dollars a month of each line of the bill."""
    return {line.item: line.usd_per_month for line in plan.cost.lines if line.usd_per_month}


def _missed(plan: TrinoPlan) -> str:
    return ", ".join(shortfall.target for shortfall in plan.missed)


def _time(seconds: float | None) -> str:
    return "overloaded" if seconds is None else format_duration(seconds)


FIGURES: Final[Mapping[str, Callable[[TrinoPlan], str]]] = {
    "price a month": lambda plan: format_usd(plan.cost.usd_per_month),
    "meets the targets": lambda plan: "yes" if plan.feasible else f"no: {_missed(plan)}",
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
