"""The course of a cluster with cold caches: the reads that it serves and how it warms up, step by step in time."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Final

import numpy as np
from msgspec import Struct

from sizing.cold_rates import LEAST_SHARE, RATIOS, ColdRates
from sizing.popularity import Popularity
from sizing.units import SECONDS_PER_HOUR
from sizing.warm_up import CacheCapacity, Warming, Warmth
from sizing.workload import ClosedLoad

__all__ = ["ColdCourse", "ColdStart"]

STEP_ERROR: Final = 0.02  # the relative error of a time that is counted in steps
# Steps grow with time, because reads warm a cache quickly at first and slowly later; a test compares them with steps a
# tenth as long.
FIRST_STEP_SECONDS: Final = 2.0
STEP_FRACTION: Final = 0.08
# judgement: the fraction of the final hit ratio that the course leaves out.
NEARLY_WARM: Final = 1e-4
LONGEST_HOURS: Final = 24.0  # judgement: nobody looks at a course of more than a day
CURVE_POINTS: Final = 48
ROUNDING: Final = 1e-9
LONGER: Final = 1.1


class ColdCourse(Struct, frozen=True, kw_only=True):
    """The course: `points` of (hours, hit ratio, reads a second), and its two milestones.

    After `prefetch_seconds`, everything that fits has been prefetched. After `carried_seconds`, every read of an open
    load is served; None if that never happens, and for a closed load, which never exceeds what is served.
    """

    points: tuple[tuple[float, float, float], ...]
    prefetch_seconds: float
    carried_seconds: float | None

    def hit_ratios(self, hours: float, points: int = CURVE_POINTS) -> tuple[tuple[float, float], ...]:
        """Return the hit ratio at equal intervals of time."""
        at = np.linspace(0.0, hours, points + 1)
        times, ratios, _ = zip(*self.points, strict=True)
        return tuple(zip(at.tolist(), np.interp(at, times, ratios).tolist(), strict=True))


class ColdStart(ColdRates, frozen=True, kw_only=True, dict=True):
    """A cluster with empty caches, and the order in which its load and its prefetch fill them."""

    popularity: Popularity
    room: CacheCapacity

    @property
    def lookups(self) -> float:
        """Return how many blocks of a read may be in the cache."""
        return self.read.cacheable * self.read.blocks

    def prefetch_seconds_against(self, wanted_seconds: float) -> float:
        """Return the time of the prefetch, or the earliest or latest end of it where that decides."""
        alone = self.prefetching.blocks / self.undisturbed_blocks_per_second
        if alone > wanted_seconds or alone <= (1 - STEP_ERROR) * LEAST_SHARE * wanted_seconds:
            return alone
        stepper = _Stepper(self)
        while not stepper.prefetched:
            earliest, latest = stepper.ends_of_prefetch
            if earliest > (1 + STEP_ERROR) * wanted_seconds:
                return earliest
            if latest <= (1 - STEP_ERROR) * wanted_seconds:
                return latest
            stepper.advance()
        return stepper.prefetch_seconds

    def carried_seconds_against(self, wanted_seconds: float) -> float:
        """Return the time until every read is served, exact where that decides, and otherwise a bound that decides.

        No cache warms faster than one that receives every read and that prefetch fills undisturbed, and none slower
        than one that keeps the rates of the start.
        """
        if isinstance(self.load, ClosedLoad):
            return 0.0
        seconds, longest = wanted_seconds, max(LONGER * wanted_seconds, LONGEST_HOURS * SECONDS_PER_HOUR)
        if not self.carries(1.0, prefetches=False):
            return longest
        fastest = self.load.reads_per_second * self.lookups, self.prefetching.blocks_per_second
        while not self.carries(self._hit_ratio_after(seconds, fastest), prefetches=False):
            seconds *= LONGER
            if seconds >= longest:
                return longest
        if seconds > wanted_seconds:
            return seconds
        slowest = self.served(0.0).reads_per_second * self.lookups, float(self.prefetch_rates[0][0])
        latest = self._hit_ratio_after((1 - STEP_ERROR) * wanted_seconds, slowest)
        if self.carries(latest, prefetches=True):
            return wanted_seconds
        stepper = _Stepper(self)
        while stepper.carried_seconds is None and stepper.seconds <= wanted_seconds:
            stepper.advance()
        return stepper.seconds if stepper.carried_seconds is None else stepper.carried_seconds

    def _hit_ratio_after(self, seconds: float, rates: tuple[float, float]) -> float:
        """Return the hit ratio after this time at constant rates of block accesses and of prefetch."""
        return Warming(popularity=self.popularity, room=self.room).after(Warmth(), seconds, lambda _: rates).hit_ratio

    @cached_property
    def course(self) -> ColdCourse:
        """Step through time until the caches are as warm as they get, or for a day."""
        stepper = _Stepper(self)
        while not stepper.prefetched:
            stepper.advance()
        while stepper.seconds < LONGEST_HOURS * SECONDS_PER_HOUR and stepper.warmth.hit_ratio < 1 - NEARLY_WARM:
            stepper.advance()
        return ColdCourse(
            points=tuple(stepper.points),
            prefetch_seconds=stepper.prefetch_seconds,
            carried_seconds=None if isinstance(self.load, ClosedLoad) else stepper.carried_seconds,
        )


class _Stepper:
    """One walk through time: the state of the caches, and the milestones that it has passed."""

    def __init__(self, start: ColdStart) -> None:
        """Start with empty caches and a prefetch."""
        self.start = start
        self.warming = Warming(popularity=start.popularity, room=start.room)
        self.warmth, self.seconds, self.prefetch_seconds = Warmth(), 0.0, 0.0
        self.now = start.served(0.0)
        self.points = [(0.0, 0.0, self.now.reads_per_second)]
        self.carried_seconds = 0.0 if self.now.carries else None

    @property
    def prefetched(self) -> bool:
        """Return whether prefetch has brought everything that fits."""
        return self.warmth.prefetched_blocks >= (1 - ROUNDING) * self.start.prefetching.blocks

    @property
    def ends_of_prefetch(self) -> tuple[float, float]:
        """Return the earliest and the latest time at which prefetch can end, whatever the hit ratio is until then."""
        rest = self.start.prefetching.blocks - self.warmth.prefetched_blocks
        least, most = (float(rates[int(self.warmth.hit_ratio * (RATIOS - 1))]) for rates in self.start.prefetch_rates)
        return self.seconds + rest / most, self.seconds + rest / least

    def advance(self) -> None:
        """Go one step further; a step ends at the latest when prefetch ends."""
        step, before, prefetches = max(FIRST_STEP_SECONDS, STEP_FRACTION * self.seconds), self.now, not self.prefetched
        if prefetches:
            rest = self.start.prefetching.blocks - self.warmth.prefetched_blocks
            step = min(step, rest / before.prefetched_per_second)
        self.warmth = self.warming.after(self.warmth, step, partial(self._rates, prefetches))
        self.now = self.start.served(self.warmth.hit_ratio, prefetches=prefetches)
        if self.carried_seconds is None and self.now.carries:
            rise = self.now.possible_per_second - before.possible_per_second
            self.carried_seconds = self.seconds + step * (before.offered_per_second - before.possible_per_second) / rise
        self.seconds += step
        if prefetches:
            self.prefetch_seconds = self.seconds
        if prefetches and self.prefetched:
            self.now = self.start.served(self.warmth.hit_ratio, prefetches=False)
            if self.carried_seconds is None and self.now.carries:
                self.carried_seconds = self.seconds
        self.points.append((self.seconds / SECONDS_PER_HOUR, self.warmth.hit_ratio, self.now.reads_per_second))

    def _rates(self, prefetches: bool, hit_ratio: float) -> tuple[float, float]:  # noqa: FBT001 - a partial's first
        is_now = hit_ratio == self.warmth.hit_ratio
        moment = self.now if is_now else self.start.served(hit_ratio, prefetches=prefetches)
        return moment.reads_per_second * self.start.lookups, moment.prefetched_per_second
