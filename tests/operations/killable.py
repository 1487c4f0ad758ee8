"""The end of a command at any of its calls, as if its process were killed there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field

from warmbase.ground.errors import OperationFailed
from warmbase.operations.aws.progress import Say
from warmbase.operations.cluster.journals import (
    HealJournal,
    Journals,
    OperationJournal,
    RestartJournal,
    TableChange,
)

SERVERS = ("a:16020", "b:16020", "c:16020")
META = "1588230740"


class Killed(BaseException):
    """The stand-in for the end of the process."""


class Killable(Struct, kw_only=True, dict=True):
    """A model in memory that ends the command before or after one of its calls."""

    calls: int = 0
    kill_at: int | None = None
    kill_before: bool = True
    refuse: bool = False
    """The call is refused, and its command goes on to the end that it chooses."""

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call, and end the command before or after the one that is named."""
        self.calls += 1
        if self.calls == self.kill_at and self.refuse:
            raise OperationFailed.of(where="AWS", what="refused", why="not now", fix="run the same command again")
        if self.calls == self.kill_at and self.kill_before:
            raise Killed
        yield
        if self.calls == self.kill_at:
            raise Killed


class MemoryJournal(Struct, frozen=True):
    """The journal of one operation, which the model keeps."""

    model: HBaseModel
    operation: str

    def read(self) -> Any:
        with self.model.call():
            return self.model.written.get(self.operation)

    def write(self, journal: OperationJournal) -> None:
        with self.model.call():
            self.model.written[self.operation] = journal

    def clear(self) -> None:
        with self.model.call():
            self.model.written.pop(self.operation, None)


class HBaseModel(Killable, dict=True):
    """A balancer and journals, which every operation on regions has, and the clock of the service."""

    balancer: bool = True
    written: dict[str, OperationJournal] = field(default_factory=dict)

    @property
    def journals(self) -> Journals:
        """Return the journals of the three operations."""
        restart, heal, table = (
            MemoryJournal(self, kind.OPERATION) for kind in (RestartJournal, HealJournal, TableChange)
        )
        return Journals(restart=restart, heal=heal, table=table)

    @property
    def journal(self) -> Any:
        """Return the only journal that is written."""
        assert len(self.written) <= 1
        return next(iter(self.written.values()), None)

    def interrupt(self, journal: OperationJournal) -> None:
        """Leave the journal of an operation that was interrupted."""
        self.written[journal.OPERATION] = journal

    def now(self) -> float:
        return time.time()

    def switch_balancer(self, say: Say, *, on: bool) -> None:
        del say
        with self.call():
            self.balancer = on
