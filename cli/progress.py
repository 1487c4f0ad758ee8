"""Steps on a terminal, and in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["TerminalProgress"]


class TerminalProgress:
    """Steps on stderr, one line each with its outcome and time; a spinner while it runs, on a terminal only."""

    def __init__(self) -> None:
        """Counts the steps from one."""
        self._console = Console(stderr=True, highlight=False)
        self._number = 0

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Prints the step when it has ended; its last line of progress is its outcome."""
        self._number += 1
        began, said = time.monotonic(), ""
        if not self._console.is_terminal:
            self._line(f"{self._number:2} {title} ...")
        with self._console.status(f"{self._number:2} {title}") as status:

            def say(line: str) -> None:
                nonlocal said
                said = line.strip() or said
                status.update(f"{self._number:2} {title}\n   [dim]{said[: self._console.width - 4]}[/dim]")

            yield say
        before = f"{self._number:2} {title}" if self._console.is_terminal else "  "
        self._line(f"{before}   {said}, {time.monotonic() - began:.1f} s")

    def _line(self, text: str) -> None:
        # Whole, whatever the width: a path or a command that is cut in two cannot be copied.
        self._console.print(text, markup=False, soft_wrap=True)
