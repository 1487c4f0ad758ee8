"""Times of the processor as multiples of a plain loop beside them: how fast a machine is changes from hour to hour."""

from __future__ import annotations

import time
from collections.abc import Callable

STEPS = 5_000_000


def loops(taken: Callable[[], float], attempts: int) -> float:
    """The least of so many times, over the least time of the loop that was run after each."""
    pairs = [(taken(), _loop_seconds()) for _ in range(attempts)]
    return min(mine for mine, _ in pairs) / min(loop for _, loop in pairs)


def _loop_seconds() -> float:
    began = time.process_time()
    sum(range(STEPS))
    return time.process_time() - began
