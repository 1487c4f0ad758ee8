"""The months in which a growing workload outgrows its cluster, and the price of each step of one target.

A cluster is enlarged with nodes like those it has, because EMR adds them while the cluster runs. Another instance type
or other volumes need a new cluster, which takes a day of work and starts with cold caches. So a new cluster is proposed
only if it saves enough, or if no number of such nodes meets the targets.

A `Frontier` varies one target; all others stay as stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from warmbase.sizing.ranges.regret import ClusterOption, Situation
from warmbase.sizing.requirements import Requirements
from warmbase.sizing.workload.workload import OpenLoad, Regions, Workload

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

    def later(workload: Workload) -> Workload:
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

    return replace(
        requirements,
        workload=requirements.workload.changed(later),
        targets=replace(requirements.targets, budget_usd_per_month=None),
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
        cheapest = current.cheapest
        enlarged = None if option is None else _enlarged(current, option)
        is_new = enlarged is None or (cheapest is not None and cheapest[1] < (1 - WORTHWHILE_FRACTION) * enlarged[1])
        option, usd_per_month = (cheapest if is_new else enlarged) or (None, None)
        yield GrowthStep(month=month, missed=missed, option=option, usd_per_month=usd_per_month, is_new=is_new)
        if option is None:
            return


def outgrown_month(later: Callable[[int], Situation], option: ClusterOption, months: int) -> int | None:
    """Return the first month in which an option misses a target of a growing workload, or None."""
    return next((month for month in range(months + 1) if later(month).outcome(option).missed), None)


def split_month(requirements: Requirements, months: int) -> int | None:
    """Return the first month in which the mean region exceeds the split limit of today's plan, or None."""
    limit_bytes = Regions.of(requirements.workload, requirements.pins.split_bytes).split_bytes
    later = (grown(requirements, month).workload for month in range(months + 1))
    sizes = (Regions.of(workload, limit_bytes).mean_bytes for workload in later)
    return next((month for month, size_bytes in enumerate(sizes) if size_bytes > limit_bytes), None)


def _enlarged(current: Situation, option: ClusterOption) -> tuple[ClusterOption, float] | None:
    """Return the option with the fewest more nodes that meet the targets, and its bill; None if no number does."""
    most = current.most_nodes
    low, high = option.count, min(most, 2 * option.count)
    while current.outcome(replace(option, count=high)).missed:
        if high == most:
            return None
        low, high = high, min(most, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        is_short = current.outcome(replace(option, count=middle)).missed
        low, high = (middle, high) if is_short else (low, middle)
    larger = replace(option, count=high)
    return larger, current.outcome(larger).usd_per_month


Target: TypeAlias = Literal["hit_ratio", "p99", "query_time", "lost_nodes"]
FIELDS: Final[Mapping[Target, str]] = {
    "hit_ratio": "hit_ratio",
    "p99": "p99_seconds",
    "query_time": "query_seconds",
    "lost_nodes": "lost_nodes",
}
TIMES: Final = frozenset({"p99", "query_time"})
"""The targets for which a smaller value is stricter."""
VALUES: Final[Mapping[Target, tuple[float, ...]]] = {
    "hit_ratio": (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.0),
    "p99": (5.0, 2.0, 1.0, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02),
    "query_time": (600.0, 300.0, 180.0, 120.0, 90.0, 60.0, 45.0, 30.0, 20.0, 15.0, 10.0, 5.0),
    "lost_nodes": (0, 1, 2, 3, 4),
}
"""The steps of each target, from the most relaxed to the strictest."""
TARGETS: Final[tuple[Target, ...]] = ("hit_ratio", "p99", "lost_nodes")
QUERY_TARGETS: Final[tuple[Target, ...]] = ("hit_ratio", "query_time", "lost_nodes")
"""The targets of an analytics cluster."""
FEWEST_FOR_KNEE: Final = 3


class Step(Struct, frozen=True, kw_only=True):
    """One value of the target, and the cheapest cluster that meets it; `option` is None if no cluster does."""

    value: float
    option: ClusterOption | None
    usd_per_month: float | None


class Frontier(Struct, frozen=True, kw_only=True):
    """The steps of a target from the most relaxed to the strictest; `stated` is the value in the file, if any."""

    target: Target
    stated: float | None
    steps: Sequence[Step]

    @property
    def knee(self) -> int | None:
        """Return the index of the last step before the price rises faster.

        It is the step that lies farthest below the straight line from the first price to the last. None if fewer than
        three steps can be met, or if no step lies clearly below that line.
        """
        priced = [(number, step.usd_per_month) for number, step in enumerate(self.steps) if step.usd_per_month]
        if len(priced) < FEWEST_FOR_KNEE:
            return None
        (first, least), (last, most) = priced[0], priced[-1]
        below = {number: least + (most - least) * (number - first) / (last - first) - usd for number, usd in priced}
        number = max(below, key=lambda number: below[number])
        return number if below[number] > (most - least) / len(priced) else None


def frontier(situation: Situation, target: Target) -> Frontier:
    """Return the price of each step of a target. The budget is ignored, because the price is the answer.

    A cluster that meets a step also meets every more relaxed step. So no step costs more than a stricter one, although
    the search tries cache sizes only 0.5 % apart, and volume speeds 10 % apart.
    """
    current = situation.target(FIELDS[target])
    values = {*VALUES[target], *(() if current is None else (current,))}
    steps: list[Step] = []
    best: tuple[ClusterOption, float] | None = None
    for value in sorted(values, reverse=target not in TIMES):
        optimum = situation.with_target(FIELDS[target], value).cheapest
        best = min((priced for priced in (optimum, best) if priced), key=lambda priced: priced[1], default=None)
        option, usd = best or (None, None)
        steps.insert(0, Step(value=value, option=option, usd_per_month=usd))
    return Frontier(target=target, stated=current, steps=tuple(steps))
