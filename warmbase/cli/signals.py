"""The signals that end a command: each raises Stopped, so that the command cleans up, and can interrupt a question.

Python runs a handler between any two instructions. An exception that it raises is lost in a destructor, and breaks an
import or becomes another exception; a signal that arrives there raises Stopped a moment later.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALLED: Final = 128
"""A shell adds this to the number of the signal that ended a command, and reports the sum as the exit code."""
IMPORT: Final = "<frozen importlib._bootstrap>"
MOMENT_SECONDS: Final = 0.01  # judgement: nobody notices it, and an import takes milliseconds
_postponed: Final[list[int]] = []
_raised: Final[list[Stopped]] = []


class Stopped(BaseException):
    """A signal that ends the command. As it passes, temporary files are removed and child processes are ended."""

    def __init__(self, number: int) -> None:
        self.number, self.exit_code = number, SIGNALLED + number
        super().__init__(f"warmbase: ended by {signal.Signals(number).name}")


def stopped_by() -> Stopped | None:
    """Return the Stopped that the last signal of the command raised, whatever a library has made of it on the way."""
    return _raised[-1] if _raised else None


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a signal raise Stopped. What nohup or a shell has made the command ignore stays ignored."""
    _raised.clear()
    before = {number: signal.getsignal(number) for number in ENDING}
    hook = sys.unraisablehook

    def repeat(lost: UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, Stopped):
            _postpone(lost.exc_value.number)
        else:
            hook(lost)

    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, _stop)
    sys.unraisablehook = repeat
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) in {_stop, _stop_asking}:
                signal.signal(number, handler)
        sys.unraisablehook = hook
        if _postponed:
            _stop(_postponed[-1], None)


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


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == IMPORT:
            _postpone(number)
            return
        frame = frame.f_back
    # Once is enough: a second signal would stop the cleaning up, which has bounds of its own.
    ignore_signals()
    signal.setitimer(signal.ITIMER_REAL, 0)
    _postponed.clear()
    _stop_asking(number, frame)


def _postpone(number: int) -> None:
    _postponed.append(number)
    signal.signal(signal.SIGALRM, lambda _, frame: _stop(number, frame))
    signal.setitimer(signal.ITIMER_REAL, MOMENT_SECONDS)


def _stop_asking(number: int, _frame: FrameType | None) -> NoReturn:
    _raised.append(Stopped(number))
    raise _raised[-1]


def ignore_signals() -> None:
    """Ignore every further signal, even if one arrives meanwhile: as Python ends, it would change the exit code."""
    remaining = [*ENDING, signal.SIGALRM]
    while remaining:
        with suppress(Stopped):
            signal.signal(remaining[-1], signal.SIG_IGN)
            remaining.pop()
