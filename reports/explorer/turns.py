"""The order in which requests are planned: two at a time, and of those that wait, only the newest of each page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import Final

PLANNERS: Final = 2
"""A plan cannot be interrupted, and one that no cluster meets may take seconds: a second planner passes it."""
MOST_PAGES: Final = 64
"""So many pages are remembered; the one that has asked for nothing the longest is forgotten."""


class Superseded(Exception):
    """A newer request of the same page has arrived, so nobody waits for this answer."""


class Turns:
    """Requests by the page that sends them and by their number, which rises with every change on that page."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._registering = Lock()
        self._planning = BoundedSemaphore(PLANNERS)

    @contextmanager
    def turn(self, page: str, number: int) -> Iterator[None]:
        """Wait for the turn of a request. Raises Superseded if the page has sent a newer one meanwhile."""
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
