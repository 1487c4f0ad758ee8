"""Asking again and again until something has ended, or for too long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

GROWTH: Final = (
    1.5  # judgement: what ends at once is seen at once, and what takes an hour is not asked for all the time
)


def turns(longest_seconds: float, first_seconds: float, pause_seconds: float) -> Iterator[None]:
    """One turn now, and one after each pause until the time is over; pauses grow from the first to `pause_seconds`."""
    deadline, pause = time.monotonic() + longest_seconds, first_seconds
    while True:
        yield
        if time.monotonic() + pause > deadline:
            return
        time.sleep(pause)
        pause = min(pause_seconds, GROWTH * pause)
