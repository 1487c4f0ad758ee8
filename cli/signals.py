"""The signals that end a command: it cleans up before it ends, and a question can always be interrupted."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NoReturn

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALLED: Final = 128
"""A shell adds this to the number of the signal that ended a command, and reports the sum as the exit code."""


class Stopped(BaseException):
    """A signal that ends the command. As it passes, temporary files are removed and child processes are ended."""

    def __init__(self, number: int) -> None:
        self.exit_code = SIGNALLED + number
        super().__init__(f"warmbase: ended by {signal.Signals(number).name}")


def catch_signals() -> None:
    """Let a signal raise Stopped. What nohup or a shell has made the command ignore stays ignored."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let every signal raise Stopped while the command asks.

    `input` loses an exception that is raised while it flushes, and may report SIGINT by itself before the handler runs.
    """
    caught = [number for number in ENDING if signal.getsignal(number) is _stop]
    for number in caught:
        signal.signal(number, _stop_asking)
    try:
        yield
    except Stopped:
        ignore_signals()
        raise
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            _stop(signal.SIGINT, None)
        raise
    else:
        for number in caught:
            signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    # Once is enough: a second signal would stop the cleaning up, which has bounds of its own.
    ignore_signals()
    raise Stopped(number)


def _stop_asking(number: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped(number)


def ignore_signals() -> None:
    """Ignore every further signal, even if one arrives meanwhile: as Python ends, it would change the exit code."""
    remaining = list(ENDING)
    while remaining:
        with suppress(Stopped):
            signal.signal(remaining[-1], signal.SIG_IGN)
            remaining.pop()
