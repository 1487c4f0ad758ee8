"""The differences of two plans as text: a line with the price, and rows of figures before and after."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from warmbase.changes.change import Change
from warmbase.changes.cost import ImpactCost
from warmbase.changes.plan_comparison import PlanComparison, PlanFigures
from warmbase.configurations.properties.property import Applied
from warmbase.ground.errors import Infeasible
from warmbase.ground.units import MIB, SECONDS_PER_HOUR, format_duration, format_percent, format_size, format_usd
from warmbase.reports.plan_text import provision_text
from warmbase.sizing.plan import (
    CoreGroup,
    Warning,  # noqa: A004 - the plan's own word
)
from warmbase.sizing.requirements import Volume

Row = tuple[str, ...]
"""A label, and the text of each plan."""
NONE: Final = "none"
SMALL_SHARE: Final = 0.1  # judgement: below it, a decimal of the percentage says something
APPLIED: Final = {
    Applied.LIVE: "applied live",
    Applied.ROLLING_RESTART: "applied by a rolling restart",
    Applied.NEW_CLUSTER: "applied by a new cluster",
}


class PlanDifferences(Struct, frozen=True, kw_only=True):
    """The comparison of two plans for a cluster, in words and as a JSON document, whatever the engine.

    `sources` say where each of the two environments comes from, and `headline` is the answer in one line. `same_nodes`
    is the answer for nodes of the older plan's type and volumes, and empty unless the newer plan has others. `figures`,
    `cost` and `applied` have a row for each figure, line of the bill and way of application that differs; `impact` says
    what it costs to apply the changes. `error` is that of a newer plan that misses its targets. `others` are the
    comparisons of analytics clusters whose plans differ, too.
    """

    name: str
    sources: tuple[str, str]
    headline: str
    same_nodes: str = ""
    figures: Sequence[Row]
    cost: Sequence[Row]
    applied: Sequence[Row]
    impact: Sequence[tuple[str, str]]
    new_warnings: Sequence[Warning]
    former_warnings: Sequence[Warning]
    diff_command: str
    no_difference: str
    is_empty: bool
    error: Infeasible | None
    document: Mapping[str, Any]
    others: tuple[PlanDifferences, ...] = ()


def headline(before: PlanFigures | None, after: PlanFigures | None, comparison: PlanComparison) -> str:
    """Return the answer in one line: the prices, the nodes, how the change is applied, and what the cache loses."""
    if before is None or after is None or not (before.feasible and after.feasible):
        return f"{_price_or_verdict(before)} → {_price_or_verdict(after)}"
    was, will = (
        CoreGroup(instance_type=figures.core_type, count=figures.core_nodes, volumes=figures.core_volumes)
        for figures in (before, after)
    )
    parts = [f"{price_change(before.usd_per_month, after.usd_per_month)}: {nodes_change(was, will)}"]
    if comparison.unknown:
        parts.append("how it is applied is unknown")
    if comparison.application:
        parts += applied_texts(comparison.application.cost, has_cache=bool(before.bucket_cache_mib))
    return "; ".join([*parts, *([] if after.meets_targets else ["it misses its targets"])])


def single_headline(figures: PlanFigures | None) -> str:
    """Return one plan's price and nodes in one line."""
    unmet = "; it misses its targets" if figures and figures.feasible and not figures.meets_targets else ""
    return f"{_price_or_verdict(figures)}{unmet}"


def _price_or_verdict(figures: PlanFigures | None) -> str:
    if figures is None:
        return "no cluster can hold this"
    if figures.feasible:
        return f"{format_usd(figures.usd_per_month)} a month ({_nodes(figures)})"
    return f"no cluster meets the targets; the nearest has {figures.nearest[0]}"


def price_change(before: float, after: float) -> str:
    """Return two prices a month and their difference: `$3,504 → $4,156 a month (+$653, +19 %)`."""
    was, will = format_usd(before), format_usd(after)
    if was == will:
        return f"{will} a month, as before"
    more, share = after - before, after / before - 1
    percent = f"{100 * share:+.{0 if abs(share) >= SMALL_SHARE else 1}f} %"
    return f"{was} → {will} a month ({'-' if more < 0 else '+'}{format_usd(abs(more))}, {percent})"


def _nodes(figures: PlanFigures) -> str:
    return f"{figures.core_nodes} x {figures.core_type}"


def nodes_change(before: CoreGroup, after: CoreGroup, node: str = "node") -> str:
    """Return the difference of two core groups in words; `node` is what the engine calls one of them."""
    if before.instance_type != after.instance_type:
        return f"{before.count} x {before.instance_type} → {after.count} x {after.instance_type}"
    more = after.count - before.count
    if more:
        return f"{more:+} {node}{'s' * (abs(more) > 1)}"
    return f"the same {node}s" if before.volumes == after.volumes else f"the same {node}s with other volumes"


def applied_texts(cost: ImpactCost, *, has_cache: bool) -> Iterator[str]:
    """Yield how the changes are applied, and what a cache loses."""
    if cost.applied is None:
        yield "nothing to apply"
        return
    yield APPLIED[cost.applied]
    if not has_cache:
        return
    if cost.applied is Applied.NEW_CLUSTER or cost.warm_up_seconds or cost.cache_lost_bytes is None:
        yield "the cache is lost"
    elif cost.cache_lost_bytes == 0:
        yield "the cache is kept"
    else:
        yield f"{format_size(cost.cache_lost_bytes)} of cache is lost with the removed nodes"


def applied_rows(changes: Sequence[Change]) -> Iterator[Row]:
    """Yield each way in which changes are applied: settings that need a new cluster by name, others by number."""
    for applied in reversed(Applied):
        listed = [change for change in changes if change.applied is applied]
        if applied is Applied.NEW_CLUSTER:
            names = ", ".join(dict.fromkeys(f"{'/'.join(change.groups)} {change.key}" for change in listed))
        else:
            names = f"{len(listed)} setting{'s' * (len(listed) > 1)}"
        if listed:
            yield str(applied), names


def figure_rows(*plans: PlanFigures) -> list[Row]:
    """Return a row for each figure, or for each that differs where there are two plans."""
    return distinct((label, *(text(figures) for figures in plans)) for label, text in FIGURES.items())


def cost_rows(*bills: Mapping[str, float]) -> list[Row]:
    """Return a row for each line of the bill, or for each that differs where there are two bills."""
    items = dict.fromkeys(item for bill in bills for item in bill)
    return distinct((item, *(format_usd(bill[item]) if item in bill else NONE for bill in bills)) for item in items)


def distinct(rows: Iterable[Row]) -> list[Row]:
    """Return the rows whose texts differ, and all rows that have only one."""
    return [row for row in rows if len(row) == 2 or len(set(row[1:])) > 1]  # noqa: PLR2004 - a label and one plan


def warnings_without(warnings: Sequence[Warning], others: Sequence[Warning]) -> list[Warning]:
    """Return the warnings that are not among the others, whose messages may have other figures."""
    known = {warning.id for warning in others}
    return [warning for warning in warnings if warning.id not in known]


def volume_text(volumes: Iterable[Volume], purpose: str) -> str:
    """Return the size and the speed of the volumes for a purpose."""
    return ", ".join(provision_text(volume) for volume in volumes if volume.purpose == purpose) or NONE


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    if seconds == 0:
        return "at once"
    return format_duration(seconds) if math.isfinite(seconds) else "never"


FIGURES: Final[Mapping[str, Callable[[PlanFigures], str]]] = {
    "price a month": lambda figures: format_usd(figures.usd_per_month),
    "meets the targets": lambda figures: "yes" if figures.meets_targets else "no",
    "storage mode": lambda figures: figures.mode,
    "release": lambda figures: figures.release,
    "prices": lambda figures: figures.prices,
    "core nodes": _nodes,
    "cache per node": lambda figures: volume_text(figures.core_volumes, "cache"),
    "data per node": lambda figures: volume_text(figures.core_volumes, "data"),
    "system per node": lambda figures: volume_text(figures.core_volumes, "system"),
    "primary nodes": lambda figures: f"{figures.primary_nodes} x {figures.primary_type}",
    "BucketCache": lambda figures: (
        f"{format_size(figures.bucket_cache_mib * MIB)} per server" if figures.bucket_cache_mib else NONE
    ),
    "heap": lambda figures: format_size(figures.heap_mib * MIB),
    "handlers": lambda figures: f"{figures.handlers}",
    "hit ratio, warm": lambda figures: (
        format_percent(figures.hit_ratio) + ("" if figures.all_cached else " of reads of cached tables")
    ),
    "reads": lambda figures: f"{figures.reads_per_second:,.0f}/s",
    "reads at most": lambda figures: f"{figures.saturation_reads_per_second:,.0f}/s",
    "bottleneck": lambda figures: figures.bottleneck,
    "mean latency": lambda figures: f"{figures.mean_latency_ms:,.0f} ms",
    "p99 (estimate)": lambda figures: f"{figures.p99_latency_ms:,.0f} ms",
    "warm-up": lambda figures: format_duration(figures.warm_up_seconds),
    "carries its load, cold": lambda figures: _duration(figures.cold_seconds),
    "restart per server": lambda figures: format_duration(figures.restart_seconds),
    "rows offline after a crash": lambda figures: _duration(figures.offline_seconds),
    "S3 GETs, warm": lambda figures: f"{figures.gets_per_hour_warm / SECONDS_PER_HOUR:,.0f}/s",
}
