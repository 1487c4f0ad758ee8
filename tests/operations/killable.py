"""The end of a command at any of its calls, as if its process were killed there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from warmbase.operations.aws.progress import Say

SERVERS = ("a:16020", "b:16020", "c:16020")
META = "1588230740"


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


class HBaseModel(Killable, dict=True):
    """A balancer and a journal, which every operation on regions has."""

    balancer: bool = True
    journal: Any = None

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        del say
        with self.call():
            self.balancer = on

    def read(self) -> Any:
        with self.call():
            return self.journal

    def write(self, journal: object) -> None:
        with self.call():
            self.journal = journal

    def clear(self) -> None:
        with self.call():
            self.journal = None
