"""The end of a command at any of its calls, as if its process were killed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct


class Killed(BaseException):
    """The stand-in for the end of the process."""


class Killable(Struct, kw_only=True, dict=True):
    """A model in memory that ends the command before or after one of its calls."""

    calls: int = 0
    kill_at: int | None = None
    kill_before: bool = True

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call, and end the command before or after the one that is named."""
        self.calls += 1
        if self.calls == self.kill_at and self.kill_before:
            raise Killed
        yield
        if self.calls == self.kill_at:
            raise Killed
