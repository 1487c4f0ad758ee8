"""The words in which pages describe the plan of an analytics cluster, and its kinds of cache side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from warmbase.engines.trino.plan import CacheComparison, TrinoPlan
from warmbase.engines.trino.request import TrinoChoice
from warmbase.engines.trino.search import CacheKind
from warmbase.ground.units import HOURS_PER_MONTH, format_duration, format_percent, format_usd
from warmbase.reports.plan_text import ColumnTable, volumes_text
from warmbase.sizing.service.inputs import UTILISATION

OVERLOADED: Final = "more than the cluster can serve"


def query_rate(per_hour: float) -> str:
    """Return a number of queries an hour."""
    return f"{per_hour:,.0f} queries/h"


def lost_text(choice: TrinoChoice) -> str:
    """Return the loss that the cluster must bear; the targets allow for one worker at least."""
    lost = choice.targets.lost_nodes
    return f"after losing {'a worker' if lost == 1 else f'{lost} workers'}"


def decisive(plan: TrinoPlan, choice: TrinoChoice) -> str:
    """Return sentences that say what decides the number of workers."""
    busy = format_percent(plan.queries.utilisation_at_peak)
    limits = [f"{plan.queries.bottleneck} is {busy} busy in the busiest hour"]
    if choice.targets.query_seconds is not None:
        limits.append(f"the target for a query is {format_duration(choice.targets.query_seconds)}")
    limits.append(f"no resource may be more than {format_percent(UTILISATION)} busy after a loss")
    usd = sum(line.usd_per_month for line in plan.cost.lines if line.item.startswith("worker "))
    return f"{'; '.join(limits)}. One worker costs {format_usd(usd / plan.workers.count)} a month."


def missed_texts(plan: TrinoPlan) -> Iterator[str]:
    """Yield each target that the plan misses, with its value and its limit."""
    for missed in plan.missed:
        yield f"{missed.target}: {missed.actual:,.4g} {missed.unit}, limit {missed.limit:,.4g}"


NAMES: Final[Mapping[CacheKind, str]] = {"gp3": "cache on gp3", "drive": "cache on NVMe", "none": "no cache"}
SUMMARIES: Final[Mapping[CacheKind, str]] = {
    "gp3": "pages on EBS volumes, whose size and speed warmbase chooses",
    "drive": "pages on the instance's own drive, whose size depends on its type",
    "none": "every query reads from S3; the target for the hit ratio does not apply",
}


def cache_table(plans: Mapping[CacheKind, CacheComparison]) -> ColumnTable:
    """Return the table of these clusters."""
    return ColumnTable(
        title="The places of the cache side by side",
        names=tuple(NAMES[kind] for kind in plans),
        rows=tuple((name, *map(figure, plans.values())) for name, figure in ROWS.items()),
        summaries=tuple(f"{NAMES[kind]}: {SUMMARIES[kind]}" for kind in plans),
    )


def _verdict(plan: CacheComparison) -> str:
    return f"no: {', '.join(one.target for one in plan.missed)}" if plan.missed else "yes"


def _time(seconds: float | None) -> str:
    return "overloaded" if seconds is None else format_duration(seconds)


def _price(plan: CacheComparison) -> str:
    return "-" if plan.missed else format_usd(plan.cost.usd_per_month)


def _of_query(plan: CacheComparison) -> str:
    queries = plan.queries.per_hour * HOURS_PER_MONTH
    return "-" if plan.missed or not queries else format_usd(plan.cost.usd_per_month / queries)


ROWS: Final[Mapping[str, Callable[[CacheComparison], str]]] = {
    "meets the targets": _verdict,
    "workers": lambda plan: f"{plan.workers.count} x {plan.workers.instance_type}",
    "cache per worker": lambda plan: f"{plan.cache_gib:,} GiB" if plan.cache_gib else "none",
    "cache disk": lambda plan: volumes_text(plan.workers.volumes).removesuffix(" for the cache") or "none",
    "from local disks": lambda plan: format_percent(plan.hit_ratio),
    "mean time": lambda plan: _time(plan.queries.mean_seconds),
    "in the peak hour": lambda plan: _time(plan.queries.peak_mean_seconds),
    "queries at most": lambda plan: f"{plan.queries.most_per_hour:,.0f}/h, {plan.queries.bottleneck}",
    "S3 GETs": lambda plan: f"{plan.gets_per_second:,.0f}/s",
    "a month": _price,
    "per query": _of_query,
}
