"""The difference between the plans of an analytics cluster for two values of a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from cli.plan_summary import cluster_heading
from environments.engines.trino.planning import trino_plan_of
from environments.environment import Environment
from reports.nodes_text import nodes_of
from sizing.engines.trino.plan import TrinoPlan
from sizing.units import format_duration, format_percent, format_usd

LABEL: Final = 18
GAP: Final = 2


def trino_plans(environments: Sequence[Environment], cluster_name: str) -> tuple[TrinoPlan, TrinoPlan]:
    """Return the plans of the cluster in the environment as it is, and as it would be."""
    before, after = environments
    return (
        trino_plan_of(before, before.analytics[cluster_name]),
        trino_plan_of(after, after.analytics[cluster_name]),
    )


def trino_comparison(before: TrinoPlan, after: TrinoPlan, width: int) -> str:
    """Return the page: the two prices, what differs, and how a running cluster gets from one to the other."""
    was, now = before.cost.usd_per_month, after.cost.usd_per_month
    change = f"{'+' if now >= was else '-'}{format_usd(abs(now - was))}, {(now - was) / was:+.1%}".replace("%", " %")
    pairs = [(label, old, new) for (label, old), (_, new) in zip(_rows(before), _rows(after), strict=True)]
    column = max(len(old) for _, old, _ in pairs) + GAP
    rows = [f"{label:<{LABEL}}{old:<{column}}{'the same' if old == new else new}" for label, old, new in pairs]
    prices = f"{format_usd(was)} → {format_usd(now)} a month ({change})"
    head = f"{cluster_heading(before.environment, before.cluster)}   {prices}"
    applied = wrap(f"To change a running cluster: {_applied(before, after)}.", width, break_on_hyphens=False)
    return "\n".join((head, "", *rows, "", *applied))


def _rows(plan: TrinoPlan) -> Iterator[tuple[str, str]]:
    yield "workers", nodes_of(plan.workers.count, plan.workers.instance_type, plan.workers.volumes)
    yield "cache", f"{plan.cache.size_gib:,} GiB per worker"
    yield "hit ratio", format_percent(plan.hit_ratio.predicted)
    yield "mean time", _time(plan.queries.mean_seconds)
    yield "in the peak hour", _time(plan.queries.peak_mean_seconds)
    yield "cold", _time(plan.queries.cold_seconds)
    yield "at most", f"{plan.queries.most_per_hour:,.0f} queries/h"
    yield "targets", "met" if plan.feasible else f"missed: {', '.join(one.target for one in plan.missed)}"


def _time(seconds: float | None) -> str:
    return "overloaded" if seconds is None else format_duration(seconds)


def _applied(before: TrinoPlan, after: TrinoPlan) -> str:
    was, now = before.workers, after.workers
    fixed = (was.instance_type, was.volumes, before.coordinator.instance_type, before.release)
    if fixed != (now.instance_type, now.volumes, after.coordinator.instance_type, after.release):
        return "launch a new cluster, whose caches are empty"
    return "run `warmbase reconfigure`. EMR restarts Trino, and the pages of removed workers are lost"
