"""How far a cache is: the remaining time of a fill that is simulated, and the verdict on each kind of course."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmbase.configurations.launch import Launch
from warmbase.ground.units import GIB
from warmbase.sizing.recovery.warmth import CacheMinute, Gate, Target, progress, slowest_seconds, target

TARGET = Target(cache_bytes=1000 * GIB, warm_bytes=800 * GIB, fits=True)
SMALLER = Target(cache_bytes=1000 * GIB, warm_bytes=850 * GIB, fits=False)
GATE = Gate(share=0.98)


def minute(number: float, fill: float, *, ratio: float = 0.5, evictions: float = 0, reads: float = 6000) -> CacheMinute:
    return CacheMinute(
        at_seconds=60 * number, fill=fill, hits=ratio * reads, misses=(1 - ratio) * reads, evictions=evictions
    )


def filling(minutes: float, noise: float = 0.0, seed: int = 0) -> list[CacheMinute]:
    """Return the minutes of a prefetch that ends with 0.8 of the cache; the rate of each differs by up to `noise`."""
    draw, fill, course = random.Random(seed), 0.0, []
    for number in range(round(minutes) + 1):
        course.append(minute(number, min(0.8, fill)))
        fill += 0.8 / minutes * (1 + draw.uniform(-noise, noise))
    return course


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@given(minutes=st.floats(60, 600), seed=st.integers(0, 10_000))
def test_the_remaining_time_is_within_15_percent_of_the_truth(share: float, minutes: float, seed: int) -> None:
    course = filling(minutes, noise=0.1, seed=seed)
    now = next(number for number, one in enumerate(course) if one.fill >= share * 0.8)
    end = next((n for n, one in enumerate(course) if one.fill >= GATE.share * 0.8), minutes * GATE.share)
    found = progress("i-1", course[: now + 1], TARGET, GATE)
    assert found.verdict == "filling"
    assert found.seconds == pytest.approx(60 * (end - now), rel=0.15, abs=60)


def test_a_cache_with_room_is_warm_when_it_has_every_block(launches: Callable[[str], Launch]) -> None:
    """A plan's size for everything includes the part of a cache that stays free; the published bytes do not."""
    plan = launches("prod").plan
    everything_bytes = plan.hit_ratio.curve[-1][0] / plan.core.count
    assert plan.warm_up.server is not None
    slot_bytes = plan.warm_up.server.fill.slot_bytes
    roomy = target(round(2 * everything_bytes), everything_bytes)
    assert roomy.fits
    assert GATE.share < slot_bytes / roomy.warm_bytes <= 1.001


def test_the_slowest_cache_that_grows_gives_the_remaining_time() -> None:
    course = filling(60)
    half, full = progress("i-1", course[:30], TARGET, GATE), progress("i-2", course, TARGET, GATE)
    assert slowest_seconds([half, full]) == half.seconds
    assert slowest_seconds([full]) is None


def test_a_cache_with_the_planned_bytes_is_warm() -> None:
    found = progress("i-1", [minute(number, 0.79) for number in range(11)], TARGET, GATE)
    assert (found.verdict, found.reason, found.seconds) == ("warm", "", None)
    assert found.share == pytest.approx(0.79 / 0.8)


def test_a_cache_that_was_to_hold_everything_and_evicts_turns_over() -> None:
    course = [minute(number, 0.93, evictions=40) for number in range(11)]
    assert progress("i-1", course, TARGET, GATE).verdict == "turning over"
    assert progress("i-1", course, SMALLER, GATE).verdict == "warm"
    assert progress("i-1", course, SMALLER, Gate(hit_ratio=0.9)).verdict == "turning over"
    assert progress("i-1", course[-5:], SMALLER, Gate(hit_ratio=0.9)).verdict == "filling"


def test_a_full_cache_whose_hit_ratio_rises_is_still_filling() -> None:
    course = [minute(number, 0.93, ratio=0.5 + 0.02 * number, evictions=40) for number in range(11)]
    assert progress("i-1", course, SMALLER, Gate(hit_ratio=0.9)).verdict == "filling"


def test_a_hit_ratio_of_few_reads_opens_no_gate() -> None:
    course = [minute(number, 0.5, ratio=1.0, reads=30) for number in range(11)]
    found = progress("i-1", course, TARGET, Gate(hit_ratio=0.9))
    assert (found.verdict, found.reason, found.hit_ratio) == ("filling", "too few reads for a hit ratio", None)
    busy = [minute(number, 0.5, ratio=0.95) for number in range(11)]
    assert progress("i-1", busy, TARGET, Gate(hit_ratio=0.9)).verdict == "warm"


def test_a_cache_with_room_that_does_not_grow_is_not_filling() -> None:
    assert progress("i-1", [minute(number, 0.3) for number in range(11)], TARGET, GATE).verdict == "not filling"
    assert progress("i-1", [minute(number, 0.3) for number in range(5)], TARGET, GATE).verdict == "filling"


def test_a_server_without_figures_is_unknown() -> None:
    found = progress("i-1", [], TARGET, GATE)
    assert (found.verdict, found.share) == ("unknown", None)
