"""The steps of a command, as lines on a terminal or in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


class TerminalProgress:
    """Prints each step on stderr, with its outcome and time; on a terminal with a spinner while it runs."""

    def __init__(self) -> None:
        """Begin with step one."""
        self._console = Console(stderr=True, highlight=False)
        self._number = 0

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """Print a step, and when it ends its outcome, which is its last line of progress."""
        self._number += 1
        began, outcome = time.monotonic(), ""
        if not self._console.is_terminal:
            self._line(f"{self._number:2} {title} ...")
        with self._console.status(f"{self._number:2} {title}") as status:

            def say(line: str) -> None:
                nonlocal outcome
                outcome = line.strip() or outcome
                status.update(f"{self._number:2} {title}\n   [dim]{outcome[: self._console.width - 4]}[/dim]")

            yield say
        before = f"{self._number:2} {title}" if self._console.is_terminal else "  "
        self._line(f"{before}   {outcome}, {time.monotonic() - began:.1f} s")

    def _line(self, text: str) -> None:
        # Whole, whatever the width: a path or a command that is cut in two cannot be copied.
        self._console.print(text, markup=False, soft_wrap=True)
