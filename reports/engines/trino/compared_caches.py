"""The kinds of cache of an analytics cluster, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reports.column_table import ColumnTable
from reports.nodes_text import volumes_text
from sizing.engines.trino.plan import CacheComparison
from sizing.engines.trino.search import CacheKind
from sizing.units import HOURS_PER_MONTH, format_duration, format_percent, format_usd

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
