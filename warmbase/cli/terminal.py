"""The terminal: what a command prints, how a signal ends it, and how an error ends it.

A name that comes from a cluster, a store file or AWS may hold control sequences, and must not command the terminal, so
all text is printed through `echo`. A signal ends a command only after it has cleaned up, and can always interrupt a
question. An error is printed as text on stderr and, with `--output json`, as JSON on stdout, too.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from types import FrameType
from typing import Any, Final, NoReturn

import click

from warmbase.ground.errors import InvalidInput, WarmbaseError
from warmbase.ground.units import printable


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print the text; every character but line feeds and tabs that is not printable is escaped."""
    click.echo(printable_lines(text), err=err, nl=nl)


def printable_lines(text: str) -> str:
    """Return the text with its line feeds and tabs, and every other character that is not printable escaped."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


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


IN_ANSWER: Final = "warmbase.cli.terminal.in_answer"


def print_error(error: WarmbaseError) -> int:
    """Prints the error and its notes for people, and returns the exit code that it stands for."""
    echo(str(error), err=True)
    print_notes(error)
    return error.exit_code


def print_notes(error: BaseException) -> None:
    """Prints the notes of an error: what is left for you to do besides its fix, such as removing a lock."""
    for note in getattr(error, "__notes__", ()):
        echo(note, err=True)


def is_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON."""
    return "--output=json" in arguments or ("--output", "json") in pairwise(arguments)


def print_json_error(context: click.Context, error: WarmbaseError | click.UsageError) -> None:
    """Prints the error on stdout as one JSON document, unless the command's answer has it already."""
    if context.meta.get(IN_ANSWER):
        return
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "warmbase"
        message = error.format_message().rstrip(".")
        error = InvalidInput.of(where=command, what=message, why="", fix=f"{command} --help")
    print_json(error.document())


def print_json(document: object) -> None:
    """Print a document as `reports.json_text` writes it."""
    from warmbase.reports.json_text import json_text  # noqa: PLC0415 - it loads the types of a plan

    echo(json_text(document))


def answer_document(answer: Mapping[str, Any], error: WarmbaseError | None) -> dict[str, Any]:
    """Return the answer of a command that also ends with an error, so that stdout stays one JSON document."""
    if error is None:
        return dict(answer)
    click.get_current_context().meta[IN_ANSWER] = True
    return {**answer, **error.document()}
