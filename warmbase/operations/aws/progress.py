"""The stages of an operation, how it reports each of them, and `turns` of a wait until something has ended.

A stage looks first at what is there and does only what is missing. So an operation that was ended anywhere is run
again, and goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

Say: TypeAlias = Callable[[str], None]
"""Takes a line of progress."""


class Progress(Protocol):
    """The receiver of an operation's reports, stage by stage."""

    def step(self, title: str) -> AbstractContextManager[Say]:
        """One step; what it yields takes a line of progress, and last the outcome."""


class Stage(Struct, frozen=True, kw_only=True):
    """`act` says what it is at, and returns the outcome in a line. Doing it twice does nothing the second time."""

    title: str
    act: Callable[[Say], str]


def carry_out(steps: Iterable[Stage], progress: Progress) -> None:
    """One step after the other; the first that fails ends it."""
    for step in steps:
        with progress.step(step.title) as say:
            say(step.act(say))


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
