"""The months in which a growing workload outgrows its cluster, and what must then be bought.

A cluster is enlarged with nodes like those it has, because EMR adds them while the cluster runs. Another instance type
or other volumes need a new cluster, which takes a day of work and starts with cold caches. So a new cluster is proposed
only if it saves enough, or if no number of such nodes meets the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sizing.region_size import Regions
from sizing.regret import ClusterOption, Situation
from sizing.requirements import Requirements
from sizing.workload import OpenLoad, Workload

__all__ = ["ASSUMED_GROWTH", "GrowthStep", "growing", "grown", "growth_steps", "outgrown_month", "split_month"]

ASSUMED_GROWTH: Final = 0.08
"""judgement: data that grows by 8 % a month is 2.5 times as much in a year. Many services that succeed grow faster."""
WORTHWHILE_FRACTION: Final = 0.1
"""judgement: a new cluster that saves less than a tenth of the bill is not worth cold caches and a day of work."""


class GrowthStep(Struct, frozen=True, kw_only=True):
    """A purchase at the beginning of a month: `option` meets the targets, and the previous cluster would miss `missed`.

    `usd_per_month` is the bill of that month. `is_new` is true for a new cluster, such as the first one, and false for
    more nodes in the same cluster. `option` is None if no cluster meets the targets.
    """

    month: int
    missed: tuple[str, ...]
    option: ClusterOption | None
    usd_per_month: float | None
    is_new: bool


def growing(requirements: Requirements, rate: float | None = None) -> Requirements:
    """Return the requirements with this growth for every table, or with each table's own growth if the rate is None.

    A table for which no growth is stated then grows at the assumed rate.
    """

    def known(table: Workload) -> Workload:
        own = ASSUMED_GROWTH if table.growth_per_month is None else table.growth_per_month
        return replace(table, growth_per_month=own if rate is None else rate)

    return replace(requirements, workload=requirements.workload.changed(known))


def grown(requirements: Requirements, months: int) -> Requirements:
    """Return the requirements after this many months, in which stored data, reads and writes grow.

    The size of a row and the number of regions stay the same, and the budget is ignored.
    """
    return replace(
        requirements,
        workload=requirements.workload.changed(lambda table: _grown_table(table, months)),
        targets=replace(requirements.targets, budget_usd_per_month=None),
    )


def _grown_table(workload: Workload, months: int) -> Workload:
    load, factor = workload.load, (1 + (workload.growth_per_month or 0.0)) ** months
    if isinstance(load, OpenLoad):
        peak = load.peak_reads_per_second
        load = replace(
            load,
            reads_per_second=load.reads_per_second * factor,
            peak_reads_per_second=None if peak is None else peak * factor,
        )
    return replace(
        workload,
        stored_bytes=round(workload.stored_bytes * factor),
        write_bytes_per_second=round(workload.write_bytes_per_second * factor),
        reads=replace(workload.reads, load=load),
    )


def growth_steps(later: Callable[[int], Situation], months: int) -> Iterator[GrowthStep]:
    """Yield the first purchase, and a step for each month in which the cluster no longer meets its targets.

    `later` returns the situation after a number of months. If no cluster meets the targets, the last step has no
    option.
    """
    option: ClusterOption | None = None
    for month in range(months + 1):
        current = later(month)
        missed = () if option is None else current.outcome(option).missed
        if option is not None and not missed:
            continue
        step = _step(current, option, month, missed)
        yield step
        if step.option is None:
            return
        option = step.option


def outgrown_month(later: Callable[[int], Situation], option: ClusterOption, months: int) -> int | None:
    """Return the first month in which an option misses a target of a growing workload, or None."""
    return next((month for month in range(months + 1) if later(month).outcome(option).missed), None)


def split_month(requirements: Requirements, months: int) -> int | None:
    """Return the first month in which the mean region exceeds the split limit of today's plan, or None."""
    limit_bytes = Regions.of(requirements.workload, requirements.pins.split_bytes).split_bytes
    later = (grown(requirements, month).workload for month in range(months + 1))
    sizes = (Regions.of(workload, limit_bytes).mean_bytes for workload in later)
    return next((month for month, size_bytes in enumerate(sizes) if size_bytes > limit_bytes), None)


def _step(current: Situation, option: ClusterOption | None, month: int, missed: tuple[str, ...]) -> GrowthStep:
    cheapest = current.cheapest
    enlarged = None if option is None else _enlarged(current, option)
    is_new = enlarged is None or (cheapest is not None and cheapest[1] < (1 - WORTHWHILE_FRACTION) * enlarged[1])
    purchase = cheapest if is_new else enlarged
    return GrowthStep(
        month=month,
        missed=missed,
        option=None if purchase is None else purchase[0],
        usd_per_month=None if purchase is None else purchase[1],
        is_new=is_new,
    )


def _enlarged(current: Situation, option: ClusterOption) -> tuple[ClusterOption, float] | None:
    """Return the option with the fewest more nodes that meet the targets, and its bill; None if no number does."""
    most = current.most_nodes
    low, high = option.count, min(most, 2 * option.count)
    while not _serves(current, replace(option, count=high)):
        if high == most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _serves(current, replace(option, count=middle)) else (middle, high)
    larger = replace(option, count=high)
    return larger, current.outcome(larger).usd_per_month


def _serves(current: Situation, option: ClusterOption) -> bool:
    return not current.outcome(option).missed
