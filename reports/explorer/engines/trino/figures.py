"""The headline figures of an analytics cluster, with the wording and the precision of `warmbase plan`."""

from __future__ import annotations

from collections.abc import Iterator

from reports.engines.trino.words import OVERLOADED, decisive, lost_text, missed_texts, query_rate
from reports.explorer.drawing import Figure
from reports.nodes_text import volumes_text
from sizing.engines.trino.plan import TrinoPlan
from sizing.engines.trino.request import TrinoChoice
from sizing.units import SECONDS_PER_HOUR, format_duration, format_percent, format_size, format_usd

__all__ = ["decisive", "figures", "verdict"]


def figures(plan: TrinoPlan, choice: TrinoChoice) -> tuple[Figure, ...]:
    """Return the headline figures, the most important one first."""
    return (*_purchase(plan), *_warm(plan), *_bad_hours(plan, choice), _export(plan))


def verdict(plan: TrinoPlan) -> str:
    """Return a line that says whether the plan meets the targets, and which it misses."""
    if plan.feasible:
        return "The cluster meets all targets."
    return f"No cluster meets the targets; this is the nearest one. It misses {'; and '.join(missed_texts(plan))}."


def _purchase(plan: TrinoPlan) -> Iterator[Figure]:
    basis = "estimated prices" if plan.prices.estimate else f"prices of {plan.prices.as_of}"
    rate = f"less {format_percent(plan.prices.discount)}" if plan.prices.discount else "on demand"
    note = f"{rate}, {basis}; in addition to the HBase clusters"
    yield Figure(id="price", title="Price per month", text=format_usd(plan.cost.usd_per_month), note=note)
    workers = f"{plan.workers.count} x {plan.workers.instance_type}"
    note = f"each with {volumes_text(plan.workers.volumes)}; coordinator: 1 x {plan.coordinator.instance_type}"
    yield Figure(id="nodes", title="Workers", text=workers, note=note)


def _warm(plan: TrinoPlan) -> Iterator[Figure]:
    queries, ratio = plan.queries, format_percent(plan.hit_ratio.predicted)
    note = "of the pages that queries read come from local disks once warm"
    yield Figure(id="hit_ratio", title="Hit ratio", text=ratio, note=note)
    most = f"at most {query_rate(queries.most_per_hour)}"
    note = f"on average, at {query_rate(queries.per_hour)}; {most} (estimates)"
    yield Figure(id="query_time", title="Time of a query", text=_time(queries.mean_seconds), note=note)
    note = f"on average, at {query_rate(queries.peak_per_hour)} (estimate)"
    yield Figure(id="peak", title="In the busiest hour", text=_time(queries.peak_mean_seconds), note=note)


def _bad_hours(plan: TrinoPlan, choice: TrinoChoice) -> Iterator[Figure]:
    warm = format_duration(plan.warmth.hours * SECONDS_PER_HOUR)
    note = f"for a query at first; caches are warm after {plan.warmth.queries:,.0f} queries, {warm} (estimates)"
    yield Figure(id="cold", title="Cold caches", text=_time(plan.queries.cold_seconds), note=note)
    if not choice.targets.lost_nodes:
        note = "the targets allow for no lost worker"
        yield Figure(id="lost_node", title="Loss of a worker", text="not planned for", note=note)
        return
    note = f"for a query {lost_text(choice)}, in the busiest hour (estimate)"
    text = _time(plan.queries.after_loss_seconds)
    yield Figure(id="lost_node", title="Loss of a worker", text=text, note=note)


def _export(plan: TrinoPlan) -> Figure:
    note = (
        f"for {format_size(plan.export.stored_bytes)} of HBase as Parquet, at {format_usd(plan.export.usd)} (estimates)"
    )
    text = format_duration(plan.export.hours * SECONDS_PER_HOUR)
    return Figure(id="export", title="Export", text=text, note=note)


def _time(seconds: float | None) -> str:
    return OVERLOADED if seconds is None else format_duration(seconds)
