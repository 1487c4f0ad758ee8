"""The steps of a command, as lines on a terminal or in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from warmbase.ground.units import printable


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
        line_start = printable(f"{self._number:2} {title}")
        if not self._console.is_terminal:
            self._line(f"{line_start} ...")
        with self._console.status(escape(line_start)) as status:

            def say(line: str) -> None:
                nonlocal outcome
                outcome = printable(line.strip()) or outcome
                end_of_line = escape(outcome[: self._console.width - 4])
                status.update(f"{escape(line_start)}\n   [dim]{end_of_line}[/dim]")

            yield say
        line_start = line_start if self._console.is_terminal else "  "
        self._line(f"{line_start}   {outcome}, {time.monotonic() - began:.1f} s")

    def _line(self, text: str) -> None:
        # Whole, whatever the width: a path or a command that is cut in two cannot be copied.
        self._console.print(text, markup=False, soft_wrap=True)
