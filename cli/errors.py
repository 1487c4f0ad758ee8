"""How an error ends a command: as text on stderr, and where `--output json` is set, as JSON on stdout too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import click

from cli.terminal import echo
from reports.json_text import json_text
from sizing.problem import InvalidInput, WarmbaseError

IN_ANSWER: Final = "cli.errors.in_answer"


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
    echo(json_text(error.document()))


def answer_document(answer: Mapping[str, Any], error: WarmbaseError | None) -> dict[str, Any]:
    """Return the answer of a command that also ends with an error, so that stdout stays one JSON document."""
    if error is None:
        return dict(answer)
    click.get_current_context().meta[IN_ANSWER] = True
    return {**answer, **error.document()}
