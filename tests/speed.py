"""Times of the processor as multiples of a plain loop beside them: how fast a machine is changes from hour to hour.

Tests that use it are marked `bench`: neighbours slow the loop and the work unequally.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

STEPS = 5_000_000
LOOP_SECONDS = 0.06  # about what a loop takes


def loops(work: Callable[[], object], attempts: int = 10) -> float:
    """Return what the work takes of this process's processor, in loops; the least of so many attempts."""
    return _loops(work, time.process_time, attempts)


def loops_of_children(work: Callable[[], object], attempts: int) -> float:
    """The same, of the processes that the work starts and waits for."""
    return _loops(work, _children_seconds, attempts)


def _loops(work: Callable[[], object], clock: Callable[[], float], attempts: int) -> float:
    pairs = [(_least_seconds(work, clock), _seconds(_loop, time.process_time)) for _ in range(attempts)]
    return min(mine for mine, _ in pairs) / min(loop for _, loop in pairs)


def _least_seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the least of as many times as fit the time of a loop, because short work is disturbed more easily."""
    seconds = [_seconds(work, clock)]
    while sum(seconds) < LOOP_SECONDS:
        seconds.append(_seconds(work, clock))
    return min(seconds)


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    began = clock()
    work()
    return clock() - began


def _loop() -> None:
    sum(range(STEPS))


def _children_seconds() -> float:
    used = os.times()
    return used.children_user + used.children_system
