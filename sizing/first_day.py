"""The hit ratio of a cluster during 24 hours: its caches fill after a cold start, a server restarts, a node is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from msgspec import Struct

from sizing.plan import Plan
from sizing.units import SECONDS_PER_HOUR

__all__ = ["HOURS", "RESTART_HOURS", "FirstDay", "first_day"]

Course = tuple[tuple[float, float], ...]

HOURS: Final = 24.0
# judgement: an operator does not test a cluster whose caches still fill, and most caches are full within half a day.
RESTART_HOURS: Final = 12.0
LOSS_HOURS: Final = 15.0  # judgement: late enough to tell the loss from the restart, early enough to see the refill


class FirstDay(Struct, frozen=True, kw_only=True):
    """The day, and the hours of its events; each course consists of (hours, hit ratio), and is linear between them.

    `course` is that of the cluster under its load. `fill` is a fill without reads, and `boosted` the same with the
    fastest boost; they are empty if no EBS volume holds a cache, or if no boost helps. A prefetch loads blocks whatever
    their popularity, so the hit ratio rises evenly with it. `restart_hours` and `loss_hours` are None if the caches are
    not full by then, and `loss_hours` also for a single node. `refilled_hours` is when the new node is warm.
    """

    course: Course
    fill: Course
    boosted: Course
    full_hours: float
    restart_hours: float | None
    loss_hours: float | None
    refilled_hours: float | None

    def hit_ratio(self, hours: float) -> float:
        """Return the hit ratio under the load at a time before the loss of a node."""
        times, ratios = zip(*self.course, strict=True)
        return float(np.interp(hours, times, ratios))


def first_day(plan: Plan) -> FirstDay | None:
    """Return the first day of a cluster; None if it has no cache to warm."""
    cold, new = plan.bad_hours.cold, plan.bad_hours.replaced_node
    if cold is None or plan.bucket_cache is None:
        return None
    full = plan.warm_up.prefetch_seconds / SECONDS_PER_HOUR
    loss = LOSS_HOURS if new is not None and full <= RESTART_HOURS else None
    server, boost = plan.warm_up.server, plan.warm_up.boosts[-1:]
    return FirstDay(
        course=_within_the_day(_course(plan, loss)),
        fill=_filling(plan, server.course(server.volume.throughput_mib_s, "sustained")) if server else (),
        boosted=_filling(plan, server.course(boost[0].throughput_mib_s, boost[0].level)) if server and boost else (),
        full_hours=full,
        restart_hours=RESTART_HOURS if full <= RESTART_HOURS else None,
        loss_hours=loss,
        refilled_hours=LOSS_HOURS + new.seconds / SECONDS_PER_HOUR if new is not None and loss else None,
    )


def _course(plan: Plan, loss_hours: float | None) -> Iterator[tuple[float, float]]:
    """Yield the hit ratio under the load; if a node is lost, until the node that replaces it is warm."""
    cold, new = plan.bad_hours.cold, plan.bad_hours.replaced_node
    points = [(hours, ratio) for hours, ratio, _ in cold.course] if cold else []
    if loss_hours is None or new is None:
        yield from points
        yield HOURS, points[-1][1]
        return
    hours, ratios = zip(*points, strict=True)
    yield from (point for point in points if point[0] < loss_hours)
    yield loss_hours, float(np.interp(loss_hours, hours, ratios))
    yield loss_hours, new.hit_ratio
    yield loss_hours + (new.launch_seconds + new.regions_seconds) / SECONDS_PER_HOUR, new.hit_ratio
    yield loss_hours + new.seconds / SECONDS_PER_HOUR, plan.hit_ratio.predicted
    yield HOURS, plan.hit_ratio.predicted


def _filling(plan: Plan, filled: Iterable[tuple[float, float]]) -> Course:
    """Return the course of a fill from (seconds, fraction that is filled)."""
    return _within_the_day(
        (seconds / SECONDS_PER_HOUR, fraction * plan.hit_ratio.predicted) for seconds, fraction in filled
    )


def _within_the_day(points: Iterable[tuple[float, float]]) -> Course:
    """Return the points until the end of the day; a line that crosses the end is cut there."""
    every = list(points)
    cut = [
        (HOURS, low + (high - low) * (HOURS - start) / (end - start))
        for (start, low), (end, high) in pairwise(every)
        if start < HOURS < end
    ]
    return (*(point for point in every if point[0] <= HOURS), *cut[:1])
