"""The order in which requests are planned: two at a time, and among waiting requests, only the newest of each page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import Final

PLANNERS: Final = 2
"""A plan cannot be interrupted, and takes seconds if no cluster meets the targets; the second planner need not wait."""
MOST_PAGES: Final = 64
"""The number of pages that are remembered; the page whose last request is the oldest is forgotten first."""


class Superseded(Exception):
    """The page has sent a newer request, so it no longer waits for this answer."""


class Turns:
    """The turns of the requests; each page numbers its requests, and the number rises with every change on the page."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._registering = Lock()
        self._planning = BoundedSemaphore(PLANNERS)

    @contextmanager
    def turn(self, page: str, number: int) -> Iterator[None]:
        """Wait for the turn of a request. Raises Superseded if the page has sent a newer request by then."""
        self._register(page, number)
        with self._planning:
            if number < self._newest.get(page, number):
                raise Superseded
            yield

    def _register(self, page: str, number: int) -> None:
        with self._registering:
            self._newest[page] = max(number, self._newest.pop(page, number))
            while len(self._newest) > MOST_PAGES:
                self._newest.popitem(last=False)
