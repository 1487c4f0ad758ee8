"""The progress of a cache that fills: its share, its rate, when it will be warm, and whether it will be at all.

A prefetch is bound by a throughput, so the bytes in a cache grow in a straight line until it ends; the time that
remains follows from the slope of the last minutes. Reads alone fill a cache ever more slowly: then the time is too
short, and grows from look to look.

`first_day` is the hit ratio during 24 hours in which caches fill after a cold start, a server restarts, and a node is
lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import linear_regression
from typing import Final, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from warmbase.ground.units import SECONDS_PER_HOUR
from warmbase.sizing.cache.bucket_sizes import ACCEPT_FACTOR
from warmbase.sizing.plan import Plan

Verdict: TypeAlias = Literal["warm", "filling", "turning over", "not filling", "unknown"]

# A cache smaller than its data evicts from 95 % of its slots down to 85 % (HBase 2.6 BucketCache.freeSpace).
EVICTING_FRACTION: Final = 0.85
RATE_MINUTES: Final = 10  # judgement: evens out a flush or a pause, and follows a boost within minutes
LEAST_MINUTES: Final = 3  # judgement: a slope through two points is noise
# judgement: what reads add beside a prefetch that has ended; a fill at this rate would take a week.
LEAST_GROWTH: Final = 0.001
# judgement: the hit ratio of 60 reads a minute over five minutes differs by this much from chance alone.
LEAST_RISE: Final = 0.005
LEAST_READS: Final = 60  # per minute: fewer say nothing about a cache, as for the alarms of cold servers
RATIO_MINUTES: Final = 2  # judgement: a gate must not open because of the reads of one minute
MINUTE_SECONDS: Final = 60.0


class CacheMinute(Struct, frozen=True, kw_only=True):
    """One published minute of one server's cache; `at_seconds` since 1970, the others as its node counted them."""

    at_seconds: float
    fill: float
    hits: float
    misses: float
    evictions: float


class Target(Struct, frozen=True, kw_only=True):
    """The size of one server's cache, and the bytes that the plan expects in it once it is warm.

    `fits` says whether the plan expects no evictions, because the cache holds all that the server's regions have.
    """

    cache_bytes: int
    warm_bytes: float
    fits: bool


class Gate(Struct, frozen=True, kw_only=True):
    """The condition for warm: a share of the planned bytes, or a hit ratio where one is demanded instead."""

    share: float = 0.98
    hit_ratio: float | None = None


class Progress(Struct, frozen=True, kw_only=True):
    """How full one server's cache is. `seconds` until its share passes the gate; None where it is not growing.

    `hit_ratio` is that of the last minutes; None with too few reads. `reason` explains a verdict other than warm.
    """

    instance: str
    verdict: Verdict
    reason: str
    share: float | None = None
    cached_bytes: float | None = None
    bytes_per_second: float | None = None
    seconds: float | None = None
    hit_ratio: float | None = None


def target_of(plan: Plan) -> Target:
    """Return what each server's cache holds when it is warm, if regions are spread evenly."""
    everything_bytes, _ = plan.hit_ratio.curve[-1]
    return target(plan.cache.size_bytes, everything_bytes / plan.core.count)


def target(cache_bytes: int, everything_bytes: float) -> Target:
    """Return what a cache of this size holds when it is warm.

    `everything_bytes` is the size of a cache that holds all blocks of its server's regions without an eviction, so part
    of it stays free.
    """
    room_bytes, share_bytes = EVICTING_FRACTION * cache_bytes, ACCEPT_FACTOR * everything_bytes
    return Target(cache_bytes=cache_bytes, warm_bytes=min(room_bytes, share_bytes), fits=share_bytes < room_bytes)


def slowest_seconds(servers: Iterable[Progress]) -> float | None:
    """Return the remaining time of the slowest cache that is filling; None if none is."""
    return max((server.seconds for server in servers if server.seconds is not None), default=None)


def progress(instance: str, minutes: Sequence[CacheMinute], target: Target, gate: Gate) -> Progress:
    """Return how full a cache is, from its published minutes in the order of time."""
    if not minutes:
        return Progress(instance=instance, verdict="unknown", reason="no figures were published in the last minutes")
    recent = minutes[-RATE_MINUTES - 1 :]
    now, is_whole, half = recent[-1], len(recent) > RATE_MINUTES, len(recent) // 2
    cached_bytes = now.fill * target.cache_bytes
    share = min(1.0, cached_bytes / target.warm_bytes)
    # The slope of the fill since it last began to grow; too few minutes say nothing.
    first = next((number for number, (a, b) in enumerate(pairwise(recent)) if b.fill > a.fill), 0)
    growing, bytes_per_second = recent[first:], 0.0
    if len(growing) >= LEAST_MINUTES:
        times, fills = [minute.at_seconds for minute in growing], [minute.fill for minute in growing]
        bytes_per_second = target.cache_bytes * linear_regression(times, fills).slope
    grows = bytes_per_second * RATE_MINUTES * MINUTE_SECONDS > LEAST_GROWTH * target.warm_bytes
    turns_over = now.fill >= EVICTING_FRACTION and any(minute.evictions > 0 for minute in recent)
    hit_ratio, older, newer = (_hit_ratio(part) for part in (recent[-RATIO_MINUTES:], recent[:half], recent[half:]))
    rises = older is not None and newer is not None and newer - older > LEAST_RISE
    if gate.hit_ratio is not None:
        is_warm = hit_ratio is not None and hit_ratio >= gate.hit_ratio
    else:  # a cache that was to hold everything and evicts is not warm
        is_warm = share >= gate.share and not (target.fits and turns_over)
    verdict: Verdict = "filling"
    reason = ""
    if is_warm:
        verdict = "warm"
    elif turns_over and is_whole and not rises:
        verdict, reason = "turning over", "the cache is full and evicts, and its hit ratio does not rise"
    elif not grows and (turns_over or not is_whole):
        reason = "its rate is not known yet"
    elif not grows and gate.hit_ratio is not None and (rises or hit_ratio is None):
        reason = "its hit ratio rises" if rises else "too few reads for a hit ratio"
    elif not grows:
        verdict, reason = "not filling", f"nothing was added for {RATE_MINUTES} minutes although the cache has room"
    missing_bytes = max(0.0, gate.share * target.warm_bytes - cached_bytes)
    return Progress(
        instance=instance,
        verdict=verdict,
        reason=reason,
        share=share,
        cached_bytes=cached_bytes,
        bytes_per_second=bytes_per_second,
        seconds=missing_bytes / bytes_per_second if grows and missing_bytes else None,
        hit_ratio=hit_ratio,
    )


def missing_fraction(servers: Sequence[Progress]) -> float:
    """Return the fraction of the planned bytes that the emptiest cache lacks; one without figures counts as empty."""
    return max((1.0 - (server.share or 0.0) for server in servers), default=1.0)


def _hit_ratio(minutes: Sequence[CacheMinute]) -> float | None:
    hits, reads = sum(minute.hits for minute in minutes), sum(minute.hits + minute.misses for minute in minutes)
    return hits / reads if minutes and reads >= LEAST_READS * len(minutes) else None


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
