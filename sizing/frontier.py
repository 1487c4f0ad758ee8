"""The price of each step of one target, with all other targets as stated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sizing.regret import ClusterOption, Situation

__all__ = ["QUERY_TARGETS", "TARGETS", "Frontier", "Step", "Target", "frontier"]

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
